// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const other = "demo-rack1-1"

// newQueued is a world of our controller: its cluster report has the rows, and a view that permits another member.
func newQueued(t *testing.T) *world {
	t.Helper()
	v := permittedView()
	waitsFor(v, "PermitWaitsForNewcomer", other)
	w := withView(t, v, append(peers(), rack1(1), service(other, "rack1", nil), allUp(), lease("controller-1"))...)
	w.rows("UP")
	return w
}

// waitsFor has the view give the permit to another member, and queue the newcomer.
func waitsFor(v *api.StatusReportView, reason, node string) {
	v.Permits[0].Member = other
	v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: reason, Nodes: []string{node}}}
}

// rack1 is the StatefulSet of rack 1.
func rack1(ready int32) *appsv1.StatefulSet {
	set := stage.Bare(ns, "demo").NewSet("demo-rack1", "dc1", "rack1", 1)
	set.Status = appsv1.StatefulSetStatus{UpdateRevision: "1", CurrentRevision: "1", Replicas: 1, ReadyReplicas: ready,
		UpdatedReplicas: 1, CurrentReplicas: 1}
	return set
}

// rows writes both rows of the cluster report; node B is in that state.
func (w *world) rows(b string) {
	w.ofCluster(func(r *api.ScyllaDBStatusReport) {
		r.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs}
		r.Datacenters = []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{
			{HostID: idA, Member: "demo-rack1-0", ObservedNodes: saw(idA, "UP", idB, b)},
			{HostID: idB, Member: "demo-rack2-0", ObservedNodes: up},
		}}}
	})
}

// TestAViewForAnotherMemberCostsTheReportAndTheLease: it wakes each barrier of the cluster every five seconds.
func TestAViewForAnotherMemberCostsTheReportAndTheLease(t *testing.T) {
	for name, state := range map[string]string{"waits for its permit": "UP", "waits for a node also": "DOWN"} {
		inBubble(t, name, func(t *testing.T) {
			w := newQueued(t)
			w.rows(state)
			w.runs(led)
			w.renewTimes(6) // the first judgements
			w.spent()
			w.renewTimes(12)
			w.waits(0)
			spent := w.spent()
			lists := spent["ServiceList"]
			if lists < 1 || lists > 2 || spent["ScyllaDBStatusReport"] > 20 || spent["Lease"] > 20 {
				t.Errorf("in a minute of 12 views: %v", spent)
			}
		})
	}
}

// TestWhatConcernsAWaitingMemberIsReadAtOnce: its permit, its own Service, a row, a rollout, and a controller that stops.
func TestWhatConcernsAWaitingMemberIsReadAtOnce(t *testing.T) {
	const open = ""
	type view = *api.StatusReportView
	for name, tc := range map[string]struct {
		change func(*world)
		want   string
	}{
		"its permit": {func(w *world) { w.renew(func(v view) { v.Permits, v.Queue = permittedView().Permits, nil }) }, open},
		"forced": {func(w *world) {
			svc := service(newcomer, "rack3", nil)
			w.update(svc, func() { svc.Annotations = forced("true").Annotations })
		}, open},
		"a node is DOWN": {func(w *world) {
			w.rows("DOWN")
			w.renew(func(v view) { waitsFor(v, "PermitWaitsForMembers", "demo-rack2-0") })
		}, "demo-rack2-0 is not UP in the controller view"},
		"a rollout": {func(w *world) {
			w.must(w.c.Status().Update(context.Background(), rack1(0)))
			w.renew(func(v view) { v.Permits, v.Hold = nil, "RolloutInProgress" })
		}, "0 Ready Pods"},
		"a member is joined": {func(w *world) {
			svc := &corev1.Service{ObjectMeta: named(other)}
			w.update(svc, func() { stage.Joined(svc, idNew) })
		}, idNew[:8]},
		"its place": {func(w *world) {
			w.renew(func(v view) {
				v.Queue = slices.Insert(v.Queue, 0, api.StatusReportViewWaiting{Member: "demo-rack1-2", Kind: api.PermitJoin,
					Reason: "PermitWaitsForTurn"})
			})
		}, "2 of 2 in the queue"},
	} {
		inBubble(t, name, func(t *testing.T) {
			w := newQueued(t)
			w.runs(led).renewTimes(6).waits(0)
			if w.says("1 of 1 in the queue"); strings.Contains(w.logged(), "2 of 2") {
				t.Fatalf("before the change:\n%s", w.logged())
			}
			tc.change(w)
			time.Sleep(3 * time.Second)
			if w.opensOr(tc.want == open, 0); tc.want == open {
				return
			}
			lines := strings.Split(strings.TrimSpace(w.logged()), "\n")
			if last := strings.Join(lines[len(lines)-2:], "\n"); !strings.Contains(last, tc.want) {
				t.Errorf("does not say %q:\n%s", tc.want, last)
			}
		})
	}
}

// TestAControllerThatStopsIsSeenWithoutAReading: the view and the rows do not change any more, and all is UP.
func TestAControllerThatStopsIsSeenWithoutAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueued(t)
		w.runs(alone)
		ctx, stop := context.WithCancel(t.Context())
		w.renews(ctx)
		w.renewTimes(14) // just past a reading of everything
		stop()
		w.waits(42 * time.Second) // 30 s without a renewal, and a look every 10 s
		w.says("has not renewed Lease kubectl-scylla/kubectl-scylla-controller for more than")
	})
}

// TestRowsThatNoWatchShowsAreReadAtThePeriod: without rows in the cluster report, those of the datacenter reports count.
func TestRowsThatNoWatchShowsAreReadAtThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newQueued(t)
		w.blind = true
		w.ofCluster(func(all *api.ScyllaDBStatusReport) { all.Datacenters = nil })
		w.runs(led).renewTimes(3)
		w.reports(down, up)
		w.renewTimes(13).waits(0).says("DOWN") // the view advances: it is no reason to read all
	})
}

// The change comes shortly after a judgement, so that the next one by the interval is 7 to 10 seconds away.
func TestOnlyTheWatchOpensAtOnce(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second} {
		inBubble(t, after.String(), func(t *testing.T) {
			w := newWorld(t, held()...)
			w.runs(alone).waits(5*time.Minute + after)
			w.reports(up, up)
			w.opensIn(0, 2*time.Second)
		})
	}
}

// TestACorrectedClusterLabelIsReadAgain: the Service had the label of another cluster when the barrier read it first.
func TestACorrectedClusterLabelIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objs := allPeersUp()
		objs[2].SetLabels(map[string]string{api.LabelCluster: "dem"})
		w := newWorld(t, objs...)
		w.runs(alone).waits(time.Minute)
		svc := service(newcomer, "rack3", nil)
		w.update(svc, func() { svc.Labels = service(newcomer, "rack3", nil).Labels })
		w.opensIn(0, time.Minute)
	})
}
