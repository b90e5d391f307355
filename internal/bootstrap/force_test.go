// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/types"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// forceOver forces the member over what its verdict shows before, as kubectl scylla force-proceed does.
func forceOver(t interface{ Fatal(...any) }, in *Input) {
	before := Decide(*in)
	value, err := api.EncodeForceOverrides(Overrides(nil, before.Blockers))
	if err != nil {
		t.Fatal(err)
	}
	in.Member.Service.Annotations[api.AnnotationForceProceed] = api.ForceProceedValue
	in.Member.Service.Annotations[api.AnnotationForceOverrides], in.Member.Service.Annotations[api.AnnotationForceVolume] = value, "claim-1"
}

// TestAForceOverridesOnlyWhatItRecords: a force opened over every later reason of its member (seed 40152).
func TestAForceOverridesOnlyWhatItRecords(t *testing.T) {
	seen := func(status matrix.Status, id string, by ...string) func(*Input) {
		return func(in *Input) {
			rows := threeUp()
			for i := range rows {
				for j := range rows[i].Observed {
					if o := &rows[i].Observed[j]; string(o.HostID) == id && (by == nil || slices.Contains(by, string(rows[i].Reporter.HostID))) &&
						string(rows[i].Reporter.HostID) != id {
						o.Status = status
					}
				}
			}
			in.Matrix = newMatrix(rows)
		}
	}
	foreign := func(in *Input) { in.Volume = VolumeUsed }
	silent := func(in *Input) {
		in.ControllerSilent, in.ControllerSilentSince = words.New(words.ControllerNamed, "controller", "c"), time.Unix(1, 0)
	}
	rollout := func(set string) func(*Input) {
		return func(in *Input) {
			in.Rollouts = []maintenance.Rollout{{Rolling: true, Cause: words.New(words.FewerPodsReady, "statefulSet", set, "ready", 1, "replicas", 2)}}
		}
	}
	held := func(reason words.Code) func(*Input) {
		return func(in *Input) {
			in.Held = []matrix.Blocker{{Reason: reason, Observed: ref("rack3", idC), Hearsay: true}}
		}
	}
	unlabelled := func(in *Input) { delete(in.Member.Service.Labels, api.LabelRack) }
	for name, c := range map[string]struct {
		then, now func(*Input)
		blocks    []words.Code
	}{
		"the same node DOWN":                              {seen(matrix.Down, idC), seen(matrix.Down, idC), nil},
		"the same node DOWN for another observer":         {seen(matrix.Down, idC, idA), seen(matrix.Down, idC, idB), nil},
		"a DOWN node turns UNKNOWN":                       {seen(matrix.Down, idC), seen(matrix.Unknown, idC), nil},
		"a DOWN node turns UP":                            {seen(matrix.Down, idC), nil, nil},
		"an UNKNOWN node turns DOWN":                      {seen(matrix.Unknown, idC), seen(matrix.Down, idC), []words.Code{words.NodeDown}},
		"another node turns DOWN":                         {seen(matrix.Down, idC), seen(matrix.Down, idB), []words.Code{words.NodeDown}},
		"another node turns UNKNOWN":                      {seen(matrix.Down, idC), seen(matrix.Unknown, idB), []words.Code{words.NodeUnknown}},
		"past an unknown volume, then a node DOWN":        {foreign, seen(matrix.Down, idC), []words.Code{words.NodeDown}},
		"past an unknown volume, then a node UNKNOWN":     {foreign, seen(matrix.Unknown, idC), []words.Code{words.NodeUnknown}},
		"past an unknown volume, which it still is":       {foreign, foreign, nil},
		"past a node DOWN, then an unknown volume":        {seen(matrix.Down, idC), foreign, []words.Code{words.VolumeUnreadable}},
		"past nothing, then a node DOWN":                  {nil, seen(matrix.Down, idC), []words.Code{words.NodeDown}},
		"past nothing":                                    {nil, nil, nil},
		"past the controller, then a node DOWN":           {silent, seen(matrix.Down, idC), []words.Code{words.NodeDown}},
		"past a node DOWN, then the controller is silent": {seen(matrix.Down, idC), silent, []words.Code{words.ControllerSilent}},
		"the rollout of one StatefulSet, then of another": {rollout("a"), rollout("b"), []words.Code{words.RolloutInProgress}},
		"the rollout of one StatefulSet":                  {rollout("a"), rollout("a"), nil},
		"a label is missing now":                          {seen(matrix.Down, idC), unlabelled, []words.Code{words.LabelMissing}},
		"past nothing, then both":                         {nil, func(in *Input) { seen(matrix.Down, idC)(in); foreign(in) }, []words.Code{words.NodeDown}},
		"past a node DOWN, then an unknown volume too":    {seen(matrix.Down, idC), func(in *Input) { seen(matrix.Down, idC)(in); foreign(in) }, []words.Code{words.NodeDown, words.VolumeUnreadable}},
		"a missing label covers no volume":                {unlabelled, foreign, []words.Code{words.VolumeUnreadable}},
		"past nothing, then its Pod says a node is DOWN":  {nil, held(words.NodeDown), nil},
		"a lie of its Pod widens nothing":                 {held(words.NodeDown), seen(matrix.Down, idB), []words.Code{words.NodeDown}},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			if c.then != nil {
				c.then(&in)
			}
			forceOver(t, &in)
			later := newcomer()
			later.Member = in.Member
			if c.now != nil {
				c.now(&later)
			}
			v := Decide(later)
			var got []words.Code
			if !v.Satisfied {
				for _, b := range v.Blockers {
					got = append(got, b.Reason)
				}
			}
			if diff := cmp.Diff(c.blocks, slices.Compact(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", words.Of("it", v.Summary), diff)
			}
			if len(c.blocks) > 0 && (v.Decision != DecisionWait || v.Summary.Code != words.ForceDoesNotCover) {
				t.Errorf("decided %s: %s", v.Decision, words.Of("it", v.Summary))
			}
		})
	}
}

