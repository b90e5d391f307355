// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// maxCells is the largest number of nodes with a row and a column of their own; above it racks are drawn, and then datacenters.
const maxCells = 48

// statuses of cells, the gravest first.
var statuses = []string{"DOWN", "UNKNOWN", "MISSING", "UP"}

// up is the index of UP in statuses.
const up = 3

// statusIndex is the index of a status; an unknown one counts as UNKNOWN.
func statusIndex(status string) int {
	switch status {
	case "DOWN":
		return 0
	case "MISSING":
		return 2
	}
	return 1
}

// words for statuses.
var statusWords = map[string]string{
	"UP": "UP", "DOWN": "DOWN", "UNKNOWN": "not known", "MISSING": "missing from the row", "none": "no fresh row", "self": "itself",
}

// line is one row and column of the picture: a node, or a rack or datacenter of nodes.
type line struct {
	number string // as in the table of nodes; empty for groups
	name   string
	dc     string
	rack   string // empty for datacenters
	group  string // lines of one group stand together
	nodes  int
}

// pairs counts the states of the nodes of one line in the rows of another.
type pairs struct {
	counts [4]int // as statuses
	self   bool   // one node and itself
}

// worst is the gravest status, "none" without any fresh row.
func (p pairs) worst() string {
	if p.self {
		return "self"
	}
	for i, s := range statuses {
		if p.counts[i] > 0 {
			return s
		}
	}
	return "none"
}

// gravest is the number of pairs with the gravest status.
func (p pairs) gravest() int {
	for _, n := range p.counts {
		if n > 0 {
			return n
		}
	}
	return 0
}

// total is how many pairs there are.
func (p pairs) total() int { return p.counts[0] + p.counts[1] + p.counts[2] + p.counts[3] }

// text says how many have which status, UP first.
func (p pairs) text() string {
	var parts []string
	for i, s := range slices.Backward(statuses) {
		if n := p.counts[i]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, statusWords[s]))
		}
	}
	return strings.Join(parts, ", ")
}

// grid is the matrix ready to be drawn.
type grid struct {
	by    string // "node", "rack" or "datacenter"
	lines []line
	cells [][]pairs
	place map[int]int // the line of each node
}

// rows are a report's rows by the place of their nodes.
type rows struct {
	r     *Report
	index map[string]int // by host ID, and by member
	// reports holds the nodes that have a row.
	reports map[int]bool
}

func indexRows(r *Report) *rows {
	x := &rows{r: r, index: make(map[string]int, 2*len(r.Nodes)), reports: make(map[int]bool, len(r.Rows))}
	for i, n := range r.Nodes {
		if n.HostID != "" {
			x.index[string(n.HostID)] = i
		}
		if n.Member != "" {
			x.index["member "+n.Member] = i
		}
	}
	for _, row := range r.Rows {
		if i, ok := x.observer(row); ok {
			x.reports[i] = true
		}
	}
	return x
}

func (x *rows) observer(row render.Row) (int, bool) {
	if i, ok := x.index[string(row.Observer.HostID)]; ok && row.Observer.HostID != "" {
		return i, true
	}
	i, ok := x.index["member "+row.Observer.Member]
	return i, ok
}

// seen are the nodes that other nodes can list: those with a host ID and an opinion or a row.
func (x *rows) seen() []int {
	var out []int
	for i, n := range x.r.Nodes {
		if n.HostID != "" && (n.Seen != nil || x.reports[i]) {
			out = append(out, i)
		}
	}
	return out
}

// newGrid makes the matrix of nodes, or of racks or datacenters when there are too many.
func newGrid(r *Report) *grid {
	x := indexRows(r)
	g, place := gather(r, x.seen())
	g.place = place
	g.cells = make([][]pairs, len(g.lines))
	for i := range g.cells {
		g.cells[i] = make([]pairs, len(g.lines))
		for j := range g.cells[i] {
			g.cells[i][j] = pairs{self: i == j && g.by == "node"}
		}
	}
	g.count(x, func(i int) []pairs {
		if a, ok := place[i]; ok {
			return g.cells[a]
		}
		return nil
	})
	return g
}

