// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// genNearlyHealthy draws a cluster in which all cells but a few are UP, so that verdicts of both kinds are common.
var genNearlyHealthy = rapid.Custom(func(t *rapid.T) []Row {
	rows := healthy(rapid.IntRange(1, 7).Draw(t, "nodes"))
	for range rapid.IntRange(0, 2).Draw(t, "flaws") {
		r := &rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")]
		if len(r.Observed) == 0 {
			continue
		}
		k := rapid.IntRange(0, len(r.Observed)-1).Draw(t, "cell")
		switch rapid.IntRange(0, 5).Draw(t, "flaw") {
		case 0, 1:
			r.Observed[k].Status = genStatus.Draw(t, "status")
		case 2:
			r.Observed = slices.Delete(r.Observed, k, k+1)
		case 3:
			*r = Row{Reporter: r.Reporter}
		case 4: // a state that all rows agree on, and possibly no row of its own
			id, state := r.Observed[k].HostID, genState.Draw(t, "state")
			for i := range rows {
				for j := range rows[i].Observed {
					if rows[i].Observed[j].HostID == id {
						rows[i].Observed[j].State = state
					}
				}
			}
			if rapid.Bool().Draw(t, "without a row") {
				rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Reporter.HostID == id && len(rows) > 1 })
			}
		case 5:
			again := r.Observed[k]
			again.Status = genStatus.Draw(t, "status again")
			r.Observed = append(r.Observed, again)
		}
	}
	return rows
})

func genAnyRows(t *rapid.T) []Row {
	if rapid.Bool().Draw(t, "nearly healthy") {
		return genNearlyHealthy.Draw(t, "rows")
	}
	return genRows.Draw(t, "rows")
}

func TestNearlyHealthyAgreesWithNaiveModel(t *testing.T) {
	open, blocked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rows, opts := genNearlyHealthy.Draw(t, "rows"), genOptions.Draw(t, "options")
		got, want := keysOf(New(rows, opts).Blockers()), judgeNaively(rows, opts).blockers
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("blockers (-naive +got):\n%s", diff)
		}
		if len(got) == 0 {
			open++
		} else {
			blocked++
		}
	})
	if open == 0 || blocked == 0 {
		t.Errorf("the generator makes %d open and %d blocked clusters, want some of each", open, blocked)
	}
}

func TestOrderOfInputNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, opts := genAnyRows(t), genOptions.Draw(t, "options")
		for i := range rows {
			for j := range rows[i].Observed {
				rows[i].Observed[j].Since = time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "since")), 0)
			}
		}
		shuffled := slices.Clone(rows)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for i := range shuffled {
			shuffled[i].Observed = slices.Clone(shuffled[i].Observed)
			o := shuffled[i].Observed
			r.Shuffle(len(o), func(i, j int) { o[i], o[j] = o[j], o[i] })
		}
		a, b := New(rows, opts), New(shuffled, opts)
		if diff := cmp.Diff(a.Blockers(), b.Blockers()); diff != "" {
			t.Errorf("blockers depend on the order of the input:\n%s", diff)
		}
		for i := range a.Nodes() {
			x, y := a.Nodes()[i], b.Nodes()[i]
			x.Row, y.Row = nil, nil
			if diff := cmp.Diff(x, y); diff != "" {
				t.Errorf("node %d depends on the order of the input:\n%s", i, diff)
			}
			for j := range a.Nodes() {
				if x, y := a.Cell(i, j), b.Cell(i, j); x.Status != y.Status || x.State != y.State {
					t.Errorf("cell (%d, %d) depends on the order of the input: %v and %v", i, j, x, y)
				}
			}
		}
	})
}

// TestDownNeverOpens is invariant 1 for the matrix: whatever else is said, before or after, one row that is judged and says DOWN of
// a required node keeps the door shut.
func TestDownNeverOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, opts := genAnyRows(t), genOptions.Draw(t, "options")
		var observer, observed string
		for _, r := range rows {
			self := opts.Self != nil && (&naive{opts: opts}).isSelf(r.Reporter)
			if self || !r.Reported || !r.Trouble.IsZero() || !r.Stale.IsZero() {
				continue
			}
			for _, o := range r.Observed {
				if o.Status == Down && o.HostID != "" {
					observer, observed = nameOf(r.Reporter), string(o.HostID)
				}
			}
		}
		if observed == "" {
			observer, observed = "witness", "victim"
			rows = append(rows, Row{Reporter: Ref{HostID: hostid.ID(observer), Datacenter: "elsewhere"}, Reported: true,
				Observed: []Observation{{HostID: hostid.ID(observer), Status: Up}, {HostID: hostid.ID(observed), Status: Down}}})
		}
		key := fmt.Sprintf("%s [%s] [%s]", words.NodeDown, observer, observed)
		if !keysOf(New(rows, opts).Blockers())[key] {
			t.Errorf("%s is not among the blockers", key)
		}
	})
}

func TestTurningACellUpNeverAddsABlocker(t *testing.T) {
	pairsOf := func(blockers []Blocker) map[string]bool {
		pairs := map[string]bool{}
		for _, b := range blockers {
			pairs[fmt.Sprintf("%v/%v", b.Observer, b.Observed)] = true
		}
		return pairs
	}
	rapid.Check(t, func(t *rapid.T) {
		rows, opts := genAnyRows(t), genOptions.Draw(t, "options")
		type at struct{ row, cell int }
		var candidates []at
		for i := range rows {
			for j, o := range rows[i].Observed {
				// A node that no row lists may have been removed: listing it is new evidence, and not a better word of it.
				if o.Status != Up && (rows[i].Base == nil || o.Status != Missing) {
					candidates = append(candidates, at{i, j})
				}
			}
		}
		if len(candidates) == 0 {
			t.Skip("everything is UP")
		}
		m := New(rows, opts)
		before := pairsOf(m.Blockers())
		c := rapid.SampledFrom(candidates).Draw(t, "cell")
		rows[c.row].Observed[c.cell].Status = Up
		after := New(rows, opts)
		if m.Split() == nil && after.Split() != nil {
			t.Skip("a node that finds itself UP is a witness of what it lists: it shows a second cluster")
		}
		for pair := range pairsOf(after.Blockers()) {
			if !before[pair] {
				t.Errorf("turning cell %v UP adds a blocker of %s", c, pair)
			}
		}
	})
}

func TestCountersSayWhatTheCellsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := genNearlyHealthy.Draw(t, "rows")
		m := New(rows, Options{})
		reporting := 0
		for _, n := range m.Nodes() {
			if n.Reports {
				reporting++
			}
		}
		for j, n := range m.Nodes() {
			counts := map[Status]int{}
			for i, o := range m.Nodes() {
				if o.Reports {
					counts[m.At(i, j)]++
				}
			}
			want := map[Status]int{Up: n.SeenUp, Down: n.SeenDown, Unknown: n.SeenUnknown, Missing: n.NotSeen}
			for s, k := range want {
				if counts[s] != k {
					t.Errorf("%s is seen %s by %d rows and the counter says %d", n.Ref, s, counts[s], k)
				}
			}
			if total := n.SeenUp + n.SeenDown + n.SeenUnknown + n.NotSeen; total != reporting {
				t.Errorf("counters of %s sum up to %d, want %d reporting rows", n.Ref, total, reporting)
			}
		}
	})
}

// TestNotUpIsWhatTheCellsSay: in clusters of a few nodes and of more than 64, with several rows of one node, and with rows that do not count.
func TestNotUpIsWhatTheCellsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := append(genAnyRows(t), healthy(rapid.SampledFrom([]int{0, 0, 64, 70}).Draw(t, "more"))...)
		m := New(rows, genOptions.Draw(t, "options"))
		if rapid.Bool().Draw(t, "excluding") {
			m = m.Excluding(func(r Ref) bool { return r.HostID == "h1" })
		}
		for i := range m.Nodes() {
			want, got := map[int]Cell{}, map[int]Cell{}
			for j := range m.Nodes() {
				if c := m.Cell(i, j); c.Status != Up {
					want[j] = c
				}
			}
			last := -1
			for j, c := range m.NotUp(i) {
				if j <= last {
					t.Errorf("node %d after %d", j, last)
				}
				last, got[j] = j, c
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("row %d (-cells +got):\n%s", i, diff)
			}
		}
	})
}

// TestPartitionFolds splits 300 nodes in half: 45,000 pairs are DOWN, and a screenful of blockers says so without losing the count.
func TestPartitionFolds(t *testing.T) {
	const n = 300
	rows := healthy(n)
	for i := range rows {
		for j := range rows[i].Observed {
			if (i < n/2) != (j < n/2) {
				rows[i].Observed[j].Status = Down
			}
		}
	}
	h := New(rows, Options{}).Health()
	if h.Total != n*n/2 {
		t.Errorf("Total = %d, want %d", h.Total, n*n/2)
	}
	if want := n * FoldedObservers; len(h.Blockers) != want {
		t.Errorf("%d blockers, want %d", len(h.Blockers), want)
	}
	groups, total := GroupBlockers(h.Blockers)
	if len(groups) != n || total != n*n/2 {
		t.Errorf("%d groups of %d, want %d of %d", len(groups), total, n, n*n/2)
	}
	if got, want := words.Aging(groups[0].Message(), groups[0].Since, time.Time{}), "dc1/r0/0 (h0) is seen DOWN by dc1/r0/50, dc1/r0/51, dc1/r0/52 and 147 more"; got != want {
		t.Errorf("first group: %q, want %q", got, want)
	}
	if got, want := words.Aging(h.Blockers[2].Message(), h.Blockers[2].Since, time.Time{}), "dc1/r0/52 (h156) sees dc1/r0/0 (h0) DOWN (as do 147 more)"; got != want {
		t.Errorf("third blocker: %q, want %q", got, want)
	}
}

// TestPartitionIsConnectedness: two nodes that report are in one part exactly when a chain of nodes that report and see one another UP, in either
// direction, leads from one to the other. Nodes of two clusters are in no parts.
func TestPartitionIsConnectedness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := genRows.Draw(t, "rows")
		m := New(rows, genOptions.Draw(t, "options"))
		var ids []string
		for _, n := range m.Nodes() {
			if n.Reports && n.HostID != "" {
				ids = append(ids, string(n.HostID))
			}
		}
		near := map[[2]string]bool{}
		m.EachUp(func(a, b hostid.ID) {
			if slices.Contains(ids, string(a)) && slices.Contains(ids, string(b)) {
				near[[2]string{string(a), string(b)}], near[[2]string{string(b), string(a)}] = true, true
			}
		})
		for range ids {
			for _, a := range ids {
				for _, b := range ids {
					for _, c := range ids {
						if near[[2]string{a, b}] && near[[2]string{b, c}] {
							near[[2]string{a, c}] = true
						}
					}
				}
			}
		}
		var want [][]hostid.ID
		for _, id := range ids {
			k := slices.IndexFunc(want, func(part []hostid.ID) bool { return near[[2]string{string(part[0]), id}] })
			if k < 0 {
				want = append(want, []hostid.ID{hostid.ID(id)})
			} else {
				want[k] = append(want[k], hostid.ID(id))
			}
		}
		if len(want) < 2 || m.Split() != nil {
			want = nil
		}
		if diff := cmp.Diff(want, m.Partition()); diff != "" {
			t.Fatalf("parts (-want +got):\n%s", diff)
		}
	})
}
