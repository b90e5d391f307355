// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Known is a failure that FirstError recognises, for generated documents.
type Known struct {
	// Code is the Diagnosis.Code of the failure.
	Code words.Code
	// Texts are ScyllaDB's messages, with "..." for the variable parts.
	Texts []string
}

// plain converts the patterns of failures, which use no other syntax, to readable text.
var plain = strings.NewReplacer(`\S+`, "...", `\d+`, "...", `\.`, ".", `.read_barrier.`, "[read_barrier]")

// KnownFailures lists the failures that FirstError recognises, in the order in which it tries them.
func KnownFailures() []Known {
	var out []Known
	for _, f := range failures {
		k := Known{Code: f.code}
		for text := range strings.SplitSeq(f.pattern().String(), "|") {
			k.Texts = append(k.Texts, plain.Replace(text))
		}
		out = append(out, k)
	}
	return out
}
