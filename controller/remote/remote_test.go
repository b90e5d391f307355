// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// far is the API server of another Kubernetes cluster.
type far struct {
	client.WithWatch

	mu     sync.Mutex
	down   error
	deny   error // of writes
	writes []string
	wrote  chan string // the same, after the fact
}

func newFar(objects ...client.Object) *far {
	f := &far{wrote: make(chan string, 100)}
	write := func(verb string, obj client.Object) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.deny != nil {
			return f.deny
		}
		f.writes = append(f.writes, verb+" "+obj.GetName())
		return nil
	}
	f.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithReturnManagedFields().WithObjects(objects...).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			f.mu.Lock()
			err := f.down
			f.mu.Unlock()
			if err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := write("create", obj); err != nil {
				return err
			}
			err := c.Create(ctx, obj, opts...)
			f.wrote <- "create " + obj.GetName()
			return err
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := write("update", obj); err != nil {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := write("delete", obj); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
	})
	return f
}

func (f *far) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.writes
	f.writes = nil
	return w
}

func (f *far) set(down, deny error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down, f.deny = down, deny
}

func theirs(name, dc string) *api.ScyllaDBDatacenterNodesStatusReport {
	return &api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "far", Name: name, UID: types.UID("far-" + name), Labels: map[string]string{api.LabelReportSelector: "demo"}},
		DatacenterName: dc,
	}
}

func ours(dc string) api.ScyllaDBDatacenterNodesStatusReport {
	h := "h0"
	return api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: "demo-" + dc, UID: types.UID("near-" + dc), ResourceVersion: "1"},
		DatacenterName: dc, Racks: []api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{HostID: &h}}}},
	}
}

func testRunner(t *testing.T, f *far, clk clock.Clock) (*runner, *int) {
	t.Helper()
	c, err := fromSecret(secret("x"))
	if err != nil {
		t.Fatal(err)
	}
	changes := new(int)
	return newRunner(c, clk, slog.New(slog.DiscardHandler), StaleAfter, func() { *changes++ }, func(config) (client.WithWatch, error) { return f, nil }), changes
}

func TestContactReadsWhatIsTheirsAndPushesWhatTheyLack(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	f := newFar(theirs("own", "dc2"))
	r, changes := testRunner(t, f, clk)
	third := ours("dc3")
	third.Labels = map[string]string{api.LabelRemoteReport: "us"}
	echo := ours("dc2b")
	echo.Labels = map[string]string{api.LabelRemoteReport: "eu"}
	r.Publish([]api.ScyllaDBDatacenterNodesStatusReport{ours("dc1"), ours("dc2"), third, echo}, false)

	contact := func() {
		t.Helper()
		if err, pushErr := r.contact(t.Context()); err != nil || pushErr != nil {
			t.Fatalf("contact: %v, %v", err, pushErr)
		}
	}
	contact()
	if s := r.State(); !s.Read || len(s.Reports) != 1 || s.Reports[0].DatacenterName != "dc2" || *changes != 1 {
		t.Errorf("state %+v, %d changes", s, *changes)
	}
	one, three := scope.ObjectName("demo", "dc1", "external"), scope.ObjectName("demo", "dc3", "external")
	if diff := cmp.Diff([]string{"create " + one, "create " + three}, f.take()); diff != "" {
		t.Errorf("written there (-want +got):\n%s", diff)
	}
	got := &api.ScyllaDBDatacenterNodesStatusReport{}
	if err := f.Get(t.Context(), types.NamespacedName{Namespace: "far", Name: one}, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo", api.LabelRemoteReport: "dc1",
	}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got.Annotations[api.AnnotationCopy] != api.CopyPushed || got.Annotations[api.AnnotationCopyPusher] != "secret-uid" || got.Annotations[api.AnnotationCopyOf] != "demo/demo-dc1" {
		t.Errorf("annotations %v", got.Annotations)
	}

	contact()
	if w := f.take(); len(w) > 0 || *changes != 1 {
		t.Errorf("nothing has changed, and written were %q, told %d times", w, *changes)
	}
	clk.Step(renewInterval)
	contact()
	if w := f.take(); len(w) != 2 {
		t.Errorf("the copies were not renewed: %q", w)
	}
	// A leader that has just started knows only its own report: reports that another controller pushed stay.
	r.Publish([]api.ScyllaDBDatacenterNodesStatusReport{ours("dc1")}, false)
	contact()
	if w := f.take(); len(w) != 0 {
		t.Errorf("written there: %q", w)
	}
	// The remote's own controller has begun to pull that datacenter.
	p := theirs("pulled", "dc1")
	p.Labels[api.LabelRemoteReport], p.Annotations = "near", map[string]string{api.AnnotationCopy: api.CopyPulled}
	if err := f.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	f.take()
	contact()
	if diff := cmp.Diff([]string{"delete " + one}, f.take()); diff != "" {
		t.Errorf("written there (-want +got):\n%s", diff)
	}
	// Nothing is left of the cluster here.
	r.Publish(nil, true)
	contact()
	if diff := cmp.Diff([]string{"delete " + three}, f.take()); diff != "" {
		t.Errorf("written there (-want +got):\n%s", diff)
	}
	// It is back.
	r.Publish([]api.ScyllaDBDatacenterNodesStatusReport{third}, false)
	contact()
	if diff := cmp.Diff([]string{"create " + three}, f.take()); diff != "" {
		t.Errorf("written there (-want +got):\n%s", diff)
	}
	// The remote is removed from the configuration.
	if err := r.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"delete " + three}, f.take()); diff != "" {
		t.Errorf("written there (-want +got):\n%s", diff)
	}
}

