// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const cellWidth = 3 // glyph, letter, space

// square is a matrix whose rows and columns are the same numbered lines.
type square struct {
	title   string
	digits  int // of the largest number
	numbers []int
	names   []string
	beside  []Cell // a column after the names; nil for none
	cell    func(a, b int) string
}

// minLabel is the minimum width of the names, besideWidth the width of the column after them.
const minLabel, besideWidth = 12, len("UP 504/504")

// room returns the width for the names on a screen.
func (s *square) room(width int) int {
	room := width - s.digits - 2*gap - len(s.numbers)*cellWidth
	if s.beside != nil {
		room -= gap + besideWidth
	}
	return room
}

func (s *square) fits(o Options) bool { return o.Width <= 0 || s.room(o.Width) >= minLabel }

func (p *painter) square(s *square) []string {
	label := 0
	for _, name := range s.names {
		label = max(label, Width(name))
	}
	if room := s.room(p.o.Width); p.o.Width > 0 && !p.o.Wide && room < label {
		label = distinctWidth(s.names, max(0, room), label, p.g.Ellipsis)
	}
	head := strings.Repeat(" ", s.digits+gap+label+1)
	if s.beside != nil {
		head += strings.Repeat(" ", gap+besideWidth)
	}
	for _, n := range s.numbers {
		head += fmt.Sprintf(" %2d", n)
	}
	lines := []string{s.title, Dim.Paint(head)}
	for a, n := range s.numbers {
		var b strings.Builder
		name := Shorten(s.names[a], label, true, p.g.Ellipsis)
		b.WriteString(Dim.Paint(fmt.Sprintf("%*d", s.digits, n)) + "  " + name + strings.Repeat(" ", label-Width(name)))
		if s.beside != nil {
			c := s.beside[a]
			b.WriteString("  " + c.Style.Paint(c.Text) + strings.Repeat(" ", max(0, besideWidth-len(c.Text))))
		}
		b.WriteString(" ")
		for k := range s.numbers {
			b.WriteString(" " + s.cell(a, k))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// mark is a cell: the glyph and a letter, in lower case if only some pairs have the mark.
func (p *painter) mark(m grid.Mark, some bool) string {
	glyph, letter := p.g.Marks[m], marks[m].letter
	switch {
	case m == grid.None:
		return "  "
	case m == grid.Self:
		letter = glyph
	case some:
		letter = strings.ToLower(letter)
	}
	return StyleOf(m).Paint(glyph + letter)
}

// byNode is the matrix of the nodes that other nodes can list.
func (p *painter) byNode() *square {
	s := &square{title: Strong.Paint("Who sees whom") + " (each line is one node's status report)",
		digits: len(fmt.Sprint(len(p.d.Nodes)))}
	for _, i := range p.listed {
		s.numbers, s.names = append(s.numbers, i+1), append(s.names, p.name(i))
	}
	return s
}

// views draws the matrix, or the rows that disagree.
func (p *painter) views(level detail) []string {
	if len(p.d.Rows) == 0 {
		return nil
	}
	switch {
	case level.matrix:
		return p.matrix()
	case p.folds != nil && level.byRack:
		return p.folds
	}
	return p.disagreeing(level)
}

func (p *painter) matrix() []string {
	s, used := p.byNode(), [grid.Marks]bool{}
	s.cell = func(a, b int) string {
		m := p.grid.At(p.listed[a], p.listed[b])
		used[m] = true
		return p.mark(m, false)
	}
	lines := p.square(s)
	var parts []string
	for _, m := range []grid.Mark{grid.Up, grid.Down, grid.Unknown, grid.Missing} {
		if used[m] {
			parts = append(parts, p.mark(m, false)+" "+WordOf(m))
		}
	}
	return append(lines, p.legend(parts, used[grid.None])...)
}

func (p *painter) legend(parts []string, blank bool) []string {
	if blank {
		parts = append(parts, "blank: no fresh status report")
	}
	return p.wrap(strings.Join(parts, "  "), "")
}

// folded returns the matrix by rack if the racks fit, else by datacenter. Nil if neither fits, or
// if all pairs are UP.
func (p *painter) folded(level detail) []string {
	if !slices.ContainsFunc(p.d.Rows, func(r document.Row) bool { return len(r.NotUp) > 0 }) {
		return nil
	}
	for _, by := range []grid.By{grid.ByRack, grid.ByDatacenter} {
		if by < level.fold {
			continue
		}
		groups := p.grid.Group(by, false)
		s := &square{title: Strong.Paint("Who sees whom") + ", by " + by.String(),
			digits: len(fmt.Sprint(len(groups.List)))}
		for i := range groups.List {
			g, up := &groups.List[i], 0
			for _, k := range g.Nodes {
				if p.d.Nodes[k].Seen.Mark() == grid.Up {
					up++
				}
			}
			// as in the table of racks
			name := dash(strings.Trim(strings.ReplaceAll(g.Name(), "?", ""), "/"))
			s.numbers, s.names, s.beside = append(s.numbers, i+1), append(s.names, name),
				append(s.beside, upCell(up, len(g.Nodes)))
		}
		if len(s.numbers) > 1 && s.fits(p.o) {
			return p.drawFolded(s, groups)
		}
	}
	return nil
}

// upCell shows how many nodes are seen UP.
func upCell(up, of int) Cell {
	c := Cell{Text: fmt.Sprintf("%s %d/%d", grid.Up, up, of), Style: Good}
	if up < of {
		c.Style = Bad
	}
	return c
}

// drawFolded draws the most severe status of each pair of groups: in upper case if all nodes of the
// first group report it, else in lower case.
func (p *painter) drawFolded(s *square, groups *grid.Groups) []string {
	var all, some [grid.Marks]bool
	s.cell = func(a, b int) string {
		t := &groups.Cells[a][b]
		m := t.Worst()
		all[m], some[m] = all[m] || t[m] == t.Total(), some[m] || t[m] < t.Total()
		return p.mark(m, t[m] < t.Total())
	}
	lines := p.square(s)
	var parts []string
	for _, m := range grid.Worst {
		word, _, _ := strings.Cut(WordOf(m), " from ")
		if all[m] {
			parts = append(parts, p.mark(m, false)+" all "+word)
		}
		if some[m] {
			parts = append(parts, p.mark(m, true)+" some "+word)
		}
	}
	return append(lines, p.legend(parts, all[grid.None])...)
}

func (p *painter) name(i int) string {
	n := &p.d.Nodes[i]
	return cmp.Or(n.Member, n.Short(), "-")
}

// alike are equal rows, by the numbers of their nodes.
type alike struct {
	text      string
	observers []int
}

// disagreeing lists the entries of rows that are not UP, and combines equal rows.
func (p *painter) disagreeing(level detail) []string {
	var groups []*alike
	byText := map[string]*alike{}
	agree := 0
	for i := range p.grid.Nodes {
		n := &p.grid.Nodes[i]
		if len(n.NotUp) == 0 {
			if n.Reports {
				agree++
			}
			continue
		}
		byMark := [grid.Marks][]int{}
		for _, c := range n.NotUp {
			byMark[c.Is] = append(byMark[c.Is], c.Of+1)
		}
		var parts []string
		for _, m := range grid.Worst {
			if nodes := byMark[m]; len(nodes) > 0 {
				parts = append(parts, StyleOf(m).Paint(p.g.Marks[m]+" "+m.String())+" "+ranges(nodes))
			}
		}
		text := strings.Join(parts, ", ")
		g := byText[text]
		if g == nil {
			g = &alike{text: text}
			byText[text] = g
			groups = append(groups, g)
		}
		g.observers = append(g.observers, i+1)
	}
	if len(groups) == 0 {
		if silent := p.d.Counts.Nodes - p.d.Counts.Reporting; silent > 0 {
			return p.wrap(fmt.Sprintf("%s Who sees whom: %d of %s a fresh status report; these see all UP.",
				Warn.Paint(p.g.Marks[grid.Unknown]), len(p.d.Rows),
				words.Count(p.d.Counts.Nodes, "node has", "nodes have")), "  ")
		}
		return []string{fmt.Sprintf("%s Who sees whom: all nodes see each other UP (%s).",
			Good.Paint(p.g.Marks[grid.Up]), words.Count(len(p.d.Rows), "status report", "status reports"))}
	}
	head := Strong.Paint("Status reports with problems")
	if agree > 0 {
		head += fmt.Sprintf(" (%d more see all nodes UP)", agree)
	}
	lines := []string{head}
	if level.terse && len(groups) == 1 {
		return []string{p.one(head + ": " + groups[0].line())}
	}
	return append(lines, level.limited(len(groups), "  ", "more group of reports", "more groups of reports",
		func(i int) []string {
			return p.wrap("  "+groups[i].line(), "    ")
		})...)
}

// line names the nodes with these rows, and their entries.
func (g *alike) line() string {
	verb := " see "
	if len(g.observers) == 1 {
		verb = " sees "
	}
	return ranges(g.observers) + verb + g.text
}

// ranges shortens node numbers: "#1-4,7".
func ranges(numbers []int) string {
	n := slices.Clone(numbers)
	slices.Sort(n)
	n = slices.Compact(n)
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(n[i]))
		case 1:
			parts = append(parts, fmt.Sprint(n[i]), fmt.Sprint(n[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return "#" + strings.Join(parts, ",")
}
