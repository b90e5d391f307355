// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func change(in Input, all ...func(*Input)) Input {
	in = clone(in)
	for _, f := range all {
		f(&in)
	}
	return in
}

func logged(diagnosis words.Code, text string) *Diagnosis {
	return &Diagnosis{Code: diagnosis, Text: words.New("LogCure", "text", text)}
}

func operation(typ, state, id string) []api.NodeOperation {
	return []api.NodeOperation{{Type: typ, State: state, HostID: hostid.ID(id), Error: "Rolled back: Failed stream ranges"}}
}

func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		in     Input
		action Action
		says   string // part of message, waiting or cure
	}{
		"nothing is asked": {base(), ActionNone, "no replacement"},
		"the label alone is enough": {change(requested(), func(in *Input) { delete(in.Self.Service.Annotations, api.AnnotationReplaceRequest) }),
			ActionRecord, "recorded before anything is deleted"},
		"asked and verified":                            {requested(), ActionRecord, hostOld},
		"another member was removed, its Service stays": {change(requested(), removedB), ActionRecord, hostOld},
		"recorded: the claim is deleted":                {recorded(), ActionDeletePVC, "pvc-1"},
		"the Scylla Operator's member is left alone":    {change(requested(), func(in *Input) { in.Operator = true }), ActionNone, "Scylla Operator"},
		"claim terminating: the Pod on it is evicted": {change(recorded(), func(in *Input) { in.Claims = data("pvc-1", deleting) }),
			ActionEvictPod, "pod-1"},
		"one of two claims is gone: the other follows":      {oneOfTwoClaims(), ActionDeletePVC, "pvc-3"},
		"one of two claims is gone, and the old node is UP": {setCell(oneOfTwoClaims(), "demo-c-0", hostOld, matrix.Up, 0), ActionRefuse, "sees demo-d-0 (dddddddd) UP"},
		"one of two claims is gone, and the Pod is Ready":   {change(oneOfTwoClaims(), func(in *Input) { ready(in.Self.Pod, true) }), ActionRefuse, "Pod demo-d-0 is Ready"},
		"claim gone at once, old Pod left":                  {change(recorded(), func(in *Input) { in.Claims = nil }), ActionEvictPod, "pod-1"},
		"another Pod on the terminating claim is evicted too": {change(recorded(), func(in *Input) {
			in.Claims = data("pvc-1", deleting)
			in.Self.Pod = podOf("pod-9", "k5")
		}), ActionEvictPod, "pod-9"},
		"a Pod that never ran waits for the new claim": {change(recorded(), func(in *Input) {
			in.Claims = data("pvc-1", deleting)
			in.Self.Pod, in.Self.Waiting = podOf("pod-9", ""), waitsFor("unschedulable")
		}), ActionWaitJoin, "unschedulable"},
		"old Pod on a dead Kubernetes node": {change(recorded(), func(in *Input) {
			in.Claims = nil
			deleting(in.Self.Pod)
			in.Self.Pod.Status.Reason = "NodeLost"
		}), ActionWaitPodGone, "kubectl describe node k4"},
		"and has not ended it for long, without saying that it is lost": {change(recorded(), func(in *Input) {
			in.Claims = nil
			in.Self.Pod.DeletionTimestamp = &metav1.Time{Time: in.Now.Add(-2 * time.Minute)}
		}), ActionWaitPodGone, "kubectl get node k4); delete neither"},
		"the old node comes back before its Pod goes": {change(setCell(recorded(), "demo-b-0", hostOld, matrix.Up, 0), func(in *Input) { in.Claims = nil }),
			ActionHoldEviction, "demo-b-0 (bbbbbbbb) sees demo-d-0 (dddddddd) UP"},
		"and its volume is known": {change(setCell(recorded(), "demo-b-0", hostOld, matrix.Up, 0), func(in *Input) {
			in.Claims = data("pvc-1", deleting)
			in.Claims[0].Spec.VolumeName = "pv-7"
		}), ActionHoldEviction, "pv-7"},
		"Pod away, claim on its way": {change(recorded(), func(in *Input) {
			in.Self.Pod, in.Claims = nil, data("pvc-1", deleting)
		}), ActionWaitNewPod, "still being deleted"},
		"nobody makes the Pod": {change(recorded(), func(in *Input) {
			in.Self.Pod, in.Claims, in.Self.StatefulSet.Spec.Replicas = nil, nil, new(int32(0))
		}), ActionWaitNewPod, "has 0 replicas"},
		"new Pod starts": {newPod(), ActionWaitJoin, "no host ID yet"},
		"the barrier's word is passed on": {change(newPod(), func(in *Input) { in.Self.Waiting = waitsFor("init container scylladb-bootstrap-barrier is running") }),
			ActionWaitJoin, "bootstrap-barrier"},
		"its new volume is on a Kubernetes node that is gone": {noNode(newPod(), 2*time.Minute), ActionWaitJoin,
			"start again with an empty volume, because its volume pv-8 is on Kubernetes node k8, which no longer exists; this cannot be undone: kubectl scylla replace resume demo-d-0 -n scylla"},
		"the same while it joined":       {noNode(joining(matrix.StateReplacing, false), 2*time.Minute), ActionWaitJoin, "replace resume demo-d-0 -n scylla"},
		"streams":                        {joining(matrix.StateReplacing, false), ActionWaitJoin, "owns no tokens yet (mode BOOTSTRAP)"},
		"normal but not by its own word": {joining(matrix.StateNormal, false), ActionWaitJoin, "owns no tokens"},
		"one row does not have it UP": {setCell(joined(), "demo-b-0", hostNew, matrix.Unknown, 0), ActionWaitJoin,
			"demo-b-0 (bbbbbbbb) does not see eeeeeeee UP"},
		"one row is old": {change(joined(), func(in *Input) { ages(in, 1) }), ActionWaitJoin, "demo-b-0 (bbbbbbbb) has no fresh status report"},
		"one died after it": {change(setCell(joined(), "*", hostB, matrix.Down, 0), func(in *Input) { ages(in, 1) }),
			ActionFinish, "was replaced by " + hostNew},
		"all others died after it": {change(joined(), func(in *Input) {
			ages(in, 0, 1, 2, 3)
		}), ActionWaitJoin, "no fresh status report"},
		"joined, not ready": {change(joined(), func(in *Input) { ready(in.Self.Pod, false) }), ActionWaitReady, "to be Ready"},
		"joined and ready, old one still listed": {setCell(joined(), "demo-c-0", hostOld, matrix.Down, 0), ActionWaitOldGone,
			"demo-c-0 (cccccccc) still lists " + hostOld},
		"done":                               {joined(), ActionFinish, "was replaced by " + hostNew + " in 7m0s"},
		"over":                               {after(joined(), Next(joined())), ActionNone, "was replaced by"},
		"the operation failed":               {change(joining(matrix.StateReplacing, false), func(in *Input) { in.Operations = operation("replace", "failed", hostNew) }), ActionFail, "Failed stream ranges"},
		"an older attempt's failure is none": {change(joining(matrix.StateReplacing, false), func(in *Input) { in.Operations = operation("replace", "failed", hostA) }), ActionWaitJoin, ""},
		"of an earlier attempt by its Service": {change(newPod(), func(in *Input) {
			records(in, hostNew, new(false))
			in.Operations = operation("replace", "failed", hostNew)
		}), ActionFail, "delete nothing yet"},
		"exited with 0":            {change(newPod(), func(in *Input) { runs(in.Self.Pod, 0, exited(0)) }), ActionFail, "delete nothing yet"},
		"exited with 1":            {change(newPod(), func(in *Input) { runs(in.Self.Pod, 3, exited(1)) }), ActionFail, "delete nothing yet"},
		"the launcher tries again": {change(newPod(), func(in *Input) { runs(in.Self.Pod, 0, exited(ExitLaunchRetry)) }), ActionWaitJoin, ""},
		"the launcher refused":     {change(newPod(), func(in *Input) { runs(in.Self.Pod, 0, exited(ExitLaunchMalformed)) }), ActionFail, "correct labels"},
		"the log says it": {change(newPod(), func(in *Input) { in.Log = logged("X", "Replaced node with Host ID x not found") }),
			ActionFail, "not found"},
		"the new Pod has the old identity": {change(newPod(), func(in *Input) { in.Self.Report = says(hostOld, nil, "") }), ActionFail, "old host ID"},
		"a foreign Pod is not touched":     {change(recorded(), func(in *Input) { in.Claims, in.Self.Pod.OwnerReferences = nil, nil }), ActionWaitNewPod, "not controlled"},

		"withdrawn before it was seen": {change(requested(), func(in *Input) { delete(in.Self.Service.Labels, api.LabelReplace) }), ActionCancel, "withdrawn"},
		"withdrawn after the record":   {change(recorded(), func(in *Input) { delete(in.Self.Service.Labels, api.LabelReplace) }), ActionKeepPVC, "is kept"},
		"withdrawn, claim made safe": {change(recorded(), func(in *Input) {
			delete(in.Self.Service.Labels, api.LabelReplace)
			in.Claims[0].Annotations = map[string]string{api.AnnotationReplaceKept: "request-1"}
		}), ActionCancel, ""},
		"withdrawn after the deletion":  {change(newPod(), func(in *Input) { delete(in.Self.Service.Labels, api.LabelReplace) }), ActionCancelRefused, "too late"},
		"withdrawn in a second attempt": {change(resumed(), func(in *Input) { delete(in.Self.Service.Labels, api.LabelReplace) }), ActionCancelRefused, "too late"},
		"the internal label is removed": {change(newPod(), func(in *Input) { delete(in.Self.Service.Labels, api.LabelReplacingNodeHostID) }), ActionRecord, "is restored"},

		"resume: a fresh volume, the original host ID": {toResume(), ActionRecord, hostOld},
		"resume, recorded": {resumed(), ActionDeletePVC, "pvc-2"},
		"resume while the attempt still runs": {change(toResume(), func(in *Input) { in.Operations = operation("replace", "running", hostNew) }),
			ActionRefuse, "nothing has failed yet"},
		"resume, and the attempt has joined meanwhile":        {alsoResumed(joined()), ActionFinish, "was replaced by " + hostNew},
		"resume, and the attempt has joined and is not Ready": {change(alsoResumed(joined()), func(in *Input) { ready(in.Self.Pod, false) }), ActionWaitReady, "to be Ready"},
		"resume, and only the peers say that the attempt has joined": {change(alsoResumed(joined()), func(in *Input) { in.Self.Report.OwnsTokens = new(false) }),
			ActionRefuse, "attempt-ended"},
		"resume after the node was removed": {change(toResume(), func(in *Input) {
			unlist(in, hostOld)
		}), ActionRefuse, "not a member of the cluster"},

		"begun by the operator, Pod not made yet": {change(operatorBegun(), func(in *Input) { in.Self.Pod, in.Claims = nil, nil }), ActionWaitNewPod, ""},
		"begun by the operator, host ID equal":    {operatorBegun(), ActionWaitJoin, "no host ID yet"},
		"begun by the operator, host ID changed":  {change(operatorBegun(), func(in *Input) { records(in, hostNew, new(false)) }), ActionWaitJoin, "owns no tokens"},
		"begun by the operator, joined":           {change(finishedElsewhere(), nil2), ActionFinish, "was replaced by"},
		"begun by the operator with an empty host ID": {change(operatorBegun(), func(in *Input) { in.Self.Service.Labels[api.LabelReplacingNodeHostID] = "" }),
			ActionRefuse, "--host-id"},
		"begun by address elsewhere": {change(requested(), func(in *Input) {
			in.Self.Service.Labels[api.LabelReplace] = "10.96.0.99"
			records(in, "", nil)
		}), ActionAdopt, "10.96.0.99"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Next(tc.in)
			if s.Action != tc.action {
				t.Fatalf("action %s, want %s:\n%s", s.Action, tc.action, all(s))
			}
			if all := all(s); !strings.Contains(all, tc.says) {
				t.Errorf("says\n%s\nwithout %q", all, tc.says)
			}
			if s.Action.Writes() && s.Patch == nil && s.Claim == nil && s.PodUID == "" {
				t.Error("a write without an object")
			}
		})
	}
}

