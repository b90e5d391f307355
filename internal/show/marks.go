// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// marks are how marks look. Each has a letter and a word of its own; style only repeats it.
var marks = [grid.Marks]struct {
	letter, word string
	style        Style
}{
	grid.None:    {"", "no fresh status report", Plain},
	grid.Self:    {"", "itself", Dim},
	grid.Up:      {"U", grid.Up.String(), Good},
	grid.Down:    {"D", grid.Down.String(), Bad},
	grid.Unknown: {"N", "unknown", Warn},
	grid.Missing: {"M", "not listed", Odd},
}

// StyleOf is the style of a mark.
func StyleOf(m grid.Mark) Style { return marks[m].style }

// WordOf is a mark in a sentence.
func WordOf(m grid.Mark) string { return marks[m].word }

// TallyText says how many pairs have which mark, UP first; empty without pairs.
func TallyText(t grid.Tally) string {
	var parts []string
	for _, m := range slices.Backward(grid.Worst[:]) {
		if t[m] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", t[m], WordOf(m)))
		}
	}
	return strings.Join(parts, ", ")
}

// Glyphs are the characters that differ between terminals.
type Glyphs struct {
	Marks                                           [grid.Marks]string
	Ellipsis, Bar, Line, Arrow, Dot, Cursor, Middot string
}

// NewGlyphs are those of ASCII, or of every terminal that shows more.
func NewGlyphs(ascii bool) Glyphs {
	if ascii {
		return Glyphs{
			Marks:    [grid.Marks]string{grid.None: " ", grid.Self: "-", grid.Up: "+", grid.Down: "x", grid.Unknown: "?", grid.Missing: "."},
			Ellipsis: "~", Bar: "|", Line: "-", Arrow: "->", Dot: "*", Cursor: ">", Middot: "|",
		}
	}
	return Glyphs{
		Marks:    [grid.Marks]string{grid.None: " ", grid.Self: "–", grid.Up: "✓", grid.Down: "✗", grid.Unknown: "?", grid.Missing: "·"},
		Ellipsis: "…", Bar: "│", Line: "─", Arrow: "→", Dot: "•", Cursor: "▶", Middot: "·",
	}
}
