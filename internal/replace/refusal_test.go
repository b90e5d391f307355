// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

const budgetSays = "Cannot evict pod as it would violate the pod's disruption budget. (The disruption budget demo needs 3 healthy pods and has 2 currently)"

// evicting is the moment in which the old Pod is to go.
func evicting() Input {
	return change(recorded(), func(in *Input) { in.Claims = data("pvc-1", deleting) })
}

// refused is in after so many refusals of its step in a row, each when it was due.
func refused(in Input, n int) Input {
	for range n {
		s := Next(in)
		r, patch := s.Refuse(budgetSays, true, in.Now, 0)
		in = after(in, Step{Patch: patch})
		in.Now = r.Next
	}
	return in
}

func TestRefusalBacksOff(t *testing.T) {
	in := evicting()
	var waits []time.Duration
	for range 8 {
		s := Next(in)
		if s.Action != ActionEvictPod || s.PodUID != "pod-1" {
			t.Fatalf("%s of %q when it is due", s.Action, s.PodUID)
		}
		r, patch := s.Refuse(budgetSays, true, in.Now, 0)
		in = after(in, Step{Patch: patch})
		early := in
		early.Now = r.Next.Add(-time.Second)
		if s := Next(early); s.Action != ActionWaitRefused || s.Action.Writes() || len(s.Events) > 0 || s.Phase() != PhaseEvict || !s.Held() {
			t.Fatalf("before its time: %s, events %v", s.Action, s.Events)
		}
		waits = append(waits, r.Next.Sub(in.Now))
		in.Now = r.Next
	}
	if got, want := fmt.Sprint(waits), "[5s 10s 20s 40s 1m20s 2m0s 2m0s 2m0s]"; got != want {
		t.Errorf("waits %s, want %s", got, want)
	}
	if r, _ := Next(evicting()).Refuse("", false, t0, time.Minute); !r.Next.Equal(t0.Add(time.Minute)) {
		t.Errorf("the API server asked for a minute, next try at %s", r.Next)
	}
}

// The refusal recorded on the Service is the only source of the message.
func TestRefusalIsSaid(t *testing.T) {
	for name, tc := range map[string]struct {
		in     Input
		action Action
		held   bool
		says   []string
	}{
		"waiting": {change(refused(evicting(), 3), func(in *Input) { in.Now = in.Now.Add(-time.Second) }), ActionWaitRefused, true,
			[]string{"Pod demo-d-0 cannot be evicted yet: " + budgetSays, "refused 3 times since 10:00:00 UTC, next try at 10:00:35 UTC; nothing else is deleted", "AlwaysAllow"}},
		"due": {refused(evicting(), 1), ActionEvictPod, true, []string{"refused 1 time since 10:00:00 UTC, retried now"}},
		"days later": {change(refused(evicting(), 1), func(in *Input) { in.Now = in.Now.Add(48 * time.Hour) }), ActionEvictPod, true,
			[]string{"since 2026-11-21 10:00:00 UTC"}},
		"the claim": {change(refused(recorded(), 1), func(in *Input) { in.Now = t0 }), ActionWaitRefused, true,
			[]string{"PersistentVolumeClaim data-demo-d-0 cannot be deleted yet", "next try at 10:00:05 UTC"}},
		"another Pod": {change(refused(evicting(), 1), func(in *Input) {
			in.Self.Pod = podOf("pod-9", "k5")
			in.Now = t0
		}), ActionEvictPod, false, nil},
		"the claim's refusal is none of the Pod": {change(refused(recorded(), 1), func(in *Input) {
			in.Claims, in.Now = data("pvc-1", deleting), t0
		}), ActionEvictPod, false, nil},
		"garbage": {change(evicting(), func(in *Input) { in.Self.Service.Annotations[api.AnnotationReplaceRefused] = "soon" }), ActionEvictPod, false, nil},
		"a next try in a year": {change(evicting(), func(in *Input) {
			in.Self.Service.Annotations[api.AnnotationReplaceRefused] = `{"uid":"pod-1","message":"x","times":1,"since":"2026-11-21T10:00:00Z","next":"2027-11-21T10:00:00Z"}`
		}), ActionEvictPod, true, []string{"retried now"}},
		"the node came back meanwhile": {setCell(refused(evicting(), 1), "demo-b-0", hostOld, matrix.Up, 0), ActionHoldEviction, true, []string{"the old node restarted"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Next(tc.in)
			if s.Action != tc.action || s.Held() != tc.held {
				t.Fatalf("%s, held %v: %s", s.Action, s.Held(), s.Message)
			}
			all := all(s)
			for _, says := range tc.says {
				if !strings.Contains(all, says) {
					t.Errorf("says\n%s\nwithout %q", all, says)
				}
			}
		})
	}
	if _, left := after(refused(joined(), 0), Next(joined())).Self.Service.Annotations[api.AnnotationReplaceRefused]; left {
		t.Error("the record outlives the replacement")
	}
}

