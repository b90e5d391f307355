// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
)

// pageEvery is the interval of reading an open page again if its content can change.
const pageEvery = 10 * time.Second

// Page is the description of one node, as in `describe`.
type Page struct {
	Lines []pageLine
	// Command is the next step's command to copy; empty without one.
	Command string
}

// pageRead is the result of reading the page of the node with that key.
type pageRead struct {
	key  string
	page *Page
	err  error
}

// pagePane is the full-screen page of one node; tab shows the other node of the pair.
type pagePane struct {
	read  func(target string) (*Page, error)
	nodes []*shownNode // the shown one first
	page  *Page        // nil until it was read
	err   error        // of the last reading
	// asking is set while it is read, since at.
	asking bool
	at     time.Time
	view   viewport.Model
}

// ask reads the page of the shown node.
func (p *pagePane) ask(now time.Time) tea.Cmd {
	p.asking, p.at = true, now
	read, shown := p.read, p.nodes[0]
	return func() tea.Msg {
		page, err := read(shown.target())
		return pageRead{key: shown.key(), page: page, err: err}
	}
}

// take stores the result if it is for the shown node. After an error the earlier page stays.
func (p *pagePane) take(msg pageRead) {
	if msg.key != p.nodes[0].key() {
		return
	}
	p.asking, p.err = false, msg.err
	if msg.err == nil {
		p.page = msg.page
	}
}

// tick reads the page again every pageEvery.
func (p *pagePane) tick(now time.Time) tea.Cmd {
	if p.asking || now.Sub(p.at) < pageEvery {
		return nil
	}
	return p.ask(now)
}

// other shows the other node of the pair.
func (p *pagePane) other(now time.Time) tea.Cmd {
	if len(p.nodes) < 2 {
		return nil
	}
	p.nodes[0], p.nodes[1] = p.nodes[1], p.nodes[0]
	p.page, p.err = nil, nil
	p.view.GotoTop()
	return p.ask(now)
}

// update scrolls and reports whether the page was left.
func (p *pagePane) update(msg tea.Msg, k *keyMap) bool {
	if msg, ok := msg.(tea.KeyPressMsg); ok && key.Matches(msg, k.Back, k.Quit, k.Enter) {
		return true
	}
	scroll(&p.view, msg, k)
	return false
}

// lines are the page in w cells. A command stays on one line, truncated if necessary; y copies all
// of it.
func (p *pagePane) lines(v *view, w int) []string {
	var out []textLine
	if p.err != nil {
		out = wrapped(out, w, "  ", v.fresh.bad, "cannot read it: "+reason(p.err))
	}
	if p.page == nil {
		if p.err == nil {
			out = append(out, textLine{"reading details of " + p.nodes[0].label() + " ...", v.dim})
		}
		return texts(out)
	}
	if p.err != nil {
		out = append(out, textLine{"the lines below were read before", v.fresh.warn}, textLine{})
	}
	lines := texts(out)
	column := pageColumn
	if w < 60 {
		column = 2
	}
	for i, l := range p.page.Lines {
		name, look := l.Name, v.style(l.Style)
		if name != "" {
			name += ":"
		}
		switch {
		case l.Text == "":
			lines = append(lines, "")
		case i == 0:
			lines = append(lines, texts(wrapped(nil, w, "  ", look, name+" "+l.Text))...)
		case l.Command:
			lines = append(lines, look.of(v.fitted(strings.Repeat(" ", column)+l.Text, w)))
		default:
			lead := max(column, len(name)+1)
			for k, text := range wrapped(nil, w, strings.Repeat(" ", column), look, strings.Repeat(" ", lead)+l.Text) {
				if k == 0 { // wrapped leaves the width of the name free
					lines = append(lines, v.strong.of(name)+look.of(text.text[len(name):]))
					continue
				}
				lines = append(lines, look.of(text.text))
			}
		}
	}
	return lines
}

