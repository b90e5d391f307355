// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// said is the annotation of the newcomer's Pod.
func (w *world) said() *api.BarrierWait {
	w.t.Helper()
	pod := &corev1.Pod{}
	if err := w.c.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: newcomer}, pod); err != nil {
		w.t.Fatal(err)
	}
	text, ok := pod.Annotations[api.AnnotationBarrier]
	if !ok {
		return nil
	}
	said, err := api.DecodeBarrierWait(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return said
}

// reports changes the report of both nodes.
func (w *world) reports(a, b []api.ObservedNodeStatusReport) {
	w.t.Helper()
	r := allUp()
	w.update(r, func() { r.Racks = report(a, b).Racks })
}

func TestA3StabilisationWindow(t *testing.T) {
	for name, window := range map[string]time.Duration{"none": 0, "a second": time.Second, "the default": view.Stabilisation, "a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, append(peers(), byOperator(allUp()))...)
				w.o.Stabilisation = new(window)
				began := time.Now()
				_, done := running(t, w)
				opens(t, done)
				if took := time.Since(began); took < window || took > window+time.Second {
					t.Errorf("opened after %v, all must be UP for %v", took, window)
				}
				if left := w.said(); left != nil {
					t.Errorf("the Pod still says %+v", left)
				}
				want := []string{EventOpened}
				if window >= settling {
					want = []string{EventWaiting, EventOpened}
				}
				if got := w.eventReasons(); !slices.Equal(got, want) {
					t.Errorf("Events %v, want %v", got, want)
				}
			})
		})
	}
}

// Only the barrier knows that a volume is empty, and others need it: a Pod that was made anew on an empty volume has no node of its own among those that are DOWN.
func TestAWaitingBarrierSaysThatItsVolumeIsEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		empty bool
	}{
		"empty": {nil, true},
		"used":  {[]string{"commitlog/CommitLog-1.log"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := saw(idA, "UP", idB, "UP")
				w := newWorld(t, append(peers(), byOperator(allUp()))...)
				w.reports(saw(idA, "UP", idB, "DOWN"), up)
				w.dataDir(c.files...)
				_, done := running(t, w)
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				if said := w.said(); (said != nil && said.EmptyVolume) != c.empty {
					t.Errorf("the Pod says %+v", said)
				}
				if !c.empty {
					return
				}
				w.reports(up, up)
				opens(t, done)
				if said := w.said(); said != nil {
					t.Errorf("the Pod still says %+v after the barrier has opened", said)
				}
			})
		})
	}
}

func TestA3StabilisationBeginsAnewAfterABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := saw(idA, "UP", idB, "UP")
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		w.o.Stabilisation = new(10 * time.Second)
		_, done := running(t, w)
		for range 5 { // never UP for ten seconds
			time.Sleep(8 * time.Second)
			stillWaiting(t, done)
			w.reports(saw(idA, "UP", idB, "DOWN"), up)
			time.Sleep(2 * time.Second)
			stillWaiting(t, done)
			w.reports(up, up)
		}
		time.Sleep(9 * time.Second)
		stillWaiting(t, done)
		said := w.said()
		if said == nil || said.StableFor.Duration != 10*time.Second || time.Since(said.StableSince.Time) > 10*time.Second {
			t.Errorf("the Pod says %+v at %v", said, time.Now())
		}
		if log := w.logged(); !strings.Contains(log, "Stabilising") || !strings.Contains(log, "they must stay UP for 10s more") {
			t.Errorf("does not say what it waits for:\n%s", log)
		}
		opens(t, done)
	})
}

