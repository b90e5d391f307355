// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
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
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/controller/remote"
	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
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
	sent   int // bytes of the reports that were written, as JSON
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
	note := func(verb string, obj client.Object, write func() error) error {
		if b.fail != nil {
			if err := b.fail(verb, obj); err != nil {
				return err
			}
		}
		b.writes = append(b.writes, fmt.Sprintf("%s %T %s", verb, obj, obj.GetName()))
		b.sent += sizeOf(obj)
		if r, ok := obj.(*report); ok && b.prune {
			for _, rack := range r.Racks {
				for k := range rack.Nodes {
					rack.Nodes[k].Ordinal = 0
				}
			}
		}
		return write()
	}
	b.client = interceptor.NewClient(
		fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithReturnManagedFields().
			WithIndex(&eventsv1.Event{}, fieldUID, func(o client.Object) []string { return []string{string(o.(*eventsv1.Event).Regarding.UID)} }).
			WithStatusSubresource(&api.ScyllaDBStatusReport{}).WithObjects(objects...).Build(),
		interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				return note("create", obj, func() error { return c.Create(ctx, obj, opts...) })
			},
			Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
				return note("update", obj, func() error { return c.Update(ctx, obj, opts...) })
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				return note("patch", obj, func() error { return c.Patch(ctx, obj, p, opts...) })
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				return note("delete", obj, func() error { return c.Delete(ctx, obj, opts...) })
			},
			SubResourceApply: func(ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
				b.sent += sizeOf(obj)
				return note("apply", &api.ScyllaDBStatusReport{}, func() error { return c.SubResource(sub).Apply(ctx, obj, opts...) })
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
				return note(sub, obj, func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
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

// sizeOf is how many bytes an object takes as JSON.
func sizeOf(o any) int {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return len(text)
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

// assembled is a bench after its first reconciliation.
func assembled(t testing.TB, objects ...client.Object) *bench {
	t.Helper()
	b := newBench(t, objects...)
	b.reconcile()
	return b
}

// quiet fails if a reconciliation writes anything, since nothing has changed.
func (b *bench) quiet() {
	b.t.Helper()
	if got := b.reconcile(); len(got) > 0 {
		b.t.Errorf("nothing has changed, and written were %q", got)
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(name string, o client.Object) {
	b.t.Helper()
	b.must(b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: name}, o))
}

func (b *bench) create(objects ...client.Object) {
	b.t.Helper()
	for _, o := range objects {
		b.must(b.client.Create(b.t.Context(), o))
	}
}

func (b *bench) drop(objects ...client.Object) {
	b.t.Helper()
	for _, o := range objects {
		b.must(b.client.Delete(b.t.Context(), o))
	}
}

// object is a pointer to a kind, to read it.
type object[T any] interface {
	*T
	client.Object
}

// update changes an object; updateStatus changes its status.
func update[T any, P object[T]](b *bench, name string, change func(P)) {
	b.t.Helper()
	o := P(new(T))
	b.get(name, o)
	change(o)
	b.must(b.client.Update(b.t.Context(), o))
}

func updateStatus[T any, P object[T]](b *bench, name string, change func(P)) {
	b.t.Helper()
	o := P(new(T))
	b.get(name, o)
	change(o)
	b.must(b.client.Status().Update(b.t.Context(), o))
}

func (b *bench) status() *api.ScyllaDBStatusReport {
	b.t.Helper()
	r := &api.ScyllaDBStatusReport{}
	b.get("demo", r)
	return r
}

func (b *bench) report(name string) *report {
	b.t.Helper()
	r := &report{}
	b.get(name, r)
	return r
}

// wantReports compares the names of all datacenter reports.
func (b *bench) wantReports(want ...string) {
	b.t.Helper()
	var l api.ScyllaDBDatacenterNodesStatusReportList
	b.must(b.client.List(b.t.Context(), &l))
	var got []string
	for _, r := range l.Items {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func (b *bench) events() []string {
	b.t.Helper()
	var l eventsv1.EventList
	b.must(b.client.List(b.t.Context(), &l))
	var out []string
	for _, e := range l.Items {
		out = append(out, e.Reason+" "+e.Regarding.Kind+"/"+e.Regarding.Name+": "+e.Note)
	}
	return out
}

// said fails unless the text is in so many Events.
func (b *bench) said(want int, text string) {
	b.t.Helper()
	if e := strings.Join(b.events(), "\n"); strings.Count(e, text) != want {
		b.t.Errorf("%q is not %d times in the Events\n%s", text, want, e)
	}
}

// say changes the row in a Pod's annotation.
func (b *bench) say(pod string, row string) {
	b.t.Helper()
	update(b, pod, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationNodeStatusReport: row} })
}

func (b *bench) condition(kind string) metav1.Condition {
	b.t.Helper()
	return ptr.Deref(meta.FindStatusCondition(b.status().Status.Conditions, kind), metav1.Condition{})
}

const absent = metav1.ConditionStatus("")

// says fails unless a condition of the cluster report has that status, and these words in "reason: message\n".
func (b *bench) says(kind string, want metav1.ConditionStatus, words ...string) {
	b.t.Helper()
	c := b.condition(kind)
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Contains(c.Reason+": "+c.Message+"\n", w) })
	if c.Status != want || len(words) > 0 {
		b.t.Errorf("condition %+v, want %s=%q with %q", c, kind, want, words)
	}
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

// own is the name of the report of dc1.
var own = scope.ObjectName("demo", "dc1")

// racks is a cluster with a rack and a node for each row.
func racks(rows ...string) (o []client.Object) {
	for i, row := range rows {
		rack := fmt.Sprintf("r%d", i+1)
		o = append(o, set("demo-"+rack, "dc1", rack, 1))
		o = append(o, member("demo-"+rack+"-0", "dc1", rack, 0, stage.UUID(fmt.Sprintf("h%d", i)), row)...)
	}
	return o
}

func two() []client.Object { return racks(allUp, allUp) }

func TestReportsOfAHealthyCluster(t *testing.T) {
	b := newBench(t, two()...)
	want := []string{
		"create *api.ScyllaDBDatacenterNodesStatusReport " + own,
		"create *api.ScyllaDBStatusReport demo",
		"status *api.ScyllaDBStatusReport demo",
	}
	if diff := cmp.Diff(want, b.reconcile()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}

	r := b.report(own)
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
		b.says(kind, metav1.ConditionTrue)
	}
	for range 3 {
		b.quiet()
	}
}

func TestANodeSeenDownIsNamed(t *testing.T) {
	b := assembled(t, two()...)
	b.say("demo-r1-0", oneDn)
	b.reconcile()
	b.says(api.ConditionAllNodesUp, metav1.ConditionFalse, "NodeDown: ", "demo-r1-0", "demo-r2-0")
	if s := b.status().Status; s.Blockers != 1 || s.Up != "1/2" || s.FirstBlocker == "" {
		t.Errorf("status %+v", s)
	}
	b.said(1, "NotAllNodesUp ScyllaDBStatusReport/demo: ")
	b.say("demo-r1-0", allUp)
	b.reconcile()
	b.says(api.ConditionAllNodesUp, metav1.ConditionTrue)
}

// A node of 400 fails, and within 5 s each of the others writes that into its row: for each row there are 0.03 writes of reports and 4 kB at most.
func TestAFlipOfManyRowsCostsFewWrites(t *testing.T) {
	const n, over = 400, 5 * time.Second // 1,000 nodes: 0.009 writes and 2.9 kB, but 17 s of test
	ids, objects := make([]hostid.ID, n), []client.Object{}
	for i := range ids {
		ids[i] = hostid.ID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", i))
	}
	row := func(status api.NodeStatus) string {
		r := api.NodeStatusReport{}
		for i, id := range ids {
			cell := api.ObservedNodeStatusReport{HostID: id, Status: api.NodeStatusUp}
			if i == n-1 && status != api.NodeStatusUp {
				cell.Status, cell.Since = status, &metav1.Time{Time: time.Date(2026, 11, 21, 11, 59, 0, 0, time.UTC)}
			}
			r.ObservedNodes = append(r.ObservedNodes, cell)
		}
		text, err := api.EncodeNodeStatusReport(&r)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	up, down := row(api.NodeStatusUp), row(api.NodeStatusDown)
	name := func(i int) (rack, member string) {
		rack = fmt.Sprintf("r%d", i%3+1)
		return rack, fmt.Sprintf("demo-%s-%d", rack, i/3)
	}
	for i := range n {
		rack, m := name(i)
		if i < 3 {
			objects = append(objects, set("demo-"+rack, "dc1", rack, n/3+1))
		}
		objects = append(objects, member(m, "dc1", rack, i/3, string(ids[i]), up)...)
	}
	b := assembled(t, objects...)
	b.clock.Step(time.Minute)
	b.writes, b.sent = nil, 0
	var due time.Time
	reconcile := func() {
		if b.clock.Now().Before(due) {
			return
		}
		res, err := b.Reconcile(t.Context(), demo)
		b.must(err)
		due = b.clock.Now().Add(max(res.RequeueAfter, time.Millisecond))
	}
	for i := range n - 1 {
		_, m := name(i)
		sent, writes := b.sent, len(b.writes)
		b.say(m, down)
		b.sent, b.writes = sent, b.writes[:writes] // the reporter's own
		reconcile()
		b.clock.Step(over / n)
	}
	b.clock.Step(2 * minInterval)
	reconcile()
	if s := b.status().Status; s.Up != fmt.Sprintf("%d/%d", n-1, n) {
		t.Fatalf("status %+v", s)
	}
	writes, sent := float64(len(b.writes))/(n-1), float64(b.sent)/(n-1)
	t.Logf("for each row %.4f writes and %.0f bytes", writes, sent)
	if writes > 0.03 || sent > 4000 || len(b.writes) < 4 {
		t.Errorf("for each row %.4f writes and %.0f bytes: %v", writes, sent, b.writes)
	}
}

// The first change after a quiet time is written at once; those that follow are written at the end of the interval.
func TestAFlipCostsTwoWrites(t *testing.T) {
	b := assembled(t, two()...)
	b.clock.Step(time.Minute)
	run := func(want int) time.Duration {
		t.Helper()
		b.writes = nil
		res, err := b.Reconcile(t.Context(), demo)
		b.must(err)
		if n := strings.Count(strings.Join(b.writes, "\n"), "update *api.ScyllaDBDatacenterNodesStatusReport"); n != want {
			t.Errorf("%d writes, want %d: %q", n, want, b.writes)
		}
		return res.RequeueAfter
	}
	b.say("demo-r1-0", oneDn)
	if due := run(1); due != 0 {
		t.Errorf("nothing is left to write, and it is due in %s", due)
	}
	b.clock.Step(10 * time.Millisecond)
	b.say("demo-r2-0", oneDn)
	due := run(0)
	if due == 0 {
		t.Fatal("nothing is due after the storm: the last row would never be written")
	}
	b.clock.Step(due)
	run(1)
	if n := b.report(own).Racks[1].Nodes[0]; n.ObservedNodes[1].Status != api.NodeStatusDown {
		t.Errorf("the last row is an old one: %+v", n)
	}
}

func TestAMalformedAnnotationCostsItsRowOnly(t *testing.T) {
	b := assembled(t, two()...)
	b.say("demo-r2-0", "nope")
	b.say("demo-r1-0", oneDn)
	b.reconcile()
	r := b.report(own)
	if n := r.Racks[0].Nodes[0]; len(n.ObservedNodes) != 2 || n.ObservedNodes[1].Status != api.NodeStatusDown {
		t.Errorf("the other row is frozen: %+v", n)
	}
	if n := r.Racks[1].Nodes[0]; n.HostID == nil || *n.HostID != stage.UUID("h1") || len(n.ObservedNodes) != 0 {
		t.Errorf("the malformed row: %+v", n)
	}
	b.says(api.ConditionRowsDecoded, metav1.ConditionFalse, "pod demo/demo-r2-0")
	b.said(1, "NodeStatusReportMalformed Pod/demo-r2-0: annotation "+
		api.AnnotationNodeStatusReport+" of pod demo/demo-r2-0")
	b.quiet()
	b.say("demo-r2-0", allUp)
	b.say("demo-r1-0", allUp)
	b.reconcile()
	b.says(api.ConditionRowsDecoded, metav1.ConditionTrue)
}

func TestRowsThatNobodyKeepsBlock(t *testing.T) {
	pod := func(change func(*corev1.PodStatus)) func(*bench) {
		return func(b *bench) { updateStatus(b, "demo-r2-0", func(p *corev1.Pod) { change(&p.Status) }) }
	}
	for name, change := range map[string]func(*bench){
		"reporter is not ready":  pod(func(s *corev1.PodStatus) { s.InitContainerStatuses[0].Ready = false }),
		"reporter does not run":  pod(func(s *corev1.PodStatus) { s.InitContainerStatuses[0].State = corev1.ContainerState{} }),
		"pod without a reporter": pod(func(s *corev1.PodStatus) { s.InitContainerStatuses = nil }),
		"pod has failed":         pod(func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed }),
		"kubernetes node is gone": pod(func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			}
		}),
		"pod is gone": func(b *bench) {
			b.drop(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-r2-0"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := assembled(t, two()...)
			change(b)
			b.reconcile()
			if n := b.report(own).Racks[1].Nodes[0]; n.HostID == nil || len(n.ObservedNodes) > 0 {
				t.Errorf("the datacenter report takes the row for fresh: %+v", n)
			}
			row := b.status().Datacenters[0].Nodes[1]
			if name != "pod is gone" && (row.Stale == nil || row.MembershipDigest == "") {
				t.Errorf("the cluster report: row %+v", row)
			}
			b.says(api.ConditionAllNodesUp, metav1.ConditionFalse, "demo-r2-0")
		})
	}
}

