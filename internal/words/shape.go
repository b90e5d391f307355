// SPDX-License-Identifier: Apache-2.0

package words

import (
	"maps"
	"slices"
)

// All lists every code that has a sentence, in order.
func All() []Code { return slices.Sorted(maps.Keys(sentences)) }

// Sentence is the catalogue's; false for a code without one.
func Sentence(c Code) (string, bool) {
	s, ok := sentences[c]
	return s, ok
}

// OfChecks are the statements of package preflight that have a step, with their steps. The caller must not change them.
func OfChecks() map[Code][]Code { return ofChecks }

// OfReplacements are the statements of package replace that have a step, with their steps. The caller must not change them.
func OfReplacements() map[Code][]Code { return ofReplacements }

// Rows lists the codes of the reasons why a row is missing, or may be old.
func Rows() []Code { return slices.Sorted(slices.Values(rows)) }
