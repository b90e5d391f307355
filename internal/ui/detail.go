// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
)

const maxWorst = 8 // nodes listed of a rack

// detailPane describes the pair or node under the cursor of the matrix.
type detailPane struct {
	matrix *matrixPane
	view   viewport.Model
}

func (*detailPane) title() string { return "Detail" }

func (d *detailPane) lines(v *view, w int) []line {
	m := d.matrix
	i, j := m.rows.item(), m.columns.item()
	if i < 0 && j < 0 {
		return []line{{"nothing is selected", v.dim}}
	}
	return m.axis().detail(v, w, i, j)
}

func (d *detailPane) need(v *view, w int, _ bool) int { return len(d.lines(v, w)) }

func (d *detailPane) draw(v *view, w, h int, _ bool) []line {
	lines := d.lines(v, w)
	return lines[min(d.view.YOffset(), max(0, len(lines)-h)):]
}

func (d *detailPane) update(msg tea.KeyPressMsg, k *KeyMap, v *view, w, h int) {
	d.view.SetWidth(w)
	d.view.SetHeight(h)
	d.view.SetContentLines(texts(d.lines(v, w)))
	scroll(&d.view, msg, k)
}

// scroll moves the visible part of a text.
func scroll(view *viewport.Model, msg tea.Msg, k *KeyMap) {
	view.KeyMap = viewport.KeyMap{Up: k.Up, Down: k.Down, PageUp: k.PageUp, PageDown: k.PageDown}
	if msg, ok := msg.(tea.KeyPressMsg); ok {
		switch {
		case key.Matches(msg, k.Top, k.First):
			view.GotoTop()
		case key.Matches(msg, k.Bottom, k.Last):
			view.GotoBottom()
		}
	}
	*view, _ = view.Update(msg)
}

// detail describes the pair of two nodes, then both nodes.
func (a *nodeAxis) detail(v *view, w, i, j int) []line {
	nodes := a.f.nodes
	switch {
	case i < 0:
		return v.node(nil, w, "", &nodes[j])
	case j < 0:
		return v.node(nil, w, "", &nodes[i])
	case !nodes[i].column(): // a node that has not joined has no row: there is no pair
		return v.node(v.node(nil, w, "", &nodes[i]), w, "column", &nodes[j])
	case i == j:
		return v.node(a.pair(v, w, i, j), w, "", &nodes[i])
	}
	return v.node(v.node(a.pair(v, w, i, j), w, "observed", &nodes[j]), w, "reporter", &nodes[i])
}

// pair is one sentence on the state of node j in the row of node i.
func (a *nodeAxis) pair(v *view, w, i, j int) []line {
	by, of := &a.f.nodes[i], a.f.nodes[j].label()
	if !by.reports {
		if i == j {
			return nil // the lines of the node say why
		}
		return wrapped(nil, w, "  ", v.warn, fmt.Sprintf("%s does not say how it sees %s: %s", by.label(), of, v.noRow(by)))
	}
	if i == j {
		of = "itself"
	}
	c := a.f.cell(i, j)
	format := map[mark]string{markDown: "%s sees %s DOWN", markMissing: "%s does not list %s", markUnknown: "%s cannot say whether %s is UP", markUp: "%s sees %s UP"}[c.is]
	text := v.marks[c.is] + " "
	if c.is == markSelf {
		format, text = "%s sees %s", ""
		if c.up {
			format = "%s sees %s UP"
		}
	}
	text += fmt.Sprintf(format, by.label(), of)
	if !c.since.IsZero() {
		text += v.since(c.since) + " (" + v.clock(c.since) + ")"
	}
	if c.state != "" {
		text += ", state " + c.state
	}
	return wrapped(nil, w, "  ", v.cells[c.is][lightOff], text)
}

