// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

const sys = "kubectl-scylla"

var a, b = types.NamespacedName{Namespace: "ns", Name: "a"}, types.NamespacedName{Namespace: "ns", Name: "b"}

// world is a Lease, a clock, and keepers.
type world struct {
	t      *testing.T
	client client.WithWatch
	clock  *clocktesting.FakeClock
	keys   []types.NamespacedName
	refuse error // returned by every write of the Lease
	stale  error // returned by Alive
}

func newWorld(t *testing.T, keys ...types.NamespacedName) *world {
	w := &world{t: t, keys: keys, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))}
	w.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build(), interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if w.refuse != nil {
				return w.refuse
			}
			return c.Update(ctx, obj, opts...)
		},
	})
	return w
}

func (w *world) keeper(holder string) *Keeper {
	k := New(Options{
		Client: w.client, Live: w.client, Clock: w.clock, Log: slog.New(slog.DiscardHandler), Namespace: sys, Holder: holder,
		Duration: 15 * time.Second, Interval: 2 * time.Second,
		Clusters: func(context.Context) ([]types.NamespacedName, error) { return w.keys, nil },
		Alive:    func() error { return w.stale },
	})
	k.proof.started = w.clock.Now()
	return k
}

func (w *world) round(k *Keeper) {
	w.t.Helper()
	if err := k.Round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// lease returns the holder, the clusters that the Lease lists, and the renewal; all empty when there is no Lease.
func (w *world) lease() (holder string, keeps []string, renewed time.Time) {
	w.t.Helper()
	l := &coordinationv1.Lease{}
	err := w.client.Get(w.t.Context(), types.NamespacedName{Namespace: sys, Name: api.LeaseName}, l)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	return ptr.Deref(l.Spec.HolderIdentity, ""), strings.Fields(l.Annotations[api.AnnotationKeeps]), ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{}).Time
}

func (w *world) want(what, holder string, keys ...types.NamespacedName) time.Time {
	w.t.Helper()
	var marks []string
	for _, k := range keys {
		marks = append(marks, api.KeepMark(k.Namespace, k.Name))
	}
	slices.Sort(marks)
	h, keeps, renewed := w.lease()
	if h != holder || !slices.Equal(keeps, marks) {
		w.t.Errorf("%s: held by %q, keeps %v; want %q, %v", what, h, keeps, holder, marks)
	}
	return renewed
}

func TestANewLeaderProvesNothingBeforeItsFirstAssembly(t *testing.T) {
	w := newWorld(t, a, b)
	old := w.keeper("old")
	old.Assembled(a, w.clock.Now(), nil)
	old.Assembled(b, w.clock.Now(), nil)
	w.round(old)
	was := w.want("the old leader", "old", a, b)

	k := w.keeper("new")
	w.clock.Step(time.Second)
	w.round(k)
	k.Assembled(a, w.clock.Now(), nil)
	w.round(k)
	if now := w.want("one of two assembled", "old", a, b); !now.Equal(was) {
		t.Error("the Lease was renewed before everything was assembled once")
	}
	k.Assembled(b, w.clock.Now(), nil)
	w.round(k)
	w.want("both assembled", "new", a, b)

	w.round(old) // its write is refused: the Lease has changed
	if err := old.Round(t.Context()); !errors.Is(err, errLost) {
		t.Errorf("the old leader goes on: %v", err)
	}
	w.want("after the old leader's round", "new", a, b)
}

func TestAClusterThatFailsFromTheStartHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, a, b)
	k := w.keeper("x")
	for range 7 {
		k.Assembled(a, w.clock.Now(), nil)
		k.Assembled(b, w.clock.Now(), errors.New("the report is rejected"))
		w.round(k)
		w.want("at first", "")
		w.clock.Step(2 * time.Second)
	}
	w.clock.Step(2 * time.Second)
	k.Assembled(a, w.clock.Now(), nil)
	w.round(k)
	w.want("after the Lease's duration", "x", a)
}

func TestAReportThatCannotBeWrittenIsNotKept(t *testing.T) {
	w := newWorld(t, a, b)
	k := w.keeper("x")
	k.Assembled(a, w.clock.Now(), nil)
	k.Assembled(b, w.clock.Now(), nil)
	w.round(k)
	before := w.want("at first", "x", a, b)

	w.clock.Step(2 * time.Second)
	k.Assembled(b, w.clock.Now(), errors.New("denied by a policy"))
	w.round(k)
	if now := w.want("one is rejected", "x", a); !now.After(before) {
		t.Error("the other cluster's Lease is not renewed")
	}
	w.clock.Step(2 * time.Second)
	k.Assembled(b, w.clock.Now(), nil)
	w.round(k)
	w.want("written again", "x", a, b)
}

func TestAnAssemblyProvesNothingForLong(t *testing.T) {
	w := newWorld(t, a, b)
	k := w.keeper("x")
	k.Assembled(a, w.clock.Now(), nil)
	k.Assembled(b, w.clock.Now(), nil)
	w.round(k)
	for range 8 { // the loop hangs in b
		w.clock.Step(2 * time.Second)
		k.Assembled(a, w.clock.Now(), nil)
		w.round(k)
	}
	w.want("a hangs", "x", a)
}