// A record that cannot be read covers nothing, and a force without one has the Scylla Operator's meaning.
func TestAForceWithAnUnreadableRecordCoversNothing(t *testing.T) {
	for name, c := range map[string]struct {
		record   map[string]string
		decision Decision
	}{
		"none":       {nil, DecisionForced},
		"unreadable": {map[string]string{api.AnnotationForceOverrides: "all"}, DecisionWait},
		"empty":      {map[string]string{api.AnnotationForceOverrides: ""}, DecisionWait},
		"null":       {map[string]string{api.AnnotationForceOverrides: "null"}, DecisionWait},
		"unknown":    {map[string]string{api.AnnotationForceOverrides: `[{"reason":"Everything","object":"` + idC + `"}]`}, DecisionWait},
	} {
		in := newcomer()
		in.Matrix = newMatrix(down(threeUp(), idA, idC))
		in.Member.Service.Annotations = map[string]string{api.AnnotationForceProceed: "true", api.AnnotationForceVolume: "claim-1"}
		for k, v := range c.record {
			in.Member.Service.Annotations[k] = v
		}
		if v := Decide(in); v.Decision != c.decision {
			t.Errorf("%s: decided %s, want %s", name, v.Decision, c.decision)
		}
	}
}

// A force opened also after the volume that it was for was lost, on an empty one (seeds 65183 and 65264 by reports).
func TestAForceIsForOneVolume(t *testing.T) {
	older := func(a map[string]string) { delete(a, api.AnnotationForceVolume) }
	for name, c := range map[string]struct {
		volume   types.UID
		change   func(map[string]string)
		decision Decision
		note     words.Code
	}{
		"its volume":                   {volume: "claim-1", decision: DecisionForced},
		"unknown, as outside the Pod":  {decision: DecisionForced},
		"another volume":               {volume: "claim-2", decision: DecisionWait, note: words.ForceOfOtherVolume},
		"of an older version":          {volume: "claim-1", change: older, decision: DecisionWait, note: words.ForceOfOlderVersion},
		"of an older version, unknown": {change: older, decision: DecisionWait, note: words.ForceOfOlderVersion},
		"no record, as kubectl writes": {volume: "claim-2", change: func(a map[string]string) { delete(a, api.AnnotationForceOverrides) }, decision: DecisionForced},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Matrix = newMatrix(down(threeUp(), idA, idC))
			forceOver(t, &in)
			if in.VolumeUID = c.volume; c.change != nil {
				c.change(in.Member.Service.Annotations)
			}
			v := Decide(in)
			noted := slices.ContainsFunc(v.Notes, func(n words.Message) bool { return n.Code == c.note })
			if v.Decision != c.decision || noted != (c.note != "") {
				t.Errorf("decided %s: %s, notes %v", v.Decision, words.Of("it", v.Summary), v.Notes)
			}
			if slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.ForceValueInvalid }) {
				t.Errorf("blockers %v", v.Blockers)
			}
		})
	}
}

