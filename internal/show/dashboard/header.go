// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// Time without a message of the feed after which the screen reports it.
const silence = 30 * time.Second

// link is the connection to the feed.
type link struct {
	live    bool      // a feed exists: a time without messages is then suspicious
	contact time.Time // last message of the feed
	lost    *Lost
	// quiet is the time without a message while the dashboard listened. It excludes the time in
	// which a command has the terminal or the computer sleeps.
	quiet  time.Duration
	ticked time.Time
}

func (l *link) heard(now time.Time) { l.contact, l.quiet = now, 0 }

func (l *link) tick(now time.Time) {
	if !l.ticked.IsZero() {
		l.quiet += max(0, min(now.Sub(l.ticked), 2*time.Second))
	}
	l.ticked = now
}

// stale reports whether the screen may be out of date: Lost, or too long without a message.
func (l *link) stale() bool { return l.lost != nil || l.live && l.quiet > silence }

// lose records that the cluster is unreadable; it returns nil if that is already recorded.
func (l *link) lose(msg Lost, now time.Time) *Change {
	if l.lost != nil {
		msg.Since = l.lost.Since
		l.lost = &msg
		return nil
	}
	l.lost = &msg
	return &Change{At: now, Text: msg.what() + ": " + reason(msg.Err), Bad: true}
}

// loaded records that the cluster was read; it returns nil if the connection was not lost.
func (l *link) loaded(now time.Time) (c *Change) {
	l.heard(now)
	if l.lost != nil {
		c = &Change{At: now, Text: "cluster readable again after " + age(now.Sub(l.lost.Since)), Good: true}
	}
	l.lost = nil
	return c
}

// banner is the warning of a lost connection; empty if it is not lost.
func (l *link) banner(v *view) string {
	switch {
	case l.lost != nil:
		return fmt.Sprintf("%s since %s (%s): %s", strings.ToUpper(l.lost.what()), v.clock(l.lost.Since),
			age(v.wall.Sub(l.lost.Since)), reason(l.lost.Err))
	case l.stale():
		return fmt.Sprintf("NO UPDATES since %s (%s): the screen may be out of date", v.clock(l.contact),
			age(v.wall.Sub(l.contact)))
	}
	return ""
}

func (l *Lost) what() string {
	if l.Reached {
		return "cannot read the cluster"
	}
	return "connection lost"
}

func reason(err error) string {
	if err == nil {
		return "unknown reason"
	}
	return clean(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// header is the verdict with the next step, the source of the rows, and the warnings.
func (s *Snapshot) header(v *view, l *link, w, h int) []string {
	lines := slices.Concat(s.verdictLines(v, w, h), s.nextStep(v, w, h), []string{s.originLine(v, w)})
	if text := l.banner(v); text != "" {
		for i, line := range wrapped(nil, w-2, "", paint{}, text) {
			if i == 1 && h < tall || i == 2 {
				break
			}
			lines = append(lines, v.fresh.banner.of(" "+padded(line.text, w-1)))
		}
	}
	if h > MinHeight {
		lines = append(lines, s.partialLines(v, w, h)...)
	}
	return lines
}

// tall is the height from which a cause is never truncated.
const tall = 20

// cause returns a cause wrapped, on a low screen in one line.
func (v *view) cause(look paint, text string, w, h int) []string {
	if h < tall {
		return []string{look.of(v.fitted(text, w))}
	}
	return texts(wrapped(nil, w, "  ", look, text))
}

// nextStep is the step of the first finding, so that it is in view whatever the panes show. A
// finding that the verdict does not show comes first. Its first command stays if not all fits.
func (s *Snapshot) nextStep(v *view, w, h int) []string {
	if len(s.findings) == 0 {
		return nil
	}
	var lines []textLine
	x, room := &s.findings[0], max(1, h/8)
	if !x.problem {
		lines = v.cut(wrapped(nil, w, "  ", v.warn, v.Dot+" "+x.text(v.now)), w, room)
	}
	step := v.step(nil, w, x.step)
	if h >= tall {
		room = h / 4
	}
	v.stepShown = len(step) <= room
	if !v.stepShown && len(x.step.Commands) > 0 && !evidence.Destroys(x.step.Commands[0]) {
		lead := "    "
		if room == 1 {
			lead = "  " + v.Arrow + " "
		}
		text := textLine{v.fitted(lead+v.words.Shell(x.step.Commands[0]), w), v.strong}
		if !slices.ContainsFunc(step[:room], func(l textLine) bool { return l.text == text.text }) {
			return texts(append(append(lines, step[:room-1]...), text))
		}
	}
	return texts(append(lines, v.cut(step, w, room)...))
}

// cut returns at most n lines and marks the last if lines are missing.
func (v *view) cut(lines []textLine, w, n int) []textLine {
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1].text = v.fitted(lines[n-1].text, w-2) + " " + v.Ellipsis
	}
	return lines
}

