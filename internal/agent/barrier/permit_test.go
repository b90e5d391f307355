// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// permittedView lets the newcomer join.
func permittedView() *api.StatusReportView {
	return &api.StatusReportView{
		Epoch: 1, Seq: 1, Policy: api.PolicyPermits,
		Members: []api.StatusReportViewMember{
			{Name: "demo-rack1-0", HostID: idA, State: api.NodeStatusUp}, {Name: "demo-rack2-0", HostID: idB, State: api.NodeStatusUp},
		},
		Permits: []api.StatusReportViewPermit{{Kind: api.PermitJoin, Member: newcomer, PVCUID: "claim-1", PodUID: "uid-1"}},
	}
}

// withView is a world whose controller keeps a view, and whose barrier asks for a permit.
func withView(t *testing.T, v *api.StatusReportView, objs ...client.Object) *world {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + newcomer, UID: "claim-1"}}
	report := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
	report.Status.View = v
	if len(objs) == 0 {
		objs = append(peers(), byOperator(allUp()))
	}
	w := newWorld(t, append(objs, claim, report)...)
	w.o.Policy, w.o.Stabilisation = api.PolicyPermits, new(10*time.Second)
	return w
}

// renew is the controller writing its view anew, changed or not.
func (w *world) renew(change func(*api.StatusReportView)) {
	w.t.Helper()
	r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
	w.update(r, func() {
		if r.Status.View == nil {
			return
		}
		r.Status.View.Seq++
		if change != nil {
			change(r.Status.View)
		}
	})
}

func TestAPermitOpensOnceTheViewIsSeenToAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		_, done := running(t, w)
		time.Sleep(time.Minute)
		stillWaiting(t, done) // it may have been written an hour ago
		if log := w.logged(); !strings.Contains(log, "this barrier has not seen the controller view advance yet") {
			t.Errorf("does not say what it waits for:\n%s", log)
		}
		w.renew(nil)
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("opened %v after the view advanced; all has been UP for a minute", took)
		}
	})
}

// The view is one more condition: nothing of what it lacks opens, however long it is kept.
func TestAViewThatDoesNotPermitNeverOpens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*api.StatusReportView)
		want   string
	}{
		"no view":             {nil, "the controller has created no controller view of the cluster"},
		"an older controller": {func(v *api.StatusReportView) { v.Policy = "" }, "the controller grants no permits"},
		"no permit":           {func(v *api.StatusReportView) { v.Permits = nil }, "the controller has not queued it yet"},
		"its turn is later": {func(v *api.StatusReportView) {
			v.Permits[0].Member = "demo-rack1-1"
			v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: "PermitWaitsForNewcomer", Nodes: []string{"demo-rack1-1"}}}
		}, "1 of 1 in the queue; demo-rack1-1 is joining"},
		"for another claim":     {func(v *api.StatusReportView) { v.Permits[0].PVCUID = "claim-2" }, "it is for the PVC with UID claim-2, and data-demo-rack3-1 has claim-1"},
		"for its predecessor":   {func(v *api.StatusReportView) { v.Permits[0].PodUID = "uid-0" }, "it is for the Pod with UID uid-0, and this Pod has uid-1"},
		"for no Pod":            {func(v *api.StatusReportView) { v.Permits[0].PodUID = "" }, "and this Pod has uid-1"},
		"for another kind":      {func(v *api.StatusReportView) { v.Permits[0].Kind = api.PermitForm }, "it is for Form, not Join"},
		"the view holds":        {func(v *api.StatusReportView) { v.Hold = "RolloutInProgress" }, "RolloutInProgress"},
		"a member is DOWN":      {func(v *api.StatusReportView) { v.Members[1].State = api.NodeStatusDown }, "demo-rack2-0 is not in the required state"},
		"a member is not known": {func(v *api.StatusReportView) { v.Members[0].State = api.NodeStatusUnknown }, "demo-rack1-0 is not in the required state"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := permittedView()
				if tc.change != nil {
					tc.change(v)
				} else {
					v = nil
				}
				w := withView(t, v)
				_, done := running(t, w)
				for range 60 {
					time.Sleep(5 * time.Second)
					stillWaiting(t, done)
					w.renew(nil)
				}
				if log := w.logged(); !strings.Contains(log, tc.want) {
					t.Errorf("does not say %q:\n%s", tc.want, log)
				}
			})
		})
	}
}

