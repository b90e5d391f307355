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

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// downSince is requested with the target DOWN since then in the rows of the first n witnesses, of unknown age in the others.
func downSince(n int, ago time.Duration) Input {
	in := requested()
	eachRow(&in, func(i int, r *matrix.Row) {
		if i == 3 {
			return
		}
		o := matrix.Observation{HostID: hostOld, Status: matrix.Down}
		if i < n {
			o.Since = t0.Add(-ago)
		}
		r.Observed = append(without(r.Observed, hostOld), o)
	})
	return in
}

// Without a request a rollout holds also for a Pod without a Kubernetes node: nobody has said that its data is lost.
func TestARolloutHoldsWithoutARequest(t *testing.T) {
	in := change(requested(), rolls, unschedulable)
	rec := RecordOf(in.Self)
	rec.Requested = false
	for _, c := range verify(&in, rec, hostOld, false).checks {
		if c.Name == CheckJustStarted && c.Result != Failed {
			t.Errorf("%s: %s", c.Result, words.Text(c.Evidence))
		}
	}
}

// A routine restart must never look like a death.
func TestARestartIsNotADeath(t *testing.T) {
	pod := func(f func(*cluster.Member, *corev1.Pod)) Input {
		return change(requested(), func(in *Input) { f(in.Self, in.Self.Pod) })
	}
	starts := func(restarts int32) func(*cluster.Member, *corev1.Pod) {
		return func(_ *cluster.Member, p *corev1.Pod) { runs(p, restarts, running(t0.Add(-time.Minute))) }
	}
	for name, tc := range map[string]struct {
		in     Input
		check  string
		result Result
		says   string
	}{
		"DOWN for an hour": {downSince(3, time.Hour), CheckDownFor, OK, "has been DOWN since 09:00:00 UTC"},
		"DOWN for less than the health policy's time": {change(downSince(3, 7*time.Minute), func(in *Input) { in.Dead = 10 * time.Minute }), CheckDownFor, Failed, "has been DOWN since 09:53:00 UTC, which is less than 10m0s"},
		"DOWN for more than the health policy's time": {change(downSince(3, 2*time.Minute), func(in *Input) { in.Dead = time.Minute }), CheckDownFor, OK, "has been DOWN since 09:58:00 UTC"},
		"DOWN for a minute":                           {downSince(3, time.Minute), CheckDownFor, Failed, "has been DOWN since 09:59:00 UTC, which is less than 5m0s"},
		"since when most do not say":                  {downSince(1, time.Hour), CheckDownFor, Unknown, "has been DOWN is unknown"},
		"since when a majority says":                  {downSince(2, time.Hour), CheckDownFor, OK, "09:00:00"},
		"an old Pod that is down":                     {pod(func(*cluster.Member, *corev1.Pod) {}), CheckJustStarted, OK, "is not starting"},
		"a Pod that was made a minute ago":            {pod(func(_ *cluster.Member, p *corev1.Pod) { made(p, t0.Add(-time.Minute)) }), CheckJustStarted, Failed, "was created at 09:59:00 UTC"},
		"a Pod in Init": {pod(func(m *cluster.Member, p *corev1.Pod) {
			p.Status.Phase, p.Spec.InitContainers, m.Waiting = corev1.PodPending, []corev1.Container{{Name: "x"}}, waitsFor("init container x to finish")
		}), CheckJustStarted, Failed, "it is waiting for init container x"},
		"its barrier waits on an empty volume, in a rollout": {change(requested(), func(in *Input) {
			p := in.Self.Pod
			rolls(in)
			barrier(p, t0.Add(-time.Minute))
			p.Annotations = map[string]string{api.AnnotationBarrier: `{"emptyVolume":true}`}
		}), CheckJustStarted, OK, "has no volume to restart with"},
		"its barrier waits on a used volume": {pod(func(_ *cluster.Member, p *corev1.Pod) {
			barrier(p, t0.Add(-time.Minute))
			p.Annotations = map[string]string{api.AnnotationBarrier: `{}`}
		}), CheckJustStarted, Failed, "is still initialising"},
		"a container that was started again": {pod(starts(1)), CheckJustStarted, Failed,
			"was started at 09:59:00 UTC"},
		"ScyllaDB that has been running and is not Ready": {pod(func(_ *cluster.Member, p *corev1.Pod) { runs(p, 0, running(t0.Add(-time.Hour))) }), CheckJustStarted, Failed,
			"has been running since 09:00:00 UTC on an intact volume, and is not Ready"},
		"a crash loop is no start": {pod(starts(7)), CheckJustStarted, OK, ""},
		"a rollout":                {change(requested(), rolls), CheckJustStarted, Failed, "has a rolling update in progress"},
		"a rollout, and no Kubernetes node for the Pod": {change(requested(), rolls, unschedulable), CheckJustStarted, OK, "is not starting"},
		"a rollout, and no Kubernetes node yet":         {change(requested(), rolls, unassigned), CheckJustStarted, Failed, "has a rolling update in progress"},
		"a lost Kubernetes node":                        {pod(func(_ *cluster.Member, p *corev1.Pod) { p.Status.Reason = "NodeLost"; made(p, t0) }), CheckJustStarted, OK, "is not responding"},
		"its volume is gone": {change(requested(), func(in *Input) { in.Claims = nil; made(in.Self.Pod, t0) }), CheckJustStarted, OK,
			"has no volume to restart with"},
		"no Pod": {change(requested(), func(in *Input) { noPod(in) }), CheckJustStarted, OK, "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			v := verify(&tc.in, RecordOf(tc.in.Self), hostOld, false)
			i := slices.IndexFunc(v.checks, func(c Check) bool { return c.Name == tc.check })
			if i < 0 {
				t.Fatalf("check %s was not made", tc.check)
			}
			c := v.checks[i]
			if text := words.Text(c.Evidence); c.Result != tc.result || !strings.Contains(text, tc.says) || !c.Skippable {
				t.Errorf("%s %q, skippable %v", c.Result, text, c.Skippable)
			}
			if tc.result == OK {
				return
			}
			if s := Next(tc.in); s.Action != ActionRefuse {
				t.Errorf("step is %s", s.Action)
			}
			skip := clone(tc.in)
			skip.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = tc.check
			if s := Next(skip); s.Action != ActionRecord {
				t.Errorf("skipped by name: %s %s", s.Action, all(s))
			}
		})
	}
}

