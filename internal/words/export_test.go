// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Codes are all codes that have a sentence.
func Codes() []Code { return slices.Sorted(maps.Keys(sentences)) }

var (
	optionalPart = regexp.MustCompile(`\[[^\]]*\]`)
	placeholder  = regexp.MustCompile(`\{(?:q:)?([^}&;?]*)[^}]*\}`)
)

// Needs are the names of the parameters that a code's sentence must have; Optional are the others.
func Needs(c Code) (must, optional []string) {
	names := func(text string) []string {
		var out []string
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if m[1] != "*" { // all commands
				out = append(out, m[1])
			}
		}
		return out
	}
	return names(optionalPart.ReplaceAllString(sentences[c], "")), names(strings.Join(optionalPart.FindAllString(sentences[c], -1), ""))
}
