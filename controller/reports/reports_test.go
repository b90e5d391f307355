// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var text, sees = stage.RowText, stage.Sees

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ns = "demo"

var demo = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "demo"}}

// bench is a reconciler with an API server that records every write.
type bench struct {
	registry *prometheus.Registry
	*reconciler
	t      testing.TB
	client client.WithWatch
	clock  *clocktesting.FakeClock
	writes []string
	fail   func(verb string, obj client.Object) error
	prune  bool
	remote fakeRemotes
}

type fakeRemotes struct {
	states    []remote.State
	published []api.ScyllaDBDatacenterNodesStatusReport
	gone      bool
}

func (f *fakeRemotes) For(context.Context, string, string) ([]remote.State, error) {
	return f.states, nil
}
func (f *fakeRemotes) Publish(_, _ string, r []api.ScyllaDBDatacenterNodesStatusReport, gone bool) {
	f.published, f.gone = r, gone
}

func newBench(t testing.TB, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))}
	note := func(verb string, obj client.Object) error {
		if b.fail != nil {
			if err := b.fail(verb, obj); err != nil {
				return err
			}
		}
		b.writes = append(b.writes, fmt.Sprintf("%s %T %s", verb, obj, obj.GetName()))
		if r, ok := obj.(*api.ScyllaDBDatacenterNodesStatusReport); ok && b.prune {
			for _, rack := range r.Racks {
				for k := range rack.Nodes {
					rack.Nodes[k].Ordinal = 0
				}
			}
		}
		return nil
	}
	b.client = interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithReturnManagedFields().
			WithIndex(&eventsv1.Event{}, fieldUID, func(o client.Object) []string { return []string{string(o.(*eventsv1.Event).Regarding.UID)} }).
			WithStatusSubresource(&api.ScyllaDBStatusReport{}).WithObjects(objects...).Build(),
		interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				if err := note("create", obj); err != nil {
					return err
				}
				return c.Create(ctx, obj, opts...)
			},
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				if err := note("update", obj); err != nil {
					return err
				}
				return c.Update(ctx, obj, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := note("patch", obj); err != nil {
					return err
				}
				return c.Patch(ctx, obj, p, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				if err := note("delete", obj); err != nil {
					return err
				}
				return c.Delete(ctx, obj, opts...)
			},
			SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
				if err := note("apply", &api.ScyllaDBStatusReport{}); err != nil {
					return err
				}
				return c.SubResource(sub).Apply(ctx, obj, opts...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				if err := note(sub, obj); err != nil {
					return err
				}
				return c.SubResource(sub).Update(ctx, obj, opts...)
			},
		})
	b.registry = prometheus.NewRegistry()
	m, err := metrics.New(b.registry)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	b.reconciler = New(Options{Client: b.client, Live: b.client, Clock: b.clock, Notice: notice.New(b.client, b.clock, log), Metrics: m, Log: log, Remotes: &b.remote})
	return b
}

// reconcile lets MinInterval pass, reconciles once, and returns the writes.
func (b *bench) reconcile() []string {
	b.t.Helper()
	b.clock.Step(2 * minInterval)
	b.writes = nil
	if _, err := b.Reconcile(b.t.Context(), demo); err != nil {
		b.t.Fatalf("reconcile: %v", err)
	}
	return b.writes
}

func (b *bench) status() *api.ScyllaDBStatusReport {
	b.t.Helper()
	r := &api.ScyllaDBStatusReport{}
	if err := b.client.Get(b.t.Context(), demo.NamespacedName, r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) report(name string) *api.ScyllaDBDatacenterNodesStatusReport {
	b.t.Helper()
	r := &api.ScyllaDBDatacenterNodesStatusReport{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: name}, r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) names() []string {
	b.t.Helper()
	var l api.ScyllaDBDatacenterNodesStatusReportList
	if err := b.client.List(b.t.Context(), &l); err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, r := range l.Items {
		out = append(out, r.Name)
	}
	return out
}

func (b *bench) events() []string {
	b.t.Helper()
	var l eventsv1.EventList
	if err := b.client.List(b.t.Context(), &l); err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, e := range l.Items {
		out = append(out, e.Reason+" "+e.Regarding.Kind+"/"+e.Regarding.Name+": "+e.Note)
	}
	return out
}

// say changes the row in a Pod's annotation.
func (b *bench) say(pod string, row string) {
	b.t.Helper()
	p := &corev1.Pod{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: pod}, p); err != nil {
		b.t.Fatal(err)
	}
	p.Annotations = map[string]string{api.AnnotationNodeStatusReport: row}
	if err := b.client.Update(b.t.Context(), p); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) condition(kind string) metav1.Condition {
	b.t.Helper()
	c := meta.FindStatusCondition(b.status().Status.Conditions, kind)
	if c == nil {
		return metav1.Condition{}
	}
	return *c
}

