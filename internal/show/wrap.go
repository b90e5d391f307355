// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the width of a text in cells. ASCII is the common and fast case.
func Width(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// Wrap breaks a text into lines of at most width cells, 0 for no limit, and indents further lines.
// It breaks only at spaces: people copy host IDs and names, which have hyphens.
func Wrap(text string, width int, indent string) []string {
	if width <= 0 || Width(text) <= width {
		return []string{text}
	}
	current := text[:len(text)-len(strings.TrimLeft(text, " "))]
	used := len(current)
	var lines []string
	for i, word := range strings.Fields(text) {
		w := Width(word)
		switch {
		case i == 0:
		case used+1+w > width:
			lines = append(lines, current)
			current, used = indent, len(indent)
		default:
			current += " "
			used++
		}
		current, used = current+word, used+w
	}
	return append(lines, current)
}