func TestStandstill(t *testing.T) {
	const unschedulable = "scheduling: 0/3 nodes are available: 3 Insufficient memory."
	for name, tc := range map[string]struct {
		in     Input
		action Action
		says   []string
	}{
		"no room, no volume": {change(newPod(), func(in *Input) {
			in.Self.Pod.Spec.NodeName, in.Self.Waiting = "", waitsFor(unschedulable)
		}), ActionWaitJoin, []string{"Pod demo-d-0 is waiting for " + unschedulable, "PersistentVolumeClaim data-demo-d-0 is not bound to a volume"}},
		"in its barrier": {change(newPod(), func(in *Input) {
			in.Self.Waiting, in.Barrier = waitsFor("init container scylladb-bootstrap-barrier to finish"), []words.Message{words.New(words.LogCure, "text", "demo-a-0 sees demo-b-0 DOWN")}
		}), ActionWaitJoin, []string{"Pod demo-d-0 is waiting for init container scylladb-bootstrap-barrier to finish", "its barrier is waiting: demo-a-0 sees demo-b-0 DOWN"}},
		"the launcher crashes": {change(joining(matrix.StateReplacing, false), func(in *Input) {
			in.Self.Waiting = waitsFor("container scylla (CrashLoopBackOff): exit code 75")
			runs(in.Self.Pod, 0, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}})
			in.Self.Pod.Status.ContainerStatuses[0].LastTerminationState = exited(ExitLaunchRetry)
		}), ActionWaitJoin, []string{"is waiting for container scylla (CrashLoopBackOff): exit code 75", "no response from the API server", "eeeeeeee owns no tokens yet"}},
		"joined, and not ready": {change(joined(), func(in *Input) {
			ready(in.Self.Pod, false)
			in.Self.Waiting = waitsFor("container scylla to become ready")
		}), ActionWaitReady,
			[]string{"Pod demo-d-0 is waiting for container scylla to become ready"}},
		"joining as it should": {change(joining(matrix.StateReplacing, false), func(in *Input) {
			in.Self.Waiting = waitsFor("container scylla to become ready")
			runs(in.Self.Pod, 0, running(time.Time{}))
		}), ActionWaitJoin, []string{"eeeeeeee owns no tokens yet"}},
		"joining, and how far": {change(joining(matrix.StateReplacing, false), func(in *Input) {
			runs(in.Self.Pod, 0, running(time.Time{}))
			said := in.Self.Says()
			said.JoinedPercent = new(int32(43))
			in.Self.Report = &said
		}), ActionWaitJoin, []string{"eeeeeeee owns no tokens yet", "eeeeeeee", "joining, 43 %"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Next(tc.in)
			if s.Action != tc.action {
				t.Fatalf("%s: %s", s.Action, s.Message)
			}
			for i, want := range tc.says {
				if i >= len(s.Waiting) || !strings.Contains(words.Text(s.Waiting[i]), want) {
					t.Errorf("waits for %q, want %q at %d", s.Waiting, want, i)
				}
			}
		})
	}
}

