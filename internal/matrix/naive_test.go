// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

// naive is the judgement written down a second time in the plainest way, maps of maps and no cleverness, to hold the real one to.
// It knows a blocker as "Reason observer observed".
type naive struct {
	rows     []Row
	opts     Options
	required map[string]bool
	blockers map[string]bool
}

func judgeNaively(rows []Row, opts Options) *naive {
	n := &naive{opts: opts, required: map[string]bool{}, blockers: map[string]bool{}}
	lenient := opts.AllowNonReporting && opts.Reports == 1 && opts.Self != nil
	for _, r := range rows {
		if opts.Self != nil && r.Reporter.Datacenter != opts.Self.Datacenter {
			lenient = false
		}
		if !n.isSelf(r.Reporter) {
			n.rows = append(n.rows, r)
		}
	}

	// what each row says, a host ID listed twice with its worst status and without its state if the two differ
	says := make([]map[string]Observation, len(n.rows))
	own, nameless := map[string]bool{}, map[int]bool{}
	for i, r := range n.rows {
		says[i] = map[string]Observation{}
		if r.Reporter.HostID != "" {
			n.required[string(r.Reporter.HostID)] = true
			own[string(r.Reporter.HostID)] = true
		} else {
			n.add(words.HostIDMissing, "", nameOf(r.Reporter))
		}
		if !r.Reported || !r.Trouble.IsZero() {
			continue
		}
		for o := range r.Each() {
			if o.HostID == "" {
				n.add(words.HostIDMissing, nameOf(r.Reporter), "")
				nameless[i] = true
				continue
			}
			if o.Status >= Missing {
				o.Status = Unknown
			}
			if old, ok := says[i][string(o.HostID)]; ok {
				if old.State != o.State {
					o.State = StateNormal
				}
				if worse(old.Status, o.Status) {
					o.Status = old.Status
				}
			}
			says[i][string(o.HostID)] = o
		}
		for id := range says[i] {
			n.required[id] = true
		}
	}
	// Only a fresh row is evidence: an old one may have seen a newcomer that has long become a member.
	evidence := slices.Clone(says)
	for i, r := range n.rows {
		if !r.Stale.IsZero() {
			evidence[i] = nil
		}
	}

	// A node with a row of its own, none that counts, is forgotten when no reporting row lists it and these outnumber the nodes that they would forget.
	usable := func(i int) bool {
		r := n.rows[i]
		return r.Reported && r.Trouble.IsZero() && r.Stale.IsZero() && (len(says[i]) > 0 || nameless[i])
	}
	known, reporting, forgotten := map[string]bool{}, 0, map[string]bool{}
	for i, r := range n.rows {
		if usable(i) {
			reporting++
			known[string(r.Reporter.HostID)] = true
			for id := range says[i] {
				known[id] = true
			}
		}
	}
	selves := map[string]bool{}
	for _, r := range rows {
		if n.isSelf(r.Reporter) {
			selves[string(r.Reporter.HostID)] = true
		}
	}
	for id := range own {
		if !known[id] && !selves[id] {
			forgotten[id] = true
		}
	}
	if reporting <= len(forgotten) {
		clear(forgotten)
	}
	for id := range forgotten {
		delete(n.required, id)
	}
	for id := range n.required {
		if !own[id] && !lenient && !n.excused(id, evidence) {
			n.add(words.RowMissing, "", id)
		}
	}
	for i, r := range n.rows {
		name := nameOf(r.Reporter)
		switch {
		case usable(i):
			for id := range n.required {
				o, ok := says[i][id]
				switch {
				case ok && o.Status == Up:
				case !ok:
					n.add(words.NodeNotSeen, name, id)
				case o.Status == Down:
					n.add(words.NodeDown, name, id)
				default:
					n.add(words.NodeUnknown, name, id)
				}
			}
		case r.Reporter.HostID == "" || forgotten[string(r.Reporter.HostID)] || n.excused(string(r.Reporter.HostID), evidence):
		case !r.Trouble.IsZero():
			n.add(words.RowError, "", name)
		case !r.Stale.IsZero():
			n.add(words.RowStale, "", name)
		default:
			n.add(words.RowMissing, "", name)
		}
	}
	n.split(says, usable)
	if !lenient {
		for _, dc := range opts.NotVerified {
			n.add(words.DatacenterNotVerified, "", "?"+dc)
		}
	}
	return n
}