func nil2(*Input) {}

// oneOfTwoClaims is a member with two claims, the first of which is deleted.
func oneOfTwoClaims() Input {
	in := requested()
	in.Claims = append(in.Claims, claimOf("logs-demo-d-0", "pvc-3"))
	in.Self.StatefulSet.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claimOf("data", ""), *claimOf("logs", "")}
	in = after(in, Next(in))
	in.Claims = in.Claims[1:]
	return in
}

// removedB simulates a removenode of demo-b-0, whose Pod waits with an empty volume, which cannot be undone: its row has an error, and no other row lists it.
func removedB(in *Input) {
	unlist(in, hostB)
	eachRow(in, func(i int, r *matrix.Row) {
		if i == 1 {
			r.Reported, r.Observed, r.Trouble = false, nil, matrix.Trouble{Code: words.ScyllaDBNoAnswer, Words: "connection refused"}
		}
	})
}

func toResume() Input {
	in := joining(matrix.StateNormal, false)
	unlist(&in, hostNew)
	in.Self.Report.OperationMode = "STARTING"
	in.Self.Service.Annotations[api.AnnotationReplaceResume] = "request-2"
	return in
}

// alsoResumed is with another attempt that was asked for while this one was on its way.
func alsoResumed(in Input) Input {
	return change(in, func(in *Input) { in.Self.Service.Annotations[api.AnnotationReplaceResume] = "request-2" })
}