func TestARemoteIsOldAfterAWhileAndForAReason(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	f := newFar(theirs("own", "dc2"))
	r, changes := testRunner(t, f, clk)
	step := func() {
		err, pushErr := r.contact(t.Context())
		r.observe(t.Context(), err, pushErr)
	}
	step()
	f.set(fmt.Errorf("dial tcp 10.0.0.1:6443: %w", syscall.ECONNREFUSED), nil)
	began := clk.Now()
	step()
	if s := r.State(); s.Stale || !s.FailedSince.Equal(began) || s.Reason != "its API server refuses connections" {
		t.Errorf("after the first failure: %+v", s)
	}
	clk.Step(StaleAfter)
	*changes = 0
	step()
	if s := r.State(); !s.Stale || !s.Read || len(s.Reports) != 1 || *changes != 1 {
		t.Errorf("after a while: %+v, %d changes", s, *changes)
	}
	step()
	if *changes != 1 {
		t.Errorf("told %d times of one thing", *changes)
	}
	f.set(nil, nil)
	step()
	if s := r.State(); s.Stale || s.Reason != "" || !s.FailedSince.IsZero() || *changes != 2 {
		t.Errorf("back: %+v, %d changes", s, *changes)
	}
}

func TestARemoteThatMayOnlyBeReadIsNotOld(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	f := newFar(theirs("own", "dc2"))
	r, _ := testRunner(t, f, clk)
	r.Publish([]api.ScyllaDBDatacenterNodesStatusReport{ours("dc1")}, false)
	f.set(nil, apierrors.NewForbidden(schema.GroupResource{Resource: "reports"}, "x", errors.New("no")))
	for range 5 {
		clk.Step(StaleAfter)
		err, pushErr := r.contact(t.Context())
		r.observe(t.Context(), err, pushErr)
	}
	if s := r.State(); s.Stale || s.PushReason != "its API server forbids reading or writing reports" {
		t.Errorf("state %+v", s)
	}
}