// Without a flag for the policy the barrier needs a permit, except where the Scylla Operator manages its member: it gives no permits. A missing view is reported with its
// cure.
func TestTheDefaultPolicy(t *testing.T) {
	mine := append(others(), service(newcomer, "rack3", nil), byOperator(allUp()))
	managed := service(newcomer, "rack3", nil)
	managed.Labels[api.LabelManagedBy] = api.ManagedByOperator
	operated := append(others(), managed, byOperator(allUp()))
	const idC = "cccccccc-0000-4000-8000-000000000009" // in another datacenter
	joined := service(newcomer, "rack3", map[string]string{api.AnnotationStatusReportOverrideRef: "everywhere"})
	named := func(status api.NodeStatus) []client.Object {
		all := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "everywhere"}, Datacenters: []api.StatusReportDatacenter{{Name: "dc1"}, {Name: "dc2"}}}
		cells := saw(idA, "UP", idB, "UP", idC, string(status))
		for i, id := range []string{idA, idB, idC} {
			d := &all.Datacenters[i/2]
			d.Nodes = append(d.Nodes, api.StatusReportNode{HostID: id, ObservedNodes: cells})
		}
		objs := append(others(), joined, byOperator(allUp()), all)
		for _, o := range objs {
			if pod, ok := o.(*corev1.Pod); ok {
				pod.Annotations = carries(map[string]string{"demo-rack1-0": idA, "demo-rack2-0": idB}[pod.Name], cells)
			}
		}
		return objs
	}
	for name, tc := range map[string]struct {
		policy api.Policy
		objs   []client.Object
		view   bool
		want   string // nothing: it opens
	}{
		"an override":                {"", named("UP"), false, ""},
		"an override, a node DOWN":   {"", named("DOWN"), false, "policy reports: annotation internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref names ScyllaDBStatusReport everywhere"},
		"an override, by permits":    {api.PolicyPermits, named("UP"), false, "an override names report everywhere"},
		"an override, no report":     {"", append(others(), joined, byOperator(allUp())), false, "check that the program that writes ScyllaDBStatusReport everywhere is running"},
		"ours, and a permit":         {"", mine, true, ""},
		"ours, and no view at all":   {"", mine, false, "the controller has created no controller view of the cluster"},
		"ours, and its cure":         {"", mine, false, "kubectl scylla install --upgrade"},
		"ours, by the reports":       {api.PolicyReports, mine, false, ""},
		"the operator's":             {"", operated, false, ""},
		"the operator's, by permits": {api.PolicyPermits, operated, false, "the controller has created no controller view of the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := permittedView()
				if !tc.view {
					v = nil
				}
				w := withView(t, v, tc.objs...)
				w.o.Policy = tc.policy
				_, done := running(t, w)
				for range 12 {
					time.Sleep(5 * time.Second)
					if tc.want != "" {
						stillWaiting(t, done)
					}
					w.renew(nil)
				}
				if tc.want == "" {
					opens(t, done)
				} else if log := w.logged(); !strings.Contains(log, tc.want) {
					t.Errorf("does not say %q:\n%s", tc.want, log)
				}
			})
		})
	}
}

// A barrier with a permit that may not read its claim waits as long as any other: 50 requests a second of each such barrier are a load on the API server.
func TestNoHarm26AClaimThatMayNotBeReadIsNotReadInALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.deny["partialobjectmetadata"] = true
		_, done := running(t, w)
		for range 12 {
			time.Sleep(5 * time.Second)
			stillWaiting(t, done)
			w.renew(nil)
		}
		if log := w.logged(); !strings.Contains(log, "ReadingIncomplete") {
			t.Errorf("does not say that the claim may not be read:\n%s", log)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.requests > 600 { // a judgement, of which there may be one a second, takes up to ten
			t.Errorf("%d requests in a minute", w.requests)
		}
	})
}

// The controller has waited until all were UP for long enough: a permit needs no second such time, and nothing opens without it.
func TestAPermitNeedsNoSecondWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := permittedView()
		v.Permits = nil
		w := withView(t, v)
		w.o.Stabilisation = new(time.Hour)
		_, done := running(t, w)
		for range 12 {
			time.Sleep(view5)
			stillWaiting(t, done)
			w.renew(nil)
		}
		w.renew(func(v *api.StatusReportView) { v.Permits = permittedView().Permits })
		began := time.Now()
		opens(t, done)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("opened %v after the permit", took)
		}
	})
}