func TestAControllerThatCannotWriteGivesTheLeaseUp(t *testing.T) {
	for name, stop := range map[string]func(*world, *Keeper){
		"reports are rejected":  func(w *world, k *Keeper) { k.Assembled(a, w.clock.Now(), errors.New("exceeded quota")) },
		"the caches may be old": func(w *world, k *Keeper) { w.stale = errors.New("silent"); k.Assembled(a, w.clock.Now(), nil) },
		"the loop hangs":        func(*world, *Keeper) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, a)
			k := w.keeper("x")
			elected := make(chan struct{})
			close(elected)
			ready := func() error { return k.Check(elected)(&http.Request{}) }
			k.Assembled(a, w.clock.Now(), nil)
			w.round(k)
			began := w.want("at first", "x", a)
			var gone time.Time
			for range 20 {
				w.clock.Step(2 * time.Second)
				stop(w, k)
				w.round(k)
				if h, _, _ := w.lease(); h == "" && gone.IsZero() {
					gone = w.clock.Now()
				}
			}
			// The last assembly counts as proof for 15 s, and barriers trust the last renewal for another 15 s.
			if took := gone.Sub(began); gone.IsZero() || took < 15*time.Second || took > 32*time.Second {
				t.Errorf("given up after %s", took)
			}
			if err := ready(); err == nil {
				t.Error("it is ready")
			}
			w.stale = nil
			k.Assembled(a, w.clock.Now(), nil)
			w.round(k)
			w.want("kept again", "x", a)
			if err := ready(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestALeaseThatCannotBeWrittenLapses(t *testing.T) {
	w := newWorld(t, a)
	k := w.keeper("x")
	elected := make(chan struct{})
	k.Assembled(a, w.clock.Now(), nil)
	w.round(k)
	before := w.want("at first", "x", a)
	w.refuse = errors.New("the API server says no")
	for range 10 {
		w.clock.Step(2 * time.Second)
		k.Assembled(a, w.clock.Now(), nil)
		w.round(k)
	}
	if now := w.want("refused", "x", a); !now.Equal(before) {
		t.Error("renewed")
	}
	if err := k.Check(elected)(nil); err != nil {
		t.Errorf("one that waits for its turn: %v", err)
	}
	close(elected)
	if err := k.Check(elected)(nil); err == nil || !strings.Contains(err.Error(), "the API server says no") {
		t.Errorf("ready: %v", err)
	}
}

func TestEveryClusterIsAskedForAgain(t *testing.T) {
	w := newWorld(t, a, b)
	k := w.keeper("x")
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := k.Source().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	w.round(k)
	for range 2 {
		r, _ := q.Get()
		k.Assembled(r.NamespacedName, w.clock.Now(), nil)
		q.Done(r)
	}
	w.round(k)
	if q.Len() != 0 {
		t.Error("asked for again at once")
	}
	w.clock.Step(5 * time.Second)
	w.round(k)
	if q.Len() != 2 {
		t.Errorf("%d of 2 asked for again", q.Len())
	}
}

func TestStartGivesTheLeaseBack(t *testing.T) {
	w := newWorld(t, a)
	k := w.keeper("x")
	k.Assembled(a, w.clock.Now(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Start(ctx) }()
	for h := ""; h != "x"; h, _, _ = w.lease() {
		if t.Context().Err() != nil {
			t.Fatal("never held")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.want("stopped", "")
}

// The Lease carries the address of the views while its holder leads; giving the Lease up removes it.
func TestTheLeaseSaysWhereViewsAreServed(t *testing.T) {
	w := newWorld(t, a)
	at := func() string {
		l := &coordinationv1.Lease{}
		if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: sys, Name: api.LeaseName}, l); err != nil {
			t.Fatal(err)
		}
		return l.Annotations[api.AnnotationViewAt]
	}
	k := w.keeper("one")
	k.o.ViewAt = "10.0.0.7:8443 abc"
	k.Assembled(a, w.clock.Now(), nil)
	if w.round(k); at() != k.o.ViewAt {
		t.Errorf("the Lease says %q", at())
	}
	if k.giveUp(t.Context()); at() != "" {
		t.Errorf("nobody leads, and the Lease says %q", at())
	}
	w.clock.Step(time.Second)
	other := w.keeper("two")
	other.Assembled(a, w.clock.Now(), nil)
	if w.round(other); at() != "" {
		t.Errorf("one that serves no views took over, and the Lease says %q", at())
	}
}

// TestAControllerWhoseGateIsOffListsItsClustersAsUnprotected: it proves nothing of reports, and takes the list away when it stops or is turned on again.
func TestAControllerWhoseGateIsOffListsItsClustersAsUnprotected(t *testing.T) {
	w := newWorld(t, a, b)
	unprotected := func() []string {
		l := &coordinationv1.Lease{}
		if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: sys, Name: api.LeaseName}, l); err != nil {
			t.Fatal(err)
		}
		return strings.Fields(l.Annotations[api.AnnotationUnprotected])
	}
	off := w.keeper("off")
	off.o.Off = true
	w.round(off)
	w.want("off", "off")
	marks := []string{api.KeepMark(a.Namespace, a.Name), api.KeepMark(b.Namespace, b.Name)}
	slices.Sort(marks)
	if got := unprotected(); !slices.Equal(got, marks) {
		t.Errorf("unprotected: %v, want %v", got, marks)
	}
	on := w.keeper("on")
	on.Assembled(a, w.clock.Now(), nil)
	on.Assembled(b, w.clock.Now(), nil)
	w.round(on)
	w.want("on again", "on", a, b)
	if got := unprotected(); len(got) > 0 {
		t.Errorf("unprotected after it was turned on: %v", got)
	}
	again := w.keeper("again")
	again.o.Off = true
	w.round(again)
	again.giveUp(t.Context())
	w.want("released", "")
	if got := unprotected(); len(got) > 0 {
		t.Errorf("unprotected after the end: %v", got)
	}
}