// Another attempt is the cure where it can succeed; where it cannot, what stands in its way comes first.
func TestCures(t *testing.T) {
	says := func(c words.Code) func(*Input) { return func(in *Input) { in.Log = logged(c, "x") } }
	const resume, ns = "kubectl scylla replace resume demo-d-0", " -n scylla"
	thirdDown := func(changes ...func(*Input)) Input {
		return change(setCell(setCell(newPod(), "demo-a-0", hostC, matrix.Down, 0), "demo-b-0", hostC, matrix.Down, 0), changes...)
	}
	volumeGone := func(in *Input) { in.Gone = []string{"demo-c-0"} }
	unlisted := func(in *Input) { unlist(in, hostOld) }
	alive := change(operatorBegun(), says(words.ReplaceAliveNode))
	alive.Self.Service.Labels[api.LabelReplacingNodeHostID] = hostA
	for name, tc := range map[string]struct {
		in   Input
		want string
	}{
		"all others UP": {change(newPod(), says("RolledBack")), "resume the replacement; this deletes the new volume, which cannot be reused, and cannot be undone: " + resume + ns},
		"another node down": {thirdDown(says("JoinCancelled")),
			"the new volume cannot be reused. Bring demo-c-0 (cccccccc) back first, then resume, which cannot be undone: " + resume + ns + "\n"},
		"another node down in one row": {change(setCell(newPod(), "demo-a-0", hostC, matrix.Down, 0), says("JoinCancelled"), volumeGone),
			"Bring demo-c-0 (cccccccc) back first, then resume, which cannot be undone: " + resume + ns + "\n"},
		"another node down, whose volume is gone": {thirdDown(says("JoinCancelled"), volumeGone),
			"then resume, which cannot be undone: " + resume + ns + "; or continue without demo-c-0 (cccccccc), whose data is lost: " + resume + " --ignore-dead=" + hostC + ns},
		"another node down, whose volume is gone, one ignored": {thirdDown(says("JoinCancelled"), volumeGone, func(in *Input) {
			in.Self.Service.Annotations[api.AnnotationReplaceIgnoreDead] = hostNew
		}), "--ignore-dead=" + hostNew + "," + hostC},
		"refused because another node is down": {thirdDown(says(words.ReplaceOtherDown)),
			"bring demo-c-0 (cccccccc) back: nothing was stored, and ScyllaDB retries automatically\n"},
		"refused because another node is down, whose volume is gone": {thirdDown(says(words.ReplaceOtherDown), volumeGone),
			"retries automatically; or continue without it, whose data is lost, which cannot be undone: " + resume + " --ignore-dead=" + hostC},
		"refused, and it is back": {change(newPod(), says(words.ReplaceOtherDown)), "bring that node back: nothing was stored, and ScyllaDB retries automatically"},
		"unknown, begun elsewhere": {change(operatorBegun(), unlisted, says(words.ReplacedNodeNotFound)),
			"host ID " + hostOld + " is not a member: it is wrong, or was removed meanwhile (kubectl scylla status -n scylla lists the members). It cannot be replaced: " +
				"withdraw the replacement: kubectl label service demo-d-0 scylla/replace- internal.scylla-operator.scylladb.com/replacing-node-hostid- -n scylla" +
				" && kubectl delete pod demo-d-0 -n scylla; the member then joins as a new node"},
		"unknown, and the rows list it":    {change(newPod(), says(words.ReplacedNodeNotFound)), "delete nothing yet"},
		"unknown, and most rows are old":   {change(newPod(), unlisted, func(in *Input) { ages(in, 0, 1) }, says(words.ReplacedNodeNotFound)), "delete nothing yet"},
		"alive, and all rows have it DOWN": {change(newPod(), says(words.ReplaceAliveNode)), "delete nothing yet"},
		"unknown, removed behind our back": {change(newPod(), unlisted, says(words.ReplacedNodeNotFound)),
			"withdraw the replacement: kubectl annotate service demo-d-0 kubectl-scylla.scylladb.com/replace-accepted- "},
		"NoHarm10: an ignored node is alive": {change(newPod(), says("ReplaceIgnoredAlive")), "nothing was stored, the new volume is not lost and no node is banned. Show details: kubectl scylla replace status demo-d-0"},
		"NoHarm10: the newer text of a rack": {change(newPod(), says("ReplacePlaceRefused")), "nothing was stored, the new volume is not lost"},
		"NoHarm10: target not normal":        {change(newPod(), says("ReplaceTargetNotNormal")), "delete nothing yet: it is unknown whether the new volume is lost"},
		"NoHarm10: rejected for any reason":  {change(newPod(), says("JoinRejected")), "kubectl logs demo-d-0 -c scylla"},
		"NoHarm19: its container is called db": {change(newPod(), func(in *Input) {
			in.Containers = matrix.Containers{"demo-d-0": "db"}
			says("JoinRejected")(in)
		}), "kubectl logs demo-d-0 -c db"},
		"NoHarm10: its request was placed": {change(newPod(), says(words.JoinUnfinished)), "delete nothing yet"},
		"alive":                            {alive, "node demo-a-0 (aaaaaaaa) is running and cannot be replaced. If it is to be given up, stop it: ScyllaDB retries automatically. If it was named by mistake: withdraw"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Next(tc.in)
			if s.Action != ActionFail || !strings.Contains(words.Text(s.Cure)+"\n", tc.want) || words.Text(s.Diagnosis.Cure) != words.Text(s.Cure) {
				t.Errorf("%s\n%s\nwithout\n%s", s.Action, words.Text(s.Cure), tc.want)
			}
		})
	}
}

