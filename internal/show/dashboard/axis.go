// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// axis is a level of the matrix: its rows and columns are nodes, racks or datacenters.
type axis interface {
	base() *level
	// of returns the item that contains a node.
	of(node int) int
	// cell returns the mark of row i and column j, and its text of at most w characters.
	cell(i, j, w int) (grid.Mark, string)
	// head returns the text above column i and its offset from the start of the cell, which has w
	// characters. placed: a line above has the place.
	head(i, w int, placed bool) (offset int, text string)
	// places returns the number of lines with racks and datacenters above the columns.
	places(height, columns int) int
	// instead returns why row i has no cells; empty if it has.
	instead(v *view, i int) string
	// detail describes row i and column j; either may be -1.
	detail(v *view, w, i, j int) []textLine
}

// item is one row or column of an axis.
type item struct {
	key        string // the same in every snapshot
	name       string
	lead, tail string   // before and after the name
	above      []string // its datacenter and rack
	facts      []string // as level.facts
	nodes      []int
	row        int // trouble as a row
	column     int // trouble as a column
}

// level is the common part of all axes.
type level struct {
	title       string
	items       []item
	least, most int    // width of a cell
	longest     int    // name
	common      int    // length of the common prefix of all names
	facts       []fact // in order of priority
	silent      bool   // some row has no cells
}

// fact is a column of text next to the names.
type fact struct {
	title      string
	width, gap int // both zero if no item has it
}

func (l *level) base() *level { return l }

func (l *level) measure() {
	for i := range l.items {
		text := l.items[i].name
		l.longest = max(l.longest, len(text))
		if i == 0 {
			l.common = len(text)
		}
		first := l.items[0].name
		for l.common = min(l.common, len(text)); text[:l.common] != first[:l.common]; {
			l.common--
		}
		for k, value := range l.items[i].facts {
			if f := &l.facts[k]; value != "" {
				f.width, f.gap = max(f.width, len(f.title), len(value)), 2
			}
		}
	}
	if len(l.items) > 0 { // whole words only
		l.common = strings.LastIndexAny(l.items[0].name[:l.common], "-/") + 1
	}
}

// label returns the width of the names in a matrix of w cells, and the number of cut leading
// characters.
func (l *level) label(w int) (width, strip int) {
	budget := max(10, w/3)
	if l.longest <= budget {
		return l.longest, 0
	}
	return min(l.longest-l.common, budget), l.common
}

// prefix returns the width before the cells: cursor, lead, name and tail.
func (l *level) prefix(w int) int {
	n, _ := l.label(w)
	n++
	if len(l.items) > 0 {
		n += len(l.items[0].lead) + len(l.items[0].tail)
	}
	return n
}

// width returns the minimum width of n columns in a matrix of w cells.
func (l *level) width(w, n int) int { return l.prefix(w) + n*l.least + 1 }

// seek returns the item with this key, or with the name that was its key before it had a host ID;
// -1 without one.
func (l *level) seek(key string) int {
	return slices.IndexFunc(l.items, func(it item) bool { return it.key == key || it.name == key })
}

// byNode has nodes as rows and columns.
type byNode struct {
	level
	f *facts
}

func newByNode(f *facts) *byNode {
	a := &byNode{
		level{title: "Who sees whom", least: 2, most: 3,
			facts: []fact{{title: "Pod"}, {title: "version"}, {title: "rack"}, {title: "IP"}}}, f}
	digits := len(strconv.Itoa(len(f.nodes)))
	for i := range f.nodes {
		n := &f.nodes[i]
		it := item{
			key: n.key(), name: n.label(), lead: fmt.Sprintf("%*d ", digits, i+1), tail: " " + string(n.flag),
			nodes: []int{i}, row: 1, column: n.trouble(),
			above: []string{cmp.Or(n.Datacenter, "?"), cmp.Or(n.Rack, "?")},
			facts: []string{n.Pod, n.Release(), n.Rack, n.PodIP},
		}
		if n.reports {
			it.row = 2 * len(f.grid.Nodes[i].NotUp)
		} else {
			a.silent = true
		}
		a.items = append(a.items, it)
	}
	a.measure()
	return a
}