func resumed() Input { in := toResume(); return after(in, Next(in)) }

func operatorBegun() Input {
	in := newPod()
	in.Self.Service.Labels = map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: hostOld}
	in.Self.Service.Annotations = map[string]string{api.AnnotationHostID: hostOld, api.AnnotationNodeJoined: "true"}
	return in
}

func finishedElsewhere() Input {
	in, begun := joined(), operatorBegun()
	in.Self.Service = begun.Self.Service
	records(&in, hostNew, new(true))
	in.Self.Report = says("", nil, "NORMAL") // the operator's reporter does not say
	return in
}

func TestResumeIsAnotherAttempt(t *testing.T) {
	in := toResume()
	s := Next(in)
	got := after(in, s).Self.Service
	want := map[string]string{
		api.AnnotationReplaceAccepted: "request-2", api.AnnotationReplaceRequest: "request-2", api.AnnotationReplacePVCUIDs: "pvc-2",
		api.AnnotationReplacePodUID: "pod-2", api.AnnotationReplaceAttempt: "2", api.AnnotationReplaceStartedAt: "2026-11-21T10:00:00Z",
		api.AnnotationReplaceOriginalHostID: hostOld,
	}
	for k, v := range want {
		if got.Annotations[k] != v {
			t.Errorf("%s is %q, want %q", k, got.Annotations[k], v)
		}
	}
	if got.Labels[api.LabelReplacingNodeHostID] != hostOld {
		t.Errorf("original host ID is %q", got.Labels[api.LabelReplacingNodeHostID])
	}
}

func TestFinishLeavesTheOutcomeAndNothingElse(t *testing.T) {
	in := joined()
	s := Next(in)
	svc := after(in, s).Self.Service
	if _, ok := svc.Labels[api.LabelReplace]; ok {
		t.Error("request label is left")
	}
	rec := ReadRecord(svc.Labels, svc.Annotations)
	want := Record{Last: &Last{Request: "request-1", Outcome: OutcomeReplaced, HostID: hostOld, NewHostID: hostNew, StartedAt: t0, FinishedAt: t0.Add(7 * time.Minute), Attempts: 1}}
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Error(diff)
	}
}

func TestByAddress(t *testing.T) {
	in := requested()
	in.Version, in.ByHostID = "5.1.18", release.No
	s := Next(in)
	if s.Action != ActionRecord || s.Procedure != ByAddress || s.Address != "10.96.0.4" {
		t.Fatalf("%s %s %s %v", s.Action, s.Procedure, s.Address, s.Waiting)
	}
	if s.Events[0].Reason != EventAddressDeprecated || !s.Events[0].Warning {
		t.Errorf("no warning about the deprecation: %+v", s.Events)
	}
	in = after(in, s)
	if _, ok := in.Self.Service.Labels[api.LabelReplacingNodeHostID]; ok {
		t.Error("the label of the procedure by host ID is set")
	}
	if got := in.Self.Service.Labels[api.LabelReplace]; got != "10.96.0.4" {
		t.Errorf("label is %q", got)
	}
	if s := Next(in); s.Action != ActionDeletePVC || s.Original != hostOld {
		t.Fatalf("%s of %s: %v", s.Action, s.Original, s.Waiting)
	}
	cut := clone(in)
	cut.Claims = nil
	cut.Self.Service.Labels = map[string]string{}
	if s := Next(cut); s.Action != ActionCancelRefused || s.Patch.SetLabels[api.LabelReplace] != "10.96.0.4" {
		t.Errorf("late withdrawal: %s %+v", s.Action, s.Patch)
	}
	end := joined()
	end.Self.Service, end.Version, end.ByHostID = in.Self.Service, in.Version, in.ByHostID
	if s := Next(end); s.Action != ActionFinish || s.Last.HostID != hostOld {
		t.Errorf("end: %s %v", s.Action, s.Waiting)
	}
	ready(end.Self.Pod, false)
	if s := Next(end); s.Action != ActionWaitReady {
		t.Errorf("its Pod is not Ready: %s %v", s.Action, s.Waiting)
	}
}

