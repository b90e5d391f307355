// SPDX-License-Identifier: Apache-2.0

package force

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
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
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/controller/notice"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	key  = api.AnnotationForceProceed
	from = api.AnnotationForcePropagatedFrom
	why  = api.AnnotationForceReason
	over = api.AnnotationForceOverrides
	vol  = api.AnnotationForceVolume
)

func TestPropagate(t *testing.T) {
	src := func(name string, kv ...string) Source {
		a := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			a[kv[i]] = kv[i+1]
		}
		return Source{Name: name, Annotations: a}
	}
	m := func(kv ...string) map[string]string { return src("", kv...).Annotations }
	for name, c := range map[string]struct {
		service map[string]string
		sources []Source
		want    map[string]string
	}{
		"nobody says anything":                     {sources: []Source{src("StatefulSet/a")}},
		"copied from the StatefulSet":              {service: m("x", "y"), sources: []Source{src("StatefulSet/a", key, "true")}, want: m("x", "y", key, "true", from, "StatefulSet/a")},
		"copied with its reason":                   {sources: []Source{src("StatefulSet/a", key, "true", why, "disk lost")}, want: m(key, "true", from, "StatefulSet/a", why, "disk lost")},
		"the nearest decides":                      {sources: []Source{src("StatefulSet/a", key, "true"), src("ScyllaDBDatacenter/d", key, "nonsense")}, want: m(key, "true", from, "StatefulSet/a")},
		"a farther one when the nearest is silent": {sources: []Source{src("StatefulSet/a"), src("ScyllaDBDatacenter/d", key, "true")}, want: m(key, "true", from, "ScyllaDBDatacenter/d")},
		"a value that opens nothing is shown":      {sources: []Source{src("StatefulSet/a", key, "yes")}, want: m(key, "yes", from, "StatefulSet/a")},
		"mended":                                   {service: m(key, "yes", from, "StatefulSet/a"), sources: []Source{src("StatefulSet/a", key, "true")}, want: m(key, "true", from, "StatefulSet/a")},
		"changed on the Service, put right":        {service: m(key, "false", from, "StatefulSet/a"), sources: []Source{src("StatefulSet/a", key, "true")}, want: m(key, "true", from, "StatefulSet/a")},
		"taken back":                               {service: m(key, "true", from, "StatefulSet/a", why, "disk lost", "x", "y"), sources: []Source{src("StatefulSet/a")}, want: m("x", "y")},
		"a reason that was withdrawn":              {service: m(key, "true", from, "StatefulSet/a", why, "disk lost"), sources: []Source{src("StatefulSet/a", key, "true")}, want: m(key, "true", from, "StatefulSet/a")},
		"set by hand and nothing above":            {service: m(key, "true"), sources: []Source{src("StatefulSet/a")}, want: m(key, "true")},
		"set by hand and the same above":           {service: m(key, "true"), sources: []Source{src("StatefulSet/a", key, "true")}, want: m(key, "true")},
		"set by hand and another above":            {service: m(key, "true"), sources: []Source{src("StatefulSet/a", key, "false")}, want: m(key, "true")},
		"a marker without a value is tidied":       {service: m(from, "StatefulSet/a"), sources: []Source{src("StatefulSet/a")}},
		"copied with what it overrides":            {sources: []Source{src("StatefulSet/a", key, "true", over, "[1]")}, want: m(key, "true", from, "StatefulSet/a", over, "[1]")},
		"forced again above":                       {service: m(key, "true", from, "StatefulSet/a", over, "[1]"), sources: []Source{src("StatefulSet/a", key, "true", over, "[2]")}, want: m(key, "true", from, "StatefulSet/a", over, "[2]")},
		"the volume stays with its record":         {service: m(key, "true", from, "StatefulSet/a", over, "[1]", vol, "v"), sources: []Source{src("StatefulSet/a", key, "true", over, "[1]")}, want: m(key, "true", from, "StatefulSet/a", over, "[1]", vol, "v")},
		"forced again above for any volume":        {service: m(key, "true", from, "StatefulSet/a", over, "[1]", vol, "v"), sources: []Source{src("StatefulSet/a", key, "true", over, "[2]")}, want: m(key, "true", from, "StatefulSet/a", over, "[2]")},
		"taken back with its volume":               {service: m(key, "true", from, "StatefulSet/a", over, "[1]", vol, "v"), sources: []Source{src("StatefulSet/a")}},
		"recorded of a copy":                       {service: m(key, "true", from, "StatefulSet/a", over, "[1]"), sources: []Source{src("StatefulSet/a", key, "true")}, want: m(key, "true", from, "StatefulSet/a", over, "[1]")},
		"recorded of a copy of another":            {service: m(key, "true", from, "StatefulSet/a", over, "[1]"), sources: []Source{src("StatefulSet/a"), src("ScyllaDBDatacenter/d", key, "true")}, want: m(key, "true", from, "ScyllaDBDatacenter/d")},
		"recorded, and taken back":                 {service: m(key, "true", from, "StatefulSet/a", over, "[1]"), sources: []Source{src("StatefulSet/a")}},
		"recorded of what is set by hand":          {service: m(key, "true", over, "[1]"), sources: []Source{src("StatefulSet/a", key, "true", over, "[2]")}, want: m(key, "true", over, "[1]")},
		"a record without a force":                 {service: m(over, "[1]"), sources: []Source{src("StatefulSet/a")}},
		"a record of a value that opens nothing":   {service: m(key, "no", over, "[1]"), sources: []Source{src("StatefulSet/a")}, want: m(key, "no")},
		"the reference to a report too": {
			sources: []Source{src("StatefulSet/a"), src("ScyllaDBDatacenter/d", api.AnnotationStatusReportOverrideRef, "global")},
			want:    m(api.AnnotationStatusReportOverrideRef, "global", api.AnnotationOverrideRefPropagatedFrom, "ScyllaDBDatacenter/d"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(c.service)
			got := propagate(c.service, c.sources)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, c.service); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			if diff := cmp.Diff(got, propagate(got, c.sources)); diff != "" {
				t.Errorf("a second time is not the same:\n%s", diff)
			}
		})
	}
}

