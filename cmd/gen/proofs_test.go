// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each promise names tests that exist. One that does not, or that is not named, fails.
func TestProofs(t *testing.T) {
	const root = "../.."
	table, err := proofsList(root, proofs)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count("\n"+table, "\n- "); got != len(proofs) {
		t.Errorf("%d lines of %d promises", got, len(proofs))
	}
	// Every row about the beginning of a cluster has a test; 7 says that there is no call to make.
	for n := 1; n <= 23; n++ {
		row := fmt.Sprintf("I%d", n)
		if tested := slices.ContainsFunc(proofs, func(p proof) bool { return p.row == row }); tested != (n != 7) {
			t.Errorf("row %s has a test: %v", row, tested)
		}
	}
	for name, p := range map[string]proof{
		"a test that does not exist": {"A1", "what", []string{"internal/view TestThatIsNotThere"}},
		"a package that has it not":  {"A1", "what", []string{"internal/agent/barrier TestDebounce"}},
		"the beginning of a name":    {"A1", "what", []string{"internal/view TestDeboun"}},
		"no test":                    {"A1", "what", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := proofsList(root, []proof{p}); err == nil || !strings.Contains(err.Error(), "A1") {
				t.Errorf("error %v", err)
			}
		})
	}
}
