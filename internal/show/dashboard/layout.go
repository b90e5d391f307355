// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

type paneID uint8

const (
	paneMatrix paneID = iota
	paneDetail
	paneFindings
	paneHistory
	panes
)

// pane is a part of the screen next to or below the matrix.
type pane interface {
	title() string
	// need returns the number of lines that it could fill in w cells.
	need(v *view, w int, focused bool) int
	draw(v *view, w, h int, focused bool) []textLine
	update(msg tea.KeyPressMsg, k *keyMap, v *view, w, h int)
}

type rect struct{ x, y, w, h int }

func (r rect) contains(x, y int) bool { return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h }

// layout is the position of everything on the screen, for drawing and for the mouse.
type layout struct {
	head []string
	// rects of panes begin with their title; a hidden pane has none.
	rects [panes]rect
	// tabs are the titles that a click selects.
	tabs [panes]rect
	side bool
}

const (
	sideWidth  = 100 // minimum width for panes next to the matrix
	sideHeight = 14
	wideScreen = 160
	sidePane   = 42
	divider    = 3
)

// layout places the panes: next to the matrix on wide screens, else one of them below it.
func (m *model) layout(v *view) layout {
	l := layout{head: m.snap.header(v, &m.link, m.width, m.height)}
	body := m.height - len(l.head)
	if !m.once {
		body-- // for the footer
	}
	beside := m.width >= wideScreen ||
		m.matrix.axis().base().width(m.width, len(m.matrix.columns.items)) <= m.width-sidePane-divider
	if m.width >= sideWidth && body >= sideHeight && beside {
		m.beside(v, &l, body)
	} else {
		m.below(v, &l, body)
	}
	return l
}

func (m *model) beside(v *view, l *layout, body int) {
	l.side = true
	top, ax := len(l.head), m.matrix.axis().base()
	w := ax.prefix(m.width) + len(m.matrix.columns.items)*min(10, ax.most) + 1
	least := m.width * 9 / 20 // the reason of a missing row also needs width
	if m.width >= wideScreen {
		least = min(max(least, m.matrix.wish(m.width)), m.width*3/5)
	}
	w = min(max(w, least), m.width-sidePane-divider)
	l.rects[paneMatrix] = rect{0, top, w, body}
	x, pw := w+divider, m.width-w-divider
	heights := [panes]int{paneDetail: 5, paneFindings: 4, paneHistory: 3}
	left := body - 2 // blank lines between
	for _, h := range heights {
		left -= h
	}
	for _, p := range []paneID{m.focus, paneDetail, paneFindings, paneHistory} {
		if p != paneMatrix {
			more := max(0, min(left, 1+m.need(v, p, pw)-heights[p]))
			heights[p] += more
			left -= more
		}
	}
	heights[paneHistory] += left
	for p, y := paneDetail, top; p < panes; p++ {
		l.rects[p] = rect{x, y, pw, heights[p]}
		l.tabs[p] = rect{x, y, pw, 1}
		y += heights[p] + 1
	}
}

func (m *model) below(v *view, l *layout, body int) {
	shown, top, avail := m.shown(), len(l.head), body-1 // without the line of tabs
	head := 2 + m.matrix.places(avail)
	need := m.need(v, shown, m.width)
	least := avail / 3
	if m.focus != paneMatrix {
		least = avail * 2 / 3
	}
	h := max(avail-head-len(m.matrix.rows.items), min(need, max(2, least)))
	h = min(h, avail-head-1)
	l.rects[paneMatrix] = rect{0, top, m.width, avail - h}
	l.rects[shown] = rect{0, top + avail - h, m.width, h + 1}
	// The space below the details is for the next most important pane.
	if also := m.also(); also != paneMatrix && h-need >= 3 {
		l.rects[shown].h = need + 1
		l.rects[also] = rect{0, top + avail - h + 1 + need, m.width, h - need}
	}
	x := 0
	for p := paneDetail; p < panes; p++ {
		w := len(m.pane(p).title())
		l.tabs[p] = rect{x, top + avail - h, w, 1}
		x += w + 2
	}
}

func (m *model) need(v *view, p paneID, w int) int { return m.pane(p).need(v, w, p == m.focus) }

// shown returns the pane below the matrix.
func (m *model) shown() paneID { return max(m.focus, paneDetail) }

// also returns the pane that may fit below the details; paneMatrix without one.
func (m *model) also() paneID {
	switch {
	case m.focus != paneMatrix:
		return paneMatrix
	case len(m.snap.findings) > 0:
		return paneFindings
	case len(m.changes.log) > 0:
		return paneHistory
	}
	return paneMatrix
}

