// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

func TestMarkOfAStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[api.NodeStatus]Mark{
		api.NodeStatusUp: Up, api.NodeStatusDown: Down, api.NodeStatusUnknown: Unknown, api.NodeStatusMissing: Missing, "": Unknown, "none": Unknown, "self": Unknown, "ODD": Unknown,
	} {
		if got := Of(status); got != want {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}

// However the grid is grouped, every pair of nodes is in exactly one cell, with the mark that At gives it.
func TestGroupsCountEveryPair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]Node, rapid.IntRange(1, 70).Draw(t, "nodes"))
		for i := range nodes {
			n := &nodes[i]
			n.Datacenter, n.Rack = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "datacenter"), rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "rack")
			n.Listed, n.Reports = rapid.Bool().Draw(t, "listed"), rapid.Bool().Draw(t, "reports")
			of := rapid.SliceOfNDistinct(rapid.IntRange(0, len(nodes)-1), 0, min(5, len(nodes)-1), rapid.ID[int]).Draw(t, "pairs")
			for _, j := range of {
				if n.Reports && j != i {
					n.NotUp = append(n.NotUp, Pair{Of: j, Is: rapid.SampledFrom(Worst[:3]).Draw(t, "mark")})
				}
			}
		}
		g := New(nodes)
		all := rapid.Bool().Draw(t, "all")
		s := g.Group(rapid.SampledFrom([]By{ByNode, ByRack, ByDatacenter}).Draw(t, "by"), all)
		want := make([][]Tally, len(s.List))
		for k := range want {
			want[k] = make([]Tally, len(s.List))
		}
		for i := range nodes {
			if (s.In[i] >= 0) != (all || nodes[i].Listed) {
				t.Fatalf("node %d: group %d", i, s.In[i])
			}
			for j := range nodes {
				if m := g.At(i, j); m >= Up && s.In[i] >= 0 && s.In[j] >= 0 {
					want[s.In[i]][s.In[j]][m]++
				}
			}
		}
		var total Tally
		for a := range want {
			for b := range want[a] {
				total.Add(&want[a][b])
				if s.Cells[a][b] != want[a][b] {
					t.Errorf("%s of %s: %v, want %v", s.List[a].Name(), s.List[b].Name(), s.Cells[a][b], want[a][b])
				}
			}
		}
		if s.All() != total {
			t.Errorf("all: %v, want %v", s.All(), total)
		}
		if fit := g.Fit(); len(fit.List) > Most && fit.By != ByDatacenter {
			t.Errorf("%d lines by %s", len(fit.List), fit.By)
		}
	})
}
