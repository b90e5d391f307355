// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// queued is a world of our controller: its cluster report has the rows and a view in which another member has the permit. reads counts
// the barrier's own requests by kind.
type queued struct {
	*world
	mu    sync.Mutex
	reads map[string]int
	blind bool // no watch opens
}

const other = "demo-rack1-1"

func newQueued(t *testing.T) *queued {
	t.Helper()
	v := permittedView()
	v.Permits[0].Member = other
	v.Queue = []api.StatusReportViewWaiting{{Member: newcomer, Kind: api.PermitJoin, Reason: "PermitWaitsForNewcomer", Nodes: []string{other}}}
	set := stage.Bare(ns, "demo").NewSet("demo-rack1", "dc1", "rack1", 1)
	set.Status = appsv1.StatefulSetStatus{UpdateRevision: "1", CurrentRevision: "1", Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, CurrentReplicas: 1}
	q := &queued{world: withView(t, v, append(peers(), set, service(other, "rack1", nil), allUp(), lease("controller-1"))...), reads: map[string]int{}}
	q.rows(api.NodeStatusUp)
	count := func(o any) {
		q.mu.Lock()
		defer q.mu.Unlock()
		_, kind, _ := strings.Cut(fmt.Sprintf("%T", o), ".")
		q.reads[kind]++
	}
	c := interceptor.NewClient(q.c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			count(o)
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			count(o)
			return c.List(ctx, o, opts...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			if q.blind {
				return nil, errors.New("a proxy ends all streams")
			}
			return c.Watch(ctx, o, opts...)
		},
	})
	q.o.NewClient = func() (client.WithWatch, error) { return c, nil }
	return q
}

// rows writes both rows of the cluster report; node B is in that state.
func (q *queued) rows(b api.NodeStatus) {
	r := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
	q.update(r, func() {
		r.Labels = map[string]string{api.LabelManagedBy: api.ManagedByUs}
		cells := saw(idA, "UP", idB, string(b))
		r.Datacenters = []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{
			{HostID: idA, Member: "demo-rack1-0", ObservedNodes: cells}, {HostID: idB, Member: "demo-rack2-0", ObservedNodes: saw(idA, "UP", idB, "UP")},
		}}}
	})
}

// ready sets the number of Ready Pods of rack 1.
func (q *queued) ready(n int32) {
	q.t.Helper()
	set := &appsv1.StatefulSet{}
	if err := q.c.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: "demo-rack1"}, set); err != nil {
		q.t.Fatal(err)
	}
	set.Status.ReadyReplicas = n
	if err := q.c.Status().Update(context.Background(), set); err != nil {
		q.t.Fatal(err)
	}
}

// renewTimes renews the view n times.
func (q *queued) renewTimes(n int, change func(*api.StatusReportView)) {
	for range n {
		time.Sleep(view5)
		q.renew(change)
	}
	synctest.Wait()
}

func (q *queued) spent() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	spent := q.reads
	q.reads = map[string]int{}
	return spent
}

func mine(v *api.StatusReportView) {
	v.Permits, v.Queue = permittedView().Permits, nil
}

// TestAViewForAnotherMemberCostsTheReportAndTheLease: it wakes each barrier of the cluster every five seconds.
func TestAViewForAnotherMemberCostsTheReportAndTheLease(t *testing.T) {
	for name, prepare := range map[string]func(*queued){
		"waits for its permit":  func(*queued) {},
		"waits for a node also": func(q *queued) { q.rows(api.NodeStatusDown) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(t)
				prepare(q)
				ctx, done := running(t, q.world)
				q.renews(ctx)
				q.renewTimes(6, nil) // the first judgements
				q.spent()
				q.renewTimes(12, nil)
				stillWaiting(t, done)
				spent := q.spent()
				lists := spent["ServiceList"]
				if reports := spent["ScyllaDBStatusReport"]; lists < 1 || lists > 2 || reports > 20 || spent["Lease"] > 20 {
					t.Errorf("in a minute of 12 views: %v", spent)
				}
			})
		})
	}
}