// A volume is deleted only when the restart checks still hold at that moment.
func TestARestartAfterTheRecordHoldsTheDeletion(t *testing.T) {
	in := recorded()
	made(in.Self.Pod, in.Now)
	if s := Next(in); s.Action != ActionRefuse {
		t.Errorf("%s: %s", s.Action, all(s))
	}
}

// The recorded Pod that its barrier holds until it is evicted is not restarting: each would wait for the other. Any other Pod in Init may come back.
func TestAPodThatWaitsForItsEvictionIsNoRestart(t *testing.T) {
	held := func(change func(*Input)) Input {
		in := recorded()
		in.Self.Waiting = waitsFor("init container scylladb-bootstrap-barrier to finish")
		in.Barrier = []words.Message{words.New("NodeDown"), words.New("PodToBeReplaced")}
		barrier(in.Self.Pod, in.Now.Add(-startingTime))
		change(&in)
		return in
	}
	for name, tc := range map[string]struct {
		change func(*Input)
		want   Action
	}{
		"held for its eviction":             {func(*Input) {}, ActionDeletePVC},
		"held for less than a start takes":  {func(in *Input) { barrier(in.Self.Pod, in.Now.Add(time.Second-startingTime)) }, ActionRefuse},
		"nobody knows since when":           {func(in *Input) { barrier(in.Self.Pod, time.Time{}) }, ActionRefuse},
		"held for something else":           {func(in *Input) { in.Barrier = in.Barrier[:1] }, ActionRefuse},
		"in Init, not in its barrier":       {func(in *Input) { in.Barrier, in.Self.Pod.Status.InitContainerStatuses = nil, nil }, ActionRefuse},
		"another Pod than the recorded one": {func(in *Input) { in.Self.Pod.UID = "pod-9" }, ActionRecord},
		"not recorded yet": {func(in *Input) {
			self := in.Self
			*in = requested()
			in.Self.Pod, in.Self.Waiting = self.Pod, self.Waiting
		}, ActionRefuse},
		"its set is being rolled": {rolls, ActionRefuse},
		"UP in a row":             {func(in *Input) { *in = setCell(*in, "demo-b-0", hostOld, matrix.Up, 0) }, ActionRefuse},
	} {
		t.Run(name, func(t *testing.T) {
			if s := Next(held(tc.change)); s.Action != tc.want {
				t.Errorf("%s, want %s: %s", s.Action, tc.want, all(s))
			}
		})
	}
}