func TestALostReportIsMadeAgainWithItsRows(t *testing.T) {
	b := assembled(t, two()...)
	b.drop(b.report(own))
	b.reconcile()
	if r := b.report(own); len(r.Racks[0].Nodes) != 1 {
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
	} {
		t.Run(name, func(t *testing.T) {
			objects := two()
			for _, o := range objects {
				if s, ok := o.(*appsv1.StatefulSet); ok {
					mark(s)
				}
			}
			theirs := &report{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-x", Labels: map[string]string{
				api.LabelReportSelector: "demo", api.LabelManagedBy: api.ManagedByOperator}}}
			newBench(t, append(objects, theirs)...).quiet()
		})
	}
}

func TestReportsGoWithTheirCluster(t *testing.T) {
	b := assembled(t, append(two(), pushedCopy())...)
	b.drop(set("demo-r1", "", "", 0), set("demo-r2", "", "", 0))
	b.reconcile()
	b.wantReports("pushed")
	// The copies in remotes stay while a Pod or a member Service is left.
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}} {
		if b.remote.gone {
			t.Error("the remotes are told that the cluster is gone")
		}
		b.must(b.client.List(t.Context(), list))
		b.must(meta.EachListItem(list, func(o runtime.Object) error { b.drop(o.(client.Object)); return nil }))
		b.reconcile()
	}
	if !b.remote.gone {
		t.Error("the remotes are not told that the cluster is gone")
	}
	if err := b.client.Get(t.Context(), demo.NamespacedName, &api.ScyllaDBStatusReport{}); !apierrors.IsNotFound(err) {
		t.Errorf("the cluster report is still there: %v", err)
	}
}

