// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
)

type rect struct{ x, y, w, h int }

func (r rect) contains(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// layout is where everything is on the screen. Drawing and the mouse use the same.
type layout struct {
	head []string
	// rects of panes begin with their title line; a pane that is not shown has none.
	rects [panes]rect
	// tabs are the titles that a click chooses.
	tabs [panes]rect
	side bool
}

const (
	sideWidth  = 100 // from here the panes stand beside the matrix
	sideHeight = 14
	wideScreen = 160
	sidePane   = 42
	divider    = 3
)

// layout places the panes: beside the matrix on wide screens, else one of them below it.
func (m *Model) layout() layout {
	l := layout{head: m.head()}
	top, body := len(l.head), m.height-len(l.head)-1
	if m.width >= sideWidth && body >= sideHeight && m.fitsBeside() {
		m.beside(&l, top, body)
	} else {
		m.below(&l, top, body)
	}
	return l
}

// fitsBeside is true when the panes take no column away, or the screen is so wide that both are better.
func (m *Model) fitsBeside() bool {
	cell := minCell
	if m.zoom == zoomRacks {
		cell = minRackCell
	}
	label, _ := m.labels(m.zoom, m.width)
	return m.width >= wideScreen || m.prefix(label)+len(m.columns.items)*cell+1 <= m.width-sidePane-divider
}

func (m *Model) beside(l *layout, top, body int) {
	l.side = true
	label, _ := m.labels(m.zoom, m.width)
	w := m.prefix(label) + len(m.columns.items)*m.widest() + 1
	// Why a row is missing wants some room, too.
	w = min(max(w, m.width*9/20), m.width-sidePane-divider)
	l.rects[paneMatrix] = rect{0, top, w, body}
	x, pw := w+divider, m.width-w-divider
	need := [panes]int{}
	heights := [panes]int{paneDetail: 5, paneBlockers: 4, paneHistory: 3}
	for p := paneDetail; p < panes; p++ {
		need[p] = 1 + m.linesOf(p, pw)
	}
	left := body - heights[paneDetail] - heights[paneBlockers] - heights[paneHistory] - 2 // blank lines between
	for _, p := range []pane{m.focus, paneDetail, paneBlockers, paneHistory} {
		if p == paneMatrix {
			continue
		}
		more := max(0, min(left, need[p]-heights[p]))
		heights[p] += more
		left -= more
	}
	heights[paneHistory] += left
	y := top
	for p := paneDetail; p < panes; p++ {
		l.rects[p] = rect{x, y, pw, heights[p]}
		l.tabs[p] = rect{x, y, pw, 1}
		y += heights[p] + 1
	}
}

func (m *Model) below(l *layout, top, body int) {
	shown := m.shown()
	avail := body - 1 // the line of tabs
	rows := m.matrixHead(avail) + len(m.rows.items)
	need := m.linesOf(shown, m.width)
	least := max(2, avail/3)
	if m.focus != paneMatrix {
		least = max(2, avail*2/3)
	}
	h := max(avail-rows, min(need, least))
	h = min(h, avail-m.matrixHead(avail)-1)
	l.rects[paneMatrix] = rect{0, top, m.width, avail - h}
	l.rects[shown] = rect{0, top + avail - h, m.width, h + 1}
	// What is left below the details shows what matters next.
	if also := m.also(); also != paneMatrix && h-need >= 3 {
		l.rects[shown].h = need + 1
		l.rects[also] = rect{0, top + avail - h + 1 + need, m.width, h - need}
	}
	x := 0
	for p := paneDetail; p < panes; p++ {
		w := len(m.tab(p))
		l.tabs[p] = rect{x, top + avail - h, w, 1}
		x += w + 2
	}
}

// also is the pane for which there may be room below the details; paneMatrix when there is none.
func (m *Model) also() pane {
	switch {
	case m.focus != paneMatrix:
		return paneMatrix
	case len(m.snap.groups) > 0:
		return paneBlockers
	case len(m.history) > 0:
		return paneHistory
	}
	return paneMatrix
}

// shown is the pane below the matrix.
func (m *Model) shown() pane {
	if m.focus == paneMatrix {
		return paneDetail
	}
	return m.focus
}

// matrixHead is how many lines stand above the rows.
func (m *Model) matrixHead(height int) int {
	if m.grouped(height) {
		return 3
	}
	return 2
}

// grouped is true when a line names the racks above the columns, or the datacenters above the racks.
func (m *Model) grouped(height int) bool {
	if m.zoom == zoomRacks {
		return m.sort == sortPlace && m.snap.datacenters > 1
	}
	return height >= 12 && m.sort == sortPlace && len(m.snap.racks) > 1 && len(m.columns.items) >= 2*len(m.snap.racks)
}

// geometry is where the matrix has what.
type geometry struct {
	head          int // lines above the rows
	grouped       bool
	digits, label int
	strip         int // characters left out at the beginning of each name
	prefix        int // columns before the first cell
	cell          int // width of a cell
	rows, columns int // visible
}

const minCell, maxCell, minRackCell = 2, 3, 7

func (m *Model) geometry(l layout) geometry {
	r := l.rects[paneMatrix]
	g := geometry{head: m.matrixHead(r.h), grouped: m.grouped(r.h), digits: m.digits()}
	g.label, g.strip = m.labels(m.zoom, r.w)
	g.prefix = m.prefix(g.label)
	n := len(m.columns.items)
	free := max(1, r.w-g.prefix-1)
	if m.zoom == zoomRacks {
		g.cell = max(minRackCell, min(16, free/max(1, n)))
	} else {
		g.cell = maxCell
		if n*g.cell > free {
			g.cell = minCell
		}
	}
	g.columns = max(1, min(n, free/g.cell))
	g.rows = max(1, r.h-g.head)
	return g
}

func (m *Model) digits() int {
	n, d := len(m.snap.nodes), 1
	for ; n >= 10; n /= 10 {
		d++
	}
	return d
}

// prefix is marker, number, space, name, flag: what stands before the cells.
func (m *Model) prefix(label int) int {
	if m.zoom == zoomRacks {
		return 1 + label + 1
	}
	return 1 + m.digits() + 1 + label + 2
}

// widest is the width of a cell where there is room.
func (m *Model) widest() int {
	if m.zoom == zoomRacks {
		return 10
	}
	return maxCell
}

// nodesFit is true when every column of nodes has room on the screen.
func (m *Model) nodesFit() bool {
	w := m.width
	if w >= wideScreen {
		w -= sidePane + divider
	}
	label, _ := m.labels(zoomNodes, w)
	return 1+m.digits()+1+label+2+m.nodeColumns*minCell+1 <= w
}

// names is how long the names of an axis are, and how much of each the others begin with, too.
type names struct{ longest, common int }

// labels is the width of names, and how many of their first characters are left out to get there: what all have in common tells nothing apart.
func (m *Model) labels(z zoom, w int) (label, strip int) {
	n := m.names[z]
	budget := max(10, w/3)
	if n.longest <= budget {
		return n.longest, 0
	}
	return min(n.longest-n.common, budget), n.common
}

func (s *Snapshot) names() (out [2]names) {
	measure := func(z zoom, n int, name func(int) string) {
		if n == 0 {
			return
		}
		prefix := name(0)
		for i := range n {
			text := name(i)
			out[z].longest = max(out[z].longest, len(text))
			for !strings.HasPrefix(text, prefix) {
				prefix = prefix[:len(prefix)-1]
			}
		}
		// Whole words only.
		out[z].common = strings.LastIndexAny(prefix, "-/") + 1
	}
	measure(zoomNodes, len(s.nodes), func(i int) string { return s.nodes[i].name() })
	measure(zoomRacks, len(s.racks), func(i int) string { return s.racks[i].title() })
	return out
}
