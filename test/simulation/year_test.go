// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"testing"
	"time"
)

var worldFlag = flag.String("world", "", "the world of TestSeeds: see Worlds")

// A year of six nodes breaks no invariant, all that is frequent occurs in it, and it takes seconds.
func TestAYearOfSixNodes(t *testing.T) {
	for _, rule := range []Rule{Permits, Reports} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r := Run(Options{Seed: 1, Rule: rule, World: "year-6"})
			complain(t, r, false)
			t.Logf("%d joined, %d lost, %s simulated in %s", r.Joined, r.Lost, r.Took, time.Since(began))
			t.Log(kindsOf(r.Kinds))
			for _, of := range rates {
				if of.perCluster >= 4 && r.Kinds[of.kind] == 0 {
					t.Errorf("%s: never", of.kind)
				}
			}
		})
	}
}
