// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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

func TestA3StabilisationWindow(t *testing.T) {
	for name, window := range map[string]time.Duration{"a second": time.Second, "the default": view.Stabilisation, "a minute": time.Minute} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, allPeersUp()...)
			w.o.Stabilisation = new(window)
			w.runs(alone).opensIn(window, window+time.Second)
			if window < settling {
				w.emitted(EventOpened)
				return
			}
			w.emitted(EventWaiting, EventOpened)
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
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, nil)
			w.o.Policy, w.o.Stabilisation = api.PolicyReports, c.given
			if c.says > 0 {
				w.ofCluster(func(r *api.ScyllaDBStatusReport) { r.Status.HealthPolicy = healthpolicy.Standard(c.says, 3) })
			}
			w.runs(alone).opensIn(c.want, c.want+2*time.Second)
		})
	}
}

// Only the barrier knows it: a Pod made anew on an empty volume has no node of its own among those that are DOWN.
func TestAWaitingBarrierSaysThatItsVolumeIsEmpty(t *testing.T) {
	for name, files := range map[string][]string{"empty": nil, "used": {used}} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, held()...)
			w.dataDir(files...)
			w.runs(alone).waits(time.Minute)
			if said := w.said(); (said != nil && said.EmptyVolume) != (files == nil) {
				t.Errorf("the Pod says %+v", said)
			}
			if files == nil {
				w.reports(up, up)
				w.opens()
			}
		})
	}
}

func TestA3StabilisationBeginsAnewAfterABreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, allPeersUp()...)
		w.o.Stabilisation = new(10 * time.Second)
		w.runs(alone)
		for range 5 { // never UP for ten seconds
			w.waits(8 * time.Second)
			w.reports(down, up)
			w.waits(2 * time.Second)
			w.reports(up, up)
		}
		w.waits(9 * time.Second)
		said := w.said()
		if said == nil || said.StableFor.Duration != 10*time.Second || time.Since(said.StableSince.Time) > 10*time.Second {
			t.Errorf("the Pod says %+v at %v", said, time.Now())
		}
		w.says("Stabilising", "they must stay UP for 10s more")
		w.opens()
	})
}

// Only newcomers need a permit, or a window.
func TestA3StabilisationIsNotForAReturningMemberNorAForcedOne(t *testing.T) {
	for name, c := range map[string]struct {
		policy api.Policy
		objs   []client.Object
	}{
		"forced":                {api.PolicyReports, append(others(), forced("true"), allUp())},
		"a restart":             {api.PolicyReports, returning()},
		"a first node":          {api.PolicyReports, []client.Object{service(newcomer, "rack3", nil)}},
		"forced, by permits":    {api.PolicyPermits, append(others(), forced("true"), byOperator(allUp()))},
		"a restart, by permits": {api.PolicyPermits, returning()},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, append(c.objs, lease("controller-1"))...)
			w.o.Policy, w.o.Stabilisation = c.policy, new(time.Hour)
			w.query("", 1)
			w.dataDir(used)
			w.runs(name == "a first node") // the barrier has to see its controller
			w.opensIn(0, 4*time.Second)
		})
	}
}

func TestStabilisingSaysWhatIsLeft(t *testing.T) {
	for elapsed, want := range map[time.Duration]string{-time.Hour: "10s", 0: "10s", 2500 * time.Millisecond: "8s",
		9900 * time.Millisecond: "1s", time.Hour: "0s"} {
		if got := bootstrap.Stabilising(10*time.Second, elapsed).Cause.Params["left"]; got != want {
			t.Errorf("after %v %v is left, want %s", elapsed, got, want)
		}
	}
}

// The report says all UP and its controller lives, while a Pod's own annotation tells otherwise: that is the cause.
func TestA3TheGraverWordCounts(t *testing.T) {
	const row = api.AnnotationNodeStatusReport
	for name, c := range map[string]struct {
		carries map[string]string
		want    string
	}{
		"it sees a node DOWN": {carries(idA, down), "NodeDown"},
		"it sees a node that is in no report": {carries(idA, saw(idA, "UP", idB, "UP", "12345678-0000-4000-8000-00000000000d", "DOWN")),
			"NodeDown"},
		"it cannot be decoded":      {map[string]string{row: "{"}, "RowError"},
		"it says nothing":           {nil, "RowMissing"},
		"its Pod is gone":           {nil, "RowStale"},
		"it is another node":        {carries(idNew, up), "RowError"},
		"its ScyllaDB does not say": {map[string]string{row: `{"error":"connection refused"}`}, "RowError"},
	} {
		inBubble(t, name, func(t *testing.T) {
			objs := append(peers(), allUp(), lease("controller-1"))
			pod := objs[3].(*corev1.Pod)
			pod.Annotations = c.carries
			w := newWorld(t, objs...)
			if c.want == "RowStale" {
				w.delete(pod)
			}
			w.runs(led).waits(time.Minute).says(c.want)
			said := w.said()
			if said == nil || !slices.ContainsFunc(said.Refusals, func(r api.BarrierRefusal) bool { return r.Reason == c.want }) {
				t.Errorf("the Pod says %+v", said)
			}
			if n := w.spent()["all"]; n > 250 {
				t.Errorf("%d requests in a minute: a refusal is asked for again in a tight loop", n)
			}
			if c.want == "RowStale" {
				w.create(member("demo-rack1-0", "rack1"))
			} else {
				w.update(pod, func() { pod.Annotations = carries(idA, up) })
			}
			w.opens()
		})
	}
}