func set(name, dc, rack string, replicas int32) *appsv1.StatefulSet {
	s := stage.Bare(ns, "demo").NewSet(name, dc, rack, replicas)
	s.UID, s.Spec = types.UID("uid-"+name), appsv1.StatefulSetSpec{Replicas: &replicas}
	return s
}

// member is a joined member: its Service, and its Pod with a reporter that runs, and no barrier.
func member(name, dc, rack string, ordinal int, hostID, row string) []client.Object {
	c := stage.Bare(ns, "demo")
	pod := c.NewPod(name, dc, rack)
	pod.UID = types.UID("uid-" + name)
	pod.Spec.InitContainers, pod.Status.InitContainerStatuses = pod.Spec.InitContainers[:1], pod.Status.InitContainerStatuses[:1]
	pod.Spec.NodeName, pod.Status.ContainerStatuses, pod.Status.Conditions = "", nil, nil
	pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: row}
	return []client.Object{stage.Joined(c.NewService(name, dc, rack, int32(ordinal)), hostID), pod}
}

func running(ready bool) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: api.ContainerReporter, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

var (
	allUp = stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}]}`) + "\n"
	oneDn = stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"DOWN","since":"2026-11-21T11:59:00Z"}]}`) + "\n"
)

// two is a cluster of two racks with a node each.
func two() []client.Object {
	o := []client.Object{set("demo-r1", "dc1", "r1", 1), set("demo-r2", "dc1", "r2", 1)}
	o = append(o, member("demo-r1-0", "dc1", "r1", 0, stage.UUID("h0"), allUp)...)
	return append(o, member("demo-r2-0", "dc1", "r2", 0, stage.UUID("h1"), allUp)...)
}

func TestReportsOfAHealthyCluster(t *testing.T) {
	b := newBench(t, two()...)
	got := b.reconcile()
	name := scope.ObjectName("demo", "dc1")
	want := []string{
		"create *api.ScyllaDBDatacenterNodesStatusReport " + name,
		"create *api.ScyllaDBStatusReport demo",
		"status *api.ScyllaDBStatusReport demo",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}

	r := b.report(name)
	wantMeta := metav1.ObjectMeta{
		Labels: map[string]string{
			api.LabelManagedBy: api.ManagedByUs, api.LabelDatacenter: "dc1", api.LabelReportSelector: "demo",
		},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo-r1", UID: "uid-demo-r1"},
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo-r2", UID: "uid-demo-r2"},
		},
	}
	if diff := cmp.Diff(wantMeta, metav1.ObjectMeta{Labels: r.Labels, Annotations: r.Annotations, OwnerReferences: r.OwnerReferences}); diff != "" {
		t.Errorf("report's metadata (-want +got):\n%s", diff)
	}

	s := b.status()
	up := sees("UP", stage.UUID("h0"), stage.UUID("h1"))
	if diff := cmp.Diff([]api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{
		{HostID: stage.UUID("h0"), Member: "demo-r1-0", ObservedNodes: up}, {HostID: stage.UUID("h1"), Member: "demo-r2-0", ObservedNodes: up},
	}}}, s.Datacenters); diff != "" {
		t.Errorf("datacenters (-want +got):\n%s", diff)
	}
	if s.Status.Nodes != 2 || s.Status.Up != "2/2" || s.Status.Blockers != 0 || s.Status.FirstBlocker != "" || len(s.Status.Members) != 2 {
		t.Errorf("status %+v", s.Status)
	}
	for _, kind := range []string{api.ConditionAllNodesUp, api.ConditionRowsDecoded, api.ConditionRemotesReachable} {
		if c := b.condition(kind); c.Status != metav1.ConditionTrue {
			t.Errorf("condition %s: %+v", kind, c)
		}
	}
	for range 3 {
		if got := b.reconcile(); len(got) > 0 {
			t.Errorf("nothing has changed, and written were %q", got)
		}
	}
}