// Released versions do not say of which node an open operation is: it is one all the same.
func TestAnUnnamedOperationBlocks(t *testing.T) {
	in := requested()
	in.Operations = operation("", "created", "")
	s := Next(in)
	if s.Action != ActionRefuse || !strings.Contains(all(s), "no-operation: an unnamed operation is in progress: ScyllaDB does not report its node") {
		t.Errorf("%s: %s", s.Action, all(s))
	}
	in.Operations = operation("replace", "failed", "")
	if s := Next(in); s.Action != ActionRecord {
		t.Errorf("one that has ended: %s %s", s.Action, all(s))
	}
	again := toResume()
	again.Operations = operation("replace", "running", hostOld)
	if s := Next(again); s.Action != ActionRefuse || !strings.Contains(all(s), "nothing has failed yet") {
		t.Errorf("an attempt that runs, as 2026.4 names it: %s %s", s.Action, all(s))
	}
}

func TestAttack10TheAddressMustBeItsOwn(t *testing.T) {
	old := func(f func(*Input)) Input {
		return change(requested(), func(in *Input) {
			in.Version, in.ByHostID = "5.1.18", release.No
			in.Self.Service.Spec.ClusterIP = "None"
			f(in)
		})
	}
	for name, tc := range map[string]struct {
		in   Input
		want Action
		says string
	}{
		"headless, its Pod's":     {old(func(in *Input) { in.Self.Service.Labels[api.LabelReplace] = "10.244.4.9" }), ActionRecord, ""},
		"headless, nobody's":      {old(func(in *Input) { in.Self.Service.Labels[api.LabelReplace] = "10.244.4.10" }), ActionRefuse, "is not the address of demo-d-0, which is 10.244.4.9"},
		"headless, without a Pod": {old(func(in *Input) { in.Self.Service.Labels[api.LabelReplace], in.Self.Pod = "10.244.4.10", nil }), ActionRefuse, "is unknown"},
		"the Service's": {old(func(in *Input) {
			in.Self.Service.Spec.ClusterIP, in.Self.Service.Labels[api.LabelReplace] = "10.96.0.4", "10.96.0.4"
		}), ActionRecord, ""},
		"the Pod's and not its own": {old(func(in *Input) {
			in.Self.Service.Spec.ClusterIP, in.Self.Service.Labels[api.LabelReplace] = "10.96.0.4", "10.244.4.9"
		}), ActionRefuse, "which is 10.96.0.4"},
		"none given, the Pod's then": {old(func(*Input) {}), ActionRecord, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if s := Next(tc.in); s.Action != tc.want || !strings.Contains(all(s), tc.says) {
				t.Errorf("%s: %s", s.Action, all(s))
			}
		})
	}
}

