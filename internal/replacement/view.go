// SPDX-License-Identifier: Apache-2.0

package replacement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// view indexes the rows of an Input for questions about single host IDs. A row of the replaced member itself is no witness.
type view struct {
	in       *Input
	target   string // host ID that is replaced
	newcomer string // host ID of the member's new node, empty when none is known
	ignored  map[string]bool

	names map[string]matrix.Ref // by host ID
	rows  []witness             // reporters other than the member itself and the ignored, in stable order
	// listed are all host IDs that any fresh row mentions or reports for, without target, newcomer and ignored.
	listed []string
}

// witness is one row with its cells indexed.
type witness struct {
	id    string // reporter's host ID
	label string
	fresh bool
	why   string // why it is not fresh
	cells map[string]cell
}

type cell struct {
	status matrix.Status
	state  matrix.State
}

func newView(in *Input, target, newcomer string, ignored []string) *view {
	v := &view{in: in, target: target, newcomer: newcomer, ignored: map[string]bool{}, names: map[string]matrix.Ref{}}
	for _, id := range ignored {
		v.ignored[norm(id)] = true
	}
	for _, o := range in.Others {
		if o.HostID != "" {
			v.names[norm(o.HostID)] = o.Ref
		}
	}
	for _, r := range in.Rows {
		if id := norm(r.Reporter.HostID); id != "" {
			if _, ok := v.names[id]; !ok {
				v.names[id] = r.Reporter
			}
		}
	}
	if target != "" {
		v.names[target] = in.Self
	}
	if newcomer != "" {
		v.names[newcomer] = in.Self
	}

	listed := map[string]bool{}
	for _, r := range in.Rows {
		id := norm(r.Reporter.HostID)
		if v.isSelf(r.Reporter) || id != "" && (id == target || id == newcomer || v.ignored[id]) {
			continue
		}
		w := witness{id: id, cells: map[string]cell{}}
		w.label = v.label(r.Reporter)
		for o := range r.Each() {
			key := norm(o.HostID)
			c := cell{status: o.Status, state: o.State}
			if old, dup := w.cells[key]; dup {
				c = worse(old, c)
			}
			w.cells[key] = c
		}
		switch {
		case !r.Reported:
			w.why = "has not reported"
		case r.Error != "":
			w.why = "cannot report: " + r.Error
		case r.Stale != "":
			w.why = "has an old report: " + r.Stale
		case len(w.cells) == 0:
			w.why = "has an empty report"
		default:
			w.fresh = true
			for key := range w.cells {
				listed[key] = true
			}
		}
		if id != "" {
			listed[id] = true
		}
		v.rows = append(v.rows, w)
	}
	for id := range listed {
		if id != target && id != newcomer && !v.ignored[id] {
			v.listed = append(v.listed, id)
		}
	}
	slices.Sort(v.listed)
	slices.SortStableFunc(v.rows, func(a, b witness) int { return cmp.Or(cmp.Compare(a.label, b.label), cmp.Compare(a.id, b.id)) })
	return v
}

// worse joins two cells of one row about one host ID, so that a contradiction is evidence for nothing.
func worse(a, b cell) cell {
	if a.status != b.status {
		a.status = matrix.Unknown
	}
	if a.state == matrix.StateNormal {
		a.state = b.state
	}
	return a
}

func norm(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

// isSelf compares places, and names where both are known.
func (v *view) isSelf(r matrix.Ref) bool {
	s := v.in.Self
	if r.Member != "" && s.Member != "" {
		return r.Member == s.Member
	}
	return r.Ordinal != nil && s.Ordinal != nil && *r.Ordinal == *s.Ordinal && r.Datacenter == s.Datacenter && r.Rack == s.Rack
}

// fresh witnesses.
func (v *view) fresh() []witness {
	var out []witness
	for _, w := range v.rows {
		if w.fresh {
			out = append(out, w)
		}
	}
	return out
}

// tally says how the fresh witnesses see a host ID, itself left out.
type tally struct {
	up, down, unknown, missing []string // labels of witnesses
	states                     map[matrix.State][]string
}

func (t tally) total() int   { return len(t.up) + len(t.down) + len(t.unknown) + len(t.missing) }
func (t tally) listing() int { return len(t.up) + len(t.down) + len(t.unknown) }

func (v *view) tally(id string) tally {
	t := tally{states: map[matrix.State][]string{}}
	for _, w := range v.rows {
		if !w.fresh || w.id == id {
			continue
		}
		c, ok := w.cells[id]
		if !ok {
			t.missing = append(t.missing, w.label)
			continue
		}
		t.states[c.state] = append(t.states[c.state], w.label)
		switch c.status {
		case matrix.Up:
			t.up = append(t.up, w.label)
		case matrix.Down:
			t.down = append(t.down, w.label)
		case matrix.Missing:
			t.missing = append(t.missing, w.label)
		default:
			t.unknown = append(t.unknown, w.label)
		}
	}
	return t
}

// name of a host ID for people: "demo-rack1-0 (8ebd0c1a)".
func (v *view) name(id string) string {
	if ref, ok := v.names[id]; ok {
		ref.HostID = id
		return v.label(ref)
	}
	return v.label(matrix.Ref{HostID: id})
}

// holder names the member that has a host ID by its row or its Service, which is another than the replaced one where that was a mistake.
func (v *view) holder(id string) string {
	for _, o := range v.in.Others {
		if norm(o.HostID) == id || norm(o.PodHostID) == id {
			return refName(matrix.Ref{Member: o.Member, HostID: id})
		}
	}
	return short(id)
}

func (v *view) label(r matrix.Ref) string { return refName(r) }

func refName(r matrix.Ref) string {
	who := r.Member
	if who == "" && r.Rack != "" && r.Ordinal != nil {
		who = fmt.Sprintf("%s/%s/%d", r.Datacenter, r.Rack, *r.Ordinal)
	}
	switch {
	case who == "" && r.HostID == "":
		return "an unnamed node"
	case who == "":
		return short(r.HostID)
	case r.HostID == "":
		return who
	}
	return who + " (" + short(r.HostID) + ")"
}

// short is the first 8 characters of a host ID, enough to tell nodes apart and what the CLI asks a person to type.
func short(id string) string {
	if len(id) > 8 {
		return id[:8]
	}
	return id
}

// and lists at most five names.
func and(names []string) string {
	const most = 5
	names = slices.Clone(names)
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", len(names)-most+1)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

func verb(names []string, one, many string) string {
	if len(names) == 1 {
		return one
	}
	return many
}