func TestANodeSeenDownIsNamed(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	b.say("demo-r1-0", oneDn)
	b.reconcile()
	c := b.condition(api.ConditionAllNodesUp)
	if c.Status != metav1.ConditionFalse || c.Reason != "NodeDown" || !strings.Contains(c.Message, "demo-r1-0") || !strings.Contains(c.Message, "demo-r2-0") {
		t.Errorf("condition %+v", c)
	}
	if s := b.status().Status; s.Blockers != 1 || s.Up != "1/2" || s.FirstBlocker == "" {
		t.Errorf("status %+v", s)
	}
	if e := b.events(); len(e) != 1 || !strings.HasPrefix(e[0], "NotAllNodesUp ScyllaDBStatusReport/demo: ") {
		t.Errorf("events %q", e)
	}
	b.say("demo-r1-0", allUp)
	b.reconcile()
	if c := b.condition(api.ConditionAllNodesUp); c.Status != metav1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
}

// A hundred reporters see a node go DOWN within one second.
func TestAFlipSeenByAHundredCostsTwoWrites(t *testing.T) {
	var objects []client.Object
	var ids []string
	for i := range 100 {
		ids = append(ids, stage.UUID(fmt.Sprintf("h%02d", i)))
	}
	up, down := *text(t, api.NodeStatusReport{ObservedNodes: sees("UP", ids...)}), *text(t, api.NodeStatusReport{ObservedNodes: append(sees("DOWN", ids[0]), sees("UP", ids[1:]...)...)})
	objects = append(objects, set("demo-r1", "dc1", "r1", 100))
	for i, id := range ids {
		objects = append(objects, member(fmt.Sprintf("demo-r1-%d", i), "dc1", "r1", i, id, up)...)
	}
	b := newBench(t, objects...)
	b.reconcile()
	b.clock.Step(time.Minute)
	b.writes = nil

	var due time.Time
	run := func() {
		res, err := b.Reconcile(t.Context(), demo)
		if err != nil {
			t.Fatal(err)
		}
		if res.RequeueAfter > 0 {
			due = b.clock.Now().Add(res.RequeueAfter)
		}
	}
	for i := range ids {
		b.say(fmt.Sprintf("demo-r1-%d", i), down)
		run()
		b.clock.Step(9 * time.Millisecond)
	}
	if due.IsZero() {
		t.Fatal("nothing is due after the storm: the last rows would never be written")
	}
	b.clock.SetTime(due)
	run()
	writes := map[string]int{}
	for _, w := range b.writes {
		if !strings.Contains(w, "Pod") {
			writes[w]++
		}
	}
	for w, n := range writes {
		if strings.Contains(w, "StatusReport") && n > 2 {
			t.Errorf("%d times %s", n, w)
		}
	}
	r := b.report(scope.ObjectName("demo", "dc1"))
	for _, n := range r.Racks[0].Nodes {
		if n.ObservedNodes[0].Status != api.NodeStatusDown {
			t.Fatalf("the row of ordinal %d is an old one", n.Ordinal)
		}
	}
	if writes["update *api.ScyllaDBDatacenterNodesStatusReport "+r.Name] == 0 {
		t.Errorf("writes %v", writes)
	}
}

func TestTheFirstChangeAfterAQuietTimeIsWrittenAtOnce(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	b.clock.Step(time.Minute)
	b.say("demo-r1-0", oneDn)
	b.writes = nil
	if res, err := b.Reconcile(t.Context(), demo); err != nil || res.RequeueAfter != 0 || len(b.writes) == 0 {
		t.Errorf("got %+v, %v, writes %q", res, err, b.writes)
	}
}

func TestAMalformedAnnotationCostsItsRowOnly(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	b.say("demo-r2-0", "nope")
	b.say("demo-r1-0", oneDn)
	b.reconcile()
	r := b.report(scope.ObjectName("demo", "dc1"))
	if n := r.Racks[0].Nodes[0]; len(n.ObservedNodes) != 2 || n.ObservedNodes[1].Status != api.NodeStatusDown {
		t.Errorf("the other row is frozen: %+v", n)
	}
	if n := r.Racks[1].Nodes[0]; n.HostID == nil || *n.HostID != stage.UUID("h1") || len(n.ObservedNodes) != 0 {
		t.Errorf("the malformed row: %+v", n)
	}
	c := b.condition(api.ConditionRowsDecoded)
	if c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "pod demo/demo-r2-0") {
		t.Errorf("condition %+v", c)
	}
	named := false
	for _, e := range b.events() {
		named = named || strings.HasPrefix(e, "NodeStatusReportMalformed Pod/demo-r2-0: ") && strings.Contains(e, "pod demo/demo-r2-0")
	}
	if !named {
		t.Errorf("events %q", b.events())
	}
	if got := b.reconcile(); len(got) > 0 {
		t.Errorf("nothing has changed, and written were %q", got)
	}
	b.say("demo-r2-0", allUp)
	b.say("demo-r1-0", allUp)
	b.reconcile()
	if c := b.condition(api.ConditionRowsDecoded); c.Status != metav1.ConditionTrue {
		t.Errorf("it does not heal: %+v", c)
	}
}

