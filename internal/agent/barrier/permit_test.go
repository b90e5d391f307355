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

type statusView = *api.StatusReportView

const view5 = 5 * time.Second

// permittedView lets the newcomer join.
func permittedView() statusView {
	return &api.StatusReportView{
		Epoch: 1, Seq: 1, Policy: api.PolicyPermits,
		Members: []api.StatusReportViewMember{
			{Name: "demo-rack1-0", HostID: idA, State: api.NodeStatusUp}, {Name: "demo-rack2-0", HostID: idB, State: api.NodeStatusUp},
		},
		Permits: []api.StatusReportViewPermit{{Kind: api.PermitJoin, Member: newcomer, PVCUID: "claim-1", PodUID: "uid-1"}},
	}
}

func unchanged(statusView) {}

func withoutPermit(v statusView) { v.Permits = nil }

func nodeDown(v statusView) { v.Members[1].State = api.NodeStatusDown }

// changedView is permittedView after a change; nil for none.
func changedView(change func(statusView)) statusView {
	if change == nil {
		return nil
	}
	v := permittedView()
	change(v)
	return v
}

// withView is a world whose controller keeps a view, and whose barrier asks for a permit.
func withView(t *testing.T, v statusView, objs ...client.Object) *world {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + newcomer, UID: "claim-1"}}
	report := &api.ScyllaDBStatusReport{ObjectMeta: named("demo"), Status: api.ScyllaDBStatusReportStatus{View: v}}
	if len(objs) == 0 {
		objs = allPeersUp()
	}
	w := newWorld(t, append(objs, claim, report)...)
	w.o.Policy, w.o.Stabilisation = api.PolicyPermits, new(10*time.Second)
	return w
}

// renew is the controller writing its view anew, changed or not.
func (w *world) renew(change func(statusView)) {
	w.t.Helper()
	w.ofCluster(func(r *api.ScyllaDBStatusReport) {
		if v := r.Status.View; v != nil {
			v.Seq++
			change(v)
		}
	})
}

// renewTimes renews the view each five seconds.
func (w *world) renewTimes(n int) *world {
	for range n {
		time.Sleep(view5)
		w.renew(unchanged)
	}
	return w
}

func TestAPermitOpensOnceTheViewIsSeenToAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.runs(alone)
		w.waits(time.Minute) // it may have been written an hour ago
		w.says("this barrier has not seen the controller view advance yet")
		w.renew(unchanged)
		w.opensIn(0, 3*time.Second)
	})
}

// Nothing of what a view lacks opens, however long it is kept, nor makes a barrier a load on the API server.
func TestAViewThatDoesNotPermitNeverOpens(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(statusView)
		world  func(*world)
		want   string
	}{
		"no view":             {nil, nil, "the controller has created no controller view of the cluster"},
		"an older controller": {func(v statusView) { v.Policy = "" }, nil, "the controller grants no permits"},
		"no permit":           {withoutPermit, nil, "the controller has not queued it yet"},
		"its turn is later": {func(v statusView) { waitsFor(v, "PermitWaitsForNewcomer", other) }, nil,
			"1 of 1 in the queue; demo-rack1-1 is joining"},
		"for another claim": {func(v statusView) { v.Permits[0].PVCUID = "claim-2" }, nil,
			"it is for the PVC with UID claim-2, and data-demo-rack3-1 has claim-1"},
		"for another kind": {func(v statusView) { v.Permits[0].Kind = api.PermitForm }, nil, "it is for Form, not Join"},
		"the view holds":   {func(v statusView) { v.Hold = "RolloutInProgress" }, nil, "RolloutInProgress"},
		"a member is DOWN": {nodeDown, nil, "demo-rack2-0 is not in the required state"},
		"a member is not known": {func(v statusView) { v.Members[0].State = api.NodeStatusUnknown }, nil,
			"demo-rack1-0 is not in the required state"},
		"its claim may not be read": {unchanged, func(w *world) { w.deny["partialobjectmetadata"] = true }, "ReadingIncomplete"},
		"its claim is deleted with this Pod": {unchanged, func(w *world) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: named("data-" + newcomer)}
			w.update(claim, func() { claim.Finalizers = []string{"kubernetes.io/pvc-protection"} })
			w.delete(claim)
		}, "PersistentVolumeClaim data-" + newcomer + " is Terminating"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, changedView(tc.change))
			if tc.world != nil {
				tc.world(w)
			}
			w.runs(alone).renewTimes(60).waits(0).says(tc.want)
			if n := w.spent()["all"]; n > 5*600 { // a judgement, of which there may be one a second, takes up to ten
				t.Errorf("%d requests in five minutes", n)
			}
		})
	}
}