// A newer view closes at once, and a permit that comes back opens only after another look at the members.
func TestANewerViewClosesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.setSilent("demo-rack1-0", errUnreachable)
		_, done := running(t, w)
		for range 6 {
			time.Sleep(view5)
			w.renew(nil)
		}
		w.renew(func(v *api.StatusReportView) { v.Permits = nil })
		w.setSilent("demo-rack1-0", nil)
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		w.mu.Lock()
		asked := w.asked["demo-rack1-0"]
		w.mu.Unlock()
		w.renew(func(v *api.StatusReportView) { v.Permits = permittedView().Permits })
		time.Sleep(view5)
		w.renew(nil)
		opens(t, done)
		if w.asked["demo-rack1-0"] == asked {
			t.Error("opened by what it was told before")
		}
	})
}

// The rows of this moment decide: a report that is behind neither opens nor, with a permit, closes.
func TestByAPermitTheRowsOfThisMomentDecide(t *testing.T) {
	down := report(saw(idA, "UP", idB, "DOWN"), saw(idA, "UP", idB, "UP"))
	for name, tc := range map[string]struct {
		rows  *api.ScyllaDBDatacenterNodesStatusReport // of the report
		pod   []api.ObservedNodeStatusReport           // of Pod A
		opens bool
	}{
		"both are UP":              {allUp(), saw(idA, "UP", idB, "UP"), true},
		"only the Pods' rows are":  {down, saw(idA, "UP", idB, "UP"), true},
		"only the report's are UP": {allUp(), saw(idA, "UP", idB, "DOWN"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objs := append(peers(), byOperator(tc.rows))
				for _, o := range objs {
					if pod, ok := o.(*corev1.Pod); ok && pod.Name == "demo-rack1-0" {
						pod.Annotations = carries(idA, tc.pod)
					}
				}
				w := withView(t, permittedView(), objs...)
				_, done := running(t, w)
				for range 12 {
					time.Sleep(view5)
					w.renew(nil)
				}
				if !tc.opens {
					stillWaiting(t, done)
					return
				}
				opens(t, done)
			})
		})
	}
}

// The last look takes seconds, in which the controller may take the permit back: the view is read once more after it.
func TestAPermitThatIsTakenBackDuringTheLastLookDoesNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		var once sync.Once
		w.o.Ask = func(ctx context.Context, address, digest string) error {
			once.Do(func() { w.renew(func(v *api.StatusReportView) { v.Permits = nil }) })
			return w.ask(ctx, address, digest)
		}
		_, done := running(t, w)
		for range 12 {
			time.Sleep(view5)
			w.renew(nil)
		}
		stillWaiting(t, done)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.asked) == 0 {
			t.Error("it never came to its last look")
		}
	})
}

// A restored Kubernetes shows older views, of the same report, that advance and permit. That looks like an API server that is behind: the barrier never opens, and reports
// what it sees and what helps. A barrier that begins anew remembers nothing, and opens.
func TestAViewThatGoesBackOpensNothingAndIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := permittedView()
		v.Epoch, v.Seq = 7, 900
		w := withView(t, v)
		w.setSilent("demo-rack1-0", errUnreachable)
		ctx, cancel := context.WithCancel(t.Context())
		done := w.start(ctx)
		time.Sleep(5 * time.Second)
		w.renew(nil)
		time.Sleep(5 * time.Second)
		back := func(v *api.StatusReportView) { v.Epoch, v.Seq = 3, v.Seq%100 }
		w.renew(back)
		for i := range 5 * 12 { // five minutes, in which it advances as one does that permits
			time.Sleep(5 * time.Second)
			if i == 4 { // the newest view that it has read is too old
				w.setSilent("demo-rack1-0", nil)
			}
			stillWaiting(t, done)
			w.renew(nil)
		}
		if log := w.logged(); !strings.Contains(log, "which is older than view 7.901 that this barrier has read") || !strings.Contains(log, "kubectl delete pod "+newcomer) {
			t.Errorf("does not say that the API server shows older views, nor what helps:\n%s", log)
		}
		cancel()
		<-done
		_, done = running(t, w)
		time.Sleep(5 * time.Second)
		w.renew(nil)
		opens(t, done)
	})
}

func TestAViewThatStopsToAdvanceIsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.setSilent("demo-rack1-0", errUnreachable)
		_, done := running(t, w)
		time.Sleep(5 * time.Second)
		w.renew(nil)
		time.Sleep(22 * time.Second) // the controller is away, and the limit is 20 s
		w.setSilent("demo-rack1-0", nil)
		time.Sleep(time.Hour)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, "ControllerSilent") || !strings.Contains(log, "the controller view has not advanced for") {
			t.Errorf("does not say that the controller is silent:\n%s", log)
		}
		// An older view never opens.
		w.renew(func(v *api.StatusReportView) { v.Epoch, v.Seq = 0, 900 })
		time.Sleep(time.Minute)
		stillWaiting(t, done)
	})
}

