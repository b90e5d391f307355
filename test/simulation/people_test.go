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
				if bad := r.Harmful + r.Circles + r.SecondClusters + r.Twice + r.WrongDeletions; bad > 0 {
					complain(t, r, false)
				}
			}
			f := sum.Followed
			t.Logf("%+v", f)
			if f.Steps == 0 || 100*f.Healed < 95*(f.Healed+f.Unhealed) || f.HealSteps > 3*f.Healed {
				t.Errorf("status does not help: %+v", f)
			}
		})
	}
}

// Each harm can be seen, and nothing that is lost already counts as one.
func TestHarm(t *testing.T) {
	type scene struct {
		w *world
		g *group
		c *claim
	}
	for name, tc := range map[string]struct {
		do   func(s scene)
		want int
	}{
		"the claim of a member is deleted":             {func(s scene) { s.w.discard(s.c) }, 1},
		"the claim of a banned member is deleted":      {func(s scene) { s.g.banned["a"] = true; s.w.discard(s.c) }, 0},
		"the claim of a removed node is deleted":       {func(s scene) { s.g.drop("a"); s.w.discard(s.c) }, 0},
		"the claim of a machine that is gone":          {func(s scene) { s.c.machine = &machine{gone: true}; s.w.discard(s.c) }, 0},
		"the claim of a node that had not noted it":    {func(s scene) { s.c.disk.complete = false; s.w.discard(s.c) }, 0},
		"a member whose volume is well is banned":      {func(s scene) { s.w.ban(s.g, "a") }, 1},
		"a member whose machine is gone is banned":     {func(s scene) { s.c.machine = &machine{gone: true}; s.w.ban(s.g, "a") }, 0},
		"a member whose claim was deleted is banned":   {func(s scene) { s.w.deleteClaim(s.c); s.w.ban(s.g, "a") }, 0},
		"a fault bans a member":                        {func(s scene) { s.w.careless = true; s.w.ban(s.g, "a") }, 0},
		"a member is banned twice, and counts once":    {func(s scene) { s.w.ban(s.g, "a"); s.w.ban(s.g, "a") }, 1},
		"the old procedure of the operator is its own": {func(s scene) { s.w.Rule = Operator; s.w.ban(s.g, "a") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(Options{Rule: Permits})
			w.applySet(placeOf("rack1"), 1, false)
			p := w.makePod(w.sets[0], 0)
			w.removePod(p)
			g := newGroup(0)
			g.set("a", normal)
			*p.claim.disk = disk{id: "a", group: g, complete: true}
			if tc.do(scene{w, g, p.claim}); w.result.Harmful != tc.want || len(w.result.Violations) != tc.want {
				t.Errorf("%d harmful steps, want %d: %v", w.result.Harmful, tc.want, w.result.Violations)
			}
		})
	}
}
