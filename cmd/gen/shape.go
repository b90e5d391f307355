// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var gap = regexp.MustCompile(`\{(q:)?([^}&;?]*)([&;]|\?[^}|]*\|)?([^}]*)\}`)

// spare is what does not make a part worth showing that may be left out: names, and what stands before them.
var spare = regexp.MustCompile(`\*\w+\*|^[^\w]*(since|for)? |[:;(),]`)

// shape is a code's sentence for a document: parameters as gap gives them, commands in their places, [what may be left out] in its brackets
// where it has more than names. False for a code without a sentence.
func shape(c words.Code, commands []string, name func(string) string) (string, bool) {
	sentence, ok := words.Sentence(c)
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
		if text, complete := fill(inside); complete && strings.Contains(spare.ReplaceAllString(text, ""), " ") {
			b.WriteString("[" + text + "]")
		}
	}
	// A sentence that ends with its command, which is unknown here.
	return strings.TrimRight(strings.TrimSpace(b.String()), ":"), true
}