func TestA3AReporterThatDoesNotAnswerBlocksWithItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const silence = "no response from 10.0.0.2:8081 within 2s"
		w := newWorld(t, allPeersUp()...)
		w.o.Stabilisation = new(5 * time.Second)
		w.setSilent("demo-rack2-0", errors.New(silence))
		w.runs(alone).waits(time.Minute)
		w.says("ReporterSilent: no response from the reporter of demo-rack2-0: "+silence, "kubectl describe pod demo-rack2-0 -n demo")
		if r := w.refused(); r.Observed != idB || r.Detail != silence {
			t.Errorf("the Pod says %+v", r)
		}
		if asked := w.askedOf("demo-rack2-0"); asked < 4 || asked > 8 {
			t.Errorf("asked %d times in a minute, want a short pause that grows", asked)
		}
		w.emitted(EventWaiting)
		w.setSilent("demo-rack2-0", nil)
		w.opensIn(5*time.Second, time.Hour)
	})
}

// The reporters of the dead node and of the ignored ones need not answer; all others must stay UP for the window.
func TestA3ReplacementAsksEverybodyButItsTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead, ignored := "11110000-0000-4000-8000-00000000000e", "22220000-0000-4000-8000-00000000000f"
		svc := joinedService(newcomer, "rack3", dead)
		svc.Labels[api.LabelReplacingNodeHostID] = dead
		svc.Annotations[api.AnnotationReplaceIgnoreDead] = ignored
		cells := saw(idA, "UP", idB, "UP", dead, "DOWN", ignored, "DOWN")
		w := newWorld(t, append(carry(cells, others()...), svc, joinedService("demo-rack4-0", "rack4", ignored),
			member("demo-rack4-0", "rack4"), byOperator(report(cells, cells)))...)
		w.setSilent("demo-rack4-0", errors.New("connection refused"))
		w.o.Stabilisation = new(time.Minute)
		w.runs(alone).opensIn(time.Minute, time.Hour)
		if asked := slices.Sorted(maps.Keys(w.asked)); !slices.Equal(asked, []string{"demo-rack1-0", "demo-rack2-0"}) {
			t.Errorf("asked %v", asked)
		}
	})
}

func TestA3ManyReportersAreAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &barrier{Options: Options{Namespace: ns, Ask: func(ctx context.Context, _, _ string) error {
			<-ctx.Done() // a network that swallows everything
			return ctx.Err()
		}}}
		pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.0.0.1"}}
		pod.Spec.Containers = []corev1.Container{{Name: api.ContainerReporter}}
		var all []*cluster.Member
		for i := range 1000 {
			all = append(all, &cluster.Member{Ref: matrix.Ref{Member: fmt.Sprintf("demo-%d", i)}, Pod: pod,
				Report: &api.NodeStatusReport{Heartbeat: &api.ReportHeartbeat{Port: 8083}}})
		}
		began := time.Now()
		errs := (&reads{barrier: b, ctx: t.Context()}).Confirm(all, nil)
		if len(errs) != len(all) || slices.Contains(errs, nil) || time.Since(began) > askAll+time.Second {
			t.Errorf("%d of %d in %v", len(errs), len(all), time.Since(began))
		}
	})
}