// split merges the lists of the nodes that find themselves well until none of them overlap.
func (n *naive) split(says []map[string]Observation, usable func(int) bool) {
	var lists []map[string]bool
	for i, r := range n.rows {
		own := says[i][string(r.Reporter.HostID)]
		if !usable(i) || r.Reporter.HostID == "" || own.Status != Up || own.State != StateNormal {
			continue
		}
		list := map[string]bool{}
		for id := range says[i] {
			list[id] = true
		}
		lists = append(lists, list)
	}
	for merged := true; merged; {
		merged = false
		for i := range lists {
			for j := range lists {
				for id := range lists[j] {
					if i != j && lists[i][id] && !merged {
						maps.Copy(lists[i], lists[j])
						lists = slices.Delete(lists, j, j+1)
						merged = true
						break
					}
				}
				if merged {
					break
				}
			}
			if merged {
				break
			}
		}
	}
	if len(lists) > 1 {
		n.add(words.SplitCluster, "", "")
	}
}

func worse(a, b Status) bool {
	order := []Status{Up, Unknown, Down}
	return slices.Index(order, a) > slices.Index(order, b)
}

func (n *naive) isSelf(r Ref) bool {
	s := n.opts.Self
	if s == nil {
		return false
	}
	if s.Ordinal != nil && r.Ordinal != nil {
		return s.Datacenter == r.Datacenter && s.Rack == r.Rack && *s.Ordinal == *r.Ordinal
	}
	return s.HostID != "" && s.HostID == r.HostID
}

// excused is true when every fresh row that mentions id has it in a state that needs no row.
func (n *naive) excused(id string, says []map[string]Observation) bool {
	mentioned := false
	for _, cells := range says {
		o, ok := cells[id]
		if !ok {
			continue
		}
		mentioned = true
		if o.State != StateJoining && o.State != StateReplacing && o.State != StateLeaving {
			return false
		}
	}
	return mentioned
}

func (n *naive) add(reason words.Code, observer, observed string) {
	n.blockers[fmt.Sprintf("%s [%s] [%s]", reason, observer, observed)] = true
}

func nameOf(r Ref) string {
	if r.HostID != "" {
		return string(r.HostID)
	}
	name := "?" + r.Datacenter + r.Rack + r.Member
	if r.Ordinal != nil {
		name += fmt.Sprint(*r.Ordinal)
	}
	return name
}

func keysOf(blockers []Blocker) map[string]bool {
	keys := map[string]bool{}
	for _, b := range blockers {
		observer, observed := "", ""
		if b.Observer != (Ref{}) {
			observer = nameOf(b.Observer)
		}
		if b.Observed != (Ref{}) {
			observed = nameOf(b.Observed)
		}
		keys[fmt.Sprintf("%s [%s] [%s]", b.Reason, observer, observed)] = true
	}
	return keys
}

// Generators. Few host IDs and places, so that duplicates, Self's own row and evidence about one node meet often.

var genHostID = rapid.SampledFrom([]hostid.ID{"h0", "h1", "h2", "h3", "h4", "H1", "h5"})

var genStatus = rapid.SampledFrom([]Status{Up, Up, Up, Up, Up, Up, Down, Unknown, Missing, 77})

var genState = rapid.SampledFrom([]State{
	StateNormal, StateNormal, StateNormal, StateJoining, StateLeaving, StateReplacing, StateBeingReplaced, StateDecommissioned,
})

func genRef(t *rapid.T, label string) Ref {
	r := Ref{
		Datacenter: rapid.SampledFrom([]string{"dc1", "dc1", "dc1", "dc2", ""}).Draw(t, label+" datacenter"),
		Rack:       rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, label+" rack"),
	}
	if rapid.IntRange(0, 9).Draw(t, label+" placed") > 0 {
		ordinal := rapid.Int32Range(0, 2).Draw(t, label+" ordinal")
		r.Ordinal = &ordinal
	}
	if rapid.IntRange(0, 12).Draw(t, label+" known") > 0 {
		r.HostID = genHostID.Draw(t, label+" host ID")
	}
	return r
}

