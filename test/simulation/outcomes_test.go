// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestShareOf(t *testing.T) {
	many := func(n int, p Part) []Part {
		out := make([]Part, n)
		for i := range out {
			out[i] = p
		}
		return out
	}
	for name, tc := range map[string]struct {
		parts []Part
		want  Share
	}{
		"nothing at all is not known":               {nil, Share{0, 0, 1}},
		"none of a hundred":                         {many(50, Part{0, 2}), Share{0, 0, 0.03}},
		"all of a hundred":                          {many(50, Part{2, 2}), Share{1, 0.97, 1}},
		"the same in each seed has no spread":       {many(50, Part{1, 4}), Share{0.25, 0.25, 0.25}},
		"one seed of two may be either, or neither": {[]Part{{0, 1}, {1, 1}}, Share{0.5, 0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ShareOf(tc.parts)); diff != "" {
				t.Error(diff)
			}
		})
	}
	// Losses that come in a few seeds say less than as many that come in all.
	few := ShareOf(append(many(5, Part{10, 10}), many(45, Part{0, 10})...))
	all := ShareOf(many(50, Part{1, 10}))
	if few.Is != all.Is || few.High-few.Low < 0.1 || few.Low < 0.01 || few.High > 0.3 {
		t.Errorf("%+v and %+v", few, all)
	}
	if few.Apart(all) || !few.Apart(Share{0.5, 0.4, 0.6}) {
		t.Error("ranges that overlap are not apart, others are")
	}
}

func TestQuantile(t *testing.T) {
	all := []time.Duration{4, 2, 1, 3, 100}
	if Quantile(all, 0.5) != 3 || Quantile(all, 0.99) != 100 || Quantile(nil, 0.5) != 0 {
		t.Errorf("%d %d", Quantile(all, 0.5), Quantile(all, 0.99))
	}
}

// A loss is counted by how long what caused it had been out of reach when the process started.
func TestAgeOfALoss(t *testing.T) {
	away := map[string]time.Duration{"a": 0, "b": 5 * time.Second, "c": bound, "d": bound + 1}
	for id, want := range map[string]Age{"x": After, "a": Under5s, "b": Under30s, "c": UnderBound, "d": Longer} {
		if got := ageOf(away, id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}

// A rule that does not look starts a new node beside one that is known to be DOWN in at least 95 % of the seeds, and loses at
// least ten times as many joins; ours starts none that it could know of.
func TestWithoutABarrierMostJoinsAreLost(t *testing.T) {
	by := map[Rule]Total{}
	for _, rule := range []Rule{Permits, Reports, AlwaysOpen, Delay} {
		sum, unsafe, n := Total{}, 0, 24
		if rule == AlwaysOpen || rule == Delay {
			n = 60
		}
		for _, r := range RunManyOf(Options{Rule: rule, Patience: 20 * time.Minute}, 1, n) {
			if sum.Add(&r); r.Unsafe+r.KnownStarts > 0 {
				unsafe++
			}
		}
		if n > 24 && unsafe < n*95/100 {
			t.Errorf("%s fails in %d of %d seeds", rule, unsafe, n)
		}
		sum.Waits, by[rule] = nil, sum
		t.Logf("%s %+v", rule, sum)
	}
	for _, ours := range []Rule{Permits, Reports} {
		o := by[ours]
		if o.Failed > 0 || o.Known+o.KnownStarts+o.By[Longer] > 0 || o.Ended == 0 {
			t.Errorf("%s: %+v", ours, o)
		}
		for _, none := range []Rule{AlwaysOpen, Delay} {
			if n := by[none]; n.Known == 0 || n.Outcomes.Lost()*o.Seeds < 10*o.Outcomes.Lost()*n.Seeds {
				t.Errorf("%s is hardly worse than %s", none, ours)
			}
		}
	}
}