// Only the reporter whose certificate the Pod's annotation names confirms the row, whoever else answers.
func TestNoHarm21ABarrierRequiresThePinnedAnswer(t *testing.T) {
	t.Parallel()
	mute := annotated(api.NodeStatusReport{HostID: idB, ObservedNodes: up, OperationMode: "NORMAL"})
	for name, c := range map[string]struct {
		carries   map[string]string
		operators bool
		silent    error // of the TLS end of the second member
		policy    api.Policy
		want      string // nothing: it opens
	}{
		"both answer":                       {},
		"another certificate":               {silent: pinned.ErrOther, want: "the certificate differs"},
		"another row":                       {silent: heartbeat.ErrOtherRow, want: "its status report differs"},
		"its row names no TLS end":          {carries: mute, want: "has no TLS port"},
		"the same, by the reports":          {carries: mute, policy: api.PolicyReports, want: "has no TLS port"},
		"another row, by the reports":       {silent: heartbeat.ErrOtherRow, policy: api.PolicyReports, want: "its status report differs"},
		"the operator's: the view's answer": {carries: mute, operators: true},
	} {
		inBubble(t, name, func(t *testing.T) {
			objs := allPeersUp()
			second := objs[4].(*corev1.Pod)
			if c.carries != nil {
				second.Annotations = c.carries
			}
			if c.operators {
				byContainer(second)
			}
			w := withView(t, permittedView(), objs...)
			w.o.Policy, w.silent["demo-rack2-0"] = cmp.Or(c.policy, api.PolicyPermits), c.silent
			w.runs(alone).renewTimes(24)
			if w.opensOr(c.want == "", 0); c.want != "" {
				w.says("ReporterSilent", c.want)
			}
		})
	}
}

// The newcomer's label names a cluster without other members, while a living cluster is in the namespace.
func TestAttack4AMistypedLabelMakesNoFirstNode(t *testing.T) {
	t.Parallel()
	const typo = "dmeo"
	type selector = map[string]string
	seeds := func(s string) []string { return []string{"--seeds=" + s} }
	for name, tc := range map[string]struct {
		args   []string
		all    selector // of Service scylla; nil: there is none
		pod    string   // its label; empty: the mistyped one
		sets   string   // of the newcomer and the others
		forced bool
		waits  string
	}{
		"it names itself":                    {args: seeds(newcomer + ".scylla")},
		"it names its own address":           {args: []string{"--seeds", "10.0.0.3"}},
		"its shell names it":                 {args: seeds("$(POD_IP)")},
		"it names nobody, and is started so": {},
		"its first seed is not there yet":    {args: seeds("demo-rack9-0.scylla"), all: selector{"x": "y"}},
		"a Service of itself":                {args: seeds("scylla"), all: selector{api.LabelCluster: typo}},

		"a member of the living cluster, by name": {args: seeds("demo-rack1-0.scylla"), all: selector{"x": "y"}, waits: "is demo-rack1-0 of cluster demo"},
		"by its full name": {args: seeds(newcomer + ".scylla.demo.svc,demo-rack2-0.scylla.demo.svc.cluster.local"),
			waits: "is demo-rack2-0 of cluster demo"},
		"by its address":                   {args: []string{"--seeds", "10.0.0.2"}, waits: "is demo-rack2-0 of cluster demo"},
		"a Service of all of them":         {args: seeds("scylla.demo"), all: selector{api.LabelDatacenter: "dc1"}, waits: "of cluster demo"},
		"a Service that selects nothing":   {args: seeds("scylla"), all: selector{}, waits: "not a member of its cluster"},
		"an address elsewhere":             {args: seeds("192.0.2.1"), waits: "not a member of its cluster"},
		"a name elsewhere":                 {args: seeds("scylla.example.com"), waits: "not a member of its cluster"},
		"another namespace":                {args: seeds("demo-rack1-0.scylla.other.svc"), waits: "not a member of its cluster"},
		"its Service alone was relabelled": {pod: "demo", waits: `is "demo" on its Pod, but "dmeo" on its Service`},
		"others of its StatefulSet are of the other": {sets: "demo-rack1",
			waits: "of the same StatefulSet demo-rack1 belongs to cluster demo"},
		"a person knows better": {args: seeds("192.0.2.1"), forced: true},
	} {
		inBubble(t, name, func(t *testing.T) {
			ofSet := func(p *corev1.Pod) {
				if tc.sets != "" {
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: tc.sets, UID: "u",
						Controller: new(true)}}
				}
			}
			own, lives := service(newcomer, "rack3", nil), lease("controller-1")
			if tc.forced {
				own = forced("true")
			}
			own.Labels[api.LabelCluster] = typo
			lives.Annotations[api.AnnotationKeeps] += " " + api.KeepMark(ns, typo)
			objs := append(others(), own, allUp(), lives)
			ofSet(objs[2].(*corev1.Pod))
			ofSet(objs[3].(*corev1.Pod))
			w := newWorld(t, objs...)
			if tc.all != nil {
				w.create(&corev1.Service{ObjectMeta: named("scylla"), Spec: corev1.ServiceSpec{Selector: tc.all}})
			}
			w.own("10.0.0.3", func(pod *corev1.Pod) {
				pod.Labels = map[string]string{api.LabelCluster: cmp.Or(tc.pod, typo), api.LabelDatacenter: "dc1"}
				pod.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB, Args: tc.args}}
				ofSet(pod)
			})
			w.runs(led)
			if tc.waits == "" {
				w.opensIn(0, time.Minute)
				return
			}
			w.waits(time.Minute).says(string(words.SeedsOfAnotherCluster), strings.ReplaceAll(tc.waits, `"`, `\"`))
			w.refuses(words.SeedsOfAnotherCluster, tc.waits)
		})
	}
}

