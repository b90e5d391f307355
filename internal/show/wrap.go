// SPDX-License-Identifier: Apache-2.0

package show

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width of a text in cells. Most texts are ASCII without escape sequences, and measuring others is slow.
func Width(text string) int {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// Wrap breaks a text into lines of at most width cells, zero for no limit; further lines stand behind indent. It breaks at spaces alone: people copy host IDs and names,
// which have hyphens.
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