func TestPropagateTakesBackExactlyWhatItGave(t *testing.T) {
	values := rapid.SampledFrom([]string{"", "true", "false", "yes"})
	rapid.Check(t, func(t *rapid.T) {
		service := map[string]string{"other": "1"}
		if rapid.Bool().Draw(t, "by hand") {
			service[key] = values.Draw(t, "value")
		}
		start := maps.Clone(service)
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			var sources []Source
			for _, name := range []string{"StatefulSet/a", "ScyllaDBDatacenter/d", "ScyllaCluster/d"} {
				s := Source{Name: name, Annotations: map[string]string{}}
				if rapid.Bool().Draw(t, name) {
					s.Annotations[key] = values.Draw(t, "value")
				}
				sources = append(sources, s)
			}
			service = propagate(service, sources)
		}
		if diff := cmp.Diff(start, propagate(service, nil)); diff != "" {
			t.Fatalf("(-start +end):\n%s", diff)
		}
	})
}

// The Scylla Operator merges the datacenter's annotations into the Service. Our controller does the same and records the origin in a marker
// annotation; where the outcome differs, the case gives the reason.
func TestForceAgreesWithTheScyllaOperator(t *testing.T) {
	data, err := os.ReadFile("../../test/simulation/vectors/force-propagation-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		ID    string
		Input struct {
			DatacenterAnnotations, ExistingServiceAnnotations, NodeServiceAnnotations, RackNodeServiceAnnotations map[string]string
		}
		Expected struct {
			ForcePresent bool
			ForceValue   string
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 10 {
		t.Fatalf("%d cases, want 10", len(cases))
	}
	type outcome struct {
		present    bool
		value, why string
	}
	differences := map[string]outcome{
		"force/changed to false on datacenter, service has true: overwritten, barrier then errors": {true, "true",
			"what a person set on the Service itself stays: nothing there says that it came from above"},
		"force/datacenter annotation key with a trailing dash removes it from the service": {true, "true",
			"no API server takes such a key; removing the annotation above takes back what was copied"},
		"force/set on datacenter, nodeService annotations given but empty map": {true, "true",
			"plain StatefulSets have no list of annotations for Services that would switch propagation off by accident"},
		"force/set on datacenter, nodeService annotations given: NOT propagated": {true, "true",
			"plain StatefulSets have no list of annotations for Services that would switch propagation off by accident"},
		"force/set through nodeService annotations": {false, "",
			"that list belongs to the Scylla Operator; here the Service itself takes the annotation"},
		"force/set through rack nodeService annotations": {false, "",
			"that list belongs to the Scylla Operator; here the Service itself takes the annotation"},
	}
	used := 0
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			got := propagate(c.Input.ExistingServiceAnnotations, []Source{{Name: "StatefulSet/a"}, {Name: "ScyllaDBDatacenter/d", Annotations: c.Input.DatacenterAnnotations}})
			want := outcome{present: c.Expected.ForcePresent, value: c.Expected.ForceValue}
			if d, ok := differences[c.ID]; ok {
				used++
				t.Log(d.why)
				if d.present == want.present && d.value == want.value {
					t.Error("no difference any more: take it off the list")
				}
				want = d
			}
			if v, ok := got[key]; ok != want.present || v != want.value {
				t.Errorf("got %q (%v), want %q (%v)", v, ok, want.value, want.present)
			}
		})
	}
	if used != len(differences) {
		t.Errorf("%d of %d differences belong to a case", used, len(differences))
	}
}