func TestA3StabilisationIsNotForAReturningMemberNorAForcedOne(t *testing.T) {
	forced := service(newcomer, "rack3", map[string]string{api.AnnotationForceProceed: "true"})
	back := joinedService(newcomer, "rack3", idNew)
	seen := saw(idA, "UP", idB, "UP", idNew, "DOWN")
	for name, objs := range map[string][]client.Object{
		"forced":       append(others(), forced, allUp()),
		"a restart":    append(others(), back, report(seen, seen)),
		"a first node": {service(newcomer, "rack3", nil), lease("controller-1")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, objs...)
				w.o.Stabilisation = new(time.Hour)
				w.query("", 1)
				w.dataDir("commitlog/schema/SchemaLog-1.log")
				began := time.Now()
				ctx, done := running(t, w)
				if name == "a first node" {
					w.renews(ctx) // and the barrier has to see it
				}
				opens(t, done)
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// TestA3TheGraverWordCounts: the report says all UP and its controller lives, while a Pod's own annotation tells otherwise: that is the cause which the barrier gives.
func TestA3TheGraverWordCounts(t *testing.T) {
	for name, c := range map[string]struct {
		carries map[string]string
		want    string
	}{
		"it sees a node DOWN":                 {carries(idA, saw(idA, "UP", idB, "DOWN")), "NodeDown"},
		"it sees a node that is in no report": {carries(idA, saw(idA, "UP", idB, "UP", "12345678-0000-4000-8000-00000000000d", "DOWN")), "NodeDown"},
		"it cannot be decoded":                {map[string]string{api.AnnotationNodeStatusReport: "{"}, "RowError"},
		"it says nothing":                     {nil, "RowMissing"},
		"it is another node":                  {carries(idNew, saw(idA, "UP", idB, "UP")), "RowError"},
		"its ScyllaDB does not say":           {map[string]string{api.AnnotationNodeStatusReport: `{"error":"connection refused"}`}, "RowError"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(peers(), allUp(), lease("controller-1"))
				pod := objs[3].(*corev1.Pod)
				pod.Annotations = c.carries
				w := newWorld(t, objs...)
				ctx, done := running(t, w)
				w.renews(ctx)
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				if log := w.logged(); !strings.Contains(log, c.want) {
					t.Errorf("does not say %s:\n%s", c.want, log)
				}
				said := w.said()
				if said == nil || !slices.ContainsFunc(said.Refusals, func(r api.BarrierRefusal) bool { return r.Reason == c.want }) {
					t.Errorf("the Pod says %+v", said)
				}
				w.mu.Lock()
				requests := w.requests
				w.mu.Unlock()
				if requests > 250 {
					t.Errorf("%d requests in a minute: a refusal is asked for again in a tight loop", requests)
				}
				w.update(pod, func() { pod.Annotations = carries(idA, saw(idA, "UP", idB, "UP")) })
				opens(t, done)
			})
		})
	}
}

func TestA3AReporterThatDoesNotAnswerBlocksWithItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		w.o.Stabilisation = new(5 * time.Second)
		w.setSilent("demo-rack2-0", errors.New("no response from 10.0.0.2:8081 within 2s"))
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, "ReporterSilent: no response from the reporter of demo-rack2-0: no response from 10.0.0.2:8081") ||
			!strings.Contains(log, "kubectl describe pod demo-rack2-0 -n demo") {
			t.Errorf("log:\n%s", log)
		}
		if said := w.said(); said == nil || said.Refusals[0].Observed != idB || said.Refusals[0].Detail != "no response from 10.0.0.2:8081 within 2s" {
			t.Errorf("the Pod says %+v", said)
		}
		w.mu.Lock()
		asked := w.asked["demo-rack2-0"]
		w.mu.Unlock()
		if asked < 4 || asked > 8 {
			t.Errorf("asked %d times in a minute, want a short pause that grows", asked)
		}
		if got := w.eventReasons(); len(got) == 0 || got[0] != EventWaiting {
			t.Errorf("Events %v", got)
		}
		w.setSilent("demo-rack2-0", nil)
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("opened %v after the reporter was back: that has to hold for 5s, too", took)
		}
	})
}

func TestA3PodsThatMayNotBeListedBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(allUp()))...)
		w.deny["podlists"] = true
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, "ReadingIncomplete") || !strings.Contains(log, "kubectl-scylla-member") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestA3ReplacementAsksEverybodyButItsTarget: the reporters of the dead node and of the ignored ones need not answer; all others must stay UP for the window.
func TestA3ReplacementAsksEverybodyButItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead, ignored := "11110000-0000-4000-8000-00000000000e", "22220000-0000-4000-8000-00000000000f"
		svc := joinedService(newcomer, "rack3", dead)
		svc.Labels[api.LabelReplacingNodeHostID] = dead
		svc.Annotations[api.AnnotationReplaceIgnoreDead] = ignored
		cells := saw(idA, "UP", idB, "UP", dead, "DOWN", ignored, "DOWN")
		lost := member("demo-rack4-0", "rack4")
		lost.Status.PodIP = "10.0.0.4"
		objs := append(others(), svc, joinedService("demo-rack4-0", "rack4", ignored), lost, byOperator(report(cells, cells)))
		for i, id := range []string{idA, idB} {
			objs[2+i].(*corev1.Pod).Annotations = carries(id, cells)
		}
		w := newWorld(t, objs...)
		w.setSilent("demo-rack4-0", errors.New("connection refused"))
		w.o.Stabilisation = new(time.Minute)
		began := time.Now()
		_, done := running(t, w)
		opens(t, done)
		if took := time.Since(began); took < time.Minute {
			t.Errorf("opened after %v, all others must be UP for a minute", took)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.asked) != 2 || w.asked["demo-rack1-0"] == 0 || w.asked["demo-rack2-0"] == 0 {
			t.Errorf("asked %v", w.asked)
		}
	})
}