// The Scylla Operator's replacement is judged as ours is, and nothing of it is ours to write.
func TestState(t *testing.T) {
	operator := func(in Input) Input { in.Operator = true; return in }
	begun := func(f func(*Input)) Input { return operator(change(operatorBegun(), f)) }
	for name, tc := range map[string]struct {
		in     Input
		action Action
		says   []string
	}{
		"ours":       {recorded(), ActionDeletePVC, nil},
		"nothing":    {operator(base()), ActionNone, []string{"no replacement"}},
		"label only": {operator(requested()), ActionDeletePVC, []string{"the Scylla Operator deletes PVC and Pod"}},
		"its own words": {change(operator(requested()), func(in *Input) { in.Conditions = []string{"ServiceControllerProgressing: WaitingForPodRecreation"} }), ActionDeletePVC,
			[]string{"WaitingForPodRecreation"}},
		"label removed": {begun(func(in *Input) { delete(in.Self.Service.Labels, api.LabelReplace) }), ActionFail, []string{"removed during the replacement", "kubectl scylla replace status demo-d-0"}},
		"no host ID":    {begun(func(in *Input) { in.Self.Service.Labels[api.LabelReplacingNodeHostID] = "" }), ActionFail, []string{"no usable host ID"}},
		"no Pod yet":    {begun(func(in *Input) { noPod(in) }), ActionWaitNewPod, nil},
		"Pod is pending": {begun(func(in *Input) {
			in.Self.Pod.Spec.NodeName, in.Self.Waiting = "", waitsFor("scheduling: 0/3 nodes are available")
		}), ActionWaitJoin, []string{"0/3 nodes are available"}},
		"joins": {begun(func(in *Input) { records(in, hostNew, new(false)) }), ActionWaitJoin, []string{"owns no tokens"}},
		"its log says why": {begun(func(in *Input) {
			records(in, hostNew, new(false))
			in.Log = logged("JoinCancelled", "request canceled because some required nodes are dead")
		}), ActionFail, []string{"some required nodes are dead", "has no second attempt"}},
		"the task manager says why": {begun(func(in *Input) {
			in.Self.Report = says(hostNew, new(false), "BOOTSTRAP")
			in.Operations = operation("replace", "failed", hostNew)
		}), ActionFail, []string{"Failed stream ranges", "has no second attempt"}},
		"exited with 0":  {begun(func(in *Input) { runs(in.Self.Pod, 0, exited(0)) }), ActionFail, []string{"exited with code 0", "delete nothing yet"}},
		"unknown target": {begun(func(in *Input) { unlist(in, hostOld); in.Log = logged(words.ReplacedNodeNotFound, "x") }), ActionFail, []string{"is not a member", "withdraw the replacement"}},
		"joined":         {operator(finishedElsewhere()), ActionFinish, []string{"the Scylla Operator is removing the labels"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := State(tc.in)
			if s.Action != tc.action {
				t.Fatalf("%s: %s %v", s.Action, s.Message, s.Waiting)
			}
			all := all(s)
			for _, says := range tc.says {
				if !strings.Contains(all, says) {
					t.Errorf("says\n%s\nwithout %q", all, says)
				}
			}
			if tc.in.Operator && (s.Patch != nil || s.Claim != nil || s.PodUID != "" || strings.Contains(words.Text(s.Cure), "replace resume")) {
				t.Errorf("something to do: %+v", s)
			}
		})
	}
}

// The ghosts of a cluster are the same for every member; joining newcomers are none.
func TestGhostsDoNotDependOnTheMember(t *testing.T) {
	none := func(hostid.ID) words.Message { return words.Message{} }
	a := setCell(base(), "*", hostNew, matrix.Down, 0)
	b := a
	b.Self, b.Others = a.Others[0], append(slices.Clone(a.Others[1:]), a.Self)
	if diff := cmp.Diff(ghosts(a, none), ghosts(b, none)); diff != "" || len(ghosts(a, none)) != 1 {
		t.Errorf("(-of demo-d-0 +of demo-a-0)\n%s", diff)
	}
	a.Self.Report = says(hostNew, nil, "")
	if got := ghosts(b, none); len(got) != 0 {
		t.Errorf("the newcomer of another member: %+v", got)
	}
	for _, state := range []matrix.State{matrix.StateJoining, matrix.StateReplacing} {
		if got := ghosts(setCell(base(), "*", hostNew, matrix.Up, state), none); len(got) != 0 {
			t.Errorf("a newcomer whose Service does not know it yet: %+v", got)
		}
	}
}

// A new node whose barrier waits for another node goes on without it only where something shows that the other one cannot come back: neither a request alone nor
// DOWN shows that. ScyllaDB bans the nodes that a replacement ignores.
func TestNoHarm17WithoutTheOther(t *testing.T) {
	waits := func(changes ...func(*Input)) Input {
		return change(change(setCell(newPod(), "*", hostB, matrix.Down, 0), func(in *Input) { in.Barrier = []words.Message{words.New("NodeDown")} }), changes...)
	}
	asked := func(in *Input) { in.Others[1].Service.Labels[api.LabelReplace] = "" }
	cell := func(reporter, id string, status matrix.Status) func(*Input) {
		return func(in *Input) { *in = setCell(*in, reporter, id, status, 0) }
	}
	const without = "continue without demo-b-0 (bbbbbbbb), whose data is lost, which cannot be undone: kubectl scylla replace resume demo-d-0 --ignore-dead=" +
		hostB + " -n scylla; then also replace it"
	for name, tc := range map[string]struct {
		in   Input
		want string
	}{
		"its replacement is requested":         {waits(asked), without},
		"its volume is gone":                   {waits(func(in *Input) { in.Gone = []string{"demo-b-0"} }), without},
		"it is only DOWN":                      {waits(), ""},
		"it is requested, and UP by one row":   {waits(asked, cell("demo-c-0", hostB, matrix.Up)), ""},
		"it is requested, and DOWN for a time": {waits(asked, func(in *Input) { in.Dead = time.Hour }), ""},
		"a third one is only DOWN":             {waits(asked, cell("demo-a-0", hostC, matrix.Down)), ""},
		"the barrier does not wait":            {waits(asked, func(in *Input) { in.Barrier = nil }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := Next(tc.in); s.Action != ActionWaitJoin || words.Text(s.Cure) != tc.want {
				t.Errorf("%s: %q, want %q", s.Action, words.Text(s.Cure), tc.want)
			}
		})
	}
}

