// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// scope is a pair of items that was opened with enter: the matrix shows only their nodes.
type scope struct {
	level       int
	row, column string // keys
}

// matrixPane shows the matrix, at one level, with a cursor.
type matrixPane struct {
	s             *Snapshot
	level         int
	chosen        bool // the user selected the level; else it is the finest that fits
	touched       bool // a key was pressed; before that the cursor follows the trouble
	scopes        []scope
	rows, columns span
	counts        []int // columns at each level
	worstFirst    bool  // sorted by trouble, else by place
	filter        filter
}

func (m *matrixPane) axis() axis { return m.s.levels[m.level] }

func (m *matrixPane) items() []item { return m.axis().base().items }

// key returns the key of an item; empty for -1.
func (m *matrixPane) key(item int) string {
	if item < 0 {
		return ""
	}
	return m.items()[item].key
}

// seek puts the cursor on the items of two nodes, unless -1. False if one of them is hidden.
func (m *matrixPane) seek(row, column int) bool {
	ok := row < 0 || m.rows.seek(m.axis().of(row))
	return (column < 0 || m.columns.seek(m.axis().of(column))) && ok
}

// load sets a snapshot; the cursor stays on its items.
func (m *matrixPane) load(s *Snapshot) {
	if m.s == nil {
		m.s = s
		m.arrange()
		m.point()
		return
	}
	row, column := m.key(m.rows.item()), m.key(m.columns.item())
	m.s = s
	if m.level >= len(s.levels) {
		m.level = len(s.levels) - 1
	}
	for i, sc := range m.scopes {
		if sc.level >= len(s.levels) || s.levels[sc.level].base().seek(sc.row) < 0 ||
			s.levels[sc.level].base().seek(sc.column) < 0 {
			m.scopes = m.scopes[:i]
			break
		}
	}
	m.arrange()
	m.rows.seek(m.axis().base().seek(row))
	m.columns.seek(m.axis().base().seek(column))
	if !m.touched {
		m.point()
	}
}

// point puts the cursor on the first finding.
func (m *matrixPane) point() {
	for _, x := range m.s.findings {
		if len(x.stops) > 0 {
			m.seek(x.stops[0][0], m.s.columnOf(x.stops[0][1]))
			return
		}
	}
}

// arrange computes rows and columns from filter, scope, level and order.
func (m *matrixPane) arrange() {
	rows, columns := m.filter.apply(m.s.facts)
	if n := len(m.scopes); n > 0 {
		sc := m.scopes[n-1]
		ax := m.s.levels[sc.level]
		outside := func(key string) func(int) bool {
			in := ax.base().seek(key)
			return func(node int) bool { return ax.of(node) != in }
		}
		rows, columns = slices.DeleteFunc(rows, outside(sc.row)), slices.DeleteFunc(columns, outside(sc.column))
	}
	m.counts = m.counts[:0]
	for _, ax := range m.s.levels {
		m.counts = append(m.counts, len(fold(ax, columns)))
	}
	items := m.items()
	m.rows.items = m.order(fold(m.axis(), rows), func(i int) int { return items[i].row })
	m.columns.items = m.order(fold(m.axis(), columns), func(i int) int { return items[i].column })
	m.rows.move(0)
	m.columns.move(0)
}

// fold returns the items that contain nodes, each once.
func fold(ax axis, nodes []int) []int {
	in := make([]bool, len(ax.base().items))
	out := make([]int, 0, len(in))
	for _, node := range nodes {
		if i := ax.of(node); !in[i] {
			in[i] = true
			out = append(out, i)
		}
	}
	return out
}

// order sorts items, which are numbered by place.
func (m *matrixPane) order(items []int, trouble func(int) int) []int {
	slices.Sort(items)
	if m.worstFirst {
		slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(trouble(b), trouble(a)) })
	}
	return items
}

// keeping runs do, which may change rows and columns, and restores the cursor on its nodes.
func (m *matrixPane) keeping(do func()) {
	node := func(item int) int {
		if item < 0 || len(m.items()[item].nodes) == 0 {
			return -1
		}
		return m.items()[item].nodes[0]
	}
	row, column := node(m.rows.item()), node(m.columns.item())
	do()
	m.seek(row, column)
}