// count adds what each row says to the cells that into gives for its node; nil leaves the row out.
func (g *grid) count(x *rows, into func(node int) []pairs) {
	for i := range x.reports {
		cells := into(i)
		if cells == nil {
			continue
		}
		for b, l := range g.lines {
			n := l.nodes
			if own, ok := g.place[i]; ok && own == b {
				n-- // a node that finds itself well proves nothing
			}
			cells[b].counts[up] += n
		}
	}
	for _, row := range x.r.Rows {
		i, known := x.observer(row)
		cells := into(i)
		if !known || cells == nil {
			continue
		}
		for _, p := range row.NotUp {
			j, known := x.index[string(p.Observed)]
			b, ok := g.place[j]
			if !known || !ok || i == j {
				continue
			}
			cells[b].counts[up]--
			cells[b].counts[statusIndex(p.Status)]++
		}
	}
}

// gather makes the lines, and says on which line each node is.
func gather(r *Report, seen []int) (*grid, map[int]int) {
	rack := func(i int) string { return cmp.Or(r.Nodes[i].Datacenter, "?") + "/" + cmp.Or(r.Nodes[i].Rack, "?") }
	place := map[int]int{}
	if len(seen) <= maxCells {
		g := &grid{by: "node"}
		for _, i := range seen {
			n := r.Nodes[i]
			place[i] = len(g.lines)
			g.lines = append(g.lines, line{number: fmt.Sprint(i + 1), name: cmp.Or(n.Member, n.Short(), "-"), group: rack(i), nodes: 1, dc: cmp.Or(n.Datacenter, "?"), rack: cmp.Or(n.Rack, "?")})
		}
		return g, place
	}
	for _, by := range []string{"rack", "datacenter"} {
		g := &grid{by: by}
		at := map[string]int{}
		for _, i := range seen {
			name := rack(i)
			if by == "datacenter" {
				name = cmp.Or(r.Nodes[i].Datacenter, "?")
			}
			k, ok := at[name]
			if !ok {
				k = len(g.lines)
				at[name] = k
				l := line{name: name, group: cmp.Or(r.Nodes[i].Datacenter, "?"), dc: cmp.Or(r.Nodes[i].Datacenter, "?")}
				if by == "rack" {
					l.rack = cmp.Or(r.Nodes[i].Rack, "?")
				}
				g.lines = append(g.lines, l)
			}
			g.lines[k].nodes++
			place[i] = k
		}
		if len(g.lines) <= maxCells || by == "datacenter" {
			return g, place
		}
	}
	return &grid{by: "node"}, place // not reached: the loop returns
}

// title says a cell in words.
func (g *grid) title(i, j int) string {
	p := g.cells[i][j]
	a, b := g.lines[i].name, g.lines[j].name
	switch {
	case p.self:
		return a
	case p.worst() == "none" && g.by == "node":
		return a + " has no fresh row"
	case p.worst() == "none":
		return a + ": no fresh row of others about " + b
	case g.by == "node":
		return a + " sees " + b + ": " + statusWords[p.worst()]
	}
	return a + " sees " + b + ": " + p.text()
}

// summary describes the picture in one sentence, for readers without the picture.
func (g *grid) summary(r *Report) string {
	var all pairs
	for i := range g.cells {
		for j := range g.cells[i] {
			for s, n := range g.cells[i][j].counts {
				all.counts[s] += n
			}
		}
	}
	if all.total() == 0 {
		return "No status reports."
	}
	of := ""
	if g.by != "node" {
		of = ", drawn by " + g.by
	}
	return fmt.Sprintf("Rows of %d of %d nodes%s: of each node's view of each other, %s.", len(r.Rows), r.Counts.Nodes, of, all.text())
}
