// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text from outside safe to show on one line: line breaks, tabs and the other control characters of ASCII become spaces, and characters that
// nobody sees, or that change the order of others, are written as <U+202E>. Use it on whatever goes to a terminal, an Event, a condition or a log.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unsafe) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, "<0x%02X>", s[i])
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		case unsafe(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafe is true for control and format characters (C0, C1, bidirectional controls, zero-width characters, the byte order mark, tags), for the line and
// paragraph separators, for spaces other than the plain one that look like nothing, and for variation selectors and fillers.
func unsafe(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // the soft hyphen
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800: // joiner and fillers, drawn as nothing
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Co)
}
