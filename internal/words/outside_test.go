// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// fromOutside is a message as another program reads it.
func fromOutside(t interface{ Fatal(...any) }, m any) words.Message {
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out words.Message
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return words.FromOutside(out)
}

// TestAMessageFromOutsideHasTheSameText: with each kind of parameter that our messages have.
func TestAMessageFromOutsideHasTheSameText(t *testing.T) {
	t.Parallel()
	joined := words.New(words.MemberHasJoined, "member", "demo-rack1-0")
	for name, m := range map[string]words.Message{
		"none":                     {},
		"text":                     joined,
		"a number":                 words.New(words.SaysDecommissioned, "service", "demo-rack1-0", "rows", 2),
		"a number that is 0":       words.New(words.SaysDecommissioned, "service", "demo-rack1-0", "rows", 0),
		"names":                    words.New(words.ReportBehindPods, "members", []string{"b", "a", "d", "c", "f", "e", "g"}),
		"no names":                 words.New(words.SeedsFirstNode, "names", []string(nil), "seeds", []string{"10.0.0.1"}),
		"a message":                words.New(words.BarrierFound, "why", joined),
		"no message":               words.New(words.BarrierFound, "why", words.Message{}),
		"messages":                 words.New(words.ClusterNotNew, "facts", []words.Message{joined, joined}, "more", 3),
		"messages within messages": words.New(words.AndMoreReasons, "reason", words.New(words.ClusterNotNew, "facts", []words.Message{joined}), "more", 2),
		"text with marks":          words.New(words.QueryPrintedSomethingElse, "error", "a\x1b[2J\u202eb"),
		"a code of later":          words.New("ACodeOfLater", "why", joined),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(words.Text(m), words.Text(fromOutside(t, m))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestAMessageFromOutsideIsHarmless: whatever JSON somebody writes gives one line of visible text that is not much longer, and no command.
func TestAMessageFromOutsideIsHarmless(t *testing.T) {
	t.Parallel()
	var value func(depth int) *rapid.Generator[any]
	message := func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			params := map[string]any{}
			for range rapid.IntRange(0, 3).Draw(t, "parameters") {
				params[rapid.OneOf(rapid.SampledFrom([]string{"why", "names", "facts", "node", "service"}), rapid.String()).Draw(t, "name")] = value(depth-1).Draw(t, "value")
			}
			return map[string]any{
				"code":   rapid.OneOf(rapid.SampledFrom(words.Codes()), rapid.SampledFrom([]words.Code{"Later", "{1}", "[{why}", "\x1b[2J"})).Draw(t, "code"),
				"params": params, "commands": [][]string{{"rm", "-rf", "/mine"}},
			}
		})
	}
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Float64(), func(f float64) any { return f }),
			rapid.SampledFrom([]any{nil, true, "\u202ex\x1b[2J", strings.Repeat("é", 2000)}))
		if depth <= 0 {
			return leaf
		}
		return rapid.OneOf(leaf, message(depth), rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return value(depth - 1) }), 0, 4), func(l []any) any { return l }))
	}
	rapid.Check(t, func(t *rapid.T) {
		m := fromOutside(t, message(9).Draw(t, "message"))
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "/mine") {
			t.Fatalf("a command: %s", data)
		}
		text := words.Text(m)
		if words.Clean(text) != text || utf8.RuneCountInString(text) > 4*len(data)+4096 {
			t.Fatalf("%q", text)
		}
	})
}