// Without a flag the barrier needs a permit, except where the Scylla Operator manages its member: it gives none.
func TestTheDefaultPolicy(t *testing.T) {
	const idC = "cccccccc-0000-4000-8000-000000000009" // in another datacenter
	const noView = "the controller has created no controller view of the cluster"
	managed := service(newcomer, "rack3", nil)
	managed.Labels[api.LabelManagedBy] = api.ManagedByOperator
	operated := append(others(), managed, byOperator(allUp()))
	joined := service(newcomer, "rack3", map[string]string{api.AnnotationStatusReportOverrideRef: "everywhere"})
	overridden := append(others(), joined, byOperator(allUp()))
	named := func(status string) []client.Object {
		all := &api.ScyllaDBStatusReport{ObjectMeta: named("everywhere")}
		cells := saw(idA, "UP", idB, "UP", idC, status)
		node := func(id string) api.StatusReportNode { return api.StatusReportNode{HostID: id, ObservedNodes: cells} }
		all.Datacenters = []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{node(idA), node(idB)}},
			{Name: "dc2", Nodes: []api.StatusReportNode{node(idC)}}}
		return carry(cells, append(others(), joined, byOperator(allUp()), all)...)
	}
	for name, tc := range map[string]struct {
		policy api.Policy
		objs   []client.Object
		view   func(statusView)
		want   string // nothing: it opens
	}{
		"an override": {"", named("UP"), nil, ""},
		"an override, a node DOWN": {"", named("DOWN"), nil,
			"policy reports: annotation internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref names ScyllaDBStatusReport everywhere"},
		"an override, by permits":    {api.PolicyPermits, named("UP"), nil, "an override names report everywhere"},
		"an override, no report":     {"", overridden, nil, "check that the program that writes ScyllaDBStatusReport everywhere is running"},
		"ours, and a permit":         {"", allPeersUp(), unchanged, ""},
		"ours, and no view at all":   {"", allPeersUp(), nil, noView},
		"ours, and its cure":         {"", allPeersUp(), nil, "kubectl scylla install --upgrade"},
		"ours, by the reports":       {api.PolicyReports, allPeersUp(), nil, ""},
		"the operator's":             {"", operated, nil, ""},
		"the operator's, by permits": {api.PolicyPermits, operated, nil, noView},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, changedView(tc.view), tc.objs...)
			w.o.Policy = tc.policy
			w.runs(alone).renewTimes(12).opensOr(tc.want == "", 0).says(tc.want)
		})
	}
}

// The controller has waited until all were UP for long enough: a permit needs no second such time.
func TestAPermitNeedsNoSecondWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, changedView(withoutPermit))
		w.o.Stabilisation = new(time.Hour)
		w.runs(alone).renewTimes(12).waits(0)
		w.renew(func(v statusView) { v.Permits = permittedView().Permits })
		w.opensIn(0, 3*time.Second)
	})
}

// A newer view closes at once, and a permit that comes back opens only after another look at the members.
func TestANewerViewClosesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.setSilent("demo-rack1-0", errUnreachable)
		w.runs(alone).renewTimes(6)
		w.renew(withoutPermit)
		w.setSilent("demo-rack1-0", nil)
		w.waits(time.Minute)
		asked := w.askedOf("demo-rack1-0")
		w.renew(func(v statusView) { v.Permits = permittedView().Permits })
		w.renewTimes(1)
		w.opens()
		if w.askedOf("demo-rack1-0") == asked {
			t.Error("opened by what it was told before")
		}
	})
}

