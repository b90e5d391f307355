// SPDX-License-Identifier: Apache-2.0

package support

import (
	"strings"
	"unicode"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/mask"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/pattern"
)

// Text is mask.Text.
func Text(s string) string { return mask.Text(s) }

func (r redactor) text(s string) string {
	s, removed := mask.Counted(s)
	if removed > 0 {
		r[RuleText] += removed
	}
	return s
}

// keyMark begins and ends a private key.
var keyMark = pattern.Lazy(`-----(BEGIN|END) [A-Z0-9 ]*PRIVATE KEY-----`)

// logText redacts the end of a log: each line separately, so that an open quote affects no other
// line. It removes private keys across lines, even if the log begins within one, and replaces
// control characters.
func logText(data []byte) (string, Tally) {
	r := redactor{}
	var out []string
	inKey := false
	for line := range strings.Lines(strings.ToValidUTF8(string(data), "\uFFFD")) {
		line = strings.Map(visible, strings.TrimRight(line, "\r\n"))
		mark := keyMark().FindStringSubmatch(line)
		switch {
		case mark == nil && !inKey:
			out = append(out, r.text(line))
		case mark == nil: // within a key
		case mark[1] == "BEGIN":
			if !strings.Contains(line, "-----END ") {
				inKey = true
			}
			out = append(out, r.out(RuleText))
		case inKey:
			inKey = false
		default:
			// The lines before it may be the key.
			out = []string{r.out(RuleText)}
		}
	}
	if len(out) == 0 {
		return "", r.tally()
	}
	return strings.Join(out, "\n") + "\n", r.tally()
}

// visible replaces control and bidirectional control characters, but not tabs.
func visible(c rune) rune {
	if c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
		return '\uFFFD'
	}
	return c
}