// brokenNewcomer has become a member and then lost its process before it had noted that; the old node is gone.
func brokenNewcomer() Input {
	in := joined()
	ready(in.Self.Pod, false)
	in.Self.Report = says(hostNew, nil, "STARTING")
	in = setCell(in, "*", hostNew, matrix.Down, matrix.StateNormal)
	in.Self.Service.Annotations[api.AnnotationHostID] = hostNew
	in.Log = logged(words.ReplacedNodeNotFound, "Replaced node with Host ID "+hostOld+" not found")
	return in
}

// TestC2NewcomerThatIsAMemberIsReplacedItself: ScyllaDB says the same of a wrong host ID; here the volume is a member's, and must not be given up as a plain new node's.
func TestC2NewcomerThatIsAMemberIsReplacedItself(t *testing.T) {
	in := brokenNewcomer()
	s := Next(in)
	want := "Replace the new node's own host ID, which cannot be undone: kubectl scylla replace " + hostNew + " --skip-check=just-started -n scylla"
	if s.Action != ActionFail || s.Diagnosis.Code != words.NewcomerIsMember || !strings.Contains(all(s), want) || strings.Contains(all(s), "delete pvc") {
		t.Fatalf("%s %+v: %s", s.Action, s.Diagnosis, all(s))
	}
	// The same where ScyllaDB finds its own earlier request first.
	unfinished := change(in, func(in *Input) {
		in.Log = logged(words.JoinUnfinished, "The node requested to join before but didn't finish the procedure")
	})
	if s := Next(unfinished); s.Action != ActionFail || s.Diagnosis.Code != words.NewcomerIsMember || !strings.Contains(all(s), want) {
		t.Errorf("an unfinished join: %s %+v", s.Action, s.Diagnosis)
	}
	if id := Superseded(in); id != hostNew || !OpenAlready(in).IsZero() {
		t.Fatalf("superseded by %q", id)
	}
	rec := RecordOf(in.Self)
	now := after(in, Step{Patch: SupersedePatch(rec, hostNew, "request-9", nil, nil, in.Now)})
	now.Log = nil
	rec = RecordOf(now.Self)
	last := &Last{Request: "request-1", Outcome: OutcomeReplaced, HostID: hostOld, NewHostID: hostNew, StartedAt: t0, FinishedAt: in.Now, Attempts: 1}
	if diff := cmp.Diff(Record{Requested: true, Request: "request-9", Last: last}, rec); diff != "" {
		t.Fatal(diff)
	}
	if s := Next(now); s.Action != ActionRecord || s.Original != hostNew {
		t.Errorf("%s of %s: %s", s.Action, s.Original, all(s))
	}
	for name, in := range map[string]Input{
		"while the old one is listed": setCell(in, "demo-a-0", hostOld, matrix.Down, 0),
		"while nobody lists it":       change(in, func(in *Input) { in.Matrix = newPod().Matrix }),
		"while it joins":              setCell(in, "*", hostNew, matrix.Up, matrix.StateReplacing),
	} {
		if Superseded(in) != "" || OpenAlready(in).IsZero() {
			t.Errorf("%s: a second request is let in", name)
		}
	}
}

// The operator's own procedure has no end for it; what is said is not to give the volume up.
func TestNewcomerThatIsAMemberUnderTheOperator(t *testing.T) {
	in := brokenNewcomer()
	in.Operator = true
	if s := State(in); s.Cure.Code != words.CureOperatorByHand || s.Diagnosis.Code != words.NewcomerIsMember {
		t.Errorf("%s %+v", all(s), s.Diagnosis)
	}
}

// A row with both DOWN and UP for the target forbids any deletion, whatever the others have.
func TestContradictionHoldsTheDeletion(t *testing.T) {
	in := recorded()
	eachRow(&in, func(i int, r *matrix.Row) {
		if i == 0 {
			r.Observed = append(r.Observed, matrix.Observation{HostID: hostOld, Status: matrix.Up})
		}
	})
	if s := Next(in); s.Action != ActionRefuse || !strings.Contains(all(s), "demo-a-0 (aaaaaaaa) has a contradictory status report about demo-d-0") {
		t.Errorf("%s: %s", s.Action, all(s))
	}
}