func TestA3ManyReportersAreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &barrier{Options: Options{Namespace: ns, Ask: func(ctx context.Context, _, _ string) error {
			<-ctx.Done() // a network that swallows everything
			return ctx.Err()
		}}}
		var all []*cluster.Member
		for i := range 1000 {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerReporter}}}, Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
			says := &api.NodeStatusReport{Heartbeat: &api.ReportHeartbeat{Port: 8083}}
			all = append(all, &cluster.Member{Ref: matrix.Ref{Member: fmt.Sprintf("demo-%d", i)}, Pod: pod, Report: says})
		}
		began := time.Now()
		errs := (&reads{barrier: b, ctx: t.Context()}).Confirm(all, nil)
		if len(errs) != len(all) || slices.Contains(errs, nil) || time.Since(began) > askAll+time.Second {
			t.Errorf("%d of %d in %v", len(errs), len(all), time.Since(began))
		}
	})
}

// launched makes the Pod one whose ScyllaDB is started by launch.
func launched(pod *corev1.Pod, args ...string) *corev1.Pod {
	pod.Spec.Containers = []corev1.Container{{
		Name: api.ContainerScyllaDB, Command: []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}, Args: args,
	}}
	return pod
}

func TestA1ANewcomerWithItselfAsOnlySeedWaits(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		noIP  bool
		opens bool
	}{
		"two members are UP":                {nil, false, true},
		"no member has an address":          {nil, true, false},
		"but there is one elsewhere":        {[]string{"--seeds=192.0.2.7"}, true, true},
		"what is given is the member alone": {[]string{"--seeds", newcomer}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(peers(), byOperator(allUp()))
				if c.noIP {
					for _, i := range []int{3, 4} {
						objs[i].(*corev1.Pod).Status.PodIP = ""
						objs[i].(*corev1.Pod).Spec.InitContainers = nil // its reporter is another matter
						objs[i].(*corev1.Pod).Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB}}
						objs[i].(*corev1.Pod).Status.ContainerStatuses = []corev1.ContainerStatus{{
							Name: api.ContainerScyllaDB, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
						}}
					}
				}
				w := newWorld(t, objs...)
				own := &corev1.Pod{}
				own.Namespace, own.Name = ns, newcomer
				w.update(own, func() { launched(own, c.args...) })
				_, done := running(t, w)
				if c.opens {
					opens(t, done)
					return
				}
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				if log := w.logged(); !strings.Contains(log, "NoOtherSeed") || !strings.Contains(log, "second cluster") {
					t.Errorf("log:\n%s", log)
				}
				if said := w.said(); said == nil || said.Refusals[0].Reason != string(words.NoOtherSeed) || !strings.Contains(words.Text(words.Message(said.Refusals[0].Cause)), "second cluster") {
					t.Errorf("the Pod says %+v", said)
				}
			})
		})
	}
}

// TestA1AFirstNodeByItsSeedsAloneWaits: launch would start the newcomer with itself as seed, though the barrier does not take it for the first node.
func TestA1AFirstNodeByItsSeedsAloneWaits(t *testing.T) {
	replacing := service(newcomer, "rack3", nil)
	replacing.Labels[api.LabelReplacingNodeHostID] = idA
	for name, objs := range map[string][]client.Object{
		"rows without members, of another writer":   {service(newcomer, "rack3", nil), byOperator(allUp())},
		"rows without members, of our controller":   {service(newcomer, "rack3", nil), allUp()},
		"replacement of a node that nobody records": {replacing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, append(objs, lease("controller-1"))...)
				own := &corev1.Pod{}
				own.Namespace, own.Name = ns, newcomer
				w.update(own, func() { launched(own) })
				own.Status.PodIP = "10.0.0.3"
				if err := w.c.Status().Update(t.Context(), own); err != nil {
					t.Fatal(err)
				}
				ctx, done := running(t, w)
				w.renews(ctx)
				time.Sleep(time.Minute)
				stillWaiting(t, done)
				if log := w.logged(); !strings.Contains(log, "NoOtherSeed") {
					t.Errorf("log:\n%s", log)
				}
			})
		})
	}
}

func TestStabilisingSaysWhatIsLeft(t *testing.T) {
	for _, c := range []struct {
		elapsed time.Duration
		want    string
	}{{-time.Hour, "10s"}, {0, "10s"}, {2500 * time.Millisecond, "8s"}, {9900 * time.Millisecond, "1s"}, {time.Hour, "0s"}} {
		if got := bootstrap.Stabilising(10*time.Second, c.elapsed).Cause.Params["left"]; got != c.want {
			t.Errorf("after %v %v is left, want %s", c.elapsed, got, c.want)
		}
	}
}

