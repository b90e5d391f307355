// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// marks are the looks of marks. Each has a unique letter and word; style only repeats it.
var marks = [grid.Marks]struct {
	letter, word string
	style        Style
}{
	grid.None:    {"", "no fresh status report", Plain},
	grid.Absent:  {"", "no host ID yet", Plain},
	grid.Self:    {"", "itself", Dim},
	grid.Up:      {"U", grid.Up.String(), Good},
	grid.Down:    {"D", grid.Down.String(), Bad},
	grid.Unknown: {"N", "unknown", Warn},
	grid.Missing: {"M", "not listed", Odd},
}

// StyleOf returns the style of a mark.
func StyleOf(m grid.Mark) Style { return marks[m].style }

// WordOf returns a mark for a sentence.
func WordOf(m grid.Mark) string { return marks[m].word }

// TallyText returns the number of pairs of each mark, UP first; empty without pairs.
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

// NewGlyphs returns ASCII glyphs, or Unicode ones.
func NewGlyphs(ascii bool) Glyphs {
	if ascii {
		return Glyphs{
			Marks: [grid.Marks]string{grid.None: " ", grid.Absent: "o", grid.Self: "-", grid.Up: "+", grid.Down: "x",
				grid.Unknown: "?", grid.Missing: "."},
			Ellipsis: "~", Bar: "|", Line: "-", Arrow: "->", Dot: "*", Cursor: ">", Middot: "|",
		}
	}
	return Glyphs{
		Marks: [grid.Marks]string{grid.None: " ", grid.Absent: "○", grid.Self: "–", grid.Up: "✓", grid.Down: "✗",
			grid.Unknown: "?", grid.Missing: "·"},
		Ellipsis: "…", Bar: "│", Line: "─", Arrow: "→", Dot: "•", Cursor: "▶", Middot: "·",
	}
}
