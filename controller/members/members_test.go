// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ns = "demo"

// Host IDs.
const (
	h0 = "00000000-0000-4000-8000-00000000000a"
	h1 = "11111111-0000-4000-8000-00000000000a"
	h2 = "22222222-0000-4000-8000-00000000000a"
	h7 = "77777777-0000-4000-8000-00000000000a"
)

type bench struct {
	*reconciler
	deletes []client.DeleteOptions
	t       testing.TB
	client  client.WithWatch
	writes  []string
	fail    func(verb string, obj client.Object) error
}

func newBench(t testing.TB, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{t: t}
	note := func(verb string, obj client.Object) error {
		if b.fail != nil {
			if err := b.fail(verb, obj); err != nil {
				return err
			}
		}
		b.writes = append(b.writes, fmt.Sprintf("%s %T %s", verb, obj, obj.GetName()))
		return nil
	}
	b.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := note("create", obj); err != nil {
				return err
			}
			return c.Create(ctx, obj, opts...)
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
			b.deletes = append(b.deletes, *(&client.DeleteOptions{}).ApplyOptions(opts))
			return c.Delete(ctx, obj, opts...)
		},
	})
	log := slog.New(slog.DiscardHandler)
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	b.reconciler = newReconciler(Options{Client: b.client, Live: b.client, Clock: clock, Log: log, Notice: notice.New(b.client, clock, log)})
	return b
}

func (b *bench) reconcile(name string) (reconcile.Result, []string) {
	b.t.Helper()
	b.writes = nil
	res, err := b.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: name}})
	if err != nil {
		b.t.Fatalf("reconcile: %v", err)
	}
	return res, b.writes
}

func (b *bench) service(name string) *corev1.Service {
	b.t.Helper()
	s := &corev1.Service{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: name}, s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) events() (out []string) {
	b.t.Helper()
	var l eventsv1.EventList
	if err := b.client.List(b.t.Context(), &l); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range l.Items {
		out = append(out, e.Reason+" "+e.Regarding.Kind+"/"+e.Regarding.Name+": "+e.Note)
	}
	return out
}

func set(replicas int32) *appsv1.StatefulSet {
	s := stage.Bare(ns, "demo").NewSet("demo-r1", "dc1", "r1", replicas)
	s.UID, s.Spec.VolumeClaimTemplates = "set", nil
	return s
}

func pod(name string, row *api.NodeStatusReport) *corev1.Pod {
	p := stage.Bare(ns, "demo").NewPod(name, "dc1", "r1")
	if row != nil {
		text, err := api.EncodeNodeStatusReport(row)
		if err != nil {
			panic(err)
		}
		p.Annotations = map[string]string{api.AnnotationNodeStatusReport: text}
	}
	return p
}

func sees(hostID string, joined bool, ids ...string) *api.NodeStatusReport {
	r := &api.NodeStatusReport{HostID: hostid.ID(hostID), OwnsTokens: &joined}
	for _, id := range ids {
		r.ObservedNodes = append(r.ObservedNodes, api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: api.NodeStatusUp})
	}
	return r
}

func TestOneServicePerOrdinal(t *testing.T) {
	b := newBench(t, set(2))
	if _, w := b.reconcile("demo-r1"); len(w) != 2 {
		t.Fatalf("written: %q", w)
	}
	s := b.service("demo-r1-1")
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{
				"app.kubernetes.io/managed-by": "kubectl-scylla", "scylla-operator.scylladb.com/scylla-service-type": "member",
				"scylla/cluster": "demo", "scylla/datacenter": "dc1", "scylla/rack": "r1", "scylla/rack-ordinal": "1",
			},
		},
		Spec: corev1.ServiceSpec{ClusterIP: "None", PublishNotReadyAddresses: true, Selector: map[string]string{"statefulset.kubernetes.io/pod-name": "demo-r1-1"}},
	}
	got := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: s.Labels, OwnerReferences: s.OwnerReferences}, Spec: *s.Spec.DeepCopy()}
	if len(got.Spec.Ports) == 0 {
		t.Error("no ports")
	}
	got.Spec.Ports = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 {
		t.Errorf("nothing has changed, and written were %q", w)
	}
}