// node appends the full description of a node.
func (v *view) node(lines []line, w int, role string, n *node) []line {
	title := n.label()
	if role != "" {
		title = role + " " + title
	}
	if n.id != "" && n.id != n.label() {
		title += " " + n.id
	}
	lines = wrapped(lines, w, "  ", v.strong, title)
	add := func(look paint, format string, args ...any) {
		lines = wrapped(lines, w, "    ", look, "  "+fmt.Sprintf(format, args...))
	}
	if n.seen.of > 0 {
		look, text := v.good, "seen "+n.seen.text
		if n.seen.status != markUp {
			look, text = v.bad, text+v.since(n.seen.since)
			if n.seen.by != "" {
				text += " by " + n.seen.by
			}
		}
		add(look, "%s", text)
	}
	switch {
	case n.newcomer:
		text := "waits"
		if n.waits.on != "" {
			text = "waits for " + n.waits.on
		}
		add(v.warn, "%s%s: %s", text, v.since(n.waits.since), n.waits.summary)
	case !n.row.ok && n.row.due:
		add(v.warn, "%s", v.noRow(n))
	}
	add(paint{}, "%s", v.facts(n))
	if n.detail != "" {
		add(v.dim, "%s", n.detail)
	}
	if n.force != "" {
		add(v.warn, "forced to proceed (%q)", n.force)
	}
	for _, text := range n.replacements {
		add(v.warn, "replacement: %s", text)
	}
	return lines
}

// facts returns place, version, state, Pod and row of a node in one line.
func (v *view) facts(n *node) string {
	facts := []string{n.place}
	if n.version != "" {
		facts = append(facts, "ScyllaDB "+n.version)
	}
	if state := cmp.Or(n.mode, n.state); state != "" {
		facts = append(facts, state)
	}
	if n.state != "" && n.mode != "" && n.state != n.mode {
		facts = append(facts, "others say "+n.state)
	}
	if n.coordinates {
		facts = append(facts, "topology coordinator")
	}
	pod := "Pod " + n.pod
	if n.host != "" {
		pod += " on " + n.host
	}
	facts = append(facts, pod)
	if n.ip != "" {
		facts = append(facts, "IP "+n.ip)
	}
	if !n.joined {
		facts = append(facts, n.membership)
	}
	if !n.newcomer && n.row.ok && !n.row.written.IsZero() && !v.now.IsZero() {
		facts = append(facts, "row unchanged "+age(v.now.Sub(n.row.written)))
	}
	return strings.Join(facts, ", ")
}

// noRow is the reason why a node's row has no cells.
func (v *view) noRow(n *node) string {
	switch {
	case n.newcomer:
		return "newcomer" + v.since(n.waits.since) + ": " + n.waits.summary
	case n.row.isError:
		return "row error: " + n.row.detail
	case n.row.status == "stale":
		return "row stale" + v.since(n.row.staleSince) + ": " + n.row.detail
	case n.ghost:
		return "no row, no Pod"
	}
	return "no row"
}

// detail sums up the pairs of two racks or datacenters, and names the worst nodes of the second.
func (a *groupAxis) detail(v *view, w, i, j int) []line {
	if i < 0 || j < 0 {
		return nil
	}
	by, of, t := &a.items[i], &a.items[j], a.cells[i][j]
	var parts []string
	for _, p := range []struct {
		is   mark
		what string
	}{{markUp, "UP"}, {markDown, "DOWN"}, {markUnknown, "not known"}, {markMissing, "missing"}} {
		if n := t[p.is]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, p.what))
		}
	}
	text := fmt.Sprintf("%s %s (%d nodes) on %s (%d nodes): %s", v.marks[t.worst()], by.key, len(by.nodes), of.key, len(of.nodes), strings.Join(parts, ", "))
	if len(parts) == 0 {
		text = fmt.Sprintf("no node of %s has a fresh row, or %s has no other node", by.key, of.key)
	}
	lines := wrapped(nil, w, "  ", v.cells[t.worst()][lightOff], text)
	var worst []*node
	for _, k := range of.nodes {
		if n := &a.f.nodes[k]; n.trouble() > 0 || n.newcomer {
			worst = append(worst, n)
		}
	}
	slices.SortStableFunc(worst, func(x, y *node) int { return cmp.Compare(y.trouble(), x.trouble()) })
	for k, n := range worst {
		if k == maxWorst {
			lines = wrapped(lines, w, "    ", v.dim, fmt.Sprintf("  and %d more nodes of %s", len(worst)-k, of.key))
			break
		}
		text := "  " + v.brief(n)
		if !n.reports {
			text += ", " + v.noRow(n)
		}
		lines = append(lines, line{v.fitted(text, w), v.bad})
	}
	if v.once {
		return lines
	}
	return wrapped(lines, w, "  ", v.dim, "enter opens these two "+a.what+"s, z shows all nodes")
}

// brief is a node in a few words.
func (*view) brief(n *node) string {
	text := n.label()
	if n.seen.of > 0 {
		text += " seen " + n.seen.text
	}
	return text + ", Pod " + n.pod
}
