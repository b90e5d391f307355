// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

func TestMain(m *testing.M) {
	// A closed SPDY connection waits up to a second for somebody to take its error, longer than goleak looks.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

// golden compares a text with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read golden file (run with -update once): %v", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

func goldenJSON(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, name, string(b)+"\n")
}

var (
	start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	key   = ClusterKey{"db", "demo"}
)

func hostID(rack, ordinal int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", rack*0x1000+ordinal+0xa0000000, ordinal)
}

// stage is a cluster of racks x nodes on plain StatefulSets, all joined and running, everybody sees everybody UP.
type stage struct {
	services map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	sets     map[string]*appsv1.StatefulSet
	pvcs     map[string]*corev1.PersistentVolumeClaim
	reports  map[string]*api.ScyllaDBDatacenterNodesStatusReport
	more     []client.Object
}

func placeLabels(rack int) map[string]string {
	return map[string]string{
		api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: fmt.Sprintf("rack%d", rack),
		api.LabelManagedBy: api.ManagedByUs, api.LabelPodType: api.PodTypeNode,
	}
}

func newStage(t testing.TB, racks, nodes int) *stage {
	t.Helper()
	st := &stage{
		services: map[string]*corev1.Service{}, pods: map[string]*corev1.Pod{}, sets: map[string]*appsv1.StatefulSet{},
		pvcs: map[string]*corev1.PersistentVolumeClaim{}, reports: map[string]*api.ScyllaDBDatacenterNodesStatusReport{},
	}
	var cells []api.ObservedNodeStatusReport
	for r := 1; r <= racks; r++ {
		for o := range nodes {
			cells = append(cells, api.ObservedNodeStatusReport{HostID: hostID(r, o), Status: api.NodeStatusUp})
		}
	}
	report := &api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: "demo-dc1",
			Labels: map[string]string{api.LabelReportSelector: key.Name, api.LabelManagedBy: api.ManagedByUs},
		},
		DatacenterName: "dc1",
	}
	for r := 1; r <= racks; r++ {
		rack := api.RackReport{Name: fmt.Sprintf("rack%d", r)}
		set := fmt.Sprintf("demo-rack%d", r)
		for o := range nodes {
			name := fmt.Sprintf("%s-%d", set, o)
			id := hostID(r, o)
			st.services[name] = newService(name, r, id)
			st.pods[name] = newPod(t, name, r, &api.NodeStatusReport{
				ObservedNodes: cells, HostID: id, OperationMode: "NORMAL", OwnsTokens: new(true), ScyllaVersion: "2026.2.0",
			})
			st.pvcs["data-"+name] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: "data-" + name, Labels: placeLabels(r),
			}}
			rack.Nodes = append(rack.Nodes, api.NodeReport{Ordinal: int32(o), HostID: &id, ObservedNodes: cells})
		}
		report.Racks = append(report.Racks, rack)
		st.sets[set] = newSet(set, r, int32(nodes))
	}
	st.reports["dc1"] = report
	return st
}

func newService(name string, rack int, id string) *corev1.Service {
	labels := placeLabels(rack)
	delete(labels, api.LabelPodType)
	labels[api.LabelServiceType] = api.ServiceTypeMember
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: name, Labels: labels,
			Annotations: map[string]string{api.AnnotationHostID: id, api.AnnotationNodeJoined: "true"},
		},
		Spec: corev1.ServiceSpec{Selector: map[string]string{appsv1.StatefulSetPodNameLabel: name}},
	}
}

func podSpec() corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: []corev1.Container{
			{Name: api.ContainerReporter, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			{Name: api.ContainerBootstrappedQuery},
			{Name: api.ContainerBarrier, Args: []string{"barrier"}},
		},
		Containers: []corev1.Container{{
			Name: api.ContainerScyllaDB, Image: "scylladb/scylla:2026.2.0",
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/scylla"}},
		}},
	}
}

func newSet(name string, rack int, replicas int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, Labels: placeLabels(rack)},
		Spec: appsv1.StatefulSetSpec{
			Replicas:             &replicas,
			Selector:             &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelCluster: "demo", api.LabelRack: fmt.Sprintf("rack%d", rack)}},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: placeLabels(rack)}, Spec: podSpec()},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
}

func newPod(t testing.TB, name string, rack int, report *api.NodeStatusReport) *corev1.Pod {
	t.Helper()
	labels := placeLabels(rack)
	labels[appsv1.StatefulSetPodNameLabel] = name
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, Labels: labels, Annotations: map[string]string{}},
		Spec:       podSpec(),
	}
	p.Spec.NodeName = "worker-1"
	p.Spec.Volumes = []corev1.Volume{{
		Name:         "data",
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name}},
	}}
	if report != nil {
		v, err := api.EncodeNodeStatusReport(report)
		if err != nil {
			t.Fatal(err)
		}
		p.Annotations[api.AnnotationNodeStatusReport] = v
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}}
	finished := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start)}}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		},
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: api.ContainerReporter, Ready: true, Started: new(true), State: running},
			{Name: api.ContainerBootstrappedQuery, Ready: true, State: finished},
			{Name: api.ContainerBarrier, Ready: true, State: finished},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, State: running}},
	}
	return p
}

// newcomer is a member that waits in its barrier.
func (st *stage) newcomer(t testing.TB, rack, ordinal int) string {
	t.Helper()
	name := fmt.Sprintf("demo-rack%d-%d", rack, ordinal)
	svc := newService(name, rack, "")
	svc.Annotations = map[string]string{}
	p := newPod(t, name, rack, nil)
	p.Status.Phase = corev1.PodPending
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{
		Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(start)}},
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
	}}
	st.services[name], st.pods[name] = svc, p
	*st.sets[fmt.Sprintf("demo-rack%d", rack)].Spec.Replicas = int32(ordinal + 1)
	return name
}

func (st *stage) objects() []client.Object {
	var all []client.Object
	for _, o := range st.services {
		all = append(all, o)
	}
	for _, o := range st.pods {
		all = append(all, o)
	}
	for _, o := range st.sets {
		all = append(all, o)
	}
	for _, o := range st.pvcs {
		all = append(all, o)
	}
	for _, o := range st.reports {
		all = append(all, o)
	}
	return append(all, st.more...)
}

// client gets copies: it numbers the objects that it is given, and tests that run side by side share a stage.
func (st *stage) client(funcs interceptor.Funcs) client.WithWatch {
	var copies []client.Object
	for _, o := range st.objects() {
		copies = append(copies, o.DeepCopyObject().(client.Object))
	}
	return fake.NewClientBuilder().WithScheme(NewScheme()).WithObjects(copies...).WithInterceptorFuncs(funcs).Build()
}

func (st *stage) load(t *testing.T, opts LoadOptions) *Snapshot {
	t.Helper()
	if opts.Now == nil {
		opts.Now = func() time.Time { return start.Add(time.Hour) }
	}
	s, err := Load(t.Context(), st.client(interceptor.Funcs{}), key, opts)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return s
}

// failing lets every request for one Go type of list fail.
func failingList[L client.ObjectList](err error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if _, ok := list.(L); ok {
			return err
		}
		return c.List(ctx, list, opts...)
	}}
}

func memberNamed(t *testing.T, all []Member, name string) Member {
	t.Helper()
	for _, m := range all {
		if m.Ref.Member == name {
			return m
		}
	}
	t.Fatalf("no member %s among %d", name, len(all))
	return Member{}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