func TestA6AForeignVolumeIsNoRestart(t *testing.T) {
	foreign := "99990000-0000-4000-8000-000000000099"
	seen := saw(idA, "UP", idB, "UP", idNew, "DOWN")
	completed := func(id string) string { return `[{"bootstrapped":"COMPLETED","host_id":"` + id + `"}]` }
	for name, c := range map[string]struct {
		stdout  string
		away    bool
		refused string
	}{
		"its own":                           {completed(idNew), false, ""},
		"nobody's here":                     {completed(foreign), false, foreign},
		"another member's":                  {completed(idB), false, "of demo-rack2-0"},
		"nobody's, and it has not finished": {`[{"bootstrapped":null,"host_id":"` + foreign + `"}]`, false, foreign},
		"nobody can say":                    {completed(foreign), true, ""},
		"an old query says no host ID":      {`[{"bootstrapped":"COMPLETED"}]`, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, append(others(), joinedService(newcomer, "rack3", idNew), report(seen, seen))...)
				w.query(c.stdout, 0)
				w.dataDir("data/system/local-7ad5/me-1-big-Data.db")
				if c.away {
					w.setFailure(errors.New("connection refused"))
				}
				_, done := running(t, w)
				if c.refused == "" {
					opens(t, done)
					return
				}
				err := <-done
				if err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), idNew) {
					t.Fatalf("error %v, want a refusal that names both host IDs", err)
				}
			})
		})
	}
}

// Where no flag says how long all must be UP, the health policy in the cluster's report does.
func TestTheWindowIsTheOneOfTheHealthPolicy(t *testing.T) {
	for name, c := range map[string]struct {
		given *time.Duration
		says  time.Duration // nothing: the report has no policy
		want  time.Duration
	}{
		"nothing is said":      {nil, 0, view.Stabilisation},
		"the report's":         {nil, time.Minute, time.Minute},
		"the flag wins":        {new(20 * time.Second), time.Minute, 20 * time.Second},
		"the flag wins with 0": {new(time.Duration(0)), time.Minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withView(t, nil)
				w.o.Policy, w.o.Stabilisation = api.PolicyReports, c.given
				if c.says > 0 {
					r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
					w.update(r, func() { r.Status.HealthPolicy = healthpolicy.Standard(c.says, 3) })
				}
				began := time.Now()
				_, done := running(t, w)
				opens(t, done)
				if took := time.Since(began); took < c.want || took > c.want+2*time.Second {
					t.Errorf("opened after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestNoHarm21ABarrierRequiresThePinnedAnswer: an answer without a certificate is not enough, whoever gives it: the reporter whose certificate the Pod's annotation names must have the row.
func TestNoHarm21ABarrierRequiresThePinnedAnswer(t *testing.T) {
	t.Parallel()
	mute := member("demo-rack2-0", "rack2")
	mute.Annotations = withoutHeartbeat(idB)
	operators := member("demo-rack2-0", "rack2") // its reporter is part of ScyllaDB's container
	operators.Spec.InitContainers = nil
	operators.Annotations = withoutHeartbeat(idB)
	operators.Status.InitContainerStatuses = nil
	operators.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB}}
	operators.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for name, c := range map[string]struct {
		second *corev1.Pod
		silent error // of the TLS end of the second member
		policy api.Policy
		want   string // nothing: it opens
	}{
		"both answer":                       {second: member("demo-rack2-0", "rack2")},
		"another certificate":               {second: member("demo-rack2-0", "rack2"), silent: pinned.ErrOther, want: "the certificate differs"},
		"another row":                       {second: member("demo-rack2-0", "rack2"), silent: heartbeat.ErrOtherRow, want: "its status report differs"},
		"its row names no TLS end":          {second: mute, want: "has no TLS port"},
		"the same, by the reports":          {second: mute, policy: api.PolicyReports, want: "has no TLS port"},
		"another row, by the reports":       {second: member("demo-rack2-0", "rack2"), silent: heartbeat.ErrOtherRow, policy: api.PolicyReports, want: "its status report differs"},
		"the operator's: the view's answer": {second: operators},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := []client.Object{
					joinedService("demo-rack1-0", "rack1", idA), joinedService("demo-rack2-0", "rack2", idB), service(newcomer, "rack3", nil),
					member("demo-rack1-0", "rack1"), c.second.DeepCopy(), byOperator(allUp()),
				}
				w := withView(t, permittedView(), objs...)
				w.o.Policy = cmp.Or(c.policy, api.PolicyPermits)
				w.silent["demo-rack2-0"] = c.silent
				_, done := running(t, w)
				for range 24 {
					time.Sleep(view5)
					w.renew(nil)
				}
				if c.want == "" {
					opens(t, done)
					return
				}
				stillWaiting(t, done)
				if log := w.logged(); !strings.Contains(log, "ReporterSilent") || !strings.Contains(log, c.want) {
					t.Errorf("does not say %q:\n%s", c.want, log)
				}
			})
		})
	}
}