func (*byNode) of(node int) int { return node }

func (a *byNode) cell(i, j, _ int) (grid.Mark, string) { return a.f.mark(i, j), "" }

// head returns the number of the node; its last digit is above the glyph.
func (*byNode) head(i, _ int, _ bool) (int, string) {
	text := strconv.Itoa(i + 1)
	return 2 - len(text), text
}

func (a *byNode) places(height, columns int) int {
	racks := len(a.f.levels[1].base().items)
	switch {
	case height < 12 || racks < 2 || columns < 2*racks:
		return 0
	case height < 14 || len(a.f.levels) < 3:
		return 1
	}
	return 2
}

func (a *byNode) instead(v *view, i int) string {
	if n := &a.f.nodes[i]; !n.reports {
		return v.noRow(n)
	}
	return ""
}

// byGroup has racks or datacenters as rows and columns; a cell summarises the pairs of nodes.
type byGroup struct {
	level
	f *facts
	*grid.Groups
}

func newByGroup(f *facts, by grid.By) *byGroup {
	a := &byGroup{level{title: "Who sees whom by " + by.String(), least: 7, most: 16}, f, f.grid.Group(by, true)}
	for i := range a.List {
		g := &a.List[i]
		above := []string{clean(g.Datacenter), clean(g.Rack)}
		if by == grid.ByDatacenter {
			above = above[:1]
		}
		it := item{key: clean(g.Name()), tail: " ", above: above, nodes: g.Nodes}
		it.name = fmt.Sprintf("%s (%d)", it.key, len(it.nodes))
		for j := range a.List {
			it.row += a.Cells[i][j].NotUp()
			it.column += a.Cells[j][i].NotUp()
		}
		a.items = append(a.items, it)
	}
	a.measure()
	return a
}

func (a *byGroup) of(node int) int { return a.In[node] }

func (a *byGroup) cell(i, j, w int) (grid.Mark, string) {
	t := &a.Cells[i][j]
	n := t.NotUp()
	text := fmt.Sprintf("%d/%d", n, t.Total())
	switch {
	case t.Total() == 0:
		text = ""
	case n == 0:
		text = thousands(t[grid.Up])
	case len(text) > w:
		text = thousands(n)
	}
	return t.Worst(), text
}

func (a *byGroup) head(i, w int, placed bool) (int, string) {
	text := a.items[i].key
	if at := a.items[i].above; placed || len(a.f.levels) < 3 {
		text = at[len(at)-1]
	}
	return 1, shorten(text, w-1, true, "~")
}

func (a *byGroup) places(int, int) int {
	if len(a.f.levels) > 2 && a == a.f.levels[1] {
		return 1
	}
	return 0
}

func (*byGroup) instead(*view, int) string { return "" }

// thousands formats a number in at most four characters, the width of the narrowest cell.
func thousands(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(min(999, n/1_000_000)) + "M"
}

// span is the rows or columns of the matrix: items, position of the cursor, first visible position.
type span struct {
	items   []int
	at, top int
}

// item returns the item under the cursor; -1 without one.
func (s *span) item() int {
	if s.at < 0 || s.at >= len(s.items) {
		return -1
	}
	return s.items[s.at]
}

func (s *span) move(by int) { s.at = max(0, min(s.at+by, len(s.items)-1)) }

// show scrolls until the cursor is among size visible items.
func (s *span) show(size int) {
	s.top = max(0, min(max(min(s.top, s.at), s.at-size+1), len(s.items)-size))
}

// scroll moves the visible part; the cursor stays inside it.
func (s *span) scroll(by, size int) {
	s.top = max(0, min(s.top+by, len(s.items)-size))
	s.at = max(0, min(max(s.at, s.top), s.top+size-1, len(s.items)-1))
}

// visible returns the number of visible items if size fit.
func (s *span) visible(size int) int { return max(0, min(size, len(s.items)-s.top)) }

func (s *span) seek(item int) bool {
	i := slices.Index(s.items, item)
	if i >= 0 {
		s.at = i
	}
	return i >= 0
}
