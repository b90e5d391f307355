// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const maxWorst = 8 // listed nodes of a rack

// detailPane describes the pair or node under the cursor of the matrix.
type detailPane struct {
	matrix *matrixPane
	view   viewport.Model
}

func (*detailPane) title() string { return "Detail" }

func (d *detailPane) lines(v *view, w int) []textLine {
	m := d.matrix
	i, j := m.rows.item(), m.columns.item()
	if i < 0 && j < 0 {
		return []textLine{{"nothing is selected", v.dim}}
	}
	return m.axis().detail(v, w, i, j)
}

func (d *detailPane) need(v *view, w int, _ bool) int { return len(d.lines(v, w)) }

func (d *detailPane) draw(v *view, w, h int, _ bool) []textLine {
	lines := d.lines(v, w)
	return lines[min(d.view.YOffset(), max(0, len(lines)-h)):]
}

func (d *detailPane) update(msg tea.KeyPressMsg, k *keyMap, v *view, w, h int) {
	d.view.SetWidth(w)
	d.view.SetHeight(h)
	d.view.SetContentLines(texts(d.lines(v, w)))
	scroll(&d.view, msg, k)
}

// scroll moves the visible part of a text.
func scroll(view *viewport.Model, msg tea.Msg, k *keyMap) {
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
func (a *byNode) detail(v *view, w, i, j int) []textLine {
	nodes := a.f.nodes
	switch {
	case i < 0:
		return v.node(nil, w, "", &nodes[j])
	case j < 0:
		return v.node(nil, w, "", &nodes[i])
	case !nodes[i].column: // a node that has not joined has no row, so there is no pair
		return v.node(v.node(nil, w, "", &nodes[i]), w, "column", &nodes[j])
	case i == j:
		return v.node(a.pair(v, w, i, j), w, "", &nodes[i])
	}
	return v.node(v.node(a.pair(v, w, i, j), w, "observed", &nodes[j]), w, "reporter", &nodes[i])
}

// pair is one sentence on the state of node j in the row of node i.
func (a *byNode) pair(v *view, w, i, j int) []textLine {
	by, of := &a.f.nodes[i], a.f.nodes[j].label()
	if !by.reports {
		if i == j {
			return nil // the lines of the node give the reason
		}
		return wrapped(nil, w, "  ", v.warn, fmt.Sprintf("%s does not report on %s: %s", by.label(), of, v.noRow(by)))
	}
	if i == j {
		of = "itself"
	}
	c, is := a.f.who.Cell(by.index, a.f.nodes[j].index), a.f.mark(i, j)
	format := map[grid.Mark]string{
		grid.Down: "%s sees %s DOWN", grid.Missing: "%s does not list %s",
		grid.Unknown: "%s does not know whether %s is UP", grid.Up: "%s sees %s UP", grid.Self: "%s sees %s",
	}
	text := v.Marks[is] + " "
	if is == grid.Self {
		text = ""
	}
	said := is
	if c.Status == matrix.Up {
		said = grid.Up
	}
	text += fmt.Sprintf(format[said], by.label(), of)
	if !c.Since.IsZero() {
		text += v.since(c.Since) + " (" + v.clock(c.Since) + ")"
	}
	if c.State != matrix.StateNormal {
		text += ", state " + clean(c.State.String())
	}
	return wrapped(nil, w, "  ", v.cells[is][lightOff], text)
}

// node appends the full description of a node.
func (v *view) node(lines []textLine, w int, role string, n *shownNode) []textLine {
	title := n.label()
	if role != "" {
		title = role + " " + title
	}
	if id := string(n.HostID); id != "" && id != n.label() {
		title += " " + id
	}
	lines = wrapped(lines, w, "  ", v.strong, title)
	add := func(look paint, format string, args ...any) {
		lines = wrapped(lines, w, "    ", look, "  "+fmt.Sprintf(format, args...))
	}
	if n.Seen != nil {
		look, text := v.good, "seen "+n.Seen.Text()
		if n.Seen.Mark() != grid.Up {
			look, text = v.bad, text+v.since(document.TimeOf(n.Seen.Since))
			if n.by != "" {
				text += " by " + n.by
			}
		}
		add(look, "%s", text)
	}
	switch {
	case n.newcomer != nil:
		age := v.since(document.TimeOf(n.newcomer.Since))
		text := "waiting" + age
		if n.newcomer.Waiting != "" {
			text = "waiting for " + n.newcomer.Waiting
			if age != "" {
				text += " (" + age[1:] + ")"
			}
		}
		add(v.warn, "%s: %s", text, words.Text(n.newcomer.Summary))
	case n.Row.Status != document.RowOK && n.Row.Status != document.RowNone:
		add(v.warn, "%s", v.noRow(n))
	}
	add(paint{}, "%s", v.facts(n))
	if n.Detail != "" && (n.newcomer == nil || n.HostID != "") { // a new node has none yet
		add(v.dim, "%s", n.Detail)
	}
	for _, note := range n.Notes {
		look := paint{}
		if note.Warn {
			look = v.warn
		}
		add(look, "%s", words.Text(note.Message))
	}
	for _, text := range n.replacements {
		add(v.warn, "replacement: %s", text)
	}
	return lines
}

// facts returns place, version, state, Pod and row of a node in one line; its page has the rest.
func (v *view) facts(n *shownNode) string {
	facts := []string{n.place()}
	add := func(lead, text string) {
		if text != "" {
			facts = append(facts, lead+text)
		}
	}
	add("ScyllaDB ", n.Release())
	add("", cmp.Or(n.OperationMode, n.State))
	if n.State != n.OperationMode && n.OperationMode != "" {
		add("others report ", n.State)
	}
	if n.coordinates {
		add("", "topology coordinator")
	}
	pod := "Pod " + n.Pod
	if on := clean(n.On()); on != "" {
		pod += " on " + on
	}
	add("", pod)
	if n.Membership != cluster.MemberJoined {
		add("", document.MembershipText(n.Membership))
	}
	if written := document.TimeOf(n.Row.Written); n.newcomer == nil && n.Row.Status == document.RowOK &&
		!written.IsZero() && !v.now.IsZero() {
		add("report unchanged ", age(v.now.Sub(written)))
	}
	return strings.Join(facts, ", ")
}

// noRow returns why a node's row has no cells.
func (v *view) noRow(n *shownNode) string {
	switch {
	case n.newcomer != nil:
		return "new node waiting" + v.since(document.TimeOf(n.newcomer.Since)) + ": " + words.Text(n.newcomer.Summary)
	case n.Row.Status == document.RowError:
		return "report error: " + n.Row.Detail
	case n.Row.Status == document.RowStale:
		return "report stale" + v.since(document.TimeOf(n.Row.StaleSince)) + ": " + n.Row.Detail
	case n.Membership == cluster.MemberGhost:
		return "no report, no Pod"
	}
	return "no report"
}

// detail summarises the pairs of two racks or datacenters, with the worst nodes of the second.
func (a *byGroup) detail(v *view, w, i, j int) []textLine {
	if i < 0 || j < 0 {
		return nil
	}
	by, of, t := &a.items[i], &a.items[j], &a.Cells[i][j]
	text := fmt.Sprintf("%s %s (%d nodes) on %s (%d nodes): %s", v.Marks[t.Worst()], by.key, len(by.nodes), of.key,
		len(of.nodes), show.TallyText(*t))
	if t.Total() == 0 {
		text = fmt.Sprintf("no node of %s has a fresh status report, or %s has no other node", by.key, of.key)
	}
	lines := wrapped(nil, w, "  ", v.cells[t.Worst()][lightOff], text)
	var worst []*shownNode
	for _, k := range of.nodes {
		if n := &a.f.nodes[k]; n.trouble() > 0 || n.newcomer != nil {
			worst = append(worst, n)
		}
	}
	slices.SortStableFunc(worst, func(x, y *shownNode) int { return cmp.Compare(y.trouble(), x.trouble()) })
	for k, n := range worst {
		if k == maxWorst {
			lines = wrapped(lines, w, "    ", v.dim, fmt.Sprintf("  and %d more nodes of %s", len(worst)-k, of.key))
			break
		}
		text := "  " + v.brief(n)
		if !n.reports {
			text += ", " + v.noRow(n)
		}
		lines = append(lines, textLine{v.fitted(text, w), v.bad})
	}
	if v.once {
		return lines
	}
	return wrapped(lines, w, "  ", v.dim, "enter opens these two "+a.By.String()+"s, z shows all nodes")
}

// brief describes a node in a few words.
func (*view) brief(n *shownNode) string {
	text := n.label()
	if n.Seen != nil {
		text += " seen " + n.Seen.Text()
	}
	return text + ", Pod " + n.Pod
}