// noNode: the new Pod was made again age ago, and no Kubernetes node takes it; that of its new volume is gone.
func noNode(in Input, age time.Duration) Input {
	return change(in, func(in *Input) {
		in.Self.Pod.Spec.NodeName = ""
		made(in.Self.Pod, in.Now.Add(-age))
		in.Self.Waiting = waitsFor("scheduling: 3 node(s) didn't match PersistentVolume's node affinity")
		in.Claims[0].Spec.VolumeName = "pv-8"
		in.VolumeGone = words.New(words.VolumeOfGoneNode, "volume", "pv-8", "kubernetesNode", "k8")
	})
}

// lostMember: the new node has joined, and then its Kubernetes node is gone; its Pod made anew says nothing.
func lostMember() Input {
	return change(setCell(noNode(joined(), time.Hour), "*", hostNew, matrix.Down, matrix.StateNormal), func(in *Input) {
		records(in, hostNew, new(true))
		in.Self.Report = nil
		ready(in.Self.Pod, false)
	})
}

// removedMember: the same, and a person has removed the new node with nodetool. No row lists either node any more.
func removedMember() Input {
	return change(lostMember(), func(in *Input) {
		unlist(in, hostNew, hostOld)
	})
}

// TestEvictLooksForAClaimThatNothingDeletes: the old node is UP again. The step for its data was a decommission even of a healthy node whose PVC had not been read.
func TestEvictLooksForAClaimThatNothingDeletes(t *testing.T) {
	bound := data("pvc-1", deleting)
	bound[0].Spec.VolumeName = "pv-1"
	for name, tc := range map[string]struct {
		claims []*corev1.PersistentVolumeClaim
		want   words.Code
	}{
		"its PVC was not read":                    {nil, words.OldNodeCameBackLook},
		"another PVC has its place":               {data("pvc-2"), words.OldNodeCameBackLook},
		"its PVC is being deleted":                {data("pvc-1", deleting), words.OldNodeCameBackCure},
		"its PVC is being deleted, with a volume": {bound, words.OldNodeCameBackKeep},
	} {
		in := setCell(change(recorded(), func(in *Input) { in.Claims = tc.claims }), "demo-b-0", hostOld, matrix.Up, 0)
		if s := Next(in); s.Action != ActionHoldEviction || s.Cure.Code != tc.want {
			t.Errorf("%s: %s, %s, want %s", name, s.Action, words.Text(s.Cure), tc.want)
		}
	}
}

// maybeIntact: nothing shows that the new volume of the Pod without a Kubernetes node is gone.
func maybeIntact(in *Input) {
	in.VolumeGone, in.Unscheduled = words.Message{}, words.New(words.MendKubernetesNode, "kubernetesNode", "k8")
}

// placeDown: no node of the member's datacenter is UP, so a command to replace it waits.
func placeDown(in *Input) {
	in.Away = words.New(words.SeeDatacenter, "datacenter", in.Self.Datacenter)
}

// operators is a replacement by the Scylla Operator.
func operators(in Input) Input {
	return change(in, func(in *Input) {
		in.Operator = true
		in.Self.Service.Labels = map[string]string{api.LabelReplace: "", api.LabelReplacingNodeHostID: hostOld}
		in.Self.Service.Annotations = map[string]string{api.AnnotationHostID: hostNew, api.AnnotationNodeJoined: "true"}
	})
}