// B1: a node that never owns tokens has joined when it is NORMAL and finds itself among its members.
func TestAZeroTokenNodeIsReplaced(t *testing.T) {
	in := joined()
	in.Self.Report = says(hostNew, new(false), "NORMAL")
	in.Self.Report.ObservedNodes = []api.ObservedNodeStatusReport{{HostID: hostNew, Status: api.NodeStatusUp}}
	if s := Next(in); s.Action != ActionFinish {
		t.Errorf("%s: %s", s.Action, all(s))
	}
}

// A person may override the five minutes, but not the thirty seconds: gossip itself needs twenty-two to be sure.
func TestAttack8NobodyOverrulesTheFirstThirtySecondsOfADeath(t *testing.T) {
	t.Parallel()
	for after, action := range map[time.Duration]Action{
		0: ActionRefuse, 29 * time.Second: ActionRefuse, 30 * time.Second: ActionRecord, 4 * time.Minute: ActionRecord,
	} {
		in := requested()
		eachRow(&in, func(_ int, r *matrix.Row) {
			for j := range r.Observed {
				if o := &r.Observed[j]; o.HostID == hostOld {
					o.Since = in.Now.Add(-after)
				}
			}
		})
		in.Self.Service.Annotations = maps.Clone(in.Self.Service.Annotations)
		if in.Self.Service.Annotations == nil {
			in.Self.Service.Annotations = map[string]string{}
		}
		in.Self.Service.Annotations[api.AnnotationReplaceSkipChecks] = CheckDownFor
		if s := Next(in); s.Action != action {
			t.Errorf("DOWN for %s and the check skipped: %s, want %s", after, s.Action, action)
		}
	}
}

// A Pod that is made anew between the record and the deletion of its claim is the one that goes: its barrier holds it back as it held back the recorded one.
func TestAttack8APodThatIsMadeAnewBeforeItsClaimIsDeletedWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"made anew":            {func(p *corev1.Pod) { p.UID = "pod-2" }, "pod-2"},
		"the recorded one":     {func(*corev1.Pod) {}, "pod-1"},
		"on its way out":       {func(p *corev1.Pod) { p.UID = "pod-2"; deleting(p) }, "pod-1"},
		"somebody else's":      {func(p *corev1.Pod) { p.UID, p.OwnerReferences = "pod-2", nil }, "pod-1"},
		"made anew, and Ready": {func(p *corev1.Pod) { p.UID = "pod-2"; ready(p, true) }, "pod-2"},
	} {
		t.Run(name, func(t *testing.T) {
			in := recorded()
			tc.change(in.Self.Pod)
			s := Next(in)
			if s.Patch != nil {
				in = after(in, s)
				s = Next(in)
			}
			if got := in.Self.Service.Annotations[api.AnnotationReplacePodUID]; got != tc.want {
				t.Errorf("recorded is %s, want %s", got, tc.want)
			}
			if s.Action == ActionRecord {
				t.Error("it is recorded again and again")
			}
		})
	}
}

// A new node that has taken the old one's place on the claim that was to be deleted first has replaced it: its claim is not deleted, and the
// replacement ends.
func TestAttack8ANodeThatWasReplacedOnItsOldClaimIsReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		in   func() Input
		want Action
	}{
		"joined":                       {joined, ActionFinish},
		"its old node is still listed": {func() Input { return joining(matrix.StateNormal, true) }, ActionRefuse},
		"it has not joined":            {func() Input { return joining(matrix.StateReplacing, false) }, ActionRefuse},
	} {
		t.Run(name, func(t *testing.T) {
			in := tc.in()
			in.Claims = data("pvc-1")
			in.Self.Service.Annotations[api.AnnotationReplacePodUID] = string(in.Self.Pod.UID)
			in.Now = in.Now.Add(20 * time.Minute)
			if s := Next(in); s.Action != tc.want {
				t.Errorf("it does %s, want %s: %s", s.Action, tc.want, all(s))
			}
		})
	}
}
