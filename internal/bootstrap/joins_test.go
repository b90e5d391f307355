// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func reasonsOf(v Verdict) []words.Code {
	var out []words.Code
	for _, b := range v.Blockers {
		out = append(out, b.Reason)
	}
	return out
}

// TestA2OneMemberFoundsTheCluster: of the members of a new cluster one is let through, and the others wait for it by name; the first Pod of another datacenter
// is none.
func TestA2OneMemberFoundsTheCluster(t *testing.T) {
	made := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	members := []*cluster.Member{aged(member(ref("rack1", ""), nil), made), aged(member(ref("rack2", ""), nil), made), aged(member(ref("rack3", ""), nil), made)}
	opened := 0
	for _, self := range members {
		v := Decide(Input{Member: self, Peers: members})
		if v.Satisfied {
			opened++
			if v.Decision != DecisionGenesis || v.Self.Member != "demo-rack1-0" {
				t.Errorf("%s: %s", self.Name(), v.Decision)
			}
		} else if got := v.Blockers[0]; got.Reason != words.FirstNodePending || got.Observed.Member != "demo-rack1-0" {
			t.Errorf("%s waits for %s of %s", self.Name(), got.Reason, got.Observed.Name())
		}
	}
	if opened != 1 {
		t.Errorf("%d of 3 are let through as first node", opened)
	}
	v := Decide(Input{Member: aged(member(ref("rack1", ""), nil), made), NotVerified: []string{"dc2"}})
	if v.Satisfied || !slices.Contains(reasonsOf(v), words.DatacenterNotVerified) {
		t.Errorf("the first Pod of another datacenter: %s %v", v.Decision, reasonsOf(v))
	}
}

// TestA4AReplacementWaitsForEverybodyElse: for all but the target and the ignored ones; force overrules.
func TestA4AReplacementWaitsForEverybodyElse(t *testing.T) {
	dead := func(ids ...string) []matrix.Row {
		rows := threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Down})
		for _, id := range ids {
			for _, observer := range []string{idA, idB, idC} {
				if observer != id {
					rows = down(rows, observer, id)
				}
			}
		}
		return rows
	}
	for name, tc := range map[string]struct {
		rows        []matrix.Row
		annotations map[string]string
		want        Decision
	}{
		"only its target is DOWN":        {dead(), nil, DecisionReplacing},
		"another is DOWN too":            {dead(idC), nil, DecisionWait},
		"the other is ignored":           {dead(idC), map[string]string{api.AnnotationReplaceIgnoreDead: idC}, DecisionReplacing},
		"another is DOWN, and it forces": {dead(idC), map[string]string{api.AnnotationForceProceed: "true"}, DecisionForced},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Matrix = newMatrix(tc.rows)
			in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idOwn
			maps.Copy(in.Member.Service.Annotations, tc.annotations)
			if v := Decide(in); v.Decision != tc.want {
				t.Errorf("%s %v, want %s", v.Decision, reasonsOf(v), tc.want)
			}
		})
	}
}

// TestB2ARemovedNodeIsNotRequired: a host ID that no fresh row lists any more, whatever Service records it; the clean-up is offered.
func TestB2ARemovedNodeIsNotRequired(t *testing.T) {
	in := newcomer()
	in.Peers = append(in.Peers, removed(member(ref("rack5", idOwn), ptr(true))))
	v := Decide(in)
	if !v.Satisfied || v.Decision != DecisionAllUp {
		t.Errorf("%s %v", v.Decision, reasonsOf(v))
	}
	if !slices.ContainsFunc(v.Notes, func(m words.Message) bool { return m.Code == words.RecordedHostIDRemoved }) {
		t.Errorf("it is not told: %+v", v.Notes)
	}
}

// TestB3AColdStartOfTheWholeCluster: a joined member on its own volume, and no fresh row anywhere, is a restart, by the volume and by the rows that are left.
func TestB3AColdStartOfTheWholeCluster(t *testing.T) {
	old := threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Down})
	for i := range old {
		old[i].Stale = matrix.Trouble{Code: words.PodNotRunning}
	}
	last := func(in *Input) { in.LastListedBy = ref("rack1", idA) }
	for name, tc := range map[string]struct {
		rows   []matrix.Row
		volume string
		change func(*Input)
		want   bool
	}{
		"the volume says whose it is":          {nil, idOwn, nil, true},
		"old rows have it as a member":         {old, "", nil, true},
		"nothing tells":                        {nil, "", nil, false},
		"another's volume is no restart of it": {nil, idA, nil, false},
		"a last row has it as a member":        {nil, "", last, true},
		"a last row, and another's volume":     {nil, idA, last, false},
		"a last row, and a row that counts":    {threeUp(), "", last, false},
		"a last row, and a volume that nobody looked into": {nil, "", func(in *Input) {
			last(in)
			in.Volume = VolumeNotLooked
		}, false},
		"a last row, and an empty volume": {nil, "", func(in *Input) {
			last(in)
			in.Volume = VolumeEmpty
		}, false},
		"a last row, and the Service does not say that it has joined": {nil, "", func(in *Input) {
			last(in)
			in.Member.Joined = nil
		}, false},
		"a last row, and it is to be replaced": {nil, "", func(in *Input) {
			last(in)
			in.Member.Service.Labels[api.LabelReplace] = ""
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Volume, in.Disk = VolumeUsed, BootstrappedUnknown
			in.VolumeHostID, in.Matrix = hostid.ID(tc.volume), newMatrix(tc.rows)
			if tc.change != nil {
				tc.change(&in)
			}
			if v := Decide(in); (v.Decision == DecisionRestart) != tc.want {
				t.Errorf("%s %v, want a restart: %v", v.Decision, reasonsOf(v), tc.want)
			}
		})
	}
}

// One cell of the nine that is not UP is enough to hold a join.
func TestEachOfThreeNodesHasToSeeEachUp(t *testing.T) {
	if v := Decide(newcomer()); v.Decision != DecisionAllUp {
		t.Fatalf("all are UP: %s %v", v.Decision, reasonsOf(v))
	}
	for _, observer := range []string{idA, idB, idC} {
		for _, observed := range []string{idA, idB, idC} {
			in := newcomer()
			in.Matrix = newMatrix(down(threeUp(), observer, observed))
			if v := Decide(in); v.Decision != DecisionWait || v.Satisfied {
				t.Errorf("%s sees %s DOWN alone: %s %v", observer, observed, v.Decision, reasonsOf(v))
			}
		}
	}
}