// Another attempt is offered only where the new volume is gone: no reason of the scheduler shows that.
func TestVolumeLost(t *testing.T) {
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"made anew, its volume is bound":    {noNode(newPod(), overdue+time.Second), words.CureVolumeLost},
		"while its datacenter is DOWN":      {change(noNode(newPod(), time.Hour), placeDown), words.SeeDatacenter},
		"just made":                         {noNode(newPod(), overdue), ""},
		"its volume may be intact":          {change(noNode(newPod(), time.Hour), maybeIntact), words.MendKubernetesNode},
		"while the new node joins":          {change(noNode(joining(matrix.StateReplacing, false), time.Hour), maybeIntact), words.MendKubernetesNode},
		"while the new node is a member":    {change(lostMember(), maybeIntact), words.MendKubernetesNode},
		"while it was removed":              {change(removedMember(), maybeIntact), words.MendKubernetesNode},
		"while nobody recorded it":          {change(unrecordedNode(noNode(joined(), time.Hour)), maybeIntact), words.MendKubernetesNode},
		"with the Scylla Operator":          {change(noNode(operatorBegun(), time.Hour), maybeIntact, func(in *Input) { in.Operator = true }), words.MendKubernetesNode},
		"the claim goes":                    {change(noNode(newPod(), time.Hour), func(in *Input) { deleting(in.Claims[0]) }), ""},
		"placed":                            {change(noNode(newPod(), time.Hour), func(in *Input) { in.Self.Pod.Spec.NodeName = "k5" }), ""},
		"the new node is a member":          {lostMember(), words.CureNewcomerLost},
		"and another attempt was asked for": {alsoResumed(lostMember()), words.CureNewcomerLost},
		"and its datacenter is DOWN":        {change(lostMember(), placeDown), words.ReplaceLater},
		"the new node was removed since":    {removedMember(), words.CureStartAsNew},
		"it was, and one row is missing": {change(removedMember(), func(in *Input) {
			eachRow(in, func(i int, r *matrix.Row) {
				if i == 1 {
					r.Reported, r.Observed = false, nil
				}
			})
		}), ""},
		"the operator's one was removed":    {operators(removedMember()), words.CureOperatorByHand},
		"the Scylla Operator has no second": {change(noNode(operatorBegun(), time.Hour), func(in *Input) { in.Operator = true }), words.CureOperatorByHand},
	} {
		t.Run(name, func(t *testing.T) {
			if s := State(tc.in); s.Action != ActionWaitJoin || s.Cure.Code != tc.want {
				t.Errorf("%s, cure %q, want %q", s.Action, s.Cure.Code, tc.want)
			}
		})
	}
	// The attempt that it offers is accepted, and deletes the new claim.
	in := change(noNode(newPod(), time.Hour), func(in *Input) { in.Self.Service.Annotations[api.AnnotationReplaceResume] = "again" })
	if s := Next(in); s.Action != ActionRecord || s.Patch.SetAnnotations[api.AnnotationReplacePVCUIDs] != "pvc-2" {
		t.Errorf("%s: %s", s.Action, words.Text(s.Message))
	}
}

// A new node that had joined was removed, and its Pod waits at its barrier: the way out is named, although another dead node has no row, where that one's
// replacement is requested and so waits for this one. No row, or one that lists either node, names none.
func TestTheNewNodeWasRemovedWhileItsBarrierWaits(t *testing.T) {
	waits := func(in *Input) {
		in.Barrier = []words.Message{words.New("NodeDown")}
		in.Self.Pod.Spec.NodeName = "k5"
	}
	dead := func(in *Input) {
		*in = setCell(*in, "*", hostB, matrix.Down, 0)
		ages(in, 1)
	}
	asked := func(in *Input) { in.Others[1].Service.Labels[api.LabelReplace] = "" }
	removed := func(more ...func(*Input)) Input {
		return change(change(removedMember(), waits), more...)
	}
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"nothing else is wrong":                      {removed(), words.CureStartAsNew},
		"another is dead, and to be replaced":        {removed(dead, asked), words.CureStartAsNew},
		"another is dead":                            {removed(dead), ""},
		"and one row lists the new node":             {setCell(removed(dead, asked), "demo-c-0", hostNew, matrix.Down, 0), ""},
		"and one row lists the original":             {setCell(removed(dead, asked), "demo-c-0", hostOld, matrix.Down, 0), ""},
		"another is to be replaced, and is UP again": {removed(asked, func(in *Input) { ages(in, 1) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := State(tc.in); s.Action != ActionWaitJoin || s.Cure.Code != tc.want {
				t.Errorf("%s, cure %q, want %q", s.Action, s.Cure.Code, tc.want)
			}
		})
	}
}

// A new node that joined was removed, and the next one on its volume can never join: another attempt at the original would be refused. Starting as a new node
// needs ScyllaDB's word that the volume is lost, and the rows of all.
func TestTheNewNodeWasRemovedAndTheNextIsBanned(t *testing.T) {
	banned := func(in Input, code words.Code, more ...func(*Input)) Input {
		in.Log = logged(code, "The node has already been removed from the cluster")
		in.Self.Pod.Spec.NodeName = "k5"
		return change(in, more...)
	}
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"as ScyllaDB says":             {banned(removedMember(), words.AlreadyRemoved), words.CureStartAsNew},
		"the next one has a row":       {banned(removedMember(), words.AlreadyRemoved, func(in *Input) { in.Self.Report = says("6e1f5594-0000-4000-8000-000000000001", new(false), "STARTING") }), words.CureStartAsNew},
		"another attempt is requested": {banned(alsoResumed(removedMember()), words.AlreadyRemoved), words.CureStartAsNew},
		"one row lists the original":   {banned(setCell(removedMember(), "demo-c-0", hostOld, matrix.Down, 0), words.AlreadyRemoved), words.CureResume},
		"its volume is kept":           {banned(removedMember(), words.RequestNotFound), words.CureLook},
	} {
		t.Run(name, func(t *testing.T) {
			if s := State(tc.in); s.Action != ActionFail || s.Cure.Code != tc.want {
				t.Errorf("%s, cure %q, want %q", s.Action, s.Cure.Code, tc.want)
			}
		})
	}
}

