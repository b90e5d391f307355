// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

const maxWorst = 8 // nodes listed of a rack

// detail describes what is under the cursor.
func (m *Model) detail(w int) []line {
	r, c := m.rows.item(), m.columns.item()
	if r < 0 && c < 0 {
		return []line{{"nothing is selected", m.theme().dim}}
	}
	if m.zoom == zoomRacks {
		if r < 0 || c < 0 {
			return nil
		}
		return m.rackDetail(w, r, c)
	}
	var lines []line
	switch {
	case r >= 0 && !m.snap.nodes[r].column() || c < 0:
		// Who has not joined sees nobody: there is no pair.
		lines = m.nodeDetail(lines, w, "", &m.snap.nodes[r])
		if c >= 0 {
			lines = m.nodeDetail(lines, w, "column", &m.snap.nodes[c])
		}
	case r < 0:
		lines = m.nodeDetail(lines, w, "", &m.snap.nodes[c])
	default:
		lines = m.pairDetail(w, r, c)
		if r == c {
			return m.nodeDetail(lines, w, "", &m.snap.nodes[r])
		}
		lines = m.nodeDetail(lines, w, "observed", &m.snap.nodes[c])
		lines = m.nodeDetail(lines, w, "reporter", &m.snap.nodes[r])
	}
	return lines
}

// pairDetail is the pair in one sentence.
func (m *Model) pairDetail(w, r, c int) []line {
	s, t := m.snap, m.theme()
	a, b := &s.nodes[r], &s.nodes[c]
	whom := b.name()
	if r == c {
		whom = "itself"
	}
	if !a.reports && r == c {
		return nil // the node's own lines say why
	}
	if !a.reports {
		return m.wrapped(nil, w, "  ", t.warn, fmt.Sprintf("%s does not say how it sees %s: %s", a.name(), whom, m.noRow(a)))
	}
	k, cell := s.cell(r, c), s.matrix.Cell(a.index, b.index)
	var text string
	switch k {
	case markDown:
		text = fmt.Sprintf("%s %s sees %s DOWN", m.g.marks[k], a.name(), whom)
	case markMissing:
		text = fmt.Sprintf("%s %s does not list %s", m.g.marks[k], a.name(), whom)
	case markUnknown:
		text = fmt.Sprintf("%s %s cannot say whether %s is UP", m.g.marks[k], a.name(), whom)
	case markUp:
		text = fmt.Sprintf("%s %s sees %s UP", m.g.marks[k], a.name(), whom)
	default:
		text = a.name() + " sees itself"
		if cell.Status == matrix.Up {
			text += " UP"
		}
	}
	if !cell.Since.IsZero() {
		text += m.since(cell.Since) + " (" + m.clock(cell.Since) + ")"
	}
	if cell.State != matrix.StateNormal {
		text += ", state " + cell.State.String()
	}
	return m.wrapped(nil, w, "  ", t.cells[k][lightOff], text)
}

// nodeDetail is all that is known of a node.
func (m *Model) nodeDetail(lines []line, w int, role string, n *node) []line {
	t := m.theme()
	title := n.name()
	if role != "" {
		title = role + " " + title
	}
	if n.HostID != "" && n.HostID != n.name() {
		title += " " + n.HostID
	}
	lines = m.wrapped(lines, w, "  ", t.strong, title)
	add := func(look paint, format string, args ...any) {
		lines = m.wrapped(lines, w, "    ", look, "  "+fmt.Sprintf(format, args...))
	}
	facts := []string{cmp.Or(n.Datacenter, "?") + "/" + cmp.Or(n.Rack, "?")}
	if n.Version != "" {
		facts = append(facts, "ScyllaDB "+n.Version)
	}
	if state := cmp.Or(n.OperationMode, n.State); state != "" {
		facts = append(facts, state)
	}
	if n.State != "" && n.OperationMode != "" && n.State != n.OperationMode {
		facts = append(facts, "others say "+n.State)
	}
	facts = append(facts, "Pod "+n.Pod)
	if n.Membership != kube.MemberJoined {
		facts = append(facts, string(n.Membership))
	}
	if n.Seen != nil && n.Seen.Of() > 0 {
		text, look := "seen "+n.Seen.Text(), t.good
		if n.Seen.Status != "UP" {
			look = t.bad
			if n.Seen.Since != nil {
				text += m.since(n.Seen.Since.Time)
			}
			if who := m.sayers(n); who != "" {
				text += " by " + who
			}
		}
		add(look, "%s", text)
	}
	switch {
	case n.newcomer != nil:
		text := "waits"
		if n.newcomer.Waiting != "" {
			text = "waits for " + n.newcomer.Waiting
		}
		add(t.warn, "%s%s: %s", text, m.waitingSince(n), n.summary())
	case n.Row.Status == render.RowOK && n.Row.Written != nil && !m.now().IsZero():
		facts = append(facts, "row unchanged"+m.since(n.Row.Written.Time))
	case n.Row.Status != render.RowOK && n.Row.Status != render.RowNone:
		add(t.warn, "%s", m.noRow(n))
	}
	add(paint{}, "%s", strings.Join(facts, ", "))
	if n.Detail != "" {
		add(t.dim, "%s", n.Detail)
	}
	if n.Force != "" {
		add(t.warn, "forced to proceed (%q)", n.Force)
	}
	for _, r := range m.snap.doc.Replacements {
		if r.Member != "" && r.Member == n.Member {
			add(t.warn, "replacement: %s", r.Summary)
		}
	}
	return lines
}