// A force opens while nothing has changed, and a second one over what is new opens again.
func TestAForceOpensOverWhatItRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := genInput.Draw(t, "input")
		delete(w.Member.Service.Annotations, api.AnnotationForceProceed)
		if first := Decide(w.Input); first.Satisfied || first.Decision == DecisionRefuse {
			t.Skip("nothing to force")
		}
		for range 2 { // what another reason hid comes second
			forceOverMore(t, &w.Input)
		}
		v := Decide(w.Input)
		if !v.Satisfied {
			t.Fatalf("forced twice, and it waits: %s", words.Of("it", v.Summary))
		}
		for _, b := range v.Blockers {
			record, _ := w.Member.ForceOverrides()
			if !slices.ContainsFunc(record, func(r api.ForceOverride) bool {
				return r.Object == b.Object() && matrix.Rank(words.Code(r.Reason)) <= matrix.Rank(b.Reason)
			}) {
				t.Errorf("%s of %q is overridden and not recorded", b.Reason, b.Object())
			}
		}
	})
}

func forceOverMore(t *rapid.T, in *Input) {
	had, _ := in.Member.ForceOverrides()
	value, err := api.EncodeForceOverrides(Overrides(had, Decide(*in).Blockers))
	if err != nil {
		t.Fatal(err)
	}
	in.Member.Service.Annotations[api.AnnotationForceProceed] = api.ForceProceedValue
	in.Member.Service.Annotations[api.AnnotationForceOverrides], in.Member.Service.Annotations[api.AnnotationForceVolume] = value, "claim-1"
}

// TestOrderOfTheDecision: each step is added to all before it, and decides over them. So the last one
// is asked first.
func TestOrderOfTheDecision(t *testing.T) {
	in := newcomer()
	in.Matrix = newMatrix(down(threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Up}), idA, idB))
	for _, step := range []struct {
		name  string
		holds func()
		want  Decision
	}{
		{"a node is DOWN", func() {}, DecisionWait},
		{"a replacement is not exempt", func() { in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idC }, DecisionWait},
		{"the force", func() {
			in.Member.Service.Annotations["scylla-operator.scylladb.com/force-proceed-to-bootstrap"] = "true"
		}, DecisionForced},
		{"the feature gate", func() { in.Unprotected = "the Scylla Operator" }, DecisionUnprotected},
		{"a restart of a node that the rows list", func() {
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Member.Service.Annotations[api.AnnotationForceProceed] = "true"
			in.Volume = VolumeUsed
		}, DecisionRestart},
		{"a volume that never starts again", func() { in.Disk = BootstrappedDecommissioned }, DecisionRefuse},
		{"COMPLETED on the volume", func() { in.Disk = BootstrappedYes }, DecisionBootstrapped},
	} {
		step.holds()
		if v := Decide(in); v.Decision != step.want || v.Satisfied == (step.want == DecisionWait || step.want == DecisionRefuse) {
			t.Errorf("%s: %s (satisfied %t), want %s: %s", step.name, v.Decision, v.Satisfied, step.want, words.Text(v.Summary))
		}
	}
}