func TestChecks(t *testing.T) {
	// led: two of three others are DOWN and ignored, and the rows of these nodes name a topology coordinator.
	led := func(coordinator hostid.ID, by ...string) Input {
		in := ignore(setCell(setCell(requested(), "demo-a-0", hostB, matrix.Down, 0), "demo-a-0", hostC, matrix.Down, 0), hostB+","+hostC)
		eachRow(&in, func(_ int, r *matrix.Row) {
			if slices.Contains(by, string(r.Reporter.HostID)) {
				r.Report = &api.NodeStatusReport{Coordinator: coordinator}
			}
		})
		return in
	}
	ignored := func() Input {
		in := ignore(setCell(setCell(requested(), "demo-a-0", hostC, matrix.Down, 0), "demo-b-0", hostC, matrix.Down, 0), hostC)
		in.Others = append(in.Others, member(ref("demo-e-0", "e", hostNew)))
		setRows(&in, append(rowsOf(in), matrix.Row{Reporter: ref("demo-e-0", "e", hostNew), Reported: true, Observed: append(up(hostA, hostB, hostNew), down(hostOld), down(hostC))}))
		return setCell(setCell(in, "demo-a-0", hostNew, matrix.Up, 0), "demo-b-0", hostNew, matrix.Up, 0)
	}
	// excludes: of a version that can exclude, one of the other nodes is DOWN for all, and nobody ignores it.
	excludes := func(longer time.Duration) Input {
		in := ignore(ignored(), "")
		in.Excludes, in.Dead = true, 10*time.Minute+longer
		ages(&in, 2)
		return in
	}
	for name, tc := range map[string]struct {
		in     Input
		check  string
		result Result
		says   string
	}{
		"no host ID":                     {change(requested(), func(in *Input) { delete(in.Self.Service.Annotations, api.AnnotationHostID) }), CheckHostID, Failed, "delete nothing"},
		"empty host ID":                  {change(requested(), recordedAs("h0")), CheckHostID, Failed, "not a host ID"},
		"zero host ID":                   {change(requested(), recordedAs("00000000-0000-0000-0000-000000000000")), CheckHostID, Failed, "zero UUID"},
		"garbage in the label":           {change(requested(), func(in *Input) { in.Self.Service.Labels[api.LabelReplace] = "yes" }), CheckRequest, Failed, "neither empty nor an IP address"},
		"unknown check skipped":          {change(requested(), func(in *Input) { in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = "luck" }), CheckRequest, Failed, "does not exist"},
		"down cannot be skipped":         {change(requested(), func(in *Input) { in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = "down" }), CheckRequest, Failed, "cannot be skipped"},
		"never joined":                   {change(neverJoined(), nil2), CheckBootstrapped, Failed, "do not replace it"},
		"nobody confirms that it joined": {change(neverJoined(), func(in *Input) { in.Self.Joined = nil }), CheckBootstrapped, Unknown, ""},
		"not listed":                     {neverJoined(), CheckMember, Failed, "not a member of the cluster"},
		"leaving":                        {setCell(requested(), "demo-b-0", hostOld, matrix.Down, matrix.StateLeaving), CheckMember, Failed, "demo-b-0 (bbbbbbbb) lists demo-d-0 (dddddddd) as LEAVING"},
		"already being replaced":         {setCell(requested(), "*", hostOld, matrix.Down, matrix.StateBeingReplaced), CheckMember, Failed, "BEING_REPLACED"},
		"alive in one row":               {setCell(requested(), "demo-c-0", hostOld, matrix.Up, 0), CheckDown, Failed, "demo-c-0 (cccccccc) sees demo-d-0 (dddddddd) UP"},
		"no majority": {setCell(setCell(requested(), "demo-c-0", hostOld, matrix.Unknown, 0), "demo-b-0", hostOld, matrix.Unknown, 0), CheckDown, Unknown,
			"1 of 3 fresh status reports show demo-d-0 (dddddddd) DOWN, which is not a majority; demo-b-0 (bbbbbbbb) and demo-c-0 (cccccccc) report UNKNOWN (the address may be shared"},
		"nobody looks": {change(requested(), func(in *Input) {
			ages(in, 0, 1, 2, 3)
		}), CheckDown, Unknown, "it is unknown whether"},
		"an old row's UP is no evidence": {change(setCell(requested(), "demo-c-0", hostOld, matrix.Up, 0), func(in *Input) { ages(in, 2) }), CheckDown, OK, "2 of 2 fresh status reports"},
		"a row that contradicts itself": {change(requested(), func(in *Input) {
			eachRow(in, func(i int, r *matrix.Row) {
				if i < 2 {
					r.Observed = append(r.Observed, matrix.Observation{HostID: hostOld, Status: matrix.Up})
				}
			})
		}), CheckDown, Unknown, "1 of 3"},
		"its Pod is ready": {change(requested(), func(in *Input) { ready(in.Self.Pod, true) }), CheckNotAlive, Failed, "is Ready"},
		"a row is missing": {change(requested(), func(in *Input) { setRows(in, rowsOf(*in)[1:]) }), CheckRows, Unknown, "demo-a-0 (aaaaaaaa) has no status report"},
		"no row of a member that no row lists, without a recorded join": {change(requested(), func(in *Input) {
			in.Others = append(in.Others, member(ref("demo-e-0", "e", hostNew)))
			in.Others[len(in.Others)-1].Joined = nil
		}), CheckRows, OK, ""},
		"no row of a member that no row lists, with a recorded join": {change(requested(), func(in *Input) {
			in.Others = append(in.Others, member(ref("demo-e-0", "e", hostNew)))
		}), CheckRows, Unknown, "demo-e-0 (eeeeeeee) has no status report"},
		"a row is old":                      {change(requested(), func(in *Input) { ages(in, 0) }), CheckRows, Unknown, "demo-a-0 (aaaaaaaa) has a stale status report: Pod demo-a-0 (aaaaaaaa) no longer exists"},
		"a datacenter that cannot be asked": {change(requested(), func(in *Input) { in.NotVerified = []string{"dc2"} }), CheckRows, Unknown, "datacenter dc2 are not reachable from here"},
		"rows that share their membership": {change(requested(), func(in *Input) {
			all := &matrix.Membership{HostIDs: []hostid.ID{hostA, hostB, hostC, hostOld}}
			eachRow(in, func(i int, r *matrix.Row) {
				if i < 3 {
					r.Base, r.Observed = all, []matrix.Observation{down(hostOld)}
				}
			})
		}), CheckOthersUp, OK, "each of the 3 other nodes"},
		"a host ID without member":       {setCell(requested(), "demo-a-0", hostNew, matrix.Up, 0), CheckRows, Unknown, "eeeeeeee has no status report"},
		"another node down":              {setCell(requested(), "demo-a-0", hostB, matrix.Down, 0), CheckOthersUp, Failed, "demo-a-0 (aaaaaaaa) sees demo-b-0 (bbbbbbbb) DOWN"},
		"NoHarm17: another node is dead": {change(excludes(0), lost("demo-c-0")), CheckOthersUp, Failed, "bring these nodes back; or replace without demo-c-0 (cccccccc), whose data is lost; this cannot be undone, and bans it permanently: kubectl scylla replace " + hostOld + " --ignore-dead=" + hostC + " -n scylla"},
		"NoHarm17: another may return":   {excludes(time.Second), CheckOthersUp, Failed, "bring these nodes back first: check why and for how long they are DOWN: kubectl scylla status demo -n scylla"},
		"NoHarm17: only DOWN":            {excludes(0), CheckOthersUp, Failed, "bring these nodes back first: check why and for how long they are DOWN: kubectl scylla status demo -n scylla"},
		"NoHarm17: it is to be replaced": {change(excludes(0), func(in *Input) { in.Others[2].Service.Labels[api.LabelReplace] = "" }), CheckOthersUp, Failed, "--ignore-dead=" + hostC},
		"NoHarm17: and one is ignored":   {change(ignore(excludes(0), hostB), lost("demo-c-0")), CheckOthersUp, Failed, "--ignore-dead=" + hostB + "," + hostC},
		"another node unknown":           {setCell(requested(), "demo-a-0", hostB, matrix.Unknown, 0), CheckOthersUp, Unknown, "does not report demo-b-0 (bbbbbbbb) UP"},
		"two of five dead, one ignored":  {ignored(), CheckIgnoreList, OK, "demo-c-0 (cccccccc) is DOWN and will be ignored, and banned"},
		"the ignored one does not block": {ignored(), CheckOthersUp, OK, "each of the 3 other nodes"},
		"nor is its row asked for":       {ignored(), CheckRows, OK, ""},
		"ignored and alive":              {ignore(requested(), hostA), CheckIgnoreList, Failed, "the cluster would ban it permanently"},
		"ignored is the target":          {ignore(requested(), hostOld), CheckIgnoreList, Failed, "also the node to replace"},
		"ignored is nonsense":            {ignore(requested(), "demo-c-0"), CheckIgnoreList, Failed, "not a host ID"},
		"data nobody looked at":          {change(requested(), func(in *Input) { in.Data = &Data{Why: "nobody answers"} }), CheckData, Unknown, "unknown: nobody answers"},
		"data with copies":               {holds(requested(), []hostid.ID{hostOld, hostA, hostB}, []hostid.ID{hostA}), CheckData, OK, "all its data has running replicas on other nodes, and a quorum (keyspaces: 1)"},
		"data of RF 1":                   {holds(requested(), []hostid.ID{hostOld}, []hostid.ID{hostA}), CheckData, Failed, "the only replica of data of app, which is lost"},
		"data of RF 2":                   {holds(requested(), []hostid.ID{hostOld, hostA}), CheckData, Failed, "too few replicas of app are running for a quorum"},
		"data of RF 1 here": {change(holds(requested(), []hostid.ID{hostOld, hostA, hostB}), func(in *Input) {
			in.Others[0].Datacenter, in.Others[1].Datacenter = "dc2", "dc2"
		}), CheckData, Failed, "no other node of its datacenter dc1 has a replica of data of app"},
		"data whose copies are dead": {holds(setCell(setCell(requested(), "demo-a-0", hostB, matrix.Down, 0), "demo-c-0", hostB, matrix.Down, 0), []hostid.ID{hostOld, hostB}), CheckData, Failed, "no running node has another replica"},
		"data, and another is dead":  {holds(setCell(setCell(requested(), "demo-a-0", hostB, matrix.Down, 0), "demo-c-0", hostB, matrix.Down, 0), []hostid.ID{hostOld, hostA, hostB}), CheckData, Failed, "too few replicas"},
		"no quorum": {ignore(setCell(setCell(requested(), "demo-a-0", hostB, matrix.Down, 0), "demo-a-0", hostC, matrix.Down, 0), hostB+","+hostC), CheckQuorum, Failed,
			"only 1 of 4 members are running"},
		"half is no quorum": {ignore(setCell(setCell(requested(), "demo-a-0", hostC, matrix.Down, 0), "demo-b-0", hostC, matrix.Down, 0), hostC), CheckQuorum, Failed,
			"only 2 of 4 members are running"},
		"NoHarm20: a leader shows the majority of group 0, whatever the count": {led(hostA, hostA, hostB, hostC), CheckQuorum, OK, "demo-a-0 (aaaaaaaa) is the topology coordinator"},
		"NoHarm20: a leader that its own row does not name":                    {led(hostA, hostB, hostC), CheckQuorum, Failed, "only 1 of 4"},
		"NoHarm20: the node that is replaced is named":                         {led(hostOld, hostA, hostB, hostC), CheckQuorum, Failed, "only 1 of 4"},
		"NoHarm20: only one row names any":                                     {led(hostA, hostA), CheckQuorum, OK, "demo-a-0"},
		"another replacement":                                                  {change(requested(), func(in *Input) { in.Others[1].Service.Labels[api.LabelReplacingNodeHostID] = hostB }), CheckNoOperation, Failed, "demo-b-0 is being replaced"},
		"a decommission":                                                       {change(requested(), func(in *Input) { in.Others[1].Service.Labels[api.LabelDecommissioned] = "false" }), CheckNoOperation, Failed, "decommissioned"},
		"a join by a row":                                                      {setCell(requested(), "demo-a-0", hostNew, matrix.Up, matrix.StateJoining), CheckNoOperation, Failed, "eeeeeeee is JOINING"},
		"a removenode by the task manager": {change(requested(), func(in *Input) { in.Operations = operation("remove node", "running", hostB) }), CheckNoOperation, Failed,
			`ScyllaDB is running "remove node" of demo-b-0 (bbbbbbbb)`},
		"an operation that is over":          {change(requested(), func(in *Input) { in.Operations = operation("bootstrap", "failed", hostB) }), CheckNoOperation, OK, ""},
		"nobody can be asked for operations": {change(requested(), func(in *Input) { in.OperationsKnown = false }), CheckNoOperation, Unknown, "--skip-check=no-operation"},
		"version not known":                  {change(requested(), func(in *Input) { in.ByHostID, in.VersionDetail = release.Unknown, `tag "latest"` }), CheckVersion, Unknown, `tag "latest"`},
		"version changed in between":         {change(recorded(), func(in *Input) { in.ByHostID, in.Version = release.No, "5.1.0" }), CheckVersion, Failed, "started by host-id"},
		"by address: somebody else has it": {change(requested(), func(in *Input) { in.ByHostID = release.No; in.Others[0].Service.Spec.ClusterIP = "10.96.0.4" }), CheckAddress, Failed,
			"belongs to demo-a-0"},
		"by address: unknown":           {change(requested(), func(in *Input) { in.ByHostID, in.Self.Pod, in.Self.Service.Spec.ClusterIP = release.No, nil, "None" }), CheckAddress, Unknown, "is unknown"},
		"by address: not its address":   {change(requested(), func(in *Input) { in.ByHostID = release.No; in.Self.Service.Labels[api.LabelReplace] = "10.0.0.1" }), CheckAddress, Failed, "is not the address"},
		"by address: headless, the Pod": {change(requested(), func(in *Input) { in.ByHostID, in.Self.Service.Spec.ClusterIP = release.No, "None" }), CheckAddress, OK, "10.244.4.9"},
		"another rack":                  {change(requested(), func(in *Input) { in.Self.Rack = "z" }), CheckPlace, Failed, "was in dc1/d, its member is in dc1/z"},
		"no place":                      {change(requested(), func(in *Input) { in.Self.Rack = "" }), CheckPlace, Unknown, "lacks label"},
		"scaled away":                   {change(requested(), func(in *Input) { in.Self.StatefulSet.Spec.Replicas = new(int32(0)) }), CheckStatefulSet, Failed, "scale it back to 1"},
		"no StatefulSet":                {change(requested(), func(in *Input) { in.Self.StatefulSet = nil }), CheckStatefulSet, Unknown, "not found"},
		"no volume to exchange":         {change(requested(), func(in *Input) { in.Self.StatefulSet.Spec.VolumeClaimTemplates = nil }), CheckStatefulSet, Failed, "no volume claim template"},
		"no launcher":                   {change(requested(), func(in *Input) { in.Self.StatefulSet.Spec.Template.Spec.Containers[0].Command = nil }), CheckLauncher, Failed, "plain new one"},
		"A1: others are seeds": {change(requested(), func(in *Input) {
			in.Seeds = &bootstrap.SeedChoice{Code: words.SeedsFound, Seeds: []string{"10.0.0.1"}}
		}), CheckSeeds, OK, "10.0.0.1"},
		"A1: no other member is UP": {change(requested(), func(in *Input) {
			in.Seeds = &bootstrap.SeedChoice{Code: words.SeedsNotUp, Names: []string{"demo-a-0"}}
		}), CheckSeeds, Failed, "second cluster"},
		"A1: only itself, by force": {change(requested(), func(in *Input) {
			in.Seeds = &bootstrap.SeedChoice{Code: words.SeedsFirstNode, Seeds: []string{"10.0.0.4"}}
		}), CheckSeeds, Failed, "--seeds"},
		"launcher not known": {change(requested(), func(in *Input) { in.Self.StatefulSet.Spec.Template.Spec.Containers = nil }), CheckLauncher, Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rec := RecordOf(tc.in.Self)
			v := verify(&tc.in, rec, tc.in.Self.RecordedID(), false)
			for _, c := range v.checks {
				if c.Name != tc.check {
					continue
				}
				if c.Result != tc.result {
					t.Errorf("%s: %s, want %s", c.Result, words.Text(c.Evidence), tc.result)
				}
				if !strings.Contains(words.Text(c.Evidence)+"\n"+words.Text(c.Cure), tc.says) {
					t.Errorf("says %q, %q without %q", words.Text(c.Evidence), words.Text(c.Cure), tc.says)
				}
				if c.Result != OK && c.Cure.IsZero() {
					t.Error("no cure")
				}
				if s := Next(tc.in); tc.result != OK && s.Action != ActionRefuse {
					t.Errorf("step is %s", s.Action)
				}
				return
			}
			t.Fatalf("check %s was not made: %+v", tc.check, v.checks)
		})
	}
}

