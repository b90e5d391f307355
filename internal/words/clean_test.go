// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestCleanShowsWhatIsHidden(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"plain":                     {"demo-rack1-0 é 漢 ✓", "demo-rack1-0 é 漢 ✓"},
		"lines and tabs":            {"a\nb\tc\r\x1b[2Jd\x7f", "a b c  [2Jd "},
		"right to left override":    {"x\u202etxt.exe", "x<U+202E>txt.exe"},
		"isolates":                  {"\u2066a\u2069", "<U+2066>a<U+2069>"},
		"zero width":                {"a\u200bb\u200dc\ufeffd\u00ade", "a<U+200B>b<U+200D>c<U+FEFF>d<U+00AD>e"},
		"line separators":           {"a\u2028b\u2029c", "a<U+2028>b<U+2029>c"},
		"C1":                        {"a\u009b31mb\u0085c", "a<U+009B>31mb<U+0085>c"},
		"tags":                      {"a\U000e0041", "a<U+E0041>"},
		"fillers":                   {"a\u3164b\u2800c", "a<U+3164>b<U+2800>c"},
		"bytes that are no text":    {"a\xffb", "a<0xFF>b"},
		"the replacement character": {"a\ufffdb", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := words.Clean(tc.in); got != tc.want {
				t.Errorf("Clean(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

// TestCleanLeavesNothingHidden: the result is text of visible characters and spaces, and clean already.
func TestCleanLeavesNothingHidden(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		got := words.Clean(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"))
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
		}) {
			t.Fatalf("%q", got)
		}
		if words.Clean(got) != got {
			t.Fatalf("clean again: %q", words.Clean(got))
		}
	})
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", 5*time.Minute + 3*time.Second: "5m3s", 2 * time.Hour: "2h0m", 76 * time.Hour: "3d4h",
	} {
		if got := words.Age(d); got != want {
			t.Errorf("Age(%v) = %s, want %s", d, got, want)
		}
	}
	now := time.Unix(1_000_000, 0)
	if got := words.Since(now.Add(-time.Minute), now) + words.Since(time.Time{}, now) + words.Since(now, time.Time{}); got != " for 1m0s" {
		t.Errorf("Since: %q", got)
	}
}

// A sentence has one age: the cause gives its own only if the finding has none.
func TestASentenceHasOneAge(t *testing.T) {
	m := words.New(words.FindingNodeDown, "node", "a-0", "why", words.New(words.ScyllaDBUnready, "for", time.Hour))
	for age, want := range map[string]string{
		"12s": "a-0 DOWN for 12s: its container has been running, but ScyllaDB in it does not respond",
		"":    "a-0 DOWN: its container has been running for 1h0m, but ScyllaDB in it does not respond",
	} {
		if got := words.Aged(m, age); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The variation selectors of Mongolian are drawn as nothing, as the others are.
func TestNoHarm33CleanShowsMongolianSelectors(t *testing.T) {
	for _, r := range []rune{0x180b, 0x180c, 0x180d, 0x180e, 0x180f} {
		if got, want := words.Clean("a"+string(r)+"b"), fmt.Sprintf("a<U+%04X>b", r); got != want {
			t.Errorf("%U: got %q, want %q", r, got, want)
		}
	}
}
