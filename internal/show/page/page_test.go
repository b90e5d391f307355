// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// report makes the document of a cluster of so many racks and nodes; notUp maps observer to observed to status, by number from 0.
func report(racks, perRack int, notUp map[int]map[int]string) *Report {
	r := &Report{}
	r.Namespace, r.Name = "ns", "demo"
	n := racks * perRack
	id := func(i int) string { return fmt.Sprintf("%08d-0000-0000-0000-000000000000", i) }
	for i := range n {
		ref := matrix.Ref{Datacenter: "dc1", Rack: fmt.Sprintf("rack%d", i/perRack), Member: fmt.Sprintf("demo-%d", i), HostID: hostid.ID(id(i))}
		r.Nodes = append(r.Nodes, document.Node{Ref: ref, Membership: cluster.MemberJoined, Seen: &document.Seen{Status: "UP", Up: n - 1}, Row: document.RowState{Status: document.RowOK}, Pod: "Running 1/1"})
		row := document.Row{Observer: ref}
		for j := range n {
			if s, ok := notUp[i][j]; ok && i != j {
				row.NotUp = append(row.NotUp, document.Pair{Observed: hostid.ID(id(j)), Status: api.NodeStatus(s)})
			}
		}
		r.Rows = append(r.Rows, row)
	}
	r.Counts.Nodes, r.Counts.Up = n, n
	return r
}

// However it is drawn, every pair of nodes is in exactly one cell, with the status that the row gives it.
func TestGridCountsEveryPair(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		racks, perRack := rapid.IntRange(1, 60).Draw(t, "racks"), rapid.IntRange(1, 4).Draw(t, "nodes per rack")
		n := racks * perRack
		notUp, want := map[int]map[int]string{}, map[string]int{}
		for range rapid.IntRange(0, 20).Draw(t, "pairs") {
			i, j := rapid.IntRange(0, n-1).Draw(t, "observer"), rapid.IntRange(0, n-1).Draw(t, "observed")
			if notUp[i] == nil {
				notUp[i] = map[int]string{}
			}
			if i != j && notUp[i][j] == "" {
				s := rapid.SampledFrom([]string{"DOWN", "UNKNOWN", "MISSING", "ODD"}).Draw(t, "status")
				notUp[i][j] = s
				if s == "ODD" {
					s = "UNKNOWN"
				}
				want[s]++
			}
		}
		want["UP"] = n*(n-1) - want["DOWN"] - want["UNKNOWN"] - want["MISSING"]
		g := newGrid(report(racks, perRack, notUp))
		if len(g.List) > grid.Most && g.By != grid.ByDatacenter {
			t.Errorf("%d lines by %s", len(g.List), g.By)
		}
		for i := range g.List {
			for j := range g.List {
				for _, m := range grid.Worst {
					if g.Cells[i][j][m] > 0 && m.NotUp() && g.Cells[i][j].Worst() == grid.Up {
						t.Errorf("cell %d,%d hides %s", i, j, m)
					}
				}
			}
		}
		all := g.All()
		for _, m := range grid.Worst {
			if all[m] != want[m.String()] {
				t.Errorf("%s: %d pairs, want %d (by %s)", m, all[m], want[m.String()], g.By)
			}
		}
	})
}

// The picture is well-formed whatever nodes are called.
func TestPictureIsXML(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := report(rapid.IntRange(1, 4).Draw(t, "racks"), rapid.IntRange(1, 20).Draw(t, "nodes"), map[int]map[int]string{0: {1: "DOWN"}})
		r.Nodes[0].Member = rapid.String().Draw(t, "member")
		r.Nodes[0].Rack = rapid.String().Draw(t, "rack")
		r.Rows[0].Observer.Member = r.Nodes[0].Member
		r.Name = rapid.String().Draw(t, "name")
		d := xml.NewDecoder(strings.NewReader(draw(r, newGrid(r), "")))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("%v", err)
			}
		}
	})
}

// A thousand nodes make a page that can be mailed.
func TestThousandNodes(t *testing.T) {
	t.Parallel()
	notUp := map[int]map[int]string{}
	for i := range 1000 {
		notUp[i] = map[int]string{7: "DOWN"}
	}
	r := report(20, 50, notUp)
	r.Nodes[7].Seen = &document.Seen{Status: "DOWN", Down: 999}
	var b bytes.Buffer
	start := time.Now()
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes in %v", b.Len(), time.Since(start))
	if b.Len() > 1<<20 {
		t.Errorf("%d bytes", b.Len())
	}
	text := b.String()
	for _, want := range []string{"By rack", "With problems", "All 1000 nodes", "drawn by rack", "dc1/rack0 sees dc1/rack0: 2401 UP, 49 DOWN"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// The cells of the matrix, and those of the two kinds of rows that the nodes of a rack have; a node's row is one use of these.
	if n := strings.Count(text, "<use ") - strings.Count(text, `<use href="#mx-p`) - strings.Count(text, `<use href="#mx-h"`); n > 20*20+2*20+10 {
		t.Errorf("%d cells", n)
	}
}
