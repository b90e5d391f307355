// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A text that the documents quote as ScyllaDB's log must be recognised under the code that they give.
func TestKnownFailuresAreRecognised(t *testing.T) {
	seen := map[words.Code]bool{}
	for _, k := range KnownFailures() {
		if seen[k.Code] {
			t.Errorf("%s is there twice", k.Code)
		}
		seen[k.Code] = true
		for _, text := range k.Texts {
			if strings.ContainsAny(strings.ReplaceAll(text, "[read_barrier]", ""), `\()[]*+?^$`) {
				t.Errorf("%s: %q is no plain text", k.Code, text)
			}
			line := strings.ReplaceAll(text, "...", "7")
			d, ok := Recognise(line)
			if !ok || d.Code != k.Code { // each text by its own code
				t.Errorf("%s: %q is recognised as %+v, %v", k.Code, line, d, ok)
			}
		}
	}
}