func TestTheClusterItselfIsNoRemote(t *testing.T) {
	self := theirs("own", "dc1")
	self.UID = "near-dc1"
	f := newFar(self)
	r, _ := testRunner(t, f, clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0)))
	r.Publish([]api.ScyllaDBDatacenterNodesStatusReport{ours("dc1")}, false)
	if err, _ := r.contact(t.Context()); !errors.Is(err, errSelf) {
		t.Errorf("error %v", err)
	}
	if w := f.take(); len(w) > 0 {
		t.Errorf("written: %q", w)
	}
}

// near is the local API server with a Set that runs on it.
type near struct {
	*Set
	client client.WithWatch
	log    *bytes.Buffer
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newNear(t *testing.T, f *far, objects ...client.Object) *near {
	t.Helper()
	n := &near{client: fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...).Build(), log: &bytes.Buffer{}}
	selector, err := labels.Parse(api.LabelRemoteKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	log := slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return n.log.Write(b)
	}), nil))
	n.Set = New(Options{
		Client: n.client, Notice: notice.New(n.client, clock.RealClock{}, log), Log: log, Clock: clock.RealClock{},
		Selector: selector, Namespace: "sys", Dial: func(config) (client.WithWatch, error) { return f, nil },
	})
	n.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	if err := n.Source().Start(t.Context(), n.queue); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := n.Start(ctx); err != nil {
			t.Errorf("start: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-done; n.queue.ShutDown() })
	return n
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

var secretKey = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "sys", Name: "eu-secret"}}

func (n *near) reconcile(t *testing.T) {
	t.Helper()
	if _, err := n.Reconcile(t.Context(), secretKey); err != nil {
		t.Fatal(err)
	}
}

// told waits until the Set notifies the other controller about the cluster.
func (n *near) told(t *testing.T) {
	t.Helper()
	got, _ := n.queue.Get()
	n.queue.Done(got)
	n.queue.Forget(got)
	if want := (types.NamespacedName{Namespace: "demo", Name: "demo"}); got.NamespacedName != want {
		t.Errorf("told of %v", got)
	}
}