func TestRowsThatNobodyKeepsBlock(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"reporter is not ready":  func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].Ready = false },
		"reporter does not run":  func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].State = corev1.ContainerState{} },
		"pod without a reporter": func(p *corev1.Pod) { p.Status.InitContainerStatuses = nil },
		"pod has failed":         func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"kubernetes node is gone": func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, two()...)
			b.reconcile()
			p := &corev1.Pod{}
			if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "demo-r2-0"}, p); err != nil {
				t.Fatal(err)
			}
			change(p)
			if err := b.client.Status().Update(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			b.reconcile()
			if n := b.report(scope.ObjectName("demo", "dc1")).Racks[1].Nodes[0]; n.HostID == nil || len(n.ObservedNodes) > 0 {
				t.Errorf("the datacenter report takes the row for fresh: %+v", n)
			}
			s := b.status()
			if s.Datacenters[0].Nodes[1].Stale == nil || s.Datacenters[0].Nodes[1].MembershipDigest == "" {
				t.Errorf("the cluster report: member %+v, row %+v", s.Status.Members[1], s.Datacenters[0].Nodes[1])
			}
			if c := b.condition(api.ConditionAllNodesUp); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "demo-r2-0") {
				t.Errorf("condition %+v", c)
			}
		})
	}
}

func TestALostPodKeepsItsMembersRow(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	if err := b.client.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-r2-0"}}); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	r := b.report(scope.ObjectName("demo", "dc1"))
	if len(r.Racks[1].Nodes) != 1 || len(r.Racks[1].Nodes[0].ObservedNodes) != 0 {
		t.Errorf("racks %+v", r.Racks)
	}
	if c := b.condition(api.ConditionAllNodesUp); c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
}

func TestALostReportIsMadeAgainWithItsRows(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	name := scope.ObjectName("demo", "dc1")
	if err := b.client.Delete(t.Context(), b.report(name)); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if r := b.report(name); len(r.Racks[0].Nodes) != 1 {
		t.Errorf("racks %+v", r.Racks)
	}
}

func TestTheScyllaOperatorsClustersAreLeftAlone(t *testing.T) {
	for name, mark := range map[string]func(client.Object){
		"its label": func(o client.Object) { o.GetLabels()[api.LabelManagedBy] = api.ManagedByOperator },
		"its hash":  func(o client.Object) { o.SetAnnotations(map[string]string{api.AnnotationManagedHash: "x"}) },
		"its ownership": func(o client.Object) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "scylla.scylladb.com/v1alpha1", Kind: "ScyllaDBDatacenter", Name: "demo", UID: "u", Controller: ptr.To(true)}})
		},
		"nobody's label": func(o client.Object) { delete(o.GetLabels(), api.LabelManagedBy) },
	} {
		t.Run(name, func(t *testing.T) {
			objects := two()
			for _, o := range objects {
				if s, ok := o.(*appsv1.StatefulSet); ok {
					mark(s)
				}
			}
			theirs := &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-x", Labels: map[string]string{
				api.LabelReportSelector: "demo", api.LabelManagedBy: api.ManagedByOperator}}}
			b := newBench(t, append(objects, theirs)...)
			if got := b.reconcile(); len(got) > 0 {
				t.Errorf("written: %q", got)
			}
		})
	}
}

func TestReportsGoWithTheirCluster(t *testing.T) {
	pushed := &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pushed",
		Labels:      map[string]string{api.LabelReportSelector: "demo", api.LabelManagedBy: api.ManagedByUs, api.LabelRemoteReport: "dc9"},
		Annotations: map[string]string{api.AnnotationCopy: api.CopyPushed}}, DatacenterName: "dc9"}
	b := newBench(t, append(two(), pushed)...)
	b.reconcile()
	for _, n := range []string{"demo-r1", "demo-r2"} {
		if err := b.client.Delete(t.Context(), set(n, "", "", 0)); err != nil {
			t.Fatal(err)
		}
	}
	b.reconcile()
	if diff := cmp.Diff([]string{"pushed"}, b.names()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	// The copies in remotes stay while a Pod or a member Service is left.
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}} {
		if b.remote.gone {
			t.Error("the remotes are told that the cluster is gone")
		}
		if err := b.client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := meta.EachListItem(list, func(o runtime.Object) error { return b.client.Delete(t.Context(), o.(client.Object)) }); err != nil {
			t.Fatal(err)
		}
		b.reconcile()
	}
	if !b.remote.gone {
		t.Error("the remotes are not told that the cluster is gone")
	}
	if err := b.client.Get(t.Context(), demo.NamespacedName, &api.ScyllaDBStatusReport{}); !apierrors.IsNotFound(err) {
		t.Errorf("the cluster report is still there: %v", err)
	}
}

