// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Schedules that showed a fault once, or that one protection alone withstands. Each is by the words of what it showed, or of what it is for.
var schedules = map[string]struct {
	seed uint64
	rule Rule
	of   []Placed
}{
	"nothing": {1, Permits, nil},
	"the permit is for another claim between the two readings of the view":         {6, Permits, []Placed{{after(readCluster), 5, PermitOfClaim, 0, 0}}},
	"a rollout begins while all have to stay UP":                                   {12, Reports, []Placed{{after(readCluster), 3, RolloutBegins, 1, 0}}},
	"a Pod's row says DOWN before the report does":                                 {1, Permits, []Placed{{before(readPods), 1, RowSaysDown, 0, 0}}},
	"the claim is deleted while its member waits":                                  {12, Permits, []Placed{{before(readLease), 1, ClaimGoes, 0, 52 * time.Second}}},
	"the Pod is created again between the last readings of the Pods and of itself": {28, Permits, []Placed{{after(readPods), 1, PodIsNew, 0, 0}}},
	"the view has a node as DOWN between its two readings":                         {8, Permits, []Placed{{after(readLease), 5, ViewDown, 0, 0}}},
	"the controller gives its Lease up for 40 seconds":                             {1, Reports, []Placed{{before(readCluster), 2, LeaseIsFreed, 0, 40 * time.Second}}},
	"a reading of the cluster takes a minute":                                      {7, Permits, []Placed{{before(readCluster), 2, TimePasses, 0, 58 * time.Second}}},
	"the Lease does not name the cluster for 40 seconds":                           {1, Reports, []Placed{{before(readCluster), 1, LeaseKeepsNone, 0, 40 * time.Second}}},
	"the view gives no permits at its second reading":                              {11, Permits, []Placed{{before(readReport), 2, ViewByNoPolicy, 0, 0}}},
	"the view holds between its two readings":                                      {10, Permits, []Placed{{after(readCluster), 5, ViewHolds, 0, 0}}},
	"one node of the view is UNKNOWN":                                              {11, Permits, []Placed{{before(readCluster), 3, ViewUnknown, 0, 0}}},
	"the permit is for another Pod, and another one has to follow":                 {1, Permits, []Placed{{before(readClaim), 1, PermitOfPod, 0, 0}}},
	"the permit is for another claim, and another one has to follow":               {1, Permits, []Placed{{after(readLease), 4, PermitOfClaim, 0, 0}}},
	"the permit is of another kind before the last judgement":                      {12, Permits, []Placed{{before(readCluster), 5, PermitOfKind, 0, 0}}},
	"the controller is frozen while a reporter hangs": {1, Reports, []Placed{
		{before(readConfirm), 1, ReporterHangs, 0, 50 * time.Second}, {before(readConfirm), 1, LeaderFreezes, 0, 3 * time.Minute}}},
}

func TestSchedules(t *testing.T) {
	for name, c := range schedules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Seed: c.seed, Rule: c.rule, Schedule: append([]Placed{}, c.of...)}
			r := Run(o)
			if r.Failed() {
				o.Trace = true
				r = Run(o)
			}
			complain(t, r, r.Failed())
			if r.Joined == 0 {
				t.Error("nobody has joined")
			}
		})
	}
}

// No schedule of a few events lets a node start that what its gate reads forbids. Rapid shrinks one that does: make it a case of TestSchedules.
func TestSearchSchedules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Seed: uint64(rapid.IntRange(1, 30).Draw(t, "seed")), Rule: rapid.SampledFrom([]Rule{Permits, Permits, Reports}).Draw(t, "rule")}
		o.Schedule = rapid.SliceOfN(rapid.Custom(placed), 0, 4).Draw(t, "schedule")
		if r := Run(o); r.Failed() {
			t.Fatalf("seed %d, %s: %s\n%q", o.Seed, o.Rule, Said(o.Schedule), r.Violations)
		}
	})
}

func placed(t *rapid.T) Placed {
	return Placed{
		At: rapid.SampledFrom(Boundaries).Draw(t, "at"), Nth: rapid.IntRange(1, 12).Draw(t, "nth"), Do: rapid.SampledFrom(Events).Draw(t, "do"),
		Node: rapid.IntRange(0, 3).Draw(t, "node"), For: time.Duration(rapid.IntRange(0, 60).Draw(t, "for")) * time.Second,
	}
}