// sayers names those whose row says the worst of a node.
func (m *Model) sayers(n *node) string {
	var names []string
	more := 0
	for i := range m.snap.nodes {
		o := &m.snap.nodes[i]
		if !o.reports || o.index < 0 || o.index == n.index || m.snap.matrix.At(o.index, n.index).String() != n.Seen.Status {
			continue
		}
		if len(names) < namedObservers {
			names = append(names, o.name())
		} else {
			more++
		}
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (m *Model) rackDetail(w, r, c int) []line {
	s, t := m.snap, m.theme()
	a, b, k := &s.racks[r], &s.racks[c], s.cells[r][c]
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{k.up, "UP"}, {k.down, "DOWN"}, {k.unknown, "not known"}, {k.missing, "missing"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	text := fmt.Sprintf("%s %s (%d nodes) on %s (%d nodes): %s", m.g.marks[k.mark()], a, len(a.members), b, len(b.members), strings.Join(parts, ", "))
	if len(parts) == 0 {
		text = fmt.Sprintf("no node of %s has a fresh row, or %s has no other node", a, b)
	}
	lines := m.wrapped(nil, w, "  ", t.cells[k.mark()][lightOff], text)
	var worst []int
	for _, i := range b.members {
		if s.nodes[i].trouble() > 0 || s.nodes[i].newcomer != nil {
			worst = append(worst, i)
		}
	}
	slices.SortStableFunc(worst, func(x, y int) int { return cmp.Compare(s.nodes[y].trouble(), s.nodes[x].trouble()) })
	for i, j := range worst {
		if i == maxWorst {
			lines = m.wrapped(lines, w, "    ", t.dim, fmt.Sprintf("  and %d more nodes of %s", len(worst)-i, b))
			break
		}
		n := &s.nodes[j]
		text := "  " + n.name()
		if n.Seen != nil {
			text += " seen " + n.Seen.Text()
		}
		text += ", Pod " + n.Pod
		if !n.reports {
			text += ", " + m.noRow(n)
		}
		lines = append(lines, line{m.fitted(render.Clean(text), w), t.bad})
	}
	return m.wrapped(lines, w, "  ", t.dim, "enter opens these two racks, z shows all nodes")
}

// helpLines is help, from the key map, with the legend.
func (m *Model) helpLines(w int) []string {
	t := m.look
	lines := []string{t.title.of("Keys")}
	var all []string
	wide := 0
	for _, group := range m.keys.FullHelp() {
		for _, k := range group {
			wide = max(wide, ansi.StringWidth(k.Help().Key))
		}
	}
	for _, group := range m.keys.FullHelp() {
		for _, k := range group {
			if k.Enabled() {
				all = append(all, m.helpKeyLine(k, wide))
			}
		}
	}
	const column = 30
	per := max(1, w/column)
	height := (len(all) + per - 1) / per
	for y := range height {
		c := newCanvas(w, 1)
		for x := range per {
			if i := x*height + y; i < len(all) {
				c.at(x*column, 0, all[i])
			}
		}
		lines = append(lines, c.String())
	}
	lines = append(lines, "", t.title.of("Cells"))
	for _, k := range []struct {
		mark mark
		what string
	}{
		{markUp, "the reporter (row) sees the node (column) UP"}, {markDown, "sees it DOWN"}, {markUnknown, "cannot say, or its row is old"},
		{markMissing, "its row lacks the node"}, {markSelf, "itself"},
	} {
		lines = append(lines, "  "+t.cells[k.mark][lightOff].of(m.g.marks[k.mark])+" "+m.fitted(k.what, w-4))
	}
	text := func(s string) {
		for _, l := range m.wrapped(nil, w, "  ", paint{}, s) {
			lines = append(lines, l.text)
		}
	}
	text("Behind a name: J joining, L leaving, R replacing, B being replaced, X decommissioned, N newcomer, G member without a Pod, g known to gossip only, ? not known.")
	text("By rack, a cell counts pairs: not UP of all.")
	lines = append(lines, "", t.title.of("Filter"))
	text("Words that name, host ID, place, Pod or version contain, all of them. dc:NAME and rack:NAME; by: before a word is for the rows alone, of: for the columns alone (of:rack3-0: who sees it how).")
	text("state:down (up, unknown, missing): those who say so, and those of whom it is said. state: with newcomer, ghost, joining, stale, error...: such nodes.")
	lines = append(lines, "", t.title.of("Actions"))
	text("force-proceed and replace run the commands of the same name: they show what they will do and ask.")
	return lines
}

func (m *Model) helpKeyLine(k key.Binding, wide int) string {
	h := k.Help()
	return "  " + m.look.info.of(h.Key) + strings.Repeat(" ", max(0, wide-ansi.StringWidth(h.Key))) + " " + h.Desc
}

// drawPicker asks which node.
func (m *Model) drawPicker(c *canvas) {
	p, t := m.pick, m.look
	y := 0
	for _, l := range m.head() {
		c.put(y, l)
		y++
	}
	y++
	c.put(y, t.title.of(m.fitted(p.verb+": which node? The command then shows what it will do, and asks.", m.width)))
	y += 2
	h := m.height - 1 - y
	first := max(0, min(p.at-h/2, len(p.nodes)-h))
	for i := first; i < len(p.nodes) && y < m.height-1; i++ {
		n := &m.snap.nodes[p.nodes[i]]
		mark, look := "  ", paint{}
		if i == p.at {
			mark, look = m.g.cursor+" ", t.chosen
		}
		text := n.name()
		if n.HostID != "" {
			text += " " + n.Short()
		}
		if n.Seen != nil {
			text += ", seen " + n.Seen.Text()
		}
		text += ", Pod " + n.Pod
		if n.newcomer != nil {
			text += ", " + n.summary()
		}
		c.put(y, look.of(m.fitted(mark+render.Clean(text), m.width)))
		y++
	}
}