func (m *model) drawPanes(v *view, c *canvas, l layout) {
	if l.side {
		for y := range l.rects[paneMatrix].h {
			c.at(l.rects[paneDetail].x-2, l.rects[paneMatrix].y+y, v.dim.of(v.Bar))
		}
	} else { // one line has all titles; the shown pane begins below it
		for p := paneDetail; p < panes; p++ {
			name := v.dim.of(m.pane(p).title())
			if p == m.shown() {
				name = m.tab(v, p, true)
			}
			c.at(l.tabs[p].x, l.tabs[p].y, name)
		}
		last, more := l.tabs[panes-1], m.more(v, m.shown(), l.rects[m.shown()])
		x := last.x + last.w + 1
		c.at(x, last.y, v.dim.of(strings.Repeat(v.Line, max(0, m.width-x-len(more)))+more))
	}
	for p := paneDetail; p < panes; p++ {
		r := l.rects[p]
		if r.h == 0 {
			continue
		}
		if l.side || p != m.shown() {
			name := m.tab(v, p, l.side && p == m.focus)
			if more := m.more(v, p, r); more != "" {
				name += v.dim.of(more)
			}
			c.at(r.x, r.y, name)
		}
		lines := m.pane(p).draw(v, r.w, r.h-1, p == m.focus)
		for i, l := range lines[:max(0, min(r.h-1, len(lines)))] {
			c.at(r.x, r.y+1+i, l.look.of(l.text))
		}
	}
}

// tab is a pane's title; without colour, the highlighted one is in upper case.
func (m *model) tab(v *view, p paneID, marked bool) string {
	name, look := m.pane(p).title(), v.title
	if marked && !v.color {
		name = strings.ToUpper(name)
	}
	if p == m.focus {
		look = v.fresh.focus
	}
	return look.of(name)
}

// more returns the number of hidden lines of a pane as text.
func (m *model) more(v *view, p paneID, r rect) string {
	switch n := m.need(v, p, r.w) - r.h + 1; {
	case n <= 0 || p == paneHistory:
		return ""
	case n == 1:
		return " +1 line"
	default:
		return fmt.Sprintf(" +%d lines", n)
	}
}

func (m *model) click(msg tea.MouseClickMsg) {
	if msg.Button != tea.MouseLeft || m.help != nil || m.menu != nil || m.page != nil || m.small() {
		return
	}
	m.note.text, m.matrix.touched = "", true
	v := m.view()
	lay := m.layout(v)
	if r := lay.rects[paneMatrix]; r.contains(msg.X, msg.Y) {
		m.focus = paneMatrix
		m.matrix.click(msg.X-r.x, msg.Y-r.y, m.matrix.geometry(r.w, r.h))
		return
	}
	for p := paneDetail; p < panes; p++ {
		if lay.tabs[p].contains(msg.X, msg.Y) {
			m.focus = p
			return
		}
	}
	for p := paneDetail; p < panes; p++ {
		if r := lay.rects[p]; r.contains(msg.X, msg.Y) {
			_, owner := m.findings.items(v, r.w, r.h-1, m.focus == p)
			if y := msg.Y - r.y - 1; p == paneFindings && y >= 0 && y < len(owner) {
				m.findings.at, m.findings.jumps = owner[y], 0
				m.jump()
			}
			m.focus = p
			return
		}
	}
}

func (m *model) wheel(msg tea.MouseWheelMsg) {
	if m.small() || m.menu != nil {
		return
	}
	if m.help != nil {
		m.help.update(msg, &m.keys)
		return
	}
	if m.page != nil {
		m.page.update(msg, &m.keys)
		return
	}
	by, sideways := 3, msg.Mod.Contains(tea.ModShift)
	switch msg.Button {
	case tea.MouseWheelUp:
		by = -by
	case tea.MouseWheelLeft:
		by, sideways = -by, true
	case tea.MouseWheelRight:
		sideways = true
	}
	v := m.view()
	lay := m.layout(v)
	if r := lay.rects[paneMatrix]; r.contains(msg.X, msg.Y) {
		m.matrix.wheel(by, sideways, m.matrix.geometry(r.w, r.h))
		return
	}
	arrow := tea.KeyPressMsg{Code: tea.KeyDown}
	if by < 0 {
		arrow.Code = tea.KeyUp
	}
	for p := paneDetail; p < panes; p++ {
		if r := lay.rects[p]; r.contains(msg.X, msg.Y) {
			m.pane(p).update(arrow, &m.keys, v, r.w, max(1, r.h-1))
		}
	}
}
