// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
)

// answersOf has the barrier read objects of these kinds ("Pod") from another API server, which is behind; of all kinds if none is named. every is
// how many of its requests go there: each one, or each second one.
func (w *world) answersOf(old client.WithWatch, every int64, kinds ...string) {
	now, err := w.o.NewClient()
	w.must(err)
	var n atomic.Int64
	from := func(o any) client.WithWatch {
		kind := fmt.Sprintf("%T", o)
		behind := len(kinds) == 0
		for _, k := range kinds {
			behind = behind || strings.HasSuffix(strings.TrimSuffix(kind, "List"), "."+k)
		}
		if behind && n.Add(1)%every == 0 {
			return old
		}
		return now
	}
	c := interceptor.NewClient(w.c, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return from(o).Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, _ client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return from(l).List(ctx, l, opts...)
		},
		Watch: func(ctx context.Context, _ client.WithWatch, l client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			return from(l).Watch(ctx, l, opts...)
		},
	})
	w.o.NewClient = func() (client.WithWatch, error) { return c, nil }
}

// rowsAreTrue has each reporter confirm the row that its Pod has now, and no other one.
func (w *world) rowsAreTrue() {
	w.o.Ask = func(ctx context.Context, member, digest string) error {
		pod := &corev1.Pod{ObjectMeta: named(member)}
		if w.c.Get(ctx, client.ObjectKeyFromObject(pod), pod) != nil {
			return errUnreachable
		}
		if api.ReportDigest(pod.Annotations[api.AnnotationNodeStatusReport]) != digest {
			return heartbeat.ErrOtherRow
		}
		return w.ask(ctx, member, digest)
	}
}

// An API server that is behind answers with what was true: all nodes are UP, and this member has a permit. Its views advance, later than they were
// written. Neither the barrier nor the launcher opens by them.
func TestAttack1OldAnswersOfAnAPIServerOpenNothing(t *testing.T) {
	t.Parallel()
	row := func(w *world, name string, cells []api.ObservedNodeStatusReport) {
		pod := &corev1.Pod{ObjectMeta: named(name)}
		w.update(pod, func() { carry(cells, pod) })
	}
	turned := func(change func(statusView)) func(*world) {
		return func(w *world) {
			w.replay(1, 900, changedView(change))
			w.relays(handsOn(1, 900, 0, change))
		}
	}
	for name, tc := range map[string]struct {
		now   func(*world) // what has become of it
		kinds []string     // which the API server answers with old objects; all if empty
		every int64
		opens bool
	}{
		"nothing has changed":                           {func(*world) {}, nil, 1, true},
		"a node is DOWN":                                {func(w *world) { row(w, "demo-rack1-0", down) }, nil, 1, false},
		"a node is DOWN, old Pods alone":                {func(w *world) { row(w, "demo-rack1-0", down) }, []string{"Pod"}, 1, false},
		"a node is DOWN, each second one":               {func(w *world) { row(w, "demo-rack1-0", down) }, nil, 2, false},
		"a member has joined since":                     {func(w *world) { row(w, "demo-rack1-0", saw(idA, "UP", idB, "UP", idNew, "UP")) }, nil, 1, false},
		"a Pod was deleted":                             {func(w *world) { w.delete(&corev1.Pod{ObjectMeta: named("demo-rack2-0")}) }, nil, 1, false},
		"a Pod was deleted, old Pods alone":             {func(w *world) { w.delete(&corev1.Pod{ObjectMeta: named("demo-rack2-0")}) }, []string{"Pod"}, 1, false},
		"the permit was withdrawn":                      {turned(withoutPermit), nil, 1, false},
		"the permit was withdrawn, an old report alone": {turned(withoutPermit), []string{"ScyllaDBStatusReport"}, 1, false},
		"the permit was withdrawn, each second one":     {turned(withoutPermit), []string{"ScyllaDBStatusReport"}, 2, false},
		"the view holds":                                {turned(func(v statusView) { v.Hold = "RolloutInProgress" }), nil, 1, false},
		"a member is DOWN in the view":                  {turned(nodeDown), nil, 1, false},
		"its Pod is another one":                        {func(w *world) { w.o.PodUID = "uid-2" }, nil, 1, false},
		"its PVC is another one": {func(w *world) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: named("data-" + newcomer)}
			w.delete(claim)
			w.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data-" + newcomer, UID: "claim-2"}})
		}, []string{"ScyllaDBStatusReport", "Pod"}, 1, false},
	} {
		for _, launcher := range []bool{false, true} {
			inBubble(t, fmt.Sprintf("%s, launcher %v", name, launcher), func(t *testing.T) {
				w, behind := withView(t, permittedView()), withView(t, permittedView())
				w.o.Launcher, w.o.Just = launcher, launcher
				w.answersOf(behind.c, tc.every, tc.kinds...)
				w.rowsAreTrue()
				tc.now(w)
				w.runs(alone)
				for range 60 { // what it answers advances, and what is true
					behind.renewTimes(1)
					w.renew(unchanged)
				}
				w.opensOr(tc.opens, 5*time.Minute)
			})
		}
	}
}