// refuses requires that the Pod says why it does not start.
func (w *world) refuses(reason words.Code, why string) {
	w.t.Helper()
	r := w.refused()
	if r.Reason != string(reason) || !strings.Contains(words.Text(words.Message(r.Cause)), why) {
		w.t.Errorf("the Pod says %+v", r)
	}
}

// TestAttack4ANamespaceThatMayNotBeListedBlocksTheFirstNode: the cluster of the seeds, or its reports, are not known then.
func TestAttack4ANamespaceThatMayNotBeListedBlocksTheFirstNode(t *testing.T) {
	for resource, says := range map[string]string{"pods": "ReadingIncomplete", "statefulsets": "ReadingIncomplete",
		"services": "ReadingIncomplete", "scylladbdatacenternodesstatusreports": "cannot be distinguished from the first node"} {
		inBubble(t, resource, func(t *testing.T) {
			w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
			w.deny[resource], w.o.Cluster = true, "demo"
			w.runs(led).waits(time.Minute).says(says)
		})
	}
}

// TestAnIncompleteReadingOpensNoJoin: a rollout is not visible without the StatefulSets, nor a row without the Pods.
func TestAnIncompleteReadingOpensNoJoin(t *testing.T) {
	for resource, says := range map[string]string{"statefulsets": "", "podlists": "kubectl-scylla-member"} {
		inBubble(t, resource, func(t *testing.T) {
			w := newWorld(t, allPeersUp()...)
			w.deny[resource] = true
			w.runs(alone).waits(time.Minute).says(string(words.ReadingIncomplete), says)
		})
	}
}

// TestAFailedLookAtTheNamespaceOpensNoFirstNode: the cluster itself is readable, and the seeds may belong to another one.
func TestAFailedLookAtTheNamespaceOpensNoFirstNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, service(newcomer, "rack3", nil), lease("controller-1"))
		c := interceptor.NewClient(w.c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if o := (&client.ListOptions{}).ApplyOptions(opts); o.LabelSelector == nil {
				return errors.New("etcd is away")
			}
			return c.List(ctx, list, opts...)
		}})
		w.o.NewClient = func() (client.WithWatch, error) { return c, nil }
		w.runs(led).waits(time.Minute)
	})
}

// Only a controller that is alive, and keeps this cluster's reports, has read the whole namespace.
func TestAttack4NobodyIsFirstWithoutALiveController(t *testing.T) {
	waitsForController(t, func() []client.Object { return []client.Object{service(newcomer, "rack3", nil)} })
}

// launched makes the Pod one whose ScyllaDB is started by launch.
func launched(args ...string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB,
			Command: []string{"/mnt/shared/scylla-agent", "launch", "--", "/docker-entrypoint.py"}, Args: args}}
	}
}

func TestA1ANewcomerWithItselfAsOnlySeedWaits(t *testing.T) {
	for name, c := range map[string]struct {
		args        []string
		noIP, opens bool
	}{
		"two members are UP":                {nil, false, true},
		"no member has an address":          {nil, true, false},
		"but there is one elsewhere":        {[]string{"--seeds=192.0.2.7"}, true, true},
		"what is given is the member alone": {[]string{"--seeds", newcomer}, true, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			objs := allPeersUp()
			for _, o := range objs[3:5] {
				if c.noIP {
					byContainer(o.(*corev1.Pod)).Status.PodIP = "" // its reporter is another matter
				}
			}
			w := newWorld(t, objs...)
			w.own("", launched(c.args...))
			w.runs(alone)
			if w.opensOr(c.opens, time.Minute); !c.opens {
				w.says("NoOtherSeed", "second cluster")
				w.refuses(words.NoOtherSeed, "second cluster")
			}
		})
	}
}

// Launch would start the newcomer with itself as seed, though the barrier does not take it for the first node.
func TestA1AFirstNodeByItsSeedsAloneWaits(t *testing.T) {
	replacing := service(newcomer, "rack3", nil)
	replacing.Labels[api.LabelReplacingNodeHostID] = idA
	for name, objs := range map[string][]client.Object{
		"rows without members, of another writer":   {service(newcomer, "rack3", nil), byOperator(allUp())},
		"rows without members, of our controller":   {service(newcomer, "rack3", nil), allUp()},
		"replacement of a node that nobody records": {replacing},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newWorld(t, append(objs, lease("controller-1"))...)
			w.own("10.0.0.3", launched())
			w.runs(led).waits(time.Minute).says("NoOtherSeed")
		})
	}
}
