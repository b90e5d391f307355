// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// geometry is the widths and heights inside the matrix.
type geometry struct {
	head          int // lines above the rows
	places        int // lines of head with racks and datacenters
	label, strip  int // width of the names, and number of cut leading characters
	facts         int // columns of text that fit
	prefix        int // width before the first cell
	cell          int // width of a cell
	rows, columns int // rows and columns that fit
}

// noteRoom is the width reserved for the reason why a row has no cells.
const noteRoom = 40

// places returns the number of lines with racks and datacenters in a pane of h lines.
func (m *matrixPane) places(h int) int {
	if m.worstFirst {
		return 0
	}
	return m.axis().places(h, len(m.columns.items))
}

// geometry of a pane of w x h cells.
func (m *matrixPane) geometry(w, h int) geometry {
	l, n := m.axis().base(), max(1, len(m.columns.items))
	g := geometry{places: m.places(h), prefix: l.prefix(w)}
	g.head = 2 + g.places
	g.label, g.strip = l.label(w)
	shown, width := l.factsIn(w - g.prefix - m.cellRoom())
	g.facts = shown
	g.prefix += width
	free := max(1, w-g.prefix-1)
	g.cell = max(l.least, min(l.most, free/n))
	g.columns = max(1, min(n, free/g.cell))
	g.rows = max(1, h-g.head)
	return g
}

// cellRoom is the width reserved for the cells before columns of text.
func (m *matrixPane) cellRoom() int {
	l := m.axis().base()
	need := len(m.columns.items)*min(10, l.most) + 1
	if l.silent {
		need = max(need, noteRoom)
	}
	return need
}

// wish is the width at which everything fits.
func (m *matrixPane) wish(w int) int {
	_, facts := m.axis().base().factsIn(w)
	return m.axis().base().prefix(w) + facts + m.cellRoom()
}

// factsIn returns the number of columns of text that fit, and their width.
func (l *level) factsIn(room int) (n, width int) {
	for ; n < len(l.facts) && width+l.facts[n].gap+l.facts[n].width <= room; n++ {
		width += l.facts[n].gap + l.facts[n].width
	}
	return n, width
}

// factsText is one line of the first n columns of text.
func (l *level) factsText(n int, value func(i int) string) string {
	var b strings.Builder
	for i, f := range l.facts[:n] {
		if f.gap > 0 {
			b.WriteString(padded(" "+value(i), f.gap+f.width))
		}
	}
	return b.String()
}

// title describes the shown part of the matrix.
func (m *matrixPane) title(v *view, g geometry) string {
	parts := []string{m.axis().base().title}
	if n := len(m.scopes); n > 0 {
		parts = append(parts, m.scopes[n-1].row+" on "+m.scopes[n-1].column)
	}
	if m.filter.text != "" {
		parts = append(parts, fmt.Sprintf("/%s (%d by %d)", m.filter.text, len(m.rows.items), len(m.columns.items)))
	}
	if m.worstFirst {
		parts = append(parts, "sorted by trouble")
	}
	visible := func(what string, s *span, n int) {
		if len(s.items) > n {
			parts = append(parts, fmt.Sprintf("%s %d-%d of %d", what, s.top+1, s.top+s.visible(n), len(s.items)))
		}
	}
	visible("rows", &m.rows, g.rows)
	visible("columns", &m.columns, g.columns)
	return strings.Join(parts, " "+v.Middot+" ")
}

func (m *matrixPane) draw(v *view, c *canvas, r rect, focused bool) {
	g, look := m.geometry(r.w, r.h), v.title
	switch {
	case v.stale:
		look = v.dim
	case focused:
		look = v.focus
	}
	c.at(r.x, r.y, look.of(v.fitted(m.title(v, g), r.w)))
	if len(m.rows.items) == 0 || len(m.columns.items) == 0 && m.filter.text != "" {
		text := "no node has reported yet"
		if m.filter.text != "" {
			text = "no match: esc clears the filter"
		}
		c.at(r.x, r.y+2, v.dim.of(v.fitted(text, r.w)))
		return
	}
	for i := range g.places {
		c.at(g.prefix, r.y+1+i, v.dim.of(m.placeLine(v, g, i)))
	}
	c.at(r.x, r.y+g.head-1, m.headLine(v, g))
	for i := range m.rows.visible(g.rows) {
		text, w := m.row(v, g, m.rows.top+i, r.w, focused)
		c.wide(r.x, r.y+g.head+i, text, w)
	}
}

