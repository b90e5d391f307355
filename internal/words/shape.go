// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"slices"
	"strings"
)

// All returns every code that has a sentence, in order.
func All() []Code { return slices.Sorted(maps.Keys(sentences)) }

// Sentence returns the catalogue's sentence; false for a code without one.
func Sentence(c Code) (string, bool) {
	s, ok := sentences[c]
	return s, ok
}

// OfChecks returns the statements of package preflight that have a step, with their steps. The
// caller must not change them.
func OfChecks() map[Code][]Code { return ofChecks }

// OfReplacements returns the statements of package replace that have a step, with their steps. The
// caller must not change them.
func OfReplacements() map[Code][]Code { return ofReplacements }

// Rows returns the codes of the reasons why a row is missing, or may be old.
func Rows() []Code { return slices.Sorted(slices.Values(rows)) }

// Takes reports whether the sentence of a code has that parameter.
func Takes(c Code, param string) bool {
	text := sentences[c]
	return strings.Contains(text, "{"+param+"}") || strings.Contains(text, "{"+param+"&}")
}