// TestTheNamespaceIsReadOnce: one request of the API server for all member Services without a controller. Without permission there is one warning, and members get their Services.
func TestTheNamespaceIsReadOnce(t *testing.T) {
	for name, refused := range map[string]error{"permitted": nil, "forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, ns, nil)} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, set(3), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, UID: "of-demo"}})
			reads, log := 0, &strings.Builder{}
			b.o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			b.o.Live = interceptor.NewClient(b.client, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if reads++; refused != nil {
					return refused
				}
				return c.Get(ctx, key, obj, opts...)
			}})
			if _, w := b.reconcile("demo-r1"); len(w) != 3 || reads != 1 || strings.Count(log.String(), "level=WARN") != map[bool]int{true: 1}[refused != nil] {
				t.Errorf("%d reads, written %q\n%s", reads, w, log)
			}
			for i := range 3 {
				if o := metav1.GetControllerOf(b.service(fmt.Sprintf("demo-r1-%d", i))); (o != nil && o.UID == "of-demo") != (refused == nil) {
					t.Errorf("controller of Service %d: %v", i, o)
				}
			}
		})
	}
}

func TestOrdinalsMayBeginElsewhere(t *testing.T) {
	s := set(2)
	s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	b := newBench(t, s)
	_, w := b.reconcile("demo-r1")
	if diff := cmp.Diff([]string{"create *v1.Service demo-r1-5", "create *v1.Service demo-r1-6"}, w); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheNodesWordIsRecorded(t *testing.T) {
	b := newBench(t, set(1), pod("demo-r1-0", sees(h0, false)))
	b.reconcile("demo-r1")
	b.reconcile("demo-r1")
	if a := b.service("demo-r1-0").Annotations; a[api.AnnotationHostID] != h0 || a[api.AnnotationNodeJoined] != "false" {
		t.Errorf("annotations %v", a)
	}
	p := pod("demo-r1-0", sees(h0, true, h0))
	if err := b.client.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	b.reconcile("demo-r1")
	if a := b.service("demo-r1-0").Annotations; a[api.AnnotationNodeJoined] != "true" {
		t.Errorf("annotations %v", a)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 {
		t.Errorf("nothing has changed, and written were %q", w)
	}
	// The volume is lost, and a node with another host ID starts on the new one.
	if err := b.client.Update(t.Context(), pod("demo-r1-0", sees(h7, false))); err != nil {
		t.Fatal(err)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 || b.service("demo-r1-0").Annotations[api.AnnotationHostID] != h0 {
		t.Errorf("the host ID that is to be replaced is lost: %q, %v", w, b.service("demo-r1-0").Annotations)
	}
	// A row that cannot be decoded changes nothing.
	broken := pod("demo-r1-0", nil)
	broken.Annotations = map[string]string{api.AnnotationNodeStatusReport: "nope"}
	if err := b.client.Update(t.Context(), broken); err != nil {
		t.Fatal(err)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 {
		t.Errorf("written: %q", w)
	}
}

// A stale row may be older than the Service, which a person may have changed since; once it is kept up to date it counts.
func TestTheRowOfAStalePodIsNotRecorded(t *testing.T) {
	fresh := pod("demo-r1-0", sees(h0, true, h0))
	for name, change := range map[string]func(*corev1.Pod){
		"deleted": func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"x/y"}
		},
		"failed":               func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"its reporter is gone": func(p *corev1.Pod) { p.Status.ContainerStatuses, p.Status.InitContainerStatuses = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			old := fresh.DeepCopy()
			change(old)
			if !stale(old) || stale(fresh) {
				t.Fatal("the Pods are not as meant")
			}
			for _, recorded := range []string{"", h7} {
				b := newBench(t, set(1))
				b.reconcile("demo-r1")
				if recorded != "" {
					s := b.service("demo-r1-0")
					s.Annotations = map[string]string{api.AnnotationHostID: recorded, api.AnnotationNodeJoined: "false"}
					if err := b.client.Update(t.Context(), s); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.client.Create(t.Context(), withoutDeletion(old)); err != nil {
					t.Fatal(err)
				}
				if old.DeletionTimestamp != nil {
					if err := b.client.Delete(t.Context(), old.DeepCopy()); err != nil {
						t.Fatal(err)
					}
				}
				b.reconcile("demo-r1")
				if got := b.service("demo-r1-0").Annotations[api.AnnotationHostID]; got != recorded {
					t.Errorf("recorded is %q, want %q", got, recorded)
				}
			}
			if !nodeSaysMore(&cluster.Decoder{}).Update(event.UpdateEvent{ObjectOld: old, ObjectNew: fresh}) {
				t.Error("a row that counts again wakes nobody")
			}
		})
	}
}

func withoutDeletion(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.DeletionTimestamp = nil
	return p
}

// grown is a cluster of two joined members whose StatefulSet was then scaled down to one.
func grown(t *testing.T, second *corev1.Pod, first *corev1.Pod) *bench {
	t.Helper()
	b := newBench(t, set(2), pod("demo-r1-0", sees(h0, true, h0, h1)), pod("demo-r1-1", sees(h1, true, h0, h1)))
	b.reconcile("demo-r1")
	b.reconcile("demo-r1")
	for _, p := range []*corev1.Pod{first, second} {
		if p == nil {
			continue
		}
		if err := b.client.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if second == nil {
		if err := b.client.Delete(t.Context(), pod("demo-r1-1", nil)); err != nil {
			t.Fatal(err)
		}
	}
	s := &appsv1.StatefulSet{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "demo-r1"}, s); err != nil {
		t.Fatal(err)
	}
	s.Spec.Replicas = ptr.To(int32(1))
	if err := b.client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheServiceOfAMemberThatPeersListStays(t *testing.T) {
	b := grown(t, nil, nil)
	res, w := b.reconcile("demo-r1")
	if res.RequeueAfter == 0 || len(w) != 1 || !strings.HasPrefix(w[0], "create *v1.Event") {
		t.Errorf("%+v, written: %q", res, w)
	}
	if e := b.events(); len(e) != 1 || !strings.Contains(e[0], "MemberServiceKept Service/demo-r1-1") || !strings.Contains(e[0], "demo-r1-0 lists host ID "+h1) {
		t.Errorf("events %q", e)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 {
		t.Errorf("nothing has changed, and written were %q", w)
	}
	if s := b.service("demo-r1-1"); s.Annotations[api.AnnotationHostID] != h1 {
		t.Errorf("annotations %v", s.Annotations)
	}
}

func TestTheServiceOfANodeThatLeftGoes(t *testing.T) {
	b := grown(t, nil, pod("demo-r1-0", sees(h0, true, h0)))
	if res, w := b.reconcile("demo-r1"); res.RequeueAfter != 0 || len(w) != 1 || w[0] != "delete *v1.Service demo-r1-1" {
		t.Errorf("%+v, written: %q", res, w)
	}
	// Another Service of that name, or one that was changed since, is not the one that was judged.
	if p := b.deletes[len(b.deletes)-1].Preconditions; p == nil || p.UID == nil || p.ResourceVersion == nil || *p.ResourceVersion == "" {
		t.Errorf("deleted with preconditions %+v", p)
	}
}

func TestTheServiceOfAPodThatIsStillThereStays(t *testing.T) {
	b := grown(t, pod("demo-r1-1", sees(h1, true)), pod("demo-r1-0", sees(h0, true, h0)))
	if res, w := b.reconcile("demo-r1"); res.RequeueAfter == 0 || len(w) > 0 {
		t.Errorf("%+v, written: %q", res, w)
	}
}

func TestTheServiceOfAnOpenReplacementStays(t *testing.T) {
	b := grown(t, nil, pod("demo-r1-0", sees(h0, true, h0)))
	s := b.service("demo-r1-1")
	s.Labels[api.LabelReplacingNodeHostID] = h1
	if err := b.client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, w := b.reconcile("demo-r1"); len(w) > 0 {
		t.Errorf("written: %q", w)
	}
}

func TestWhatIsNotOursIsLeftAlone(t *testing.T) {
	theirs := func(change func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "demo-r1-0", Labels: map[string]string{api.LabelCluster: "demo", api.LabelServiceType: api.ServiceTypeMember}}}
		change(s)
		return s
	}
	for name, c := range map[string]struct {
		objects []client.Object
		events  int
	}{
		"a StatefulSet of the Scylla Operator": {objects: []client.Object{func() *appsv1.StatefulSet {
			s := set(1)
			s.Labels[api.LabelManagedBy] = api.ManagedByOperator
			return s
		}()}},
		"a StatefulSet of nobody": {objects: []client.Object{func() *appsv1.StatefulSet {
			s := set(1)
			delete(s.Labels, api.LabelManagedBy)
			return s
		}()}},
		"a StatefulSet without its place": {objects: []client.Object{func() *appsv1.StatefulSet {
			s := set(1)
			delete(s.Labels, api.LabelRack)
			return s
		}()}, events: 1},
		"a StatefulSet that is being deleted": {objects: []client.Object{func() *appsv1.StatefulSet {
			s := set(1)
			s.DeletionTimestamp, s.Finalizers = ptr.To(metav1.Now()), []string{"x/y"}
			return s
		}()}},
		"a Service of the Scylla Operator": {objects: []client.Object{set(1), theirs(func(s *corev1.Service) { s.Labels[api.LabelManagedBy] = api.ManagedByOperator }), pod("demo-r1-0", sees(h0, true))}},
		"a Service of a person":            {objects: []client.Object{set(1), theirs(func(*corev1.Service) {}), pod("demo-r1-0", sees(h0, true))}, events: 1},
		"a Service outside the cache":      {objects: []client.Object{set(1), theirs(func(s *corev1.Service) { s.Labels = nil })}, events: 1},
		"a Service of another StatefulSet": {objects: []client.Object{set(1), theirs(func(s *corev1.Service) {
			s.Labels[api.LabelManagedBy] = api.ManagedByUs
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo", UID: "u", Controller: ptr.To(true)}}
		})}, events: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.objects...)
			_, w := b.reconcile("demo-r1")
			for _, one := range w {
				if !strings.Contains(one, "Event") && (name != "a Service outside the cache" || !strings.HasPrefix(one, "create *v1.Service")) {
					t.Errorf("written: %q", one)
				}
			}
			if e := b.events(); len(e) != c.events {
				t.Errorf("events %q", e)
			}
			if name != "a Service outside the cache" {
				if _, w := b.reconcile("demo-r1"); len(w) > 0 {
					t.Errorf("nothing has changed, and written were %q", w)
				}
			}
		})
	}
}

