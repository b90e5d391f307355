// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"fmt"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestC3TheCoordinatorIsWhomMostRowsName(t *testing.T) {
	for name, tc := range map[string]struct {
		says [3]string // what A, B and C say
		down int       // whose row is not there: 1 to 3
		want string
	}{
		"nobody says anything":                     {},
		"all agree":                                {says: [3]string{idB, idB, idB}, want: "the topology coordinator is demo-rack2-0"},
		"an old version says nothing":              {says: [3]string{idB, idB, ""}, want: "the topology coordinator is demo-rack2-0"},
		"one has not heard of the election":        {says: [3]string{idB, idA, idA}, want: "the topology coordinator is demo-rack1-0 in 2 of 3 status reports"},
		"of two, the one that names itself":        {says: [3]string{idA, idB, ""}, down: 2, want: "the topology coordinator is demo-rack1-0"},
		"as many rows name another, not itself":    {says: [3]string{idB, "", idC}, want: "the topology coordinator is demo-rack3-0 in 1 of 2 status reports"},
		"two name themselves":                      {says: [3]string{idA, idB, ""}, want: "the 2 status reports disagree on the topology coordinator"},
		"a host ID of which nothing else is known": {says: [3]string{"36d1f2a1-0000-4000-8000-000000000000", "", ""}, want: "the topology coordinator is host ID 36d1f2a1-0000-4000-8000-000000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := three()
			for i, id := range tc.says {
				said(&rows[i]).Coordinator = hostid.ID(id)
			}
			if tc.down > 0 {
				rows[tc.down-1].Stale = Trouble{Code: words.PodGone}
			}
			if got := words.Text(New(rows, Options{}).Coordinator().Message()); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestC3TheCoordinatorsRowIsNamedFirst: of rows that say the same of a node, and where there are too many to list each.
func TestC3TheCoordinatorsRowIsNamedFirst(t *testing.T) {
	rows := three()
	for i := range rows {
		said(&rows[i]).Coordinator = idB
		rows[i].Observed[2].Status = Down
	}
	m := New(rows[:2], Options{})
	groups, _ := GroupBlockers(m.Blockers())
	want := "demo-rack3-0 (1ffac2bb) is seen DOWN by demo-rack2-0, demo-rack1-0; demo-rack2-0 is the topology coordinator"
	names := New(rows, Options{}).Blockers()
	if b := names[0]; !b.Coordinator || b.Observer.HostID != idB {
		t.Errorf("the first is %+v", b)
	}
	if got := words.Text(names[0].Message()); got != "demo-rack2-0 (35d0f1aa) sees demo-rack3-0 (1ffac2bb) DOWN; demo-rack2-0 is the topology coordinator" {
		t.Error(got)
	}
	if got := words.Text(groups[len(groups)-1].Message()); len(groups) == 0 || groups[0].Observers[0].HostID != idB {
		t.Errorf("%q, want %q", got, want)
	}

	const n = 110 // 110 x 110 pairs are more than MaxPairs
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
	}
	many := make([]Row, n)
	for i := range many {
		many[i] = row(Ref{HostID: hostid.ID(ids[i]), Member: fmt.Sprintf("m-%03d", i), Datacenter: "dc1", Rack: "r", Ordinal: new(int32(i))}, up(ids...)...)
		said(&many[i]).Coordinator = hostid.ID(ids[77])
		for k := range many[i].Observed {
			many[i].Observed[k].Status = Down
		}
	}
	seen := map[string]bool{}
	for _, b := range New(many, Options{}).Blockers() {
		if id := b.Observed.HostID; !seen[string(id)] {
			seen[string(id)] = true
			if string(b.Observer.HostID) != ids[77] {
				t.Fatalf("of %s the first to say so is %s", id, b.Observer.Name())
			}
		}
	}
	if len(seen) != n {
		t.Errorf("%d nodes are DOWN, want %d", len(seen), n)
	}
}