// The rows of this moment decide: a report that is behind neither opens nor, with a permit, closes.
func TestByAPermitTheRowsOfThisMomentDecide(t *testing.T) {
	for name, tc := range map[string]struct {
		rows, pod []api.ObservedNodeStatusReport // of the report, and of Pod A
		opens     bool
	}{
		"only the Pods' rows are UP": {down, up, true},
		"only the report's are UP":   {up, down, false},
	} {
		inBubble(t, name, func(t *testing.T) {
			objs := append(peers(), byOperator(report(tc.rows, up)))
			objs[3].SetAnnotations(carries(idA, tc.pod))
			w := withView(t, permittedView(), objs...)
			w.runs(alone).renewTimes(12).opensOr(tc.opens, 0)
		})
	}
}

// The last look takes seconds, in which the controller may take the permit back: the view is read once more after it.
func TestAPermitThatIsTakenBackDuringTheLastLookDoesNotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		var once sync.Once
		w.o.Ask = func(ctx context.Context, address, digest string) error {
			once.Do(func() { w.renew(withoutPermit) })
			return w.ask(ctx, address, digest)
		}
		w.runs(alone).renewTimes(12).waits(0)
		if w.askedOf("demo-rack1-0") == 0 {
			t.Error("it never came to its last look")
		}
	})
}

// A restored Kubernetes shows older views that advance and permit, as an API server that is behind does: the barrier never
// opens, and reports what it sees and what helps. A barrier that begins anew remembers nothing, and opens.
func TestAViewThatGoesBackOpensNothingAndIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, changedView(func(v statusView) { v.Epoch, v.Seq = 7, 900 }))
		w.setSilent("demo-rack1-0", errUnreachable)
		ctx, cancel := context.WithCancel(t.Context())
		w.start(ctx)
		w.renewTimes(1)
		time.Sleep(view5)
		w.renew(func(v statusView) { v.Epoch, v.Seq = 3, v.Seq%100 })
		w.renewTimes(5)
		w.setSilent("demo-rack1-0", nil) // the newest view that it has read is too old
		w.renewTimes(55)
		w.waits(0).says("which is older than view 7.901 that this barrier has read", "kubectl delete pod "+newcomer)
		cancel()
		<-w.done
		w.runs(alone).renewTimes(1).opens()
	})
}

func TestAViewThatStopsToAdvanceIsTooOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.setSilent("demo-rack1-0", errUnreachable)
		w.runs(alone).renewTimes(1)
		time.Sleep(22 * time.Second) // the controller is away, and the limit is 20 s
		w.setSilent("demo-rack1-0", nil)
		w.waits(time.Hour).says("ControllerSilent", "the controller view has not advanced for more than 20s")
		if n := strings.Count(w.logged(), "has not advanced"); n > 150 { // twice in a line
			t.Errorf("%d times in the log of an hour", n)
		}
		// An older view never opens.
		w.renew(func(v statusView) { v.Epoch, v.Seq = 0, 900 })
		w.waits(time.Minute)
	})
}

// A barrier with the standard limit does not open by a view as old as that, one with a longer limit does.
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
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, permittedView())
			w.setSilent("demo-rack1-0", errUnreachable)
			w.ofCluster(func(r *api.ScyllaDBStatusReport) {
				r.Status.HealthPolicy = healthpolicy.Standard(healthpolicy.Stabilisation, 3)
				r.Status.HealthPolicy.ViewLimit.Duration = c.limit
			})
			w.runs(alone)
			w.renewTimes(1) // once
			time.Sleep(24 * time.Second)
			w.setSilent("demo-rack1-0", nil)
			w.opensOr(c.opens, 10*time.Minute)
		})
	}
}

// The gap that permits close: every report has UP, because no reporter writes another row. The view has not.
func TestAllRowsUPWhileReportersAreCutOffAndANodeDies(t *testing.T) {
	for policy, opens := range map[api.Policy]bool{api.PolicyReports: true, api.PolicyPermits: false} {
		inBubble(t, string(policy), func(t *testing.T) {
			w := withView(t, changedView(func(v statusView) {
				waitsFor(v, "PermitWaitsForMembers", "demo-rack2-0")
				v.Members[1].State, v.Permits = api.NodeStatusUnknown, nil
			}))
			w.o.Policy = policy
			w.runs(alone).renewTimes(120)
			if w.opensOr(opens, 0); !opens {
				w.says("demo-rack2-0 is not UP in the controller view")
			}
		})
	}
}

func TestIsolatedWhileTheAPIServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.relays(silentNetwork)
		w.runs(alone)
		time.Sleep(view5)
		w.setFailure(errors.New("connection refused"))
		w.waits(time.Minute).says("Isolated")
		w.setFailure(nil)
		w.renewTimes(12)
		w.opens()
	})
}

// anew deletes the cluster's report and makes another one with this view.
func (w *world) anew(uid types.UID, v statusView) {
	w.t.Helper()
	r := &api.ScyllaDBStatusReport{ObjectMeta: named("demo")}
	w.delete(r.DeepCopy())
	r.UID, r.Status.View = uid, v
	w.create(r)
}

// A report that is made anew counts from the beginning. Nothing of the former one opens, nor holds back.
func TestAReportThatIsMadeAnewIsGoneBy(t *testing.T) {
	t.Parallel()
	high := changedView(func(v statusView) { v.Epoch, v.Seq = 9, 900 })
	for name, relayed := range map[string]relay{
		"nothing is relayed":                      silentNetwork,
		"a view of the former report is relayed":  ofReport("report-1", advancing(9, nodeDown)),
		"the new report's view is relayed":        ofReport("report-2", advancing(1, unchanged)),
		"one of a report that nobody has made":    ofReport("report-9", advancing(99, nodeDown)),
		"one of a reporter that does not tell it": advancing(99, nodeDown),
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, high)
			w.anew("report-1", high.DeepCopy())
			w.relays(relayed)
			w.setSilent("demo-rack1-0", errUnreachable)
			w.runs(alone).renewTimes(5)
			w.anew("report-2", permittedView())
			w.setSilent("demo-rack1-0", nil)
			// It may have been written an hour ago: that all was UP before, and permitted, is worth nothing for it.
			w.waits(2 * time.Minute)
			w.renew(unchanged)
			w.opensIn(0, 3*time.Second)
		})
	}
}

// A view of the report that was deleted comes back late, from an API server that is behind: it opens nothing.
func TestALateViewOfAFormerReportNeverOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := withView(t, permittedView())
		w.anew("report-1", permittedView())
		w.runs(alone)
		time.Sleep(time.Second)
		w.anew("report-2", changedView(withoutPermit))
		time.Sleep(time.Minute)
		w.anew("report-1", changedView(func(v statusView) { v.Epoch = 7 }))
		w.renewTimes(60)
		w.waits(view5)
	})
}

// advancing relays a newer view at each request.
func advancing(epoch int64, change func(statusView)) relay {
	var seq atomic.Int64
	return func(member string) (*viewwire.View, error) { return handsOn(epoch, 1000+seq.Add(1), 0, change)(member) }
}

// ofReport says of which report an answer is.
func ofReport(uid types.UID, answer relay) relay {
	return func(member string) (*viewwire.View, error) {
		v, err := answer(member)
		if v != nil {
			v.ReportUID = uid
		}
		return v, err
	}
}

// A Pod made again under its name does not start by its predecessor's permit, however it learns its UID.
func TestNoHarm22APermitIsForOnePod(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told, permitted types.UID
		want            string // nothing: it opens
	}{
		"its own":                            {"uid-1", "uid-1", ""},
		"its predecessor's":                  {"uid-1", "uid-0", "it is for the Pod with UID uid-0, and this Pod has uid-1"},
		"a permit without a Pod":             {"uid-1", "", "and this Pod has uid-1"},
		"its own, by the API server":         {"", "uid-1", ""},
		"its predecessor's, by the same way": {"", "uid-0", "and this Pod has uid-1"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := withView(t, changedView(func(v statusView) { v.Permits[0].PodUID = c.permitted }))
			w.o.PodUID = c.told
			w.runs(alone).renewTimes(12).opensOr(c.want == "", 0).says(c.want)
		})
	}
}
