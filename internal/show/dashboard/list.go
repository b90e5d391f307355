// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"slices"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// lister provides the items of a list.
type lister interface {
	len() int
	// full is a complete item, short one line of it.
	full(v *view, i, w int, focused bool) []textLine
	short(v *view, i, w int) textLine
	// none is the text of an empty list.
	none() string
}

// list is a pane of items with a selected one.
type list struct {
	lister
	at int
}

// update moves the selection.
func (l *list) update(msg tea.KeyPressMsg, k *keyMap, _ *view, _, h int) {
	n := l.len()
	by := k.vertical(msg, h, n)
	if key.Matches(msg, k.First, k.Last) {
		by = k.horizontal(msg, n)
	}
	l.at = max(0, min(l.at+by, n-1))
}

// manyItems is the number of items above which only the selected one is shown in full.
const manyItems = 12

// need returns the number of lines that the list could fill.
func (l *list) need(v *view, w int, focused bool) (n int) {
	for i := range l.len() {
		if i == l.at || l.len() <= manyItems {
			n += len(l.full(v, i, w, focused && i == l.at))
		} else {
			n++
		}
	}
	return max(1, n)
}

func (l *list) draw(v *view, w, h int, focused bool) []textLine {
	lines, _ := l.items(v, w, h, focused)
	return lines
}

// items fills at most h lines, and returns the item of each line. The selected item is in the
// middle, in full; the others as far as they fit.
func (l *list) items(v *view, w, h int, focused bool) (lines []textLine, owner []int) {
	n := l.len()
	if n == 0 {
		return []textLine{{v.fitted(l.none(), w), v.dim}}, nil
	}
	full := l.full(v, l.at, w, focused)
	room := h - (n - 1) - len(full) // what one line for each of the others leaves
	for i := max(0, min(l.at-max(0, h-len(full))/2, -room)); i < n && len(lines) < h; i++ {
		text := full
		if i != l.at {
			text = []textLine{l.short(v, i, w)}
			if n <= manyItems && room > 0 {
				all := l.full(v, i, w, false)
				text = all[:min(len(all), room+1)]
				room -= len(text) - 1
			}
		}
		for _, t := range text {
			lines, owner = append(lines, t), append(owner, i)
		}
	}
	return lines, owner
}

// findingsPane lists the findings, most severe first.
type findingsPane struct {
	list
	s *Snapshot
	// jumps counts how often enter or n went to a pair of the selected finding; each time to the
	// next pair.
	jumps int
}

// title counts nodes, not pairs: two halves of 504 nodes are 95,256 pairs.
func (b *findingsPane) title() string { return fmt.Sprintf("Findings %d", b.len()) }
func (b *findingsPane) len() int      { return len(b.s.findings) }

func (b *findingsPane) none() string {
	if !b.s.doc.Healthy {
		return "none, but the status of the nodes is unknown"
	}
	return "none: all nodes see each other UP"
}

func (b *findingsPane) update(msg tea.KeyPressMsg, k *keyMap, v *view, w, h int) {
	was := b.at
	if b.list.update(msg, k, v, w, h); b.at != was {
		b.jumps = 0
	}
}

func (b *findingsPane) full(v *view, i, w int, focused bool) []textLine {
	x, mark := &b.s.findings[i], v.Dot
	if focused {
		mark = v.Cursor
	}
	lines := wrapped(nil, w, "  ", b.look(v, x), mark+" "+x.text(v.now))
	if x.further || i == 0 && v.stepShown {
		return lines
	}
	return v.step(lines, w, x.step)
}

func (*findingsPane) look(v *view, x *finding) paint {
	if x.problem {
		return v.bad
	}
	return v.warn
}

func (b *findingsPane) short(v *view, i, w int) textLine {
	x := &b.s.findings[i]
	return textLine{v.fitted(v.Dot+" "+x.text(v.now), w), b.look(v, x)}
}

// chosen returns nil without findings.
func (b *findingsPane) chosen() *finding {
	if b.at >= len(b.s.findings) {
		return nil
	}
	return &b.s.findings[b.at]
}

// load keeps the same finding selected.
func (b *findingsPane) load(s *Snapshot) {
	key := ""
	if b.s != nil && b.chosen() != nil {
		key = b.chosen().key
	}
	b.s = s
	b.at = max(0, slices.IndexFunc(s.findings, func(x finding) bool { return x.key == key }))
}

// changesPane lists what has changed, newest first.
type changesPane struct {
	list
	log []Change
}

const maxHistory = 1000

func (c *changesPane) title() string { return fmt.Sprintf("Changes %d", len(c.log)) }
func (c *changesPane) len() int      { return len(c.log) }
func (c *changesPane) none() string  { return "no changes since the start" }

// need leaves a line free for the next change.
func (c *changesPane) need(*view, int, bool) int { return max(1, len(c.log)) + 1 }

func (c *changesPane) item(i int) *Change { return &c.log[len(c.log)-1-i] }

func (c *changesPane) full(v *view, i, w int, focused bool) []textLine {
	if !focused {
		return []textLine{c.short(v, i, w)}
	}
	ch := c.item(i)
	return wrapped(nil, w, "         ", ch.look(v), v.Cursor+ch.stamp(v)+" "+ch.Text)
}

func (c *changesPane) short(v *view, i, w int) textLine {
	ch := c.item(i)
	return textLine{v.fitted(ch.stamp(v)+" "+ch.Text, w), ch.look(v)}
}

// add appends changes. The selection stays on an older change that is selected.
func (c *changesPane) add(focused bool, changes ...Change) {
	c.log = append(c.log, changes...)
	if n := len(c.log) - maxHistory; n > 0 {
		c.log = slices.Delete(c.log, 0, n)
	}
	if focused && c.at > 0 {
		c.at = min(c.at+len(changes), len(c.log)-1)
	}
}

// before inserts changes before the start of the dashboard, by time. The selection stays on the
// same change.
func (c *changesPane) before(past []Change) {
	var shown Change
	if c.at < len(c.log) {
		shown = *c.item(c.at)
	}
	for _, p := range past {
		p.Text = clean(p.Text)
		c.log = append(c.log, p)
	}
	slices.SortStableFunc(c.log, func(a, b Change) int { return a.At.Compare(b.At) })
	c.log = c.log[max(0, len(c.log)-maxHistory):]
	if c.at > 0 {
		c.at = max(0, len(c.log)-1-slices.Index(c.log, shown))
	}
}

// stamp returns the time of a change, with its date if that is another day.
func (ch *Change) stamp(v *view) string {
	now, at := v.wall, ch.At.In(v.wall.Location())
	switch {
	case ch.At.IsZero():
		return "        "
	case now.Format(time.DateOnly) != at.Format(time.DateOnly):
		return at.Format("Jan _2 15:04:05")
	}
	return v.clock(ch.At)
}

func (ch *Change) look(v *view) paint {
	switch {
	case ch.Bad:
		return v.bad
	case ch.Good:
		return v.good
	}
	return paint{}
}