func TestDriftIsMended(t *testing.T) {
	b := newBench(t, set(1))
	b.reconcile("demo-r1")
	s := b.service("demo-r1-0")
	s.Labels[api.LabelRack] = "other"
	s.Labels["team"] = "a"
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo-r1", UID: "set", Controller: ptr.To(true)},
		{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "theirs"}}
	s.Spec.PublishNotReadyAddresses = false
	if err := b.client.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	b.reconcile("demo-r1")
	s = b.service("demo-r1-0")
	if s.Labels[api.LabelRack] != "r1" || s.Labels["team"] != "a" || !s.Spec.PublishNotReadyAddresses {
		t.Errorf("%+v", s)
	}
	// Garbage collection must not take the Service with the StatefulSet; other owners stay untouched.
	if len(s.OwnerReferences) != 1 || s.OwnerReferences[0].Name != "theirs" {
		t.Errorf("owners %+v", s.OwnerReferences)
	}
}

func TestALostRaceIsRunAgain(t *testing.T) {
	b := newBench(t, set(1), pod("demo-r1-0", sees(h0, true)))
	b.reconcile("demo-r1")
	b.fail = func(verb string, obj client.Object) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "services"}, obj.GetName(), errors.New("changed meanwhile"))
	}
	if res, _ := b.reconcile("demo-r1"); res.RequeueAfter == 0 {
		t.Errorf("%+v", res)
	}
	b.fail = func(string, client.Object) error { return apierrors.NewInternalError(errors.New("etcd is away")) }
	if _, err := b.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: "demo-r1"}}); err == nil ||
		!strings.Contains(err.Error(), "record host ID on service demo/demo-r1-0") {
		t.Errorf("error %v", err)
	}
}