// TestWhatConcernsAWaitingMemberIsReadAtOnce: its permit, its own Service, a row, a rollout, and a controller that stops.
func TestWhatConcernsAWaitingMemberIsReadAtOnce(t *testing.T) {
	const open = ""
	for name, tc := range map[string]struct {
		change func(*queued)
		want   string
	}{
		"its permit": {func(q *queued) { q.renew(mine) }, open},
		"forced": {func(q *queued) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: newcomer}}
			q.update(svc, func() { svc.Annotations = map[string]string{api.AnnotationForceProceed: "true"} })
		}, open},
		"a node is DOWN": {func(q *queued) {
			q.rows(api.NodeStatusDown)
			q.renew(func(v *api.StatusReportView) {
				v.Queue[0].Reason, v.Queue[0].Nodes = "PermitWaitsForMembers", []string{"demo-rack2-0"}
			})
		}, "demo-rack2-0 is not UP in the controller view"},
		"a rollout": {func(q *queued) {
			q.ready(0)
			q.renew(func(v *api.StatusReportView) { v.Permits, v.Hold = nil, "RolloutInProgress" })
		}, "0 Ready Pods"},
		"a member is joined": {func(q *queued) {
			svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: other}}
			q.update(svc, func() { stage.Joined(svc, idNew) })
		}, idNew[:8]},
		"its place": {func(q *queued) {
			q.renew(func(v *api.StatusReportView) {
				v.Queue = append([]api.StatusReportViewWaiting{{Member: "demo-rack1-2", Kind: api.PermitJoin, Reason: "PermitWaitsForTurn"}}, v.Queue...)
			})
		}, "2 of 2 in the queue"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueued(t)
				ctx, done := running(t, q.world)
				q.renews(ctx)
				q.renewTimes(6, nil)
				stillWaiting(t, done)
				if strings.Contains(q.logged(), "2 of 2") || !strings.Contains(q.logged(), "1 of 1 in the queue") {
					t.Fatalf("before the change:\n%s", q.logged())
				}
				tc.change(q)
				time.Sleep(3 * time.Second)
				if tc.want == open {
					opens(t, done)
					return
				}
				stillWaiting(t, done)
				lines := strings.Split(strings.TrimSpace(q.logged()), "\n")
				if !slices.ContainsFunc(lines[len(lines)-2:], func(l string) bool { return strings.Contains(l, tc.want) }) {
					t.Errorf("does not say %q:\n%s", tc.want, q.logged())
				}
			})
		})
	}
}

// TestAControllerThatStopsIsSeenWithoutAReading: the view and the rows do not change any more, and all is UP.
func TestAControllerThatStopsIsSeenWithoutAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t)
		_, done := running(t, q.world)
		ctx, stop := context.WithCancel(t.Context())
		q.renews(ctx)
		q.renewTimes(14, nil) // just past a reading of everything
		stop()
		time.Sleep(42 * time.Second) // 30 s without a renewal, and a look every 10 s
		stillWaiting(t, done)
		if !strings.Contains(q.logged(), "has not renewed Lease kubectl-scylla/kubectl-scylla-controller for more than") {
			t.Errorf("log:\n%s", q.logged())
		}
	})
}

// TestRowsThatNoWatchShowsAreReadAtThePeriod: without rows in the cluster report, those of the datacenter reports count.
func TestRowsThatNoWatchShowsAreReadAtThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(t)
		q.blind = true
		all := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo"}}
		q.update(all, func() { all.Datacenters = nil })
		ctx, done := running(t, q.world)
		q.renews(ctx)
		q.renewTimes(3, nil)
		r := allUp()
		q.update(r, func() { r.Racks = report(saw(idA, "UP", idB, "DOWN"), saw(idA, "UP", idB, "UP")).Racks })
		time.Sleep(61 * time.Second)
		stillWaiting(t, done)
		if !strings.Contains(q.logged(), "DOWN") {
			t.Errorf("log:\n%s", q.logged())
		}
	})
}
