// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// view is the context of a pane for drawing: looks, characters and the clock.
type view struct {
	*theme        // of the snapshot: grey if it may be old
	fresh  *theme // of parts that are never old
	show.Glyphs
	color, stale bool
	once         bool // no key is read
	stepShown    bool // the header has the whole step of the first finding
	wall         time.Time
	words        words.Printer
	context      string // if it is not the current one
	// now is the reference time of ages; zero if unknown. It stands still while the feed is stale.
	now time.Time
}

// age formats a duration as in every other output.
func age(d time.Duration) string { return words.Age(d) }

// since returns " for 12s", or nothing if either time is unknown.
func (v *view) since(t time.Time) string {
	return words.Since(t, v.now)
}

// clock returns the time of day, in the time zone of the user.
func (v *view) clock(t time.Time) string { return t.In(v.wall.Location()).Format("15:04:05") }

// step appends a next step: its text wrapped, and each command on its own line, truncated but never
// broken: y copies all of it.
func (v *view) step(lines []textLine, w int, m words.Message) []textLine {
	lead := "  " + v.Arrow + " "
	for _, f := range show.StepFacts("", show.Plain, m, v.words) {
		if text := clean(f.Text); f.Command {
			lines = append(lines, textLine{v.fitted(lead+text, w), v.strong})
		} else {
			lines = wrapped(lines, w, "    ", paint{}, lead+text)
		}
		lead = "    "
	}
	return lines
}

// fitted truncates a text without escape sequences at a width.
func (v *view) fitted(text string, w int) string {
	if len(text) <= w {
		return text
	}
	return ansi.Truncate(text, max(0, w), v.Ellipsis)
}

func width(text string) int { return show.Width(text) }

// textLine is a text with its look.
type textLine struct {
	text string
	look paint
}

// wrapped appends text in lines of at most w cells and indents further lines. It breaks only words
// that are longer than a line.
func wrapped(lines []textLine, w int, indent string, look paint, text string) []textLine {
	for _, text := range show.Wrap(text, w, indent) {
		for width(text) > w && w > len(indent) {
			cut := ansi.Truncate(text, w, "")
			lines, text = append(lines, textLine{cut, look}), indent+text[len(cut):]
		}
		lines = append(lines, textLine{text, look})
	}
	return lines
}

// texts draws lines.
func texts(lines []textLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l.look.of(l.text)
	}
	return out
}

// padded fills a text up to a width.
func padded(text string, w int) string {
	return text + strings.Repeat(" ", max(0, w-width(text)))
}

// canvas collects lines, each written from left to right.
type canvas struct {
	lines []string
	used  []int
	width int
}

func newCanvas(w, h int) *canvas {
	return &canvas{lines: make([]string, h), used: make([]int, h), width: w}
}

// at appends text to line y from column x on, truncated at the width of the canvas.
func (c *canvas) at(x, y int, text string) {
	if text != "" {
		c.wide(x, y, text, width(text))
	}
}

// all fills the first lines and returns their number.
func (c *canvas) all(lines []string) int {
	for y, line := range lines {
		c.at(0, y, line)
	}
	return len(lines)
}

// wide is at for a text of known width: measuring long lines is most of the work of a frame.
func (c *canvas) wide(x, y int, text string, w int) {
	if y < 0 || y >= len(c.lines) {
		return
	}
	gap := max(0, x-c.used[y])
	if room := c.width - c.used[y] - gap; w > room {
		w = max(0, room)
		text = ansi.Truncate(text, w, "")
	}
	c.lines[y] += strings.Repeat(" ", gap) + text
	c.used[y] += gap + w
}

func (c *canvas) String() string {
	for i, line := range c.lines {
		c.lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(c.lines, "\n")
}
