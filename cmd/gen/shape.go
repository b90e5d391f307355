// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

var gap = regexp.MustCompile(`\{(q:)?([^}&;?]*)([&;]|\?[^}|]*\|)?([^}]*)\}`)

// spare matches the parts of an optional part that alone are not worth printing: names and
// prepositions.
var spare = regexp.MustCompile(`\*\w+\*|^[^\w]*(since|for)? |[:;(),]`)

// shape returns a code's sentence for a document. name formats the parameters, and commands are
// filled in. [optional parts] keep their brackets if they contain more than names. False for a code
// without a sentence.
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
				return strings.TrimSuffix(one, "|") // the first of two alternatives
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
