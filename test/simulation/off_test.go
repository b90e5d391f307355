// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"testing"
)

// Each protection withstands something alone, or with its pair: a run goes wrong without it, and well with it. One that is not here had no effect in any world.
func TestEachProtectionIsNeeded(t *testing.T) {
	for i, c := range Cases() {
		t.Run(fmt.Sprintf("%d %s %q", i, c.Of.Rule, c.Off), func(t *testing.T) {
			t.Parallel()
			complain(t, Run(c.Of), false)
			c.Of.Off = c.Off
			sum, r := Total{}, Run(c.Of)
			sum.Add(&r)
			if what, _ := sum.Worst(); what != c.Shows {
				t.Errorf("without it: %q, want %q: %q", what, c.Shows, r.Violations)
			}
		})
	}
}

// All values of Off are in the published table.
func TestEachProtectionIsListed(t *testing.T) {
	listed := map[Off]int{}
	for _, p := range Protections() {
		if len(p.Off) == 1 {
			listed[p.Off[0]]++
		}
	}
	for _, c := range Cases() {
		for _, o := range c.Off {
			if listed[o] != 1 {
				t.Errorf("%s is listed %d times", o, listed[o])
			}
		}
		if !slices.ContainsFunc(Protections(), func(p Protection) bool { return slices.Equal(p.Off, c.Off) }) {
			t.Errorf("%q is not listed", c.Off)
		}
	}
}