type bench struct {
	*reconciler
	t      testing.TB
	client client.WithWatch
	writes []string
	fail   error
}

var demo = reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "demo", Name: "demo"}}

func newBench(t testing.TB, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{t: t}
	scheme := kube.NewScheme()
	for _, gvk := range kinds {
		scheme.AddKnownTypeWithName(gvk, &metav1.PartialObjectMetadata{})
		scheme.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &metav1.PartialObjectMetadataList{})
	}
	b.client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			b.writes = append(b.writes, fmt.Sprintf("create %T", obj))
			return c.Create(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if b.fail != nil {
				return b.fail
			}
			b.writes = append(b.writes, "patch "+obj.GetName())
			return c.Patch(ctx, obj, p, opts...)
		},
	})
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	b.reconciler = newReconciler(Options{Client: b.client, Metrics: m, Log: log, Kinds: func() []schema.GroupVersionKind { return kinds },
		Notice: notice.New(b.client, clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0)), log)})
	return b
}

func (b *bench) reconcile() []string {
	b.t.Helper()
	b.writes = nil
	if _, err := b.Reconcile(b.t.Context(), demo); err != nil {
		b.t.Fatalf("reconcile: %v", err)
	}
	return b.writes
}

func (b *bench) annotations(service string) map[string]string {
	b.t.Helper()
	s := &corev1.Service{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: "demo", Name: service}, s); err != nil {
		b.t.Fatal(err)
	}
	return s.Annotations
}

// annotate changes annotations of a StatefulSet; an empty value removes.
func (b *bench) annotate(name string, kv ...string) {
	b.t.Helper()
	s := &appsv1.StatefulSet{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: "demo", Name: name}, s); err != nil {
		b.t.Fatal(err)
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	for i := 0; i < len(kv); i += 2 {
		if s.Annotations[kv[i]] = kv[i+1]; kv[i+1] == "" {
			delete(s.Annotations, kv[i])
		}
	}
	if err := b.client.Update(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
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
	slices.Sort(out)
	return out
}

func set(name string) *appsv1.StatefulSet {
	s := stage.Bare("demo", "demo").NewSet(name, "dc1", "r1", 1)
	s.UID = types.UID(name)
	return s
}

func service(name, set string) *corev1.Service {
	s := stage.Bare("demo", "demo").NewService(name, "dc1", "r1", 0)
	s.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: types.UID(set), Controller: ptr.To(true)}}
	return s
}

func demoCluster() []client.Object {
	return []client.Object{set("demo-r1"), set("demo-r2"), service("demo-r1-0", "demo-r1"), service("demo-r1-1", "demo-r1"), service("demo-r2-0", "demo-r2")}
}