func TestAStatefulSetThatIsGone(t *testing.T) {
	b := newBench(t)
	if res, w := b.reconcile("demo-r1"); res != (reconcile.Result{}) || len(w) > 0 {
		t.Errorf("%+v, written: %q", res, w)
	}
}

func TestTwoStatefulSetsInOnePlace(t *testing.T) {
	other := set(1)
	other.Name, other.UID = "demo-other", "other"
	other.CreationTimestamp = metav1.NewTime(time.Unix(1_800_000_000, 0))
	b := newBench(t, set(1), other)
	b.reconcile("demo-r1")
	if _, w := b.reconcile("demo-other"); len(w) != 1 || !strings.Contains(w[0], "Event") {
		t.Errorf("written: %q", w)
	}
	if e := b.events(); len(e) != 1 || !strings.HasPrefix(e[0], "RackConflict StatefulSet/demo-other: StatefulSet demo-r1 ") {
		t.Errorf("events %q", e)
	}
	current := &appsv1.StatefulSet{}
	if err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "demo-other"}, current); err != nil {
		t.Fatal(err)
	}
	current.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
	if err := b.client.Update(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	if _, w := b.reconcile("demo-other"); len(w) != 1 || w[0] != "create *v1.Service demo-other-1" {
		t.Errorf("ordinals of its own, and written: %q", w)
	}
}

