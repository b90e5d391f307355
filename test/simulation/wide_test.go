// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"testing"
	"time"
)

// A barrier that does not look fails in nearly every seed of the world "wide", and each of that world's faults happens.
func TestWide(t *testing.T) {
	kinds, failed := map[string]int{}, 0
	const n = 60
	for _, r := range RunManyOf(Options{Rule: AlwaysOpen, World: Wide, Patience: 1}, 1, n) {
		for k, v := range r.Kinds {
			kinds[k] += v
		}
		if r.Unsafe+r.KnownStarts > 0 {
			failed++
		}
	}
	t.Logf("%d of %d fail\n%s", failed, n, kindsOf(kinds))
	if failed < n*95/100 {
		t.Errorf("%d of %d seeds fail with a barrier that is always open", failed, n)
	}
	for _, f := range wideFaults {
		if kinds[f.kind] == 0 {
			t.Errorf("in %d seeds it never happens that %s", n, f.kind)
		}
	}
}

var worldFlag = flag.String("world", "", "the world of TestSeeds: year-6, year-30, year-300, people or wide; empty for the adversarial one")

// A year of six nodes breaks no invariant, all that is frequent occurs in it, and it takes seconds.
func TestAYearOfSixNodes(t *testing.T) {
	for _, rule := range []Rule{Permits, Reports} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			r := Run(Options{Seed: 1, Rule: rule, World: "year-6"})
			complain(t, r, false)
			t.Logf("%d joined, %d lost, simulated in %s", r.Joined, r.Lost, time.Since(began))
			t.Log(kindsOf(r.Kinds))
			for _, of := range rates {
				if of.perCluster >= 4 && r.Kinds[of.kind] == 0 {
					t.Errorf("%s: never", of.kind)
				}
			}
		})
	}
}