// placeLine is the datacenters, or the racks, above their columns. Line 0 of g.places is the
// outermost.
func (m *matrixPane) placeLine(v *view, g geometry, n int) string {
	var b strings.Builder
	items := m.columns.items[m.columns.top : m.columns.top+m.columns.visible(g.columns)]
	place := func(k int) []string {
		above := m.items()[items[k]].above
		if m.level > 0 {
			return above[:1]
		}
		return above[:len(above)-g.places+n+1]
	}
	for i := 0; i < len(items); {
		at, j := place(i), i
		for j < len(items) && slices.Equal(place(j), at) {
			j++
		}
		w := (j-i)*g.cell - 1
		name := at[len(at)-1]
		if long := strings.Join(at, "/"); n == 0 && len(long) <= w {
			name = long
		}
		b.WriteString(v.Bar + padded(v.fitted(name, w), w))
		i = j
	}
	return b.String()
}

// headLine has the number or name of each column that fits, and always of the cursor's column.
func (m *matrixPane) headLine(v *view, g geometry) string {
	l := m.axis().base()
	facts := l.factsText(g.facts, func(i int) string { return l.facts[i].title })
	names := g.prefix - len(facts)
	lead := "reporter"
	if names >= 18 {
		lead = "reporter, sees " + v.Arrow
	}
	lead = padded(" "+v.fitted(lead, names-2), names) + facts
	w := g.columns*g.cell + 1
	line := []byte(strings.Repeat(" ", w))
	n := m.columns.visible(g.columns)
	// put writes the head of column k if it fits, and returns its position.
	put := func(k int, always bool) (from, to int) {
		at, text := m.axis().head(m.columns.items[m.columns.top+k], g.cell, g.places > 0)
		text = strings.ReplaceAll(text, "…", "~") // one byte in each cell
		at += k * g.cell
		if at < 0 && always { // the first column of many
			text, at = text[-at:], 0
		}
		to = at + len(text)
		if always || at >= 0 && to <= w && strings.Trim(string(line[max(0, at-1):min(w, to+1)]), " ") == "" {
			copy(line[at:], text)
		}
		return at, min(w, to)
	}
	cursor, from, to := m.columns.at-m.columns.top, 0, 0
	if cursor >= 0 && cursor < n {
		from, to = put(cursor, true)
	}
	for k := range n {
		if k != cursor {
			put(k, false)
		}
	}
	return v.dim.of(lead) + v.dim.of(string(line[:from])) + v.heads[lightCursor].of(string(line[from:to])) + v.dim.of(
		string(line[to:]))
}

// row draws a row and returns its width.
func (m *matrixPane) row(v *view, g geometry, at, w int, focused bool) (text string, used int) {
	i, on := m.rows.items[at], at == m.rows.at
	l, it := m.axis().base(), &m.items()[i]
	light, marker := lightOff, " "
	if on {
		light, marker = lightCross, v.Cursor
		if focused {
			light = lightCursor
		}
	}
	name := shorten(it.name[min(g.strip, len(it.name)):], g.label, true, v.Ellipsis)
	var b strings.Builder
	b.WriteString(v.heads[light].of(marker + it.lead + padded(name, g.label) + it.tail))
	if g.facts > 0 {
		b.WriteString(
			v.heads[min(light, lightCross)].of(l.factsText(g.facts, func(k int) string { return it.facts[k] })))
	}
	if why := m.axis().instead(v, i); why != "" {
		why = v.fitted(" "+why, w-g.prefix)
		return b.String() + v.warn.of(why), g.prefix + width(why)
	}
	n := m.columns.visible(g.columns)
	for k := range n {
		m.cell(&b, v, g, on, k, i)
	}
	used = g.prefix + n*g.cell
	// The bracket that closes the cursor is the first character of the next cell; the last cell has
	// no next one.
	if on && g.cell == 2 && m.columns.at == m.columns.top+n-1 {
		b.WriteString(v.cells[grid.None][lightCursor].of("]"))
		used++
	}
	return b.String(), used
}

// cell draws visible column k of row i: a space or bracket, the glyph, text, and a space or
// bracket. on is set in the row of the cursor.
func (m *matrixPane) cell(b *strings.Builder, v *view, g geometry, on bool, k, i int) {
	at := m.columns.top + k
	is, text := m.axis().cell(i, m.columns.items[at], g.cell-3)
	here, light, lead := at == m.columns.at, lightOff, " "
	switch {
	case on && here:
		light, lead = lightCursor, "["
	case on || here:
		light = lightCross
	}
	if on && at == m.columns.at+1 && g.cell == 2 {
		lead = "]"
	}
	p := v.cells[is][light]
	b.WriteString(p.pre)
	b.WriteString(lead)
	b.WriteString(v.Marks[is])
	b.WriteString(text)
	if pad := g.cell - 2 - len(text); pad > 0 {
		for range pad - 1 {
			b.WriteByte(' ')
		}
		if on && here {
			b.WriteByte(']')
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteString(p.post)
}