// A new node whose seeds have gone before it reached one waits for ever: once nothing else can be the reason, its Pod is named while its log
// shows the shadow round, else how to look.
func TestTheNewNodeThatNobodyHasHeardOf(t *testing.T) {
	starts := func(age time.Duration, more ...func(*Input)) Input {
		return change(newPod(), func(in *Input) {
			in.Self.Report = says(hostNew, new(false), "STARTING")
			runs(in.Self.Pod, 0, running(in.Now.Add(-age)))
			for _, m := range more {
				m(in)
			}
		})
	}
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"for five minutes":    {starts(startingTime), words.CureUnheard},
		"in the shadow round": {starts(startingTime, func(in *Input) { in.Log = logged(words.ShadowRound, "Gossip shadow round started") }), words.CureNewSeeds},
		"for less":            {starts(startingTime - time.Second), ""},
		"it streams":          {starts(time.Hour, func(in *Input) { in.Self.Report.OperationMode = "BOOTSTRAP" }), ""},
		"its request is open": {starts(time.Hour, func(in *Input) { in.Operations = operation("replace", "running", hostNew) }), ""},
		"nobody asked":        {starts(time.Hour, func(in *Input) { in.OperationsKnown = false }), ""},
		"40445: its Kubernetes node does not answer": {starts(time.Hour, func(in *Input) { in.Self.Pod.Status.Reason = "NodeLost" }), ""},
		"it does not run": {starts(time.Hour, func(in *Input) { runs(in.Self.Pod, 0, corev1.ContainerState{}) }), ""},
		"it is listed":    {setCell(starts(time.Hour), "*", hostNew, matrix.Up, matrix.StateReplacing), ""},
		"another is DOWN": {setCell(starts(time.Hour), "demo-a-0", hostB, matrix.Down, 0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := Next(tc.in); s.Action != ActionWaitJoin || s.Cure.Code != tc.want {
				t.Errorf("%s, cure %q, want %q", s.Action, s.Cure.Code, tc.want)
			}
		})
	}
	if got := words.Text(Next(starts(time.Hour)).Cure); strings.Contains(got, "kubectl delete") || !strings.HasSuffix(got, "kubectl scylla describe demo-d-0 -n scylla") {
		t.Errorf("the cure is %q", got)
	}
}

// unrecordedNode is a new node that had joined in place of the original and is gone, before anybody recorded it.
func unrecordedNode(in Input, more ...func(*Input)) Input {
	return change(setCell(in, "*", hostNew, matrix.Down, matrix.StateNormal), func(in *Input) {
		in.Self.Report = nil
		ready(in.Self.Pod, false)
		in.Unrecorded = hostNew
		for _, m := range more {
			m(in)
		}
	})
}

// A new node that had joined and is gone with its volume before anybody recorded it: the way out is named where nothing else can have held its Pod back.
func TestTheNewNodeThatNobodyRecorded(t *testing.T) {
	waits := func(in *Input) { in.Barrier = []words.Message{words.New("NodeDown")} }
	lost := func(more ...func(*Input)) Input { return unrecordedNode(change(joined(), waits), more...) }
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"it waits at its barrier":             {lost(), words.CureRecordNewcomer},
		"its datacenter is DOWN":              {lost(placeDown), words.ReplaceLater},
		"its barrier does not wait":           {lost(func(in *Input) { in.Barrier = nil }), ""},
		"nobody knows whose it is":            {lost(func(in *Input) { in.Unrecorded = "" }), ""},
		"the original is listed all the same": {setCell(lost(), "demo-c-0", hostOld, matrix.Down, 0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := Next(tc.in); s.Action != ActionWaitJoin || s.Cure.Code != tc.want {
				t.Errorf("%s, cure %q, want %q", s.Action, s.Cure.Code, tc.want)
			}
		})
	}
	if s := Next(change(lost(), func(in *Input) { in.Dead = time.Hour })); !s.Cure.IsZero() {
		t.Errorf("it is not DOWN for long enough to be replaced, and the cure is %s", s.Cure.Code)
	}
	recorded := func(more ...func(*Input)) Input {
		return lost(append(more, func(in *Input) {
			records(in, hostNew, new(true))
			in.Self.Pod.Annotations = map[string]string{api.AnnotationBarrier: `{"emptyVolume":true}`}
			barrier(in.Self.Pod, in.Now)
		})...)
	}
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"somebody recorded it":    {recorded(), words.ReplaceFormerNode},
		"its datacenter is DOWN":  {recorded(placeDown), words.ReplaceLater},
		"it is DOWN for a moment": {recorded(func(in *Input) { in.Dead = time.Hour }), ""},
		"it is UP":                {setCell(recorded(), "*", hostNew, matrix.Up, matrix.StateNormal), ""},
		"its volume is not empty": {change(recorded(), func(in *Input) { delete(in.Self.Pod.Annotations, api.AnnotationBarrier) }), ""},
	} {
		if s := Next(tc.in); s.Cure.Code != tc.want {
			t.Errorf("%s: %s, cure %q, want %q", name, s.Action, s.Cure.Code, tc.want)
		}
	}
	// What it prints ends the open replacement by another one.
	in := change(lost(), func(in *Input) { in.Self.Service.Annotations[api.AnnotationHostID] = hostNew })
	if got := Superseded(in); got != hostNew {
		t.Errorf("the recorded node is not the one to replace: %q", got)
	}
}