func (m *matrixPane) setLevel(level int) {
	if level == m.level && len(m.scopes) == 0 {
		return
	}
	m.keeping(func() {
		m.level, m.scopes = level, nil
		m.arrange()
	})
}

// fit selects the finest level whose columns fit in w cells, unless the user selected a level.
func (m *matrixPane) fit(w int) {
	if m.chosen || len(m.scopes) > 0 {
		return
	}
	want := 0
	for i, ax := range m.s.levels {
		if i > 0 && len(ax.base().items) < 2 {
			continue
		}
		if want = i; ax.base().width(w, m.counts[i]) <= w {
			break
		}
	}
	if want != m.level {
		m.setLevel(want)
	}
}

// setFilter applies a filter and puts the cursor on the items with these keys: incomplete input
// must not move it.
func (m *matrixPane) setFilter(f filter, row, column string) {
	m.filter = f
	m.arrange()
	if !m.rows.seek(m.axis().base().seek(row)) {
		m.rows.at = 0
	}
	if !m.columns.seek(m.axis().base().seek(column)) {
		m.columns.at = 0
	}
}

// open shows only the nodes of the row and the column under the cursor, one level finer. False
// without a finer level.
func (m *matrixPane) open() bool {
	row, column := m.rows.item(), m.columns.item()
	if m.level == 0 || row < 0 || column < 0 {
		return m.level > 0
	}
	m.scopes = append(m.scopes, scope{m.level, m.key(row), m.key(column)})
	m.level--
	m.arrange()
	m.rows.at, m.columns.at = 0, 0
	for i, r := range m.rows.items {
		for j, c := range m.columns.items {
			if k, _ := m.axis().cell(r, c, 0); k.NotUp() {
				m.rows.at, m.columns.at = i, j
				return true
			}
		}
	}
	return true
}

// back leaves an opened pair, then the filter. False if there is neither.
func (m *matrixPane) back() bool {
	n := len(m.scopes)
	switch {
	case n > 0:
		sc := m.scopes[n-1]
		m.scopes, m.level = m.scopes[:n-1], sc.level
		m.arrange()
		m.rows.seek(m.axis().base().seek(sc.row))
		m.columns.seek(m.axis().base().seek(sc.column))
	case m.filter.text != "":
		m.setFilter(filter{}, m.key(m.rows.item()), m.key(m.columns.item()))
	default:
		return false
	}
	return true
}

// show puts the cursor on a pair of nodes. cleared reports whether it removed the filter.
func (m *matrixPane) show(row, column int) (cleared bool) {
	if m.level > 0 || len(m.scopes) > 0 {
		m.chosen = true
		m.setLevel(0)
	}
	if !m.seek(row, column) && m.filter.text != "" {
		m.filter, cleared = filter{}, true
		m.arrange()
	}
	m.seek(row, column)
	return cleared
}

// update moves the cursor, zooms and sorts. height is the number of visible rows.
func (m *matrixPane) update(msg tea.KeyPressMsg, k *keyMap, height int) {
	m.rows.move(k.vertical(msg, height, len(m.rows.items)))
	m.columns.move(k.horizontal(msg, len(m.columns.items)))
	switch {
	case key.Matches(msg, k.Zoom):
		m.chosen = true
		m.setLevel((m.level + 1) % len(m.s.levels))
	case key.Matches(msg, k.Sort):
		m.worstFirst = !m.worstFirst
		m.keeping(m.arrange)
		if m.worstFirst {
			m.rows.at, m.columns.at = 0, 0
		}
	}
}

// click puts the cursor on a cell, or on the row of a name. x and y are relative to the pane.
func (m *matrixPane) click(x, y int, g geometry) {
	if y -= g.head; y >= 0 && y < m.rows.visible(g.rows) {
		m.rows.at = m.rows.top + y
	}
	if x -= g.prefix; x >= 0 && x/g.cell < m.columns.visible(g.columns) {
		m.columns.at = m.columns.top + x/g.cell
	}
}

// wheel scrolls by lines, or by columns.
func (m *matrixPane) wheel(by int, sideways bool, g geometry) {
	if sideways {
		m.columns.scroll(by, g.columns)
	} else {
		m.rows.scroll(by, g.rows)
	}
}