func TestARowThatSaysNothingNewOfItsNodeWakesNobody(t *testing.T) {
	was := pod("demo-r1-0", sees(h0, true, h0))
	for name, c := range map[string]struct {
		is   *corev1.Pod
		want bool
	}{
		"the same":           {pod("demo-r1-0", sees(h0, true, h0)), false},
		"a peer more":        {pod("demo-r1-0", sees(h0, true, h0, h1)), false},
		"another host ID":    {pod("demo-r1-0", sees(h1, true, h0)), true},
		"no tokens any more": {pod("demo-r1-0", sees(h0, false, h0)), true},
		"nothing":            {pod("demo-r1-0", nil), true},
		"another cluster's label": {func() *corev1.Pod {
			p := pod("demo-r1-0", sees(h0, true, h0))
			p.Labels = nil
			return p
		}(), true},
	} {
		if got := nodeSaysMore(&cluster.Decoder{}).Update(event.UpdateEvent{ObjectOld: was, ObjectNew: c.is}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The host ID of a last row is checked like that of a row: one that is another member's is not recorded.
func TestNoHarm30TheLastRowOfAnotherMemberIsNotRecorded(t *testing.T) {
	refused := "connection refused"
	last := func(id hostid.ID) *api.NodeStatusReport {
		return &api.NodeStatusReport{Error: &refused, LastRow: &api.LastRow{
			HostID: id, ObservedNodes: []api.ObservedNodeStatusReport{{HostID: id, Status: api.NodeStatusUp}},
		}}
	}
	for id, want := range map[hostid.ID]string{h0: h0, h1: ""} {
		b := newBench(t, set(2), pod("demo-r1-1", sees(h1, true, h1)))
		b.reconcile("demo-r1")
		b.reconcile("demo-r1")
		if err := b.client.Create(t.Context(), pod("demo-r1-0", last(id))); err != nil {
			t.Fatal(err)
		}
		b.reconcile("demo-r1")
		if got := b.service("demo-r1-0").Annotations[api.AnnotationHostID]; got != want {
			t.Errorf("last row of %s: recorded %q, want %q", id, got, want)
		}
		if e := strings.Join(b.events(), "\n"); strings.Contains(e, "HostIDRefused") != (want == "") {
			t.Errorf("last row of %s: events:\n%s", id, e)
		}
	}
}

// A node reports its own host ID. A text that is no host ID, or the host ID of another member, is an error or a forgery, and is not written to the
// Service.
func TestAHostIDThatCannotBeTheMembersOwnIsNotRecorded(t *testing.T) {
	for name, said := range map[string]string{
		"a command": "x; touch /tmp/p #", "a word": "h0", "hidden characters": h7 + "\u202e", "a UUID in braces": "{" + h7 + "}", "a live peer's": h1, "none is set": "00000000-0000-0000-0000-000000000000",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, set(2), pod("demo-r1-0", sees(h0, true, h0, h1)), pod("demo-r1-1", sees(h1, true, h0, h1)))
			b.reconcile("demo-r1")
			b.reconcile("demo-r1")
			if err := b.client.Update(t.Context(), pod("demo-r1-0", sees(said, true, said, h1))); err != nil {
				t.Fatal(err)
			}
			b.reconcile("demo-r1")
			if got := b.service("demo-r1-0").Annotations[api.AnnotationHostID]; got != h0 {
				t.Errorf("recorded %q", got)
			}
			_, malformed := api.DecodeNodeStatusReport(pod("x", sees(said, true)).Annotations[api.AnnotationNodeStatusReport])
			// Package reports writes the Event for a malformed row.
			if e := strings.Join(b.events(), "\n"); malformed == nil && !strings.Contains(e, "HostIDRefused") {
				t.Errorf("events:\n%s", e)
			}
		})
	}
}
