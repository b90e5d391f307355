// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// picture is who sees whom with line names: nodes, or racks or datacenters if there are too many.
type picture struct {
	*grid.Groups
	names []string
}

func newGrid(r *Report) *picture {
	g := &picture{Groups: r.Grid().Fit()}
	for i := range g.List {
		name := g.List[i].Name()
		if g.By == grid.ByNode {
			n := &r.Nodes[g.List[i].Nodes[0]]
			name = cmp.Or(n.Member, n.Short(), "-")
		}
		g.names = append(g.names, name)
	}
	return g
}

// together reports whether two nodes are in one rack, or two racks in one datacenter.
func (g *picture) together(i, j int) bool {
	a, b := &g.List[i], &g.List[j]
	return a.Datacenter == b.Datacenter && (g.By != grid.ByNode || a.Rack == b.Rack)
}

// number returns the number of a line's node in the table of nodes.
func (g *picture) number(i int) int { return g.List[i].Nodes[0] + 1 }

// title describes a cell.
func (g *picture) title(i, j int) string {
	a, b := g.names[i], g.names[j]
	switch m := g.Mark(i, j); {
	case m == grid.Self:
		return a
	case m == grid.None:
		return a + " has no fresh status report"
	case m == grid.Absent:
		return b + " has no host ID yet, so no status report can list it"
	case g.By == grid.ByNode:
		return a + " sees " + b + ": " + show.WordOf(m)
	}
	return a + " sees " + b + ": " + show.TallyText(g.Cells[i][j])
}

// summary describes the picture in one sentence, for readers without the picture.
func (g *picture) summary(r *Report) string {
	all := g.All()
	if all.Total() == 0 {
		return "No status reports."
	}
	of := ""
	if g.By != grid.ByNode {
		of = ", drawn by " + g.By.String()
	}
	return fmt.Sprintf("Status reports of %d of %d nodes%s. Pairs of nodes: %s.", len(r.Rows), r.Counts.Nodes, of,
		show.TallyText(all))
}
