// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// votes are an opinion in host IDs, because two matrices number the nodes differently.
func votes(m *Matrix, id hostid.ID) map[string][]string {
	o := m.Opinion(id)
	lists := map[string][]int{"up": o.Up, "down": o.Down, "unknown": o.Unknown, "not listed": o.NotListed, "contradict": o.Contradict}
	for s, by := range o.States {
		lists[s.String()] = by
	}
	out := map[string][]string{}
	for kind, by := range lists {
		for _, i := range by {
			out[kind] = append(out[kind], nameOf(m.Nodes()[i].Ref))
		}
		slices.Sort(out[kind])
	}
	return out
}

// TestExcludingIsTheMatrixOfTheOtherRows: whatever the options of the whole, and whichever rows go, what is left is what a matrix of the other rows alone says.
func TestExcludingIsTheMatrixOfTheOtherRows(t *testing.T) {
	gone, both := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rows, opts := genAnyRows(t), genOptions.Draw(t, "options")
		opts.Names = map[hostid.ID]Ref{}
		for _, id := range rapid.SliceOfN(genHostID, 0, 4).Draw(t, "named") {
			opts.Names[id] = genRef(t, "name")
		}
		for i := range rows {
			said(&rows[i]).Coordinator = rapid.SampledFrom([]hostid.ID{"", "h0", "h1", "h5"}).Draw(t, "coordinator")
			said(&rows[i]).Group0ID = rapid.SampledFrom([]string{"", "", "g1", "g2"}).Draw(t, "group 0")
			rows[i].State = genState.Draw(t, "own state")
			said(&rows[i]).ScyllaVersion = string(rune('a' + i)) // tells rows of one node apart
		}
		ids := rapid.SliceOfN(genHostID, 0, 3).Draw(t, "excluded")
		self := genRef(t, "excluded place")
		if len(rows) > 0 && rapid.Bool().Draw(t, "of a row") {
			self = rapid.SampledFrom(rows).Draw(t, "whose place").Reporter
		}
		drop := func(r Ref) bool { return r.HostID != "" && slices.Contains(ids, r.HostID) || self.SamePlace(r) }
		left := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return drop(r.Reporter) })
		whole := New(rows, opts)
		blockers := keysOf(whole.Blockers())
		got, want := whole.Excluding(drop), New(left, Options{})

		nodes := map[string]int{}
		for i, n := range got.Nodes() {
			if got.Appears(i) {
				nodes[nameOf(n.Ref)] = i
			} else if n.Row != nil {
				t.Errorf("%s has a row and does not appear", n.Ref)
			}
		}
		for i, n := range want.Nodes() {
			if want.Appears(i) {
				name := nameOf(n.Ref)
				at, ok := nodes[name]
				if !ok {
					t.Fatalf("%s does not appear", name)
				}
				delete(nodes, name)
				if diff := cmp.Diff(n, got.Nodes()[at]); diff != "" {
					t.Errorf("node %s (-of the rows alone +excluding):\n%s", name, diff)
				}
				if got.HasUsableRow(at) != want.HasUsableRow(i) {
					t.Errorf("%s is a witness: %v", name, got.HasUsableRow(at))
				}
			}
		}
		if len(nodes) > 0 {
			t.Errorf("nodes appear that no row is left of: %v", nodes)
		}
		for _, id := range []hostid.ID{"h0", "h1", "h2", "h3", "h4", "H1", "h5", "h9"} {
			if diff := cmp.Diff(votes(want, id), votes(got, id)); diff != "" {
				t.Errorf("opinion of %s:\n%s", id, diff)
			}
		}
		if diff := cmp.Diff(keysOf(want.Blockers()), keysOf(got.Blockers())); diff != "" {
			t.Errorf("blockers:\n%s", diff)
		}
		if diff := cmp.Diff(want.Coordinator(), got.Coordinator()); diff != "" {
			t.Errorf("coordinator:\n%s", diff)
		}
		if got.Group0() != want.Group0() || len(got.Split()) != len(want.Split()) || words.Text(got.SplitFact()) == "" != (words.Text(want.SplitFact()) == "") {
			t.Errorf("of %v, want %v", got.Split(), want.Split())
		}
		if got.Health().Nodes != want.Health().Nodes || got.Empty() != want.Empty() || got.Reporting() != want.Reporting() {
			t.Errorf("%d nodes, %d rows", got.Health().Nodes, got.Reporting())
		}
		if !maps.Equal(blockers, keysOf(whole.Judge(opts).Blockers())) || len(slices.Collect(whole.Rows())) != len(rows) {
			t.Error("the whole has changed")
		}
		if len(left) < len(rows) {
			gone++
			if len(left) > 0 {
				both++
			}
		}
	})
	if gone == 0 || both == 0 {
		t.Errorf("%d times rows went, %d times some were left", gone, both)
	}
}

// A node that only its own row names is in no verdict once that row is excluded, with a host ID or without one.
func TestExcludedNodesAppearNowhere(t *testing.T) {
	rows := append(healthy(3), Row{Reporter: Ref{HostID: "h7", Datacenter: "dc1"}}, Row{Reporter: Ref{Member: "nameless"}})
	whole := New(rows, Options{Names: map[hostid.ID]Ref{"h7": {Member: "demo"}}, NotVerified: []string{"dc2"}})
	m := whole.Excluding(func(r Ref) bool { return r.HostID == "h7" || r.HostID == "" })
	if len(m.Nodes()) != 5 || !m.Health().AllUp || m.Health().Nodes != 3 {
		t.Errorf("%+v", m.Health())
	}
	for i, n := range m.Nodes() {
		if m.Appears(i) != (n.Row != nil) || n.Row == nil && n != (Node{Ref: Ref{HostID: n.HostID}}) {
			t.Errorf("%+v", n)
		}
	}
	if len(slices.Collect(whole.Rows())) != 5 || len(slices.Collect(m.Rows())) != 3 {
		t.Errorf("%d and %d rows", len(slices.Collect(whole.Rows())), len(slices.Collect(m.Rows())))
	}
	for range whole.Rows() {
		break
	}
}

// Of a node with two rows, the one that is left names it and gives its state.
func TestExcludingOneOfTwoRowsOfANode(t *testing.T) {
	first, second := int32(0), int32(1)
	m := New(append(healthy(1),
		Row{Reporter: Ref{HostID: "h8", Datacenter: "dc1", Rack: "r1", Ordinal: &first}, State: StateJoining},
		Row{Reporter: Ref{HostID: "h8", Datacenter: "dc1", Rack: "r1", Ordinal: &second}, State: StateLeaving},
	), Options{}).Excluding(func(r Ref) bool { return r.HostID == "h8" && *r.Ordinal == first })
	at, _ := m.Index("h8")
	if n := m.Nodes()[at]; n.State != StateLeaving || n.Ordinal != &second || n.Row.State != StateLeaving {
		t.Errorf("%s, %s", n.Ref, n.State)
	}
}
