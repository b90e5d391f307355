// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"strings"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// noteTime is how long the last line shows a note.
const noteTime = 10 * time.Second

// note is the last action's result on the last line, until the next key or for noteTime.
type note struct {
	text, shown string
	since       time.Time
}

func (n *note) tick(now time.Time) {
	switch {
	case n.text != n.shown:
		n.shown, n.since = n.text, now
	case now.Sub(n.since) > noteTime:
		n.text, n.shown = "", ""
	}
}

// prompt reads a filter from the keyboard.
type prompt struct {
	input       textinput.Model
	open        bool
	before      string // the previous filter
	row, column string // keys of the items under the cursor at that time
	err         error
}

func newPrompt() prompt {
	p := prompt{input: textinput.New()}
	p.input.Prompt = "/"
	styles := p.input.Styles()
	styles.Cursor.Blink = false
	p.input.SetStyles(styles)
	return p
}

func (p *prompt) begin(m *matrixPane) tea.Cmd {
	p.open, p.before, p.row, p.column = true, m.filter.text, m.key(m.rows.item()), m.key(m.columns.item())
	p.input.SetValue(m.filter.text)
	p.input.CursorEnd()
	return p.input.Focus()
}

// update edits the filter and applies it while it is valid. Enter accepts it, esc restores the old
// one.
func (p *prompt) update(msg tea.Msg, k *keyMap, m *matrixPane) tea.Cmd {
	var cmd tea.Cmd
	switch msg, ok := msg.(tea.KeyPressMsg); {
	case ok && key.Matches(msg, k.Enter):
		if p.open = p.err != nil; !p.open {
			p.input.Blur()
		}
		return nil
	case ok && msg.String() == "esc":
		p.open = false
		p.input.Blur()
		p.input.SetValue(p.before)
	default:
		p.input, cmd = p.input.Update(msg)
	}
	var f filter
	if f, p.err = parseFilter(p.input.Value()); p.err == nil {
		m.setFilter(f, p.row, p.column)
	}
	return cmd
}

func (p *prompt) draw(v *view, w int) string {
	text, hint, look := p.input.View(), "  dc: rack: state: or text, enter, esc", v.fresh.dim
	if !v.color {
		text = "/" + p.input.Value() + "_"
	}
	if p.err != nil {
		hint, look = "  "+p.err.Error(), v.fresh.bad
	}
	return text + look.of(v.fitted(hint, w-len(p.input.Value())-3))
}

// footer is the filter being typed, the result of the last action, or the keys.
func (m *model) footer(v *view) string {
	t := v.fresh
	switch {
	case m.prompt.open:
		return m.prompt.draw(v, m.width)
	case m.note.text != "":
		return t.strong.of(v.fitted(clean(m.note.text), m.width))
	case m.menu != nil:
		return t.dim.of(v.fitted("up, down choose   enter confirms   esc cancels", m.width))
	case m.help == nil && m.page != nil:
		return m.page.footer(v, &m.keys, m.offered(), m.width)
	case m.help != nil:
		return t.dim.of("esc leaves help, up and down scroll")
	}
	return v.short(m.keys.shortHelp(m.offered()), m.width)
}

// offered returns the possible actions: an archive can only be viewed.
func (m *model) offered() offered {
	may := m.opts.Actions.Why == ""
	return offered{act: may, replace: may && m.snap != nil && m.snap.mayReplace}
}

// short lists keys within w cells.
func (v *view) short(keys []key.Binding, width int) string {
	t := v.fresh
	var b strings.Builder
	used := 0
	for _, k := range keys {
		h := k.Help()
		w := len(h.Key) + 1 + len(h.Desc) + 2
		if used+w-2 > width {
			continue
		}
		if used > 0 {
			b.WriteString("  ")
		}
		b.WriteString(t.info.of(h.Key) + " " + t.dim.of(h.Desc))
		used += w
	}
	return b.String()
}
