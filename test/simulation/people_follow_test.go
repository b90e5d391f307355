// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"testing"
)

var follow = flag.Int("follow", 8, "how many seeds people follow status in, of each policy")

// No step that status prints harms, whenever it is followed, and nearly all troubles are healed by few.
func TestFollowedStepsHarmNothing(t *testing.T) {
	if *seedFlag != 0 {
		complain(t, Run(Options{Seed: *seedFlag, Rule: Rule(*ruleFlag), World: PeopleWorld, Trace: true}), true)
		return
	}
	for _, rule := range []Rule{Permits, Reports} {
		t.Run(string(rule), func(t *testing.T) {
			sum := Total{}
			for _, r := range RunManyOf(Options{Rule: rule, World: PeopleWorld}, *first, *follow) {
				sum.Add(&r)
				if bad := r.Harmful + r.SecondClusters + r.Twice + r.WrongDeletions; bad > 0 {
					complain(t, r, false)
				}
			}
			f := sum.Followed
			t.Logf("seeds %d: steps %d (%d an hour late, %d void), healed %d by %d steps, median %s, "+
				"unhealed %d (%d unsaid), harmful %d", sum.Seeds, f.Steps, f.StepsLate, f.Void, f.Healed, f.HealSteps,
				Quantile(f.HealTimes, 0.5), f.Unhealed, f.Unsaid, f.Harmful)
			for _, code := range sortedKeys(f.Codes) {
				t.Logf("%6d %s", f.Codes[code], code)
			}
			if f.Steps == 0 || 100*f.Healed < 90*(f.Healed+f.Unhealed) || f.HealSteps > 3*f.Healed {
				t.Errorf("status does not help: %+v", f)
			}
		})
	}
}
