// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
)

// All lists every code that has a sentence, in order.
func All() []code.Code { return slices.Sorted(maps.Keys(sentences)) }

var gap = regexp.MustCompile(`\{(q:)?([^}&;?]*)([&;]|\?[^}|]*\|)?([^}]*)\}`)

// Shape is a code's sentence for a document: parameters as gap gives them, commands in their places, [what may be left out] in its brackets where
// the sentence is not empty without it. False for a code without a sentence.
func Shape(c code.Code, commands []string, name func(string) string) (string, bool) {
	sentence, ok := sentences[c]
	if !ok {
		return "", false
	}
	fill := func(text string) (string, bool) {
		complete := true
		return gap.ReplaceAllStringFunc(text, func(g string) string {
			m := gap.FindStringSubmatch(g)
			if m[2] == "*" {
				complete = complete && len(commands) > 0
				return strings.Join(commands, " && ")
			}
			if n, err := strconv.Atoi(m[2]); err == nil {
				if n > len(commands) {
					complete = false
					return ""
				}
				return commands[n-1]
			}
			if one, ok := strings.CutPrefix(m[3], "?"); ok {
				return strings.TrimSuffix(one, "|") // one of two words: the first
			}
			return name(m[2])
		}), complete
	}
	var b strings.Builder
	for sentence != "" {
		before, rest, optional := strings.Cut(sentence, "[")
		text, _ := fill(before)
		b.WriteString(text)
		if !optional {
			break
		}
		var inside string
		inside, sentence, _ = strings.Cut(rest, "]")
		if text, complete := fill(inside); complete {
			b.WriteString("[" + text + "]")
		}
	}
	// A sentence that ends with its command, of which nothing is known here.
	return strings.TrimRight(strings.TrimSpace(b.String()), ":"), true
}

// Rows lists the codes of the reasons why a row is missing, or may be old.
func Rows() []code.Code { return slices.Sorted(maps.Keys(rowSentences)) }