// draw fills a canvas from line y on.
func (p *pagePane) draw(v *view, c *canvas, y int) {
	p.view.SetWidth(c.width)
	p.view.SetHeight(max(0, len(c.lines)-1-y))
	lines := p.lines(v, c.width)
	p.view.SetContentLines(lines)
	from := min(p.view.YOffset(), max(0, len(lines)-p.view.Height()))
	for _, text := range lines[from:] {
		if y >= len(c.lines)-1 {
			break
		}
		c.at(0, y, text)
		y++
	}
}

// more returns the number of hidden lines as text.
func (p *pagePane) more() string {
	switch n := p.view.TotalLineCount() - p.view.Height() - p.view.YOffset(); {
	case n <= 0:
		return ""
	case n == 1:
		return "+1 line  "
	default:
		return "+" + thousands(n) + " lines  "
	}
}

// footer is the number of hidden lines, and the keys.
func (p *pagePane) footer(v *view, k *keyMap, can offered, w int) string {
	more, tab := p.more(), k.Tab
	tab.SetHelp("tab", "the other node")
	keys := []key.Binding{k.Back, k.Copy}
	if can.act {
		keys = append(keys, k.Nodetool)
	}
	if len(p.nodes) > 1 {
		keys = append(keys, tab)
	}
	return v.warn.of(more) + v.short(keys, w-len(more))
}

// pair returns the nodes under the cursor, the more troubled one first, else the reporter; nil
// while the matrix shows groups.
func (m *model) pair() []*shownNode {
	if m.matrix.level > 0 {
		return nil
	}
	var nodes []*shownNode
	for _, i := range []int{m.matrix.rows.item(), m.matrix.columns.item()} {
		if i >= 0 && (len(nodes) == 0 || nodes[0] != &m.snap.nodes[i]) {
			nodes = append(nodes, &m.snap.nodes[i])
		}
	}
	if len(nodes) == 2 && nodes[1].trouble() > nodes[0].trouble() && nodes[0].newcomer == nil {
		nodes[0], nodes[1] = nodes[1], nodes[0]
	}
	return nodes
}

// target returns its name in commands: its member, or its host ID without one.
func (n *shownNode) target() string { return cmp.Or(n.Member, string(n.HostID)) }

// openPage shows the page of the node under the cursor.
func (m *model) openPage() tea.Cmd {
	nodes := m.pair()
	if m.opts.Actions.Describe == nil || len(nodes) == 0 {
		m.focus = paneDetail
		return nil
	}
	m.page = &pagePane{read: m.opts.Actions.Describe, nodes: nodes, view: viewport.New()}
	return m.page.ask(m.opts.Now())
}

// pageKey handles a key while a page is open.
func (m *model) pageKey(msg tea.KeyPressMsg) tea.Cmd {
	k := &m.keys
	switch {
	case key.Matches(msg, k.Tab, k.BackTab):
		return m.page.other(m.opts.Now())
	case key.Matches(msg, k.Copy):
		if m.page.page == nil || m.page.page.Command == "" {
			m.note.text = "nothing to copy: this node has no command"
			return nil
		}
		return m.clip(m.page.page.Command)
	case key.Matches(msg, k.Nodetool):
		return m.nodetool(m.page.nodes)
	}
	if m.page.update(msg, k) {
		m.page = nil
	}
	return nil
}

// nodetool runs nodetool on the first of nodes, or shows why not. It has the screen until it ends.
func (m *model) nodetool(nodes []*shownNode) tea.Cmd {
	if len(nodes) == 0 {
		m.note.text = "which node? z shows the nodes, enter opens two groups of them"
		return nil
	}
	n, run, verb := nodes[0], m.opts.Actions.Nodetool, m.keys.Nodetool.Help().Desc
	switch {
	case run == nil:
		m.note.text = verb + ": " + cmp.Or(m.opts.Actions.Why, "not available here")
	case n.Member == "":
		m.note.text = verb + ": " + n.label() + " has no member here, so it has no Pod"
	default:
		return tea.Exec(&execution{run: func() error { return run(n.Member) }},
			func(err error) tea.Msg { return done{verb: verb, target: n.label(), err: err, looked: true} })
	}
	return nil
}
