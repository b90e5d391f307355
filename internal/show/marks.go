// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// marks are how marks look. Each has a letter and a word of its own; style only repeats it.
var marks = [grid.Marks]struct {
	letter, word string
	style        Style
}{
	grid.None:    {"", "no fresh row", Plain},
	grid.Self:    {"", "itself", Dim},
	grid.Up:      {"U", grid.Up.String(), Good},
	grid.Down:    {"D", grid.Down.String(), Bad},
	grid.Unknown: {"N", "not known", Warn},
	grid.Missing: {"M", "missing from the row", Odd},
}

// StyleOf is the style of a mark.
func StyleOf(m grid.Mark) Style { return marks[m].style }

// WordOf is a mark in a sentence.
func WordOf(m grid.Mark) string { return marks[m].word }

// TallyText says how many pairs have which mark, UP first; empty without pairs.
func TallyText(t grid.Tally) string {
	var parts []string
	for _, m := range slices.Backward(grid.Worst[:]) {
		if t[m] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t[m], WordOf(m)))
		}
	}
	return strings.Join(parts, ", ")
}

// Glyphs are the characters that differ between terminals.
type Glyphs struct {
	Marks                                           [grid.Marks]string
	Ellipsis, Bar, Line, Arrow, Dot, Cursor, Middot string
}

// NewGlyphs are those of ASCII, or of every terminal that shows more.
func NewGlyphs(ascii bool) Glyphs {
	if ascii {
		return Glyphs{
			Marks:    [grid.Marks]string{grid.None: " ", grid.Self: "-", grid.Up: "+", grid.Down: "x", grid.Unknown: "?", grid.Missing: "."},
			Ellipsis: "~", Bar: "|", Line: "-", Arrow: "->", Dot: "*", Cursor: ">", Middot: "|",
		}
	}
	return Glyphs{
		Marks:    [grid.Marks]string{grid.None: " ", grid.Self: "–", grid.Up: "✓", grid.Down: "✗", grid.Unknown: "?", grid.Missing: "·"},
		Ellipsis: "…", Bar: "│", Line: "─", Arrow: "→", Dot: "•", Cursor: "▶", Middot: "·",
	}
}

// Index finds nodes by their places in a document.
type Index struct {
	ByID     map[hostid.ID]int
	ByMember map[string]int
}

// Index of the document's nodes; of several with one name the first.
func (d *ClusterStatus) Index() Index {
	x := Index{make(map[hostid.ID]int, len(d.Nodes)), make(map[string]int, len(d.Nodes))}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.HostID != "" {
			x.ByID[n.HostID] = i
		}
		if _, known := x.ByMember[n.Member]; !known && n.Member != "" {
			x.ByMember[n.Member] = i
		}
	}
	return x
}

// Find looks a node up by its host ID, then by its member; -1 when there is none.
func (x Index) Find(r matrix.Ref) int {
	if i, ok := x.ByID[r.HostID]; ok {
		return i
	}
	if i, ok := x.ByMember[r.Member]; ok {
		return i
	}
	return -1
}

// Grid is who sees whom, by the nodes' places in the document.
func (d *ClusterStatus) Grid() *grid.Grid {
	x, nodes := d.Index(), make([]grid.Node, len(d.Nodes))
	for _, r := range d.Rows {
		i := x.Find(r.Observer)
		if i < 0 {
			continue
		}
		nodes[i].Reports, nodes[i].NotUp = true, make([]grid.Pair, 0, len(r.NotUp))
		for _, p := range r.NotUp {
			if j, ok := x.ByID[p.Observed]; ok && j != i {
				nodes[i].NotUp = append(nodes[i].NotUp, grid.Pair{Of: j, Is: grid.Of(p.Status), Since: TimeOf(p.Since)})
			}
		}
	}
	for i := range nodes {
		n := &d.Nodes[i]
		nodes[i].Datacenter, nodes[i].Rack, nodes[i].Listed = n.Datacenter, n.Rack, n.HostID != "" && (n.Seen != nil || nodes[i].Reports)
	}
	return grid.New(nodes)
}