// startedPod is a Pod whose ScyllaDB has started: its reporter has ScyllaDB's operation mode.
func startedPod(name, mode string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{api.LabelCluster: "demo"},
			Annotations: map[string]string{api.AnnotationNodeStatusReport: `{"operationMode":"` + mode + `"}`}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: api.ContainerScyllaDB}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			{Name: api.ContainerScyllaDB, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
}

// TestNoHarm12AForceIsForOneStart: it stayed on the Service, and let the next start pass, such as
// that of a new Pod with an empty volume.
func TestNoHarm12AForceIsForOneStart(t *testing.T) {
	own := service("demo-r1-0", "demo-r1")
	own.Annotations = map[string]string{key: "true", why: "drill", "other": "stays"}
	waits := service("demo-r1-1", "demo-r1")
	waits.Annotations = map[string]string{key: "true"}
	above := set("demo-r2")
	above.Annotations = map[string]string{key: "true"}
	b := newBench(t, set("demo-r1"), above, own, waits, service("demo-r2-0", "demo-r2"), service("demo-r2-1", "demo-r2"),
		startedPod("demo-r1-0", "STARTING"), startedPod("demo-r1-1", ""), startedPod("demo-r2-0", "NORMAL"))
	b.reconcile()
	for name, want := range map[string]map[string]string{
		"demo-r1-0": {"other": "stays"},
		"demo-r1-1": {key: "true"}, // its container runs, and ScyllaDB has not answered
		"demo-r2-0": {},
		"demo-r2-1": {key: "true", from: "StatefulSet/demo-r2"}, // it has no Pod
	} {
		if diff := cmp.Diff(want, b.annotations(name), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if !slices.ContainsFunc(b.events(), func(e string) bool { return strings.HasPrefix(e, "ForceProceedSpent Service/demo-r1-0: ") }) {
		t.Errorf("no Event says that the force is spent: %q", b.events())
	}
	if w := b.reconcile(); len(w) > 0 {
		t.Errorf("a second time it wrote %q", w)
	}
}

// A force on a StatefulSet was copied again to each later Pod of members that had joined, and lets it pass: with an empty volume, as a new node.
func TestAForceFromAboveIsForNewMembers(t *testing.T) {
	for _, owner := range []string{"StatefulSet", "ScyllaDBDatacenter", "ScyllaCluster"} {
		joined, left, fresh, own := service("demo-r1-0", "demo-r1"), service("demo-r1-1", "demo-r1"), service("demo-r1-2", "demo-r1"), service("demo-r1-3", "demo-r1")
		joined.Annotations = map[string]string{api.AnnotationNodeJoined: "true", api.AnnotationHostID: "h0"}
		left.Annotations = map[string]string{api.AnnotationNodeJoined: "true", key: "true", from: owner + "/demo", over: "[]"} // copied before it joined
		own.Annotations = map[string]string{api.AnnotationNodeJoined: "true", key: "true"}                                     // a person forces its restart
		above := set("demo-r1")
		objects := []client.Object{above, joined, left, fresh, own}
		want := owner + "/demo"
		if a := map[string]string{key: "true", over: "[1]"}; owner == "StatefulSet" {
			above.Annotations, want = a, "StatefulSet/demo-r1"
		} else {
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", Annotations: a}}
			o.SetGroupVersionKind(kinds[slices.IndexFunc(kinds, func(k schema.GroupVersionKind) bool { return k.Kind == owner })])
			objects = append(objects, o)
		}
		b := newBench(t, objects...)
		b.reconcile()
		for name, want := range map[string]map[string]string{
			"demo-r1-0": {api.AnnotationNodeJoined: "true", api.AnnotationHostID: "h0"},
			"demo-r1-1": {api.AnnotationNodeJoined: "true"},
			"demo-r1-2": {key: "true", from: want, over: "[1]"},
			"demo-r1-3": {api.AnnotationNodeJoined: "true", key: "true"},
		} {
			if diff := cmp.Diff(want, b.annotations(name)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", owner, name, diff)
			}
		}
		if w := slices.DeleteFunc(b.writes, func(w string) bool { return w != "patch demo-r1-2" }); len(w) != 1 {
			t.Errorf("the force and its record are not one write: %q", w)
		}
	}
}

func TestForceFromAStatefulSetAndBack(t *testing.T) {
	b := newBench(t, demoCluster()...)
	if w := b.reconcile(); len(w) > 0 {
		t.Errorf("nobody said anything, and written were %q", w)
	}
	b.annotate("demo-r1", key, "true", why, "dead Kubernetes node")
	b.reconcile()
	for _, name := range []string{"demo-r1-0", "demo-r1-1"} {
		if diff := cmp.Diff(map[string]string{key: "true", from: "StatefulSet/demo-r1", why: "dead Kubernetes node"}, b.annotations(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if a := b.annotations("demo-r2-0"); len(a) > 0 {
		t.Errorf("another rack is forced: %v", a)
	}
	e := b.events()
	if len(e) != 2 || !strings.HasPrefix(e[0], "ForceProceed Service/demo-r1-0: ") || !strings.Contains(e[0], "StatefulSet/demo-r1") || !strings.Contains(e[0], "dead Kubernetes node") {
		t.Errorf("events %q", e)
	}
	if w := b.reconcile(); len(w) > 0 {
		t.Errorf("nothing has changed, and written were %q", w)
	}
	b.annotate("demo-r1", key, "", why, "")
	b.reconcile()
	if a := b.annotations("demo-r1-0"); len(a) > 0 {
		t.Errorf("not taken back: %v", a)
	}
	if e := b.events(); len(e) != 4 || !strings.HasPrefix(e[2], "ForceProceedWithdrawn Service/demo-r1-0") {
		t.Errorf("events %q", e)
	}
}

// The Secret of a remote names the report that joins the datacenters: every member Service gets it, a nearer object overrides it, and it goes with the Secret.
func TestTheReportOfARemote(t *testing.T) {
	const ref, marker = api.AnnotationStatusReportOverrideRef, api.AnnotationOverrideRefPropagatedFrom
	b := newBench(t, demoCluster()...)
	report := "everywhere"
	b.o.Joined = func(_ context.Context, namespace, cluster string) (string, string, error) {
		if namespace != "demo" || cluster != "demo" {
			t.Errorf("asked for %s/%s", namespace, cluster)
		}
		return report, "kubectl-scylla-remote-eu", nil
	}
	b.annotate("demo-r2", ref, "mine")
	b.reconcile()
	want := map[string]map[string]string{
		"demo-r1-0": {ref: "everywhere", marker: "Secret/kubectl-scylla-remote-eu"}, "demo-r1-1": {ref: "everywhere", marker: "Secret/kubectl-scylla-remote-eu"},
		"demo-r2-0": {ref: "mine", marker: "StatefulSet/demo-r2"},
	}
	for name, annotations := range want {
		if diff := cmp.Diff(annotations, b.annotations(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if w := b.reconcile(); len(w) > 0 {
		t.Errorf("nothing has changed, and written were %q", w)
	}
	report = ""
	b.reconcile()
	if a := b.annotations("demo-r1-0"); len(a) > 0 {
		t.Errorf("not taken back: %v", a)
	}
	b.o.Joined = func(context.Context, string, string) (string, string, error) { return "", "", errors.New("refused") }
	if _, err := b.Reconcile(t.Context(), demo); err == nil {
		t.Error("a list that failed counts as one without Secrets")
	}
}

func TestForceFromTheScyllaOperatorsObjects(t *testing.T) {
	for _, gvk := range []schema.GroupVersionKind{
		{Group: "scylla.scylladb.com", Version: "v1alpha1", Kind: "ScyllaDBDatacenter"},
		{Group: "scylla.scylladb.com", Version: "v1", Kind: "ScyllaCluster"},
	} {
		t.Run(gvk.Kind, func(t *testing.T) {
			o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo", Annotations: map[string]string{"scylla-operator.scylladb.com/force-proceed-to-bootstrap": "true"}}}
			o.SetGroupVersionKind(gvk)
			b := newBench(t, append(demoCluster(), o)...)
			b.reconcile()
			for _, name := range []string{"demo-r1-0", "demo-r1-1", "demo-r2-0"} {
				if a := b.annotations(name); a["scylla-operator.scylladb.com/force-proceed-to-bootstrap"] != "true" || a[from] != gvk.Kind+"/demo" {
					t.Errorf("%s: %v", name, a)
				}
			}
			if err := b.client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			b.reconcile()
			if a := b.annotations("demo-r1-0"); len(a) > 0 {
				t.Errorf("not taken back: %v", a)
			}
		})
	}
}

func TestAValueThatOpensNothingIsShownAndHeals(t *testing.T) {
	b := newBench(t, demoCluster()...)
	b.annotate("demo-r1", key, "yes")
	b.reconcile()
	if a := b.annotations("demo-r1-0"); a[key] != "yes" || a[from] != "StatefulSet/demo-r1" {
		t.Errorf("annotations %v", a)
	}
	if e := b.events(); len(e) != 1 || !strings.HasPrefix(e[0], "ForceValueInvalid StatefulSet/demo-r1: ") || !strings.Contains(e[0], `"yes"`) {
		t.Errorf("events %q", e)
	}
	if w := b.reconcile(); len(w) > 0 {
		t.Errorf("nothing has changed, and written were %q", w)
	}
	b.annotate("demo-r1", key, "true")
	b.reconcile()
	if a := b.annotations("demo-r1-0"); a[key] != "true" {
		t.Errorf("annotations %v", a)
	}
}

func TestSetByHandOnAService(t *testing.T) {
	one, bad := service("demo-r1-0", "demo-r1"), service("demo-r1-1", "demo-r1")
	one.Annotations, bad.Annotations = map[string]string{key: "true"}, map[string]string{key: "True"}
	b := newBench(t, set("demo-r1"), one, bad)
	b.reconcile()
	e := b.events()
	if len(e) != 2 || !strings.HasPrefix(e[0], "ForceProceed Service/demo-r1-0") || !strings.Contains(e[0], "set manually") || !strings.HasPrefix(e[1], "ForceValueInvalid Service/demo-r1-1") {
		t.Errorf("events %q", e)
	}
	if diff := cmp.Diff(map[string]string{key: "true"}, b.annotations("demo-r1-0")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServicesThatAreNotOursAreLeftAlone(t *testing.T) {
	operators, identity := service("demo-r1-0", "demo-r1"), service("demo-client", "demo-r1")
	operators.Labels[api.LabelManagedBy] = api.ManagedByOperator
	identity.Labels[api.LabelServiceType] = "identity"
	b := newBench(t, set("demo-r1"), operators, identity)
	b.annotate("demo-r1", key, "true")
	if w := b.reconcile(); len(w) > 0 {
		t.Errorf("written: %q", w)
	}
}

func TestALostRaceIsRunAgain(t *testing.T) {
	b := newBench(t, demoCluster()...)
	b.annotate("demo-r1", key, "true")
	b.fail = apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "demo-r1-0", errors.New("changed meanwhile"))
	if res, err := b.Reconcile(t.Context(), demo); err != nil || res.RequeueAfter == 0 {
		t.Errorf("%+v, %v", res, err)
	}
	b.fail = apierrors.NewInternalError(errors.New("etcd is away"))
	if _, err := b.Reconcile(t.Context(), demo); err == nil || !strings.Contains(err.Error(), "propagate to service demo/demo-r1-") {
		t.Errorf("error %v", err)
	}
}

// A value that forces nothing stays visible on every member, also on those that have joined.
func TestAValueThatForcesNothingReachesJoinedMembers(t *testing.T) {
	joined, above := service("demo-r1-0", "demo-r1"), set("demo-r1")
	joined.Annotations = map[string]string{api.AnnotationNodeJoined: "true"}
	above.Annotations = map[string]string{key: "not yet"}
	b := newBench(t, above, joined)
	b.reconcile()
	if got := b.annotations("demo-r1-0")[key]; got != "not yet" {
		t.Errorf("the member's Service says %q", got)
	}
}