func TestADatacenterWithoutStatefulSetsLeaves(t *testing.T) {
	objects := append(two(), set("demo-b", "dc2", "b", 0))
	b := newBench(t, objects...)
	b.reconcile()
	if n := b.names(); len(n) != 2 {
		t.Fatalf("reports %q", n)
	}
	if err := b.client.Delete(t.Context(), set("demo-b", "", "", 0)); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if diff := cmp.Diff([]string{scope.ObjectName("demo", "dc1")}, b.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSwitchedOffItLeavesNoReportBehind(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	b.o.Off = true
	b.reconcile()
	if n := b.names(); len(n) != 0 {
		t.Errorf("reports that nobody keeps: %q", n)
	}
	if got := b.reconcile(); len(got) > 0 {
		t.Errorf("written: %q", got)
	}
}

func TestALostRaceIsRunAgain(t *testing.T) {
	b := newBench(t, two()...)
	b.reconcile()
	b.say("demo-r1-0", oneDn)
	b.clock.Step(time.Minute)
	gr := schema.GroupResource{Group: api.GroupVersion.Group, Resource: "reports"}
	b.fail = func(verb string, obj client.Object) error {
		if verb == "update" {
			return apierrors.NewConflict(gr, obj.GetName(), errors.New("changed meanwhile"))
		}
		return nil
	}
	res, err := b.Reconcile(t.Context(), demo)
	if err != nil || res.RequeueAfter == 0 {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.fail = nil
	b.reconcile()
	if c := b.condition(api.ConditionAllNodesUp); c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
	b.fail = func(string, client.Object) error { return apierrors.NewInternalError(errors.New("etcd is away")) }
	fail := b.fail
	b.fail = nil
	b.say("demo-r1-0", allUp)
	b.fail = fail
	b.clock.Step(time.Minute)
	if _, err := b.Reconcile(t.Context(), demo); err == nil || !strings.Contains(err.Error(), "update report demo/") {
		t.Errorf("error %v", err)
	}
}

// A definition of the kind that lacks one of its fields, whatever its version.
func TestFieldsThatTheServerTakesOffAreNotWrittenForEver(t *testing.T) {
	b := newBench(t, append([]client.Object{set("demo-r1", "dc1", "r1", 4)}, member("demo-r1-3", "dc1", "r1", 3, stage.UUID("h0"), allUp)...)...)
	b.prune = true
	b.reconcile()
	if n := b.report(scope.ObjectName("demo", "dc1")).Racks[0].Nodes[0]; n.Ordinal != 0 {
		t.Fatal("the server did not prune")
	}
	for _, w := range b.reconcile() {
		if strings.Contains(w, "DatacenterNodesStatusReport") {
			t.Errorf("written again: %q", w)
		}
	}
	b.say("demo-r1-3", oneDn)
	if got := b.reconcile(); !strings.Contains(strings.Join(got, " "), "update *api.ScyllaDBDatacenterNodesStatusReport") {
		t.Errorf("a real change was not written: %q", got)
	}
}

func TestAReportInTheWayIsNotTouched(t *testing.T) {
	name := scope.ObjectName("demo", "dc1")
	theirs := &api.ScyllaDBDatacenterNodesStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{api.LabelReportSelector: "demo"}}}
	b := newBench(t, append(two(), theirs)...)
	_, err := b.Reconcile(t.Context(), demo)
	if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "not ours") {
		t.Errorf("error %v", err)
	}
	for _, w := range b.writes {
		if strings.HasSuffix(w, name) {
			t.Errorf("written: %q", w)
		}
	}
}