func TestReportsThatNobodyKeepsGo(t *testing.T) {
	b := assembled(t, append(two(), set("demo-b", "dc2", "b", 0))...)
	b.wantReports(own, scope.ObjectName("demo", "dc2"))
	b.drop(set("demo-b", "", "", 0))
	b.reconcile()
	b.wantReports(own)
	b.o.Off = true
	b.reconcile()
	b.wantReports()
	b.quiet()
}

func TestALostRaceIsRunAgain(t *testing.T) {
	b := assembled(t, two()...)
	b.say("demo-r1-0", oneDn)
	b.clock.Step(time.Minute)
	b.fail = func(verb string, obj client.Object) error {
		if verb == "update" {
			return apierrors.NewConflict(schema.GroupResource{}, obj.GetName(), errors.New("changed meanwhile"))
		}
		return nil
	}
	res, err := b.Reconcile(t.Context(), demo)
	if err != nil || res.RequeueAfter == 0 {
		t.Fatalf("got %+v, %v", res, err)
	}
	b.fail = nil
	b.reconcile()
	b.says(api.ConditionAllNodesUp, metav1.ConditionFalse)
}

// A definition of the kind that lacks one of its fields, whatever its version.
func TestFieldsThatTheServerTakesOffAreNotWrittenForEver(t *testing.T) {
	b := newBench(t, append([]client.Object{set("demo-r1", "dc1", "r1", 4)}, member("demo-r1-3", "dc1", "r1", 3, stage.UUID("h0"), allUp)...)...)
	b.prune = true
	b.reconcile()
	if n := b.report(own).Racks[0].Nodes[0]; n.Ordinal != 0 {
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

func TestOverrideRefIsSaid(t *testing.T) {
	objects := two()
	objects[0].SetAnnotations(map[string]string{api.AnnotationStatusReportOverrideRef: "global"})
	b := assembled(t, objects...)
	b.says(api.ConditionOverridden, metav1.ConditionFalse, "NotFound: ", "global")
	b.create(&api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "global"}})
	b.reconcile()
	b.says(api.ConditionOverridden, metav1.ConditionTrue)
	update(b, "demo-r1", func(s *appsv1.StatefulSet) { s.Annotations = nil })
	b.reconcile()
	b.says(api.ConditionOverridden, absent)
	// A remote's Secret names it on the Services alone.
	update(b, "demo-r2-0", func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationStatusReportOverrideRef, "global")
	})
	b.reconcile()
	b.says(api.ConditionOverridden, metav1.ConditionTrue, "barriers of dc1 use ScyllaDBStatusReport global")
}