// The view limit is the cluster's own: a barrier with the standard one does not open by a view as old as that, one with a longer limit does.
func TestTheViewLimitIsTheOneOfTheHealthPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit time.Duration
		opens bool
	}{
		"the standard one":      {healthpolicy.ViewLimit, false},
		"a longer one":          {healthpolicy.MostViewLimit, true},
		"one that is too long":  {time.Hour, false},
		"one that is too short": {time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withView(t, permittedView())
				w.setSilent("demo-rack1-0", errUnreachable)
				r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
				w.update(r, func() {
					r.Status.HealthPolicy = healthpolicy.Standard(healthpolicy.Stabilisation, 3)
					r.Status.HealthPolicy.ViewLimit.Duration = c.limit
				})
				_, done := running(t, w)
				time.Sleep(time.Second)
				w.renew(nil) // once
				time.Sleep(24 * time.Second)
				w.setSilent("demo-rack1-0", nil)
				if c.opens {
					opens(t, done)
					return
				}
				time.Sleep(10 * time.Minute)
				stillWaiting(t, done)
			})
		})
	}
}

// A view without a permit is not written again, and stays the same for long: that is no silence, and the barrier still reports what the member waits for.
func TestAViewThatSaysTheSameForLongIsNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := permittedView()
		v.Permits = nil
		v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: "PermitWaitsForLeaving", Nodes: []string{"demo-rack2-0"}}}
		w := withView(t, v)
		_, done := running(t, w)
		time.Sleep(time.Hour)
		stillWaiting(t, done)
		if log := w.logged(); strings.Contains(log, "ControllerSilent") || strings.Contains(log, "has not advanced") {
			t.Errorf("calls the controller silent:\n%s", log)
		}
	})
}

// The gap that permits close: every report has UP, because no reporter writes another row. The controller's view has not, and no node joins.
func TestAllRowsUPWhileReportersAreCutOffAndANodeDies(t *testing.T) {
	dead := func(v *api.StatusReportView) {
		v.Members[1].State, v.Permits = api.NodeStatusUnknown, nil
		v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: "PermitWaitsForMembers", Nodes: []string{"demo-rack2-0"}}}
	}
	for policy, safe := range map[api.Policy]bool{api.PolicyReports: false, api.PolicyPermits: true} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := permittedView()
				dead(v)
				w := withView(t, v)
				w.o.Policy = policy
				_, done := running(t, w)
				if !safe {
					opens(t, done)
					return
				}
				for range 120 {
					time.Sleep(5 * time.Second)
					stillWaiting(t, done)
					w.renew(nil)
				}
				if log := w.logged(); !strings.Contains(log, "demo-rack2-0 is not UP in the controller view") {
					t.Errorf("does not name the node:\n%s", log)
				}
			})
		})
	}
}

// Only newcomers need a permit, or a controller.
func TestForceAndRestartsNeedNoPermit(t *testing.T) {
	forced := service(newcomer, "rack3", map[string]string{api.AnnotationForceProceed: "true"})
	back := joinedService(newcomer, "rack3", idNew)
	seen := saw(idA, "UP", idB, "UP", idNew, "DOWN")
	for name, objs := range map[string][]client.Object{
		"forced":    append(others(), forced, byOperator(allUp())),
		"a restart": append(others(), back, byOperator(report(seen, seen))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := withView(t, nil, objs...)
				w.query("", 1)
				w.dataDir("commitlog/schema/SchemaLog-1.log")
				_, done := running(t, w)
				opens(t, done)
			})
		})
	}
}

func TestIsolatedWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.o.AskView = func(context.Context, string, viewwire.Question) (*viewwire.View, error) { return nil, errUnreachable }
		_, done := running(t, w)
		time.Sleep(5 * time.Second)
		w.setFailure(errors.New("connection refused"))
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if log := w.logged(); !strings.Contains(log, "Isolated") {
			t.Errorf("does not say that it is isolated:\n%s", log)
		}
		w.setFailure(nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				time.Sleep(5 * time.Second)
				w.renew(nil)
			}
		}()
		opens(t, done)
		cancel()
		time.Sleep(6 * time.Second)
	})
}

