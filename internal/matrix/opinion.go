// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// Opinion is the state of one node in the cluster's rows. A witness is another node with a usable
// row: it exists, is fresh, readable and not empty. A host ID is one witness, for any number of its
// rows. Every witness is in exactly one of Up, Down, Unknown and NotListed, which are indexes into
// Matrix.Nodes in ascending order.
type Opinion struct {
	Up, Down, Unknown, NotListed []int
	// Contradict are the witnesses among Unknown whose rows differ about the node. Such a row is
	// not evidence: neither for UP nor for DOWN.
	Contradict []int
	// States are the witnesses that list the node, by the state in their row. A witness with
	// contradicting states is listed under each of them except StateNormal.
	States map[State][]int
	// downSince are the times at which the Down witnesses first saw it DOWN; zero if a row has no
	// time.
	downSince []time.Time
}

// Total returns the number of witnesses.
func (o Opinion) Total() int { return o.Listing() + len(o.NotListed) }

// Listing returns the number of witnesses that list the node.
func (o Opinion) Listing() int { return len(o.Up) + len(o.Down) + len(o.Unknown) }

// Listers returns the witnesses that list the node, ascending.
func (o Opinion) Listers() []int {
	out := slices.Concat(o.Up, o.Down, o.Unknown)
	slices.Sort(out)
	return out
}

// MajorityDown reports whether more than half of the witnesses see the node DOWN.
func (o Opinion) MajorityDown() bool { return 2*len(o.Down) > o.Total() }

// DownSince returns since when a majority of the witnesses has seen the node DOWN; false if no
// majority does, or if too few of their rows have a time.
func (o Opinion) DownSince() (time.Time, bool) {
	known := slices.DeleteFunc(slices.Clone(o.downSince), time.Time.IsZero)
	slices.SortFunc(known, time.Time.Compare)
	majority := o.Total()/2 + 1
	if o.Total() == 0 || len(known) < majority {
		return time.Time{}, false
	}
	return known[majority-1], true
}

// NoneLists reports whether no row lists the member's host ID, by the usable rows of a majority of
// the nodes, which cannot hide it.
func (m *Matrix) NoneLists(member Ref) bool {
	o := m.Opinion(member.HostID)
	return o.Listing() == 0 && 2*len(o.NotListed) > len(m.nodes) && !m.Hides(member)
}

// HasUsableRow reports whether the node at index i has a row that is evidence.
func (m *Matrix) HasUsableRow(i int) bool {
	return slices.ContainsFunc(m.lines[m.start[i]:m.start[i+1]], func(l line) bool { return l.reports && !l.empty })
}

// Opinion collects the cells of a host ID from all other rows; its own row is not evidence. For a
// host ID that no row mentions, every witness is in NotListed.
func (m *Matrix) Opinion(hostID hostid.ID) Opinion {
	o := Opinion{States: map[State][]int{}}
	// most rows of most nodes
	o.Up, o.States[StateNormal] = make([]int, 0, len(m.nodes)), make([]int, 0, len(m.nodes))
	observed, known := m.index[hostID]
	for i := range m.nodes {
		if known && int32(i) == observed || !m.HasUsableRow(i) {
			continue
		}
		if !known {
			o.NotListed = append(o.NotListed, i)
			continue
		}
		o.add(i, m.lines[m.start[i]:m.start[i+1]], observed)
	}
	if len(o.States[StateNormal]) == 0 {
		delete(o.States, StateNormal)
	}
	return o
}

// add counts one witness by all its rows.
func (o *Opinion) add(witness int, rows []line, observed int32) {
	var said Cell
	first := true
	var states uint16 // one bit per state
	for k := range rows {
		l := &rows[k]
		if !l.reports || l.empty {
			continue
		}
		c := l.cell(observed)
		if c.Status != Missing {
			states |= 1 << c.State
		}
		if first {
			said, first = c, false
		} else {
			said = said.worse(c)
		}
	}
	switch {
	case said.Contradicts:
		o.Unknown, o.Contradict = append(o.Unknown, witness), append(o.Contradict, witness)
	case said.Status == Up:
		o.Up = append(o.Up, witness)
	case said.Status == Down:
		o.Down, o.downSince = append(o.Down, witness), append(o.downSince, said.Since)
	case said.Status == Missing:
		o.NotListed = append(o.NotListed, witness)
		return
	default:
		o.Unknown = append(o.Unknown, witness)
	}
	for s := StateNormal; states>>s != 0; s++ {
		if states&(1<<s) != 0 && (s != StateNormal || states == 1<<StateNormal) {
			o.States[s] = append(o.States[s], witness)
		}
	}
}