func TestAClusterNameThatCannotNameAReportIsSaid(t *testing.T) {
	s := set("x", "dc1", "r1", 1)
	s.Labels[api.LabelCluster] = "My_Cluster"
	b := newBench(t, s)
	key := types.NamespacedName{Namespace: ns, Name: "My_Cluster"}
	_, err := b.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	b.must(err)
	b.said(1, "ClusterNameInvalid StatefulSet/x: ")
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
	b := assembled(t, objects...)
	if diff := cmp.Diff([]api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{}}}}, b.report(own).Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	b.blocks(true)
}

// wakes is whether a change of an object wakes the reports.
func wakes[T client.Object](by predicate.Predicate, was T, change func(T)) bool {
	is := was.DeepCopyObject().(T)
	change(is)
	return by.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is})
}

func TestWhatWakesTheReports(t *testing.T) {
	was := member("p", "dc1", "r1", 0, stage.UUID("h0"), allUp)[1].(*corev1.Pod)
	pod := func(change func(*corev1.Pod)) bool { return wakes(podSaysMore, was, change) }
	rack := func(change func(*appsv1.StatefulSet)) bool {
		return wakes(setSaysMore, set("demo-r1", "dc1", "r1", 1), change)
	}
	for name, c := range map[string]struct{ got, want bool }{
		"a Pod, nothing":      {pod(func(*corev1.Pod) {}), false},
		"a Pod, its address":  {pod(func(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }), false},
		"a Pod, its row":      {pod(func(p *corev1.Pod) { p.Annotations = nil }), true},
		"a Pod, its reporter": {pod(func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].Ready = false }), true},
		"a Pod, ready": {pod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true}}
		}), true},
		"another Pod":        {pod(func(p *corev1.Pod) { p.UID = "new" }), true},
		"a set, nothing":     {rack(func(*appsv1.StatefulSet) {}), false},
		"a set, its version": {rack(func(s *appsv1.StatefulSet) { s.ResourceVersion = "9" }), false},
		"a set, its labels":  {rack(func(s *appsv1.StatefulSet) { s.Labels["x"] = "y" }), true},
		"a set, an override": {rack(func(s *appsv1.StatefulSet) {
			s.Annotations = map[string]string{api.AnnotationStatusReportOverrideRef: "x"}
		}), true},
		"a set, a rollout":      {rack(func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "b" }), true},
		"a set, a Pod is ready": {rack(func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 1 }), true},
		"a set, its template":   {rack(func(s *appsv1.StatefulSet) { s.Generation = 2 }), true},
		"another StatefulSet":   {rack(func(s *appsv1.StatefulSet) { s.UID = "new" }), true},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}