// verdictLines show the cause, in further lines if the first is too short.
func (s *Snapshot) verdictLines(v *view, w, h int) []string {
	word, is := s.doc.Verdict, s.doc.Mark()
	look := v.style(show.StyleOf(is))
	if len(s.partial) > 0 {
		word += " (partial)"
	}
	if v.stale {
		word, is = "LAST KNOWN: "+word, grid.Unknown
	}
	word = v.Marks[is] + " " + word
	if s.doc.Verdict == document.WordNotHealthy && w < narrow && !v.stale && len(s.partial) == 0 {
		word = v.Marks[is] // the glyph shows the verdict, and the cause needs the width
	}
	room := w - width(word) - 1 - len(s.name)
	rest := ": " + s.summary
	if len(rest) > room {
		rest = ": " + s.brief
	}
	lead := look.of(word) + " " + v.strong.of(s.name)
	if width(rest) <= room || room < fewWords {
		return []string{lead + v.fitted(rest, room)}
	}
	// The placeholder for the lead is one word, which cannot be broken.
	first, second, _ := strings.Cut(strings.Join(texts(wrapped(nil, w, "", paint{}, strings.Repeat("x", w-room)+rest)),
		"\n"),
		"\n")
	return append([]string{lead + first[w-room:]}, v.cause(paint{}, "  "+strings.ReplaceAll(second, "\n", " "), w,
		h)...)
}

// narrow is the width below which NOT HEALTHY is a glyph only, next to its cause.
const narrow = 60

// fewWords is the minimum useful width for the beginning of a sentence.
const fewWords = 10

// originLine shows the age, the source and the controller; it omits what does not fit.
func (s *Snapshot) originLine(v *view, w int) string {
	type part struct {
		text string
		look paint
	}
	read := part{"saved objects", v.dim}
	switch {
	case s.saved != "":
		read.text = s.saved
	case s.at.IsZero():
	case v.stale:
		read = part{fmt.Sprintf("read %s ago, at %s", age(v.wall.Sub(s.at)), v.clock(s.at)), v.warn}
	default:
		read.text = "read " + age(v.now.Sub(s.at)) + " ago"
	}
	controller := part{s.controller.text, v.dim}
	if !s.controller.ok {
		controller.look = v.bad
	}
	source := part{"source: " + string(s.doc.Source.Used), v.dim}
	if v.context != "" && s.saved == "" {
		source = part{"context " + v.context + ": from " + string(s.doc.Source.Used), v.strong}
	}
	if s.reason != "" && len(read.text)+len(source.text)+len(s.reason)+len(controller.text)+9 <= w {
		source.text += " (" + s.reason + ")"
	}
	parts := []part{read, source, controller}
	switch {
	case s.controller.is == leadingUnknown:
		parts = parts[:2]
	case !s.controller.ok:
		parts = []part{read, controller, source}
		if width(read.text)+3+width(controller.text) > w {
			parts[0], parts[1] = controller, read
		}
	}
	if s.coordinator != "" {
		parts = append(parts, part{s.coordinator, v.dim})
	}
	if s.view != nil {
		parts = append(parts, part{s.viewText(v), v.dim})
	}
	var b strings.Builder
	used := 0
	for i, p := range parts {
		if i > 0 {
			if used+3+width(p.text) > w {
				break
			}
			b.WriteString(v.dim.of(" " + v.Middot + " "))
			used += 3
		}
		text := v.fitted(p.text, w-used)
		b.WriteString(p.look.of(text))
		used += width(text)
	}
	return b.String()
}

// viewText shows the controller's view and how long it is unchanged, comparing two clocks.
func (s *Snapshot) viewText(v *view) string {
	now := v.wall
	if s.saved != "" {
		now = s.at
	}
	text := fmt.Sprintf("controller view %d.%d", s.view.Epoch, s.view.Seq)
	if !now.IsZero() {
		text += ", unchanged " + age(now.Sub(s.view.ObservedAt.Time))
	}
	return text
}

// partialLines show the unreadable parts, in at most an eighth of the screen.
func (s *Snapshot) partialLines(v *view, w, h int) []string {
	var lines []textLine
	for i, text := range s.partial {
		lead := "partial: "
		if i == 0 && len(s.partial) > 1 {
			lead = fmt.Sprintf("partial (%d): ", len(s.partial))
		}
		lines = wrapped(lines, w, "  ", v.warn, lead+text)
	}
	return texts(v.cut(lines, w, max(1, h/8)))
}