// The same on a Kubernetes node that is gone: another attempt would find nothing to replace, so it is not offered, and one that was asked for says what to do instead.
func TestNoHarm30TheUnrecordedNewNodeOnALostKubernetesNode(t *testing.T) {
	lost := func(more ...func(*Input)) Input { return unrecordedNode(noNode(joined(), time.Hour), more...) }
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"its Pod is on no Kubernetes node":    {lost(), words.CureUnrecordedLost},
		"and its datacenter is DOWN":          {lost(placeDown), words.ReplaceLater},
		"another attempt was asked for":       {alsoResumed(lost()), words.CureUnrecordedLost},
		"nobody knows whose it is":            {lost(func(in *Input) { in.Unrecorded = "" }), words.CureVolumeLost},
		"the original is listed all the same": {setCell(lost(), "demo-c-0", hostOld, matrix.Down, 0), words.CureVolumeLost},
		"its Pod was just created":            {lost(func(in *Input) { made(in.Self.Pod, in.Now) }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := Next(tc.in); s.Cure.Code != tc.want {
				t.Errorf("%s, cure %q, want %q", s.Action, s.Cure.Code, tc.want)
			}
		})
	}
	want := "kubectl annotate --overwrite service demo-d-0 " + api.AnnotationHostID + "=" + hostNew + " -n scylla; then: kubectl scylla replace " + hostNew + " -n scylla"
	if got := words.Text(Next(lost()).Cure); !strings.HasSuffix(got, want) {
		t.Errorf("the cure is %q", got)
	}
}

// A replacement had begun, and now no row lists the replaced node or the new one: the commands that take the request off are printed, and only then.
func TestNothingIsLeftToReplace(t *testing.T) {
	gone := func(more ...func(*Input)) Input {
		in := toResume()
		unlist(&in, hostOld, hostNew)
		setRows(&in, slices.DeleteFunc(rowsOf(in), func(r matrix.Row) bool { return r.Reporter.HostID == hostNew }))
		return change(in, func(in *Input) {
			for _, m := range more {
				m(in)
			}
		})
	}
	for name, tc := range map[string]struct {
		in   Input
		want words.Code
	}{
		"neither is a member":           {gone(), words.CureStartAsNew},
		"before anything has begun":     {neverJoined(), words.ReplaceNothingToReplace},
		"NoHarm10: one is silent":       {gone(func(in *Input) { setRows(in, rowsOf(*in)[1:]) }), words.ReplaceNothingToReplace},
		"NoHarm10: one is out of sight": {gone(func(in *Input) { in.NotVerified = []string{"dc2"} }), words.ReplaceNothingToReplace},
		"NoHarm10: one of three, others ignored": {gone(func(in *Input) {
			setRows(in, rowsOf(*in)[:1])
			in.Self.Service.Annotations[api.AnnotationReplaceIgnoreDead] = hostB + "," + hostC
		}), words.ReplaceNothingToReplace},
		"a node without a member":    {setCell(gone(), "demo-c-0", "77770000-0000-4000-8000-000000000007", matrix.Up, matrix.StateNormal), words.ReplaceNothingToReplace},
		"no Pod":                     {gone(func(in *Input) { noPod(in) }), words.ReplaceNothingToReplace},
		"the original is a member":   {toResume(), ""},
		"the claim is not known yet": {gone(func(in *Input) { in.Claims = nil }), words.ReplaceNothingToReplace},
	} {
		t.Run(name, func(t *testing.T) {
			s := Next(tc.in)
			var got words.Message
			for _, c := range s.Checks {
				if c.Name == CheckMember && c.Blocks() {
					got = c.Cure
				}
			}
			if got.Code != tc.want {
				t.Fatalf("%s, cure %q, want %q", s.Action, got.Code, tc.want)
			}
			if tc.want != words.CureStartAsNew {
				return
			}
			// Nothing goes where the volume is another by then. The record goes before the label, or the controller puts the label back; the volume goes before the Pod.
			var order []string
			for _, c := range got.Commands {
				order = append(order, c[1]+" "+c[2])
			}
			if want := []string{"patch pvc", "annotate service", "label service", "delete pvc", "delete pod"}; !slices.Equal(order, want) {
				t.Errorf("%v, want %v", order, want)
			}
			for _, key := range recordKeys {
				if !slices.Contains(got.Commands[1], key+"-") {
					t.Errorf("annotation %s stays", key)
				}
			}
		})
	}
}