func TestOverrideRefIsSaid(t *testing.T) {
	objects := two()
	objects[0].SetAnnotations(map[string]string{api.AnnotationStatusReportOverrideRef: "global"})
	b := newBench(t, objects...)
	b.reconcile()
	if c := b.condition(api.ConditionOverridden); c.Status != metav1.ConditionFalse || c.Reason != "NotFound" || !strings.Contains(c.Message, "global") {
		t.Errorf("condition %+v", c)
	}
	if err := b.client.Create(t.Context(), &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "global"}}); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if c := b.condition(api.ConditionOverridden); c.Status != metav1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
	s := &appsv1.StatefulSet{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "demo-r1"}, s); err != nil {
		t.Fatal(err)
	}
	s.Annotations = nil
	if err := b.client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if c := b.condition(api.ConditionOverridden); c.Type != "" {
		t.Errorf("condition %+v", c)
	}
	// A remote's Secret names it on the Services alone.
	svc := &corev1.Service{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "demo-r2-0"}, svc); err != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&svc.ObjectMeta, api.AnnotationStatusReportOverrideRef, "global")
	if err := b.client.Update(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if c := b.condition(api.ConditionOverridden); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "barriers of dc1 use ScyllaDBStatusReport global") {
		t.Errorf("condition %+v", c)
	}
}

func TestAnEmptyRequestIsThePulse(t *testing.T) {
	b := newBench(t)
	beats := 0
	b.o.Pulse = func() { beats++ }
	if _, err := b.Reconcile(t.Context(), reconcile.Request{}); err != nil || beats != 1 {
		t.Errorf("%d beats, %v", beats, err)
	}
}

func TestAClusterNameThatCannotNameAReportIsSaid(t *testing.T) {
	s := set("x", "dc1", "r1", 1)
	s.Labels[api.LabelCluster] = "My_Cluster"
	b := newBench(t, s)
	if _, err := b.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "My_Cluster"}}); err != nil {
		t.Fatal(err)
	}
	if e := b.events(); len(e) != 1 || !strings.HasPrefix(e[0], "ClusterNameInvalid StatefulSet/x: ") {
		t.Errorf("events %q", e)
	}
}

// A cluster that runs without reporters is handed over: nothing is recorded of its nodes, and yet it must not count as new.
func TestAClusterThatWasJustHandedOverIsNotANewOne(t *testing.T) {
	objects := []client.Object{set("demo-r1", "dc1", "r1", 2)}
	for i, ready := range []bool{true, false} {
		m := member(fmt.Sprintf("demo-r1-%d", i), "dc1", "r1", i, "", "")
		m[0].SetAnnotations(nil)
		m[1].SetAnnotations(nil)
		m[1].(*corev1.Pod).Status = corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: ready}}}
		objects = append(objects, m...)
	}
	b := newBench(t, objects...)
	b.reconcile()
	if diff := cmp.Diff([]api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{}}}}, b.report(scope.ObjectName("demo", "dc1")).Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if !b.blocked() {
		t.Error("nothing blocks")
	}
}

func TestWhatOfAPodWakesTheReports(t *testing.T) {
	was := member("p", "dc1", "r1", 0, stage.UUID("h0"), allUp)[1].(*corev1.Pod)
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"nothing":      {func(*corev1.Pod) {}, false},
		"an address":   {func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }, false},
		"its row":      {func(p *corev1.Pod) { p.Annotations = nil }, true},
		"its reporter": {func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].Ready = false }, true},
		"ScyllaDB is ready": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true}}
		}, true},
		"another Pod": {func(p *corev1.Pod) { p.UID = "new" }, true},
	} {
		is := was.DeepCopy()
		c.change(is)
		if got := podSaysMore.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatOfAStatefulSetWakesTheReports(t *testing.T) {
	was := set("demo-r1", "dc1", "r1", 1)
	for name, c := range map[string]struct {
		change func(*appsv1.StatefulSet)
		want   bool
	}{
		"nothing":            {func(*appsv1.StatefulSet) {}, false},
		"a resource version": {func(s *appsv1.StatefulSet) { s.ResourceVersion = "9" }, false},
		"a label":            {func(s *appsv1.StatefulSet) { s.Labels["x"] = "y" }, true},
		"an override": {func(s *appsv1.StatefulSet) {
			s.Annotations = map[string]string{api.AnnotationStatusReportOverrideRef: "x"}
		}, true},
		"a rollout":           {func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "b" }, true},
		"a Pod gets ready":    {func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }, true},
		"a new Pod template":  {func(s *appsv1.StatefulSet) { s.Generation = 2 }, true},
		"another StatefulSet": {func(s *appsv1.StatefulSet) { s.UID = "new" }, true},
	} {
		is := was.DeepCopy()
		c.change(is)
		if got := setSaysMore.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