var genRow = rapid.Custom(func(t *rapid.T) Row {
	r := Row{Reporter: genRef(t, "reporter"), Reported: rapid.IntRange(0, 12).Draw(t, "reported") > 0}
	states := rapid.Bool().Draw(t, "states")
	if rapid.Bool().Draw(t, "base") {
		r.Base = bases[rapid.IntRange(0, len(bases)-1).Draw(t, "base set")]
	}
	for range rapid.IntRange(0, 6).Draw(t, "cells") {
		o := Observation{HostID: genHostID.Draw(t, "observed"), Status: genStatus.Draw(t, "status")}
		if states {
			o.State = genState.Draw(t, "state")
		}
		if rapid.IntRange(0, 40).Draw(t, "nameless") == 0 {
			o.HostID = ""
		}
		r.Observed = append(r.Observed, o)
	}
	switch rapid.IntRange(0, 20).Draw(t, "trouble") {
	case 0:
		r.Trouble = Trouble{Code: words.ScyllaDBNoAnswer, Words: "connection refused"}
	case 1:
		r.Stale = Trouble{Code: words.PodNotRunning}
	}
	return r
})

var bases = []*Membership{{HostIDs: []hostid.ID{"h0", "h1", "h2"}}, {HostIDs: []hostid.ID{"h3", "h2", "h1", "h0"}}, {HostIDs: []hostid.ID{""}}}

var genRows = rapid.SliceOfN(genRow, 0, 6)

var genOptions = rapid.Custom(func(t *rapid.T) Options {
	var o Options
	if rapid.Bool().Draw(t, "self") {
		self := genRef(t, "self")
		o.Self = &self
	}
	o.Reports = rapid.IntRange(0, 2).Draw(t, "reports")
	o.AllowNonReporting = rapid.Bool().Draw(t, "allow")
	o.NotVerified = rapid.SliceOfN(rapid.SampledFrom([]string{"dc8", "dc9"}), 0, 2).Draw(t, "not verified")
	o.Fates = rapid.MapOfN(genHostID, genFate, 0, 2).Draw(t, "fates")
	return o
})

var genFate = rapid.Custom(func(t *rapid.T) NodeFacts {
	return NodeFacts{
		Member: rapid.SampledFrom([]string{"", "demo-r1-0"}).Draw(t, "member"),
		Open:   rapid.Bool().Draw(t, "open"),
		Passes: rapid.Bool().Draw(t, "passes"),
	}
})

// genHealthy draws a cluster of n nodes that all see each other UP, one row each, in one datacenter.
func healthy(n int) []Row {
	rows := make([]Row, n)
	for i := range rows {
		ordinal := int32(i / 3)
		rows[i] = Row{
			Reporter: Ref{HostID: hostid.ID(fmt.Sprintf("h%d", i)), Datacenter: "dc1", Rack: fmt.Sprintf("r%d", i%3), Ordinal: &ordinal},
			Reported: true,
		}
		for j := range n {
			rows[i].Observed = append(rows[i].Observed, Observation{HostID: hostid.ID(fmt.Sprintf("h%d", j)), Status: Up})
		}
	}
	return rows
}

func TestAgreesWithNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, opts := genRows.Draw(t, "rows"), genOptions.Draw(t, "options")
		want := judgeNaively(rows, opts)
		m := New(rows, opts)
		got := keysOf(m.Blockers())
		for k := range want.blockers {
			if !got[k] {
				t.Errorf("missing blocker %s", k)
			}
		}
		for k := range got {
			if !want.blockers[k] {
				t.Errorf("blocker too many %s", k)
			}
		}
		if got, want := m.Empty(), len(want.required) == 0 && !slices.ContainsFunc(want.rows, func(r Row) bool { return r.Reporter.HostID == "" }); got != want {
			t.Errorf("Empty() = %v, want %v", got, want)
		}
	})
}

func TestOracleAgreesWithNaiveModel(t *testing.T) {
	for _, c := range vectors.Oracle[oracleCase](t) {
		rows := FromReports(c.reports())
		if got, want := c.satisfied(), len(judgeNaively(rows, c.options()).blockers) == 0; got != want {
			t.Errorf("case %d %v: satisfied = %v, naive %v", c.ID, c.Mutations, got, want)
		}
	}
}