// anew deletes the cluster's report and makes another one with this view.
func (w *world) anew(uid types.UID, v *api.StatusReportView) {
	w.t.Helper()
	r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
	if err := w.c.Delete(context.Background(), r.DeepCopy()); err != nil {
		w.t.Fatal(err)
	}
	r.UID, r.Status.View = uid, v
	if err := w.c.Create(context.Background(), r); err != nil {
		w.t.Fatal(err)
	}
}

// The report was deleted, and the Lease of the leadership with it: the new one counts from the beginning, and a waiting barrier uses it. Nothing of the
// former one opens it, nor holds it back.
func TestAReportThatIsMadeAnewIsGoneBy(t *testing.T) {
	t.Parallel()
	high := permittedView()
	high.Epoch, high.Seq = 9, 900
	for name, relayed := range map[string]func(string) (*viewwire.View, error){
		"nothing is relayed":                      silentNetwork,
		"a view of the former report is relayed":  ofReport("report-1", advancing(9, nodeDown)),
		"the new report's view is relayed":        ofReport("report-2", advancing(1, nil)),
		"one of a report that nobody has made":    ofReport("report-9", advancing(99, nodeDown)),
		"one of a reporter that does not tell it": advancing(99, nodeDown),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, n := withRelays(t, high)
				w.anew("report-1", high.DeepCopy())
				n.set(relayed)
				w.setSilent("demo-rack1-0", errUnreachable)
				_, done := running(t, w)
				for range 5 {
					time.Sleep(view5)
					w.renew(nil)
				}
				w.anew("report-2", permittedView())
				w.setSilent("demo-rack1-0", nil)
				// It may have been written an hour ago: that all was UP before, and permitted, is worth nothing for it.
				time.Sleep(2 * time.Minute)
				stillWaiting(t, done)
				w.renew(nil)
				began := time.Now()
				opens(t, done)
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("opened %v after the new report's view advanced", took)
				}
			})
		})
	}
}

// A view of the report that was deleted comes back late, from an API server that is behind: it opens nothing, for however long it advances.
func TestALateViewOfAFormerReportNeverOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.anew("report-1", permittedView())
		_, done := running(t, w)
		time.Sleep(time.Second)
		without := permittedView()
		without.Permits = nil
		w.anew("report-2", without)
		time.Sleep(time.Minute)
		late := permittedView()
		late.Epoch = 7
		w.anew("report-1", late)
		for range 60 {
			w.renew(nil)
			time.Sleep(view5)
			stillWaiting(t, done)
		}
	})
}

// advancing relays a newer view at each request.
func advancing(epoch int64, change func(*api.StatusReportView)) func(string) (*viewwire.View, error) {
	var seq atomic.Int64
	return func(member string) (*viewwire.View, error) { return handsOn(epoch, 1000+seq.Add(1), 0, change)(member) }
}

// ofReport says of which report an answer is.
func ofReport(uid types.UID, answer func(string) (*viewwire.View, error)) func(string) (*viewwire.View, error) {
	return func(member string) (*viewwire.View, error) {
		v, err := answer(member)
		if v != nil {
			v.ReportUID = uid
		}
		return v, err
	}
}

// TestNoHarm22APermitIsForOnePod: a Pod that was created again under its name does not start by its predecessor's permit, also where it learns its UID from the API server alone.
func TestNoHarm22APermitIsForOnePod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told, permitted types.UID
		opened          bool
	}{
		"its own":                            {"uid-1", "uid-1", true},
		"its predecessor's":                  {"uid-1", "uid-0", false},
		"a permit without a Pod":             {"uid-1", "", false},
		"its own, by the API server":         {"", "uid-1", true},
		"its predecessor's, by the same way": {"", "uid-0", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := permittedView()
				v.Permits[0].PodUID = c.permitted
				w := withView(t, v)
				w.o.PodUID = c.told
				_, done := running(t, w)
				for range 12 {
					time.Sleep(view5)
					w.renew(nil)
				}
				if c.opened {
					opens(t, done)
					return
				}
				stillWaiting(t, done)
			})
		})
	}
}

// Kubernetes deletes the volume with this Pod: no permit is for it.
func TestAPVCThatIsBeingDeletedNeverOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + newcomer}}
		w.update(claim, func() { claim.Finalizers = []string{"kubernetes.io/pvc-protection"} })
		if err := w.c.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		_, done := running(t, w)
		for range 30 {
			time.Sleep(5 * time.Second)
			stillWaiting(t, done)
			w.renew(nil)
		}
		if log, want := w.logged(), "PersistentVolumeClaim data-"+newcomer+" is Terminating"; !strings.Contains(log, want) {
			t.Errorf("does not say %q:\n%s", want, log)
		}
	})
}