func ignore(in Input, ids string) Input {
	in.Self.Service.Annotations[api.AnnotationReplaceIgnoreDead] = ids
	return in
}

// What a refused request prints is typed in its place, and whoever made the request has a reason for each check that it skips (seed 722969 by permits: one of two
// checks was refused in turn). An accepted request's are of another day.
func TestARemedyKeepsTheSkippedChecksOfItsRequest(t *testing.T) {
	const skip = " --skip-check=just-started,down-for"
	for name, c := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"a new request":        {nil, "replace " + hostOld + " --ignore-dead=" + hostC + skip},
		"a request to resume":  {map[string]string{api.AnnotationReplaceAccepted: "one", api.AnnotationReplaceResume: "two"}, "replace resume demo-d-0 --ignore-dead=" + hostC + skip},
		"an accepted one":      {map[string]string{api.AnnotationReplaceAccepted: "one"}, "replace resume demo-d-0 --ignore-dead=" + hostC},
		"one that was resumed": {map[string]string{api.AnnotationReplaceAccepted: "two", api.AnnotationReplaceResume: "two"}, "replace resume demo-d-0 --ignore-dead=" + hostC},
	} {
		in := change(requested(), func(in *Input) {
			maps.Copy(in.Self.Service.Annotations, c.annotations)
			in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = "just-started,down-for"
		})
		if got := strings.Join(replaceCommand(&in, []hostid.ID{hostC}), " "); got != "kubectl scylla "+c.want+" -n scylla" {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A node that has been replaced since the request is nobody: ScyllaDB does not start if it is to ignore one.
func TestWhoIsNoMemberIsNotIgnored(t *testing.T) {
	in := ignore(requested(), hostNew)
	if held := MakePlan(in).Blockers(); len(held) != 1 || held[0].Evidence.Code != words.IgnoredNoMember {
		t.Errorf("who asks for it is not told: %+v", held)
	}
	if s := Next(in); s.Action != ActionRecord || !slices.Contains(s.Patch.RemoveAnnotations, api.AnnotationReplaceIgnoreDead) {
		t.Errorf("%s, and the list is kept: %+v", s.Action, s.Patch)
	}
}

func neverJoined() Input {
	in := requested()
	in.Self.Joined = new(false)
	unlist(&in, hostOld)
	return in
}

// A check that is skipped stays visible with its result, and in the Event.
func TestSkippedChecksAreRecorded(t *testing.T) {
	in := requested()
	in.OperationsKnown = false
	in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = CheckNoOperation
	s := Next(in)
	if s.Action != ActionRecord {
		t.Fatalf("%s: %v", s.Action, s.Waiting)
	}
	if note := words.Text(s.Events[len(s.Events)-1].Note); !strings.Contains(note, "checks skipped by request: no-operation") {
		t.Errorf("event says %q", note)
	}
}

// Two that were accepted at the same moment do not wait for each other.
func TestTwoReplacementsAreOrdered(t *testing.T) {
	in := recorded()
	other := in.Others[0]
	other.PVC = claimOf("data-demo-a-0", "pvc-a")
	maps.Copy(other.Service.Annotations, map[string]string{
		api.AnnotationReplaceOriginalHostID: hostA, api.AnnotationReplaceAccepted: "request-2", api.AnnotationReplacePVCUIDs: "pvc-a",
		api.AnnotationReplaceStartedAt: stamp(t0.Add(time.Second)),
	})
	if s := Next(in); s.Action != ActionDeletePVC {
		t.Errorf("the first waits: %v", s.Waiting)
	}
	other.Service.Annotations[api.AnnotationReplaceStartedAt] = stamp(t0.Add(-time.Second))
	if s := Next(in); s.Action != ActionRefuse {
		t.Errorf("the second does not wait: %s", s.Action)
	}
	other.Service.Annotations[api.AnnotationReplaceStartedAt] = stamp(t0.Add(time.Second))
	for name, deleted := range map[string]func(*cluster.Member){
		"its claim goes":                 func(o *cluster.Member) { deleting(o.PVC) },
		"its claim is gone":              func(o *cluster.Member) { o.PVC = nil },
		"it is the second attempt":       func(o *cluster.Member) { o.Service.Annotations[api.AnnotationReplaceAttempt] = "2" },
		"nobody knows which claims go":   func(o *cluster.Member) { delete(o.Service.Annotations, api.AnnotationReplacePVCUIDs) },
		"another controller accepted it": func(o *cluster.Member) { delete(o.Service.Annotations, api.AnnotationReplaceAccepted) },
	} {
		in := clone(in)
		deleted(in.Others[0])
		if s := Next(in); s.Action != ActionRefuse {
			t.Errorf("%s: the first does not wait although the second has deleted: %s", name, s.Action)
		}
	}
}

func TestGhosts(t *testing.T) {
	in := base()
	none := func(hostid.ID) words.Message { return words.Message{} }
	if got := ghosts(in, none); len(got) != 0 {
		t.Errorf("ghosts in a plain cluster: %+v", got)
	}
	in = change(setCell(in, "*", hostNew, matrix.Down, 0), lost("demo-d-0"))
	got := ghosts(in, none)
	want := "kubectl scylla nodetool demo-a-0 -n scylla -- removenode --ignore-dead-nodes " + hostOld + " " + hostNew
	if len(got) != 1 || words.Shell(got[0].Command) != want {
		t.Errorf("got %+v, want command %s", got, want)
	}
	why := words.New("StrangerElsewhere", "datacenter", "dc2")
	if got := ghosts(in, func(hostid.ID) words.Message { return why }); got[0].Command != nil || got[0].Why.Key() != why.Key() {
		t.Errorf("a command for a node that may live elsewhere: %+v", got)
	}
}

// lost is a member whose objects show that its volume is gone.
func lost(member string) func(*Input) {
	return func(in *Input) { in.Gone = append(in.Gone, member) }
}

// A ghost is named for another one's removal as long as it may be removed itself.
func TestGhostsBesideGhosts(t *testing.T) {
	in := setCell(setCell(change(base(), lost("demo-d-0")), "*", hostNew, matrix.Down, 0), "*", "ffffffff-0000-4000-8000-000000000006", matrix.Down, 0)
	ours := func(id hostid.ID) words.Message {
		if id == "ffffffff-0000-4000-8000-000000000006" {
			return words.New(words.StrangerElsewhere)
		}
		return words.Message{}
	}
	for name, tc := range map[string]struct {
		stranger func(hostid.ID) words.Message
		commands int
	}{
		"both are orphans":       {func(hostid.ID) words.Message { return words.Message{} }, 2},
		"one may live somewhere": {ours, 0},
	} {
		n := 0
		for _, g := range ghosts(in, tc.stranger) {
			if g.Command != nil {
				n++
			}
		}
		if n != tc.commands {
			t.Errorf("%s: %d commands, want %d", name, n, tc.commands)
		}
	}
}

// removenode bans for good every node that it is told to ignore: the command that removes a ghost names none that only restarts.
func TestGhostStaysWhileAnotherNodeMayReturn(t *testing.T) {
	none := func(hostid.ID) words.Message { return words.Message{} }
	for name, change := range map[string]func(in Input) Input{
		"one row has it DOWN": func(in Input) Input {
			return setCell(setCell(in, "*", hostOld, matrix.Up, matrix.StateNormal), "demo-b-0", hostOld, matrix.Down, matrix.StateNormal)
		},
		"one row has it UP":    func(in Input) Input { return setCell(in, "demo-b-0", hostOld, matrix.Up, matrix.StateNormal) },
		"it has just gone":     func(in Input) Input { in.Now = t0.Add(-9 * time.Minute); return in },
		"longer by the policy": func(in Input) Input { in.Dead = time.Hour; return in },
		"it is only DOWN":      func(in Input) Input { in.Gone = nil; return in },
	} {
		t.Run(name, func(t *testing.T) {
			in := setCell(setCell(base(), "*", hostNew, matrix.Down, matrix.StateNormal), "*", hostOld, matrix.Down, matrix.StateNormal)
			in.Gone = []string{"demo-d-0"}
			if got := ghosts(in, none); len(got) != 1 || got[0].Command == nil || !got[0].Why.IsZero() {
				t.Fatalf("before the change: %+v, want a command", got)
			}
			got := ghosts(change(in), none)
			if len(got) != 1 || got[0].Command != nil || got[0].Why.Code != words.GhostOthersMayReturn || !strings.Contains(words.Text(got[0].Why), "demo-d-0") {
				t.Errorf("got %+v, want no command while demo-d-0 may return", got)
			}
		})
	}
}

// recordedAs is a member whose Service has a text that is no host ID in place of one.
func recordedAs(text string) func(*Input) {
	return func(in *Input) {
		in.Self.Service.Annotations[api.AnnotationHostID] = text
	}
}

// holds is the input with where the data of keyspace app is.
func holds(in Input, replicas ...[]hostid.ID) Input {
	in.Data = &Data{Known: true, Keyspaces: []maintenance.Keyspace{{Name: "app", Replicas: replicas}}}
	return in
}

// The plan promises only what the nodes that hold the data can keep.
func TestThePlanStreamsFromWhoHoldsTheData(t *testing.T) {
	p := MakePlan(holds(requested(), []hostid.ID{hostOld, hostB}, []hostid.ID{hostA, hostC}))
	if got := strings.Join(p.Streams, ","); !p.StreamsKnown || !strings.Contains(got, "demo-b-0") || len(p.Streams) != 1 {
		t.Errorf("streams from %s, known: %v; want demo-b-0 alone", got, p.StreamsKnown)
	}
	if p := MakePlan(requested()); p.StreamsKnown || len(p.Streams) != 3 {
		t.Errorf("nobody asked: streams from %v, known: %v", p.Streams, p.StreamsKnown)
	}
}

// TestNoHarm55WhatIsSkippedIsSkippedToTheEnd: `--skip-check=not-alive` deleted the claim of a Ready Pod and then held for ever, because the eviction ran the same check without the skip.
func TestNoHarm55WhatIsSkippedIsSkippedToTheEnd(t *testing.T) {
	alive := func(in Input) Input {
		return change(in, func(in *Input) {
			ready(in.Self.Pod, true)
			in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = CheckNotAlive
		})
	}
	for name, in := range map[string]Input{"requested": alive(requested()), "recorded": alive(recorded()), "one of two claims is gone": alive(oneOfTwoClaims())} {
		if s := Next(in); s.Action != ActionRefuse || !strings.Contains(all(s), "Pod demo-d-0 is Ready") {
			t.Errorf("%s: %s %s", name, s.Action, all(s))
		}
	}
	held := Next(change(setCell(alive(recorded()), "demo-b-0", hostOld, matrix.Up, 0), func(in *Input) { in.Claims = nil }))
	if held.Action != ActionHoldEviction || len(held.Checks) != 2 {
		t.Fatalf("%s %+v", held.Action, held.Checks)
	}
	for _, c := range held.Checks {
		if c.Skippable || slices.Contains(CheckNames(), c.Name) {
			t.Errorf("the eviction repeats %s, which a flag skips before", c.Name)
		}
	}
}

// waitsFor is what a Pod waits for, in these words.
func waitsFor(text string) words.Message { return words.New(words.LogCure, "text", text) }

// TestNoHarm8ReplaceRefusesAPausedNode: a drained node, or one in maintenance mode, is alive and DOWN for all others; no flag skips the check, and it says how to bring the node back. The Pod of a new
// node whose attempt failed is another node's.
func TestNoHarm8ReplaceRefusesAPausedNode(t *testing.T) {
	for name, tc := range map[string]struct {
		hostID  hostid.ID
		refused bool
	}{
		"the node":                         {hostOld, true},
		"a node that does not say which":   {"", true},
		"the new node of a failed attempt": {hostNew, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := requested()
			in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = CheckNotAlive
			in.Self.Report, in.Paused = says(string(tc.hostID), nil, ""), words.New("ScyllaDBDrained")
			in.Resume = words.New("RestartDrained").Do(words.Kubectl("scylla", "delete", "pod", "demo-d-0"))
			v := verify(&in, RecordOf(in.Self), hostOld, false)
			i := slices.IndexFunc(v.checks, func(c Check) bool { return c.Name == CheckNotAlive })
			if c := v.checks[i]; c.Blocks() != tc.refused || tc.refused && !strings.Contains(words.Text(c.Cure), "kubectl delete pod demo-d-0 -n scylla") {
				t.Errorf("refused %v: %s; %s", c.Blocks(), words.Text(c.Evidence), words.Text(c.Cure))
			}
		})
	}
}