func (n *near) states(t *testing.T) []State {
	t.Helper()
	s, err := n.For(t.Context(), "demo", "demo")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARemoteFromItsSecretToItsEnd(t *testing.T) {
	f := newFar(theirs("own", "dc2"))
	n := newNear(t, f, secret(kubeconfig("{token: "+token+"}")))
	if s := n.states(t); len(s) != 1 || s[0].Name != "eu" || s[0].Read || s[0].Stale {
		t.Fatalf("before it was asked: %+v", s)
	}
	n.Publish("demo", "demo", nil, false)
	n.reconcile(t)
	n.told(t)
	if s := n.states(t); len(s) != 1 || !s[0].Read || len(s[0].Reports) != 1 {
		t.Fatalf("after it was asked: %+v", s)
	}
	n.reconcile(t) // the same again changes nothing

	// The watch sees a change in the remote, long before the interval is over.
	r := theirs("second", "dc3")
	if err := f.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	n.told(t)
	if s := n.states(t); len(s[0].Reports) != 2 {
		t.Errorf("reports %+v", s[0].Reports)
	}

	// A report that is published here arrives in the remote.
	n.Publish("demo", "demo", []api.ScyllaDBDatacenterNodesStatusReport{ours("dc1")}, false)
	name := types.NamespacedName{Namespace: "far", Name: scope.ObjectName("demo", "dc1", "external")}
	for got := ""; got != "create "+name.Name; {
		select {
		case got = <-f.wrote:
		case <-t.Context().Done():
			t.Fatal("our report never arrived")
		}
	}
	if err := f.Get(t.Context(), name, &api.ScyllaDBDatacenterNodesStatusReport{}); err != nil {
		t.Fatal(err)
	}

	if err := n.client.Delete(t.Context(), secret("")); err != nil {
		t.Fatal(err)
	}
	n.reconcile(t)
	n.told(t)
	if s := n.states(t); len(s) != 0 {
		t.Errorf("still configured: %+v", s)
	}
	if err := f.Get(t.Context(), name, &api.ScyllaDBDatacenterNodesStatusReport{}); !apierrors.IsNotFound(err) {
		t.Errorf("our copy was left behind: %v", err)
	}
	if strings.Contains(n.log.String(), token) {
		t.Errorf("the log tells the secret:\n%s", n.log)
	}
}

// The first Secret by name decides which report joins the datacenters of a cluster, whether or not its kubeconfig is usable.
func TestTheReportThatASecretNames(t *testing.T) {
	named := func(name, cluster, report string) *corev1.Secret {
		s := secret("not usable")
		s.Name, s.UID, s.Labels[api.LabelCluster] = name, "", cluster
		if report != "" {
			s.Annotations[api.AnnotationStatusReportOverrideRef] = report
		}
		return s
	}
	n := newNear(t, newFar(), named("a", "demo", ""), named("c", "demo", "third"), named("b", "demo", "second"), named("d", "other", "fourth"))
	for cluster, want := range map[string][2]string{"demo": {"second", "b"}, "other": {"fourth", "d"}, "none": {}} {
		report, from, err := n.Joined(t.Context(), "demo", cluster)
		if err != nil || (want != [2]string{report, from}) {
			t.Errorf("%s: %q from %q, %v", cluster, report, from, err)
		}
	}
	if key := n.LocalCluster(named("b", "demo", "second")); key.String() != "demo/demo" {
		t.Errorf("the Secret is of %s", key)
	}
	if key := n.LocalCluster(&corev1.Secret{}); key.Name != "" {
		t.Errorf("a Secret of nobody is of %s", key)
	}
}

// A list of a namespace that is not in the cache is an error, which would be retried without end.
func TestASecretOfANamespaceThatIsNotManaged(t *testing.T) {
	n := newNear(t, newFar(), secret(kubeconfig("{token: "+token+"}")))
	n.o.Namespaces = []string{"other"}
	n.reconcile(t)
	var events eventsv1.EventList
	if err := n.client.List(t.Context(), &events, client.InNamespace("sys")); err != nil || len(events.Items) != 1 ||
		events.Items[0].Note != "the controller does not manage namespace demo of its local cluster: add it to --namespaces" {
		t.Errorf("%v, Events %+v", err, events.Items)
	}
	if len(n.runners) != 0 {
		t.Errorf("%d remotes are read", len(n.runners))
	}
	if key := n.LocalCluster(secret(token)); key.Namespace != "" {
		t.Errorf("cluster %s is looked at", key)
	}
	n.o.Namespaces = []string{"other", "demo"}
	if key := n.LocalCluster(secret(token)); key.String() != "demo/demo" {
		t.Errorf("the Secret is of %s", key)
	}
}

func TestASecretThatIsNotUsableIsStillARemote(t *testing.T) {
	n := newNear(t, newFar(), secret(token))
	n.reconcile(t)
	n.told(t)
	s := n.states(t)
	if len(s) != 1 || !s[0].Stale || !strings.Contains(s[0].Reason, "is not a kubeconfig") {
		t.Errorf("states %+v", s)
	}
	if strings.Contains(n.log.String(), token) || strings.Contains(s[0].Reason, token) {
		t.Errorf("the secret is told:\n%s", n.log)
	}
	// The Secret is corrected.
	good := secret(kubeconfig("{token: " + token + "}"))
	current := &corev1.Secret{}
	if err := n.client.Get(t.Context(), secretKey.NamespacedName, current); err != nil {
		t.Fatal(err)
	}
	current.Data = good.Data
	if err := n.client.Update(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	n.reconcile(t)
	n.told(t)
	if s := n.states(t); len(s) != 1 || !s[0].Read {
		t.Errorf("states %+v", s)
	}
}

func TestTwoSecretsOfOneNameAreOneRemote(t *testing.T) {
	other := secret(kubeconfig("{token: x}"))
	other.Name = "zz"
	n := newNear(t, newFar(), secret(kubeconfig("{token: x}")), other)
	if s := n.states(t); len(s) != 1 {
		t.Errorf("states %+v", s)
	}
}
