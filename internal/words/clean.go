// SPDX-License-Identifier: Apache-2.0

package words

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Clean makes text from outside safe to show on one line. Line breaks, tabs and the other ASCII
// control characters become spaces. Characters that are invisible or reorder others are written as
// <U+202E>. Use it for all output to a terminal, an Event, a condition or a log.
func Clean(s string) string { return visible(s, "", "<", ">") }

// Visible is Clean for text of several lines: line breaks and tabs are kept.
func Visible(s string) string { return visible(s, "\n\t", "<", ">") }

// VisibleMarkup is Visible for HTML and XML.
func VisibleMarkup(s string) string { return visible(s, "\n\t", "&lt;", "&gt;") }

// VisibleJSON returns a JSON document with the same values and no hidden characters. An encoder
// keeps the control characters beyond ASCII and the characters that reorder others, and a terminal
// obeys them. Outside its strings JSON has none of them.
func VisibleJSON(data []byte) []byte {
	return escaped(data, func(b *bytes.Buffer, r rune) {
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(b, `\u%04x`, unit)
		}
	})
}

// VisibleYAML is VisibleJSON for readers of YAML, which refuse surrogates.
func VisibleYAML(data []byte) []byte {
	return escaped(data, func(b *bytes.Buffer, r rune) { fmt.Fprintf(b, `\U%08x`, r) })
}

func escaped(data []byte, escape func(*bytes.Buffer, rune)) []byte {
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	var b bytes.Buffer
	for _, r := range string(data) {
		if hidden(r) {
			escape(&b, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// hidden reports whether r is unsafe, except for characters below the space: within JSON they are
// line breaks and tabs between its parts.
func hidden(r rune) bool { return r >= ' ' && unsafe(r) }

// visible writes each unsafe character between open and end, and keeps the characters of stay.
func visible(s, stay, open, end string) string {
	if !strings.ContainsFunc(s, unsafe) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, "%s0x%02X%s", open, s[i], end)
		case strings.ContainsRune(stay, r):
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteByte(' ')
		case unsafe(r):
			fmt.Fprintf(&b, "%sU+%04X%s", open, r, end)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafe reports whether r is unsafe to print: a control or format character (C0, C1, bidirectional
// controls, zero-width characters, the byte order mark, tags), a line or paragraph separator, an
// invisible space other than the plain one, a variation selector or a filler.
func unsafe(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad // the soft hyphen
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	// Mongolian variation selectors; 180E is a format character
	case r >= 0x180b && r <= 0x180d, r == 0x180f:
		return true
	// joiner and fillers, drawn as nothing
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Co)
}
