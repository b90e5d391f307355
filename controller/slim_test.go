// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unsafe"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/memory"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// fat is a Pod as the API server has it: with the fields that are read, and others.
func fat(t *testing.T, name string, row []api.ObservedNodeStatusReport, hostID string) *corev1.Pod {
	t.Helper()
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: hostid.ID(hostID), OperationMode: "NORMAL", ObservedNodes: row})
	must(t, err)
	var env []corev1.EnvVar
	for i := range 50 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SOME_SETTING_%d", i), Value: strings.Repeat("value ", 8)})
	}
	p := stage.Bare("demo", "demo").NewPod(name, "dc1", "r1")
	p.TypeMeta, p.ResourceVersion, p.Status.PodIP = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, "7", "10.0.0.1"
	x := strings.Repeat("x", 4000)
	p.Annotations = map[string]string{
		api.AnnotationNodeStatusReport: text, api.AnnotationBarrier: "{}", corev1.LastAppliedConfigAnnotation: x,
	}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo-r1", Controller: new(true)}}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: metav1.NewFieldsV1(`{"f:x":"` + x + `"}`)}}
	p.Spec.Tolerations, p.Spec.Affinity = []corev1.Toleration{{Key: "x"}}, &corev1.Affinity{}
	config := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "config", VolumeSource: config})
	p.Spec.Volumes[0].Name, p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "disk", "disk-"+name
	p.Spec.InitContainers, p.Status.InitContainerStatuses = p.Spec.InitContainers[:1], p.Status.InitContainerStatuses[:1]
	for _, c := range []*corev1.Container{&p.Spec.InitContainers[0], &p.Spec.Containers[0]} {
		c.Command, c.Args, c.Env = []string{"/agent"}, []string{"launch", "--smp=2"}, env
		c.LivenessProbe = &corev1.Probe{PeriodSeconds: 1}
		c.Ports = []corev1.ContainerPort{{Name: "cql", ContainerPort: 9042}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "disk", MountPath: "/var/lib/scylla"}}
	}
	for _, s := range []*corev1.ContainerStatus{&p.Status.InitContainerStatuses[0], &p.Status.ContainerStatuses[0]} {
		s.RestartCount, s.ImageID, s.VolumeMounts = 3, "id", []corev1.VolumeMountStatus{{Name: "disk"}}
	}
	return p
}

// A Pod in the cache is judged as the whole Pod is, and the fields that are never read are not held.
func TestThePodInTheCacheSaysTheSame(t *testing.T) {
	t.Parallel()
	row := []api.ObservedNodeStatusReport{{HostID: "11111111-1111-4111-8111-111111111111", Status: api.NodeStatusUp}}
	whole := fat(t, "demo-r1-0", row, string(row[0].HostID))
	before := whole.DeepCopy()
	obj, err := slimPod(whole)
	must(t, err)
	slim, ok := obj.(*corev1.Pod)
	if !ok {
		t.Fatalf("it is a %T", obj)
	}
	if diff := cmp.Diff(before, whole); diff != "" {
		t.Errorf("the Pod itself was changed:\n%s", diff)
	}
	again, err := slimPod(slim)
	if diff := cmp.Diff(obj, again); err != nil || diff != "" {
		t.Errorf("twice is not once (%v):\n%s", err, diff)
	}
	members := func(p corev1.Pod) []cluster.Member {
		o := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Pods: []corev1.Pod{p}, Read: cluster.KindPods}
		got := cluster.New(o, cluster.SourceAnnotation, time.Unix(1_800_000_100, 0)).Members()
		for i := range got {
			got[i].Pod = nil
		}
		return got
	}
	if diff := cmp.Diff(members(*whole), members(*slim), cmpopts.IgnoreUnexported(cluster.Member{})); diff != "" || len(members(*slim)) != 1 {
		t.Errorf("members (-whole +slim):\n%s", diff)
	}
	if claim := members(*slim)[0].PVCName; claim != "disk-demo-r1-0" {
		t.Errorf("its claim is %s", claim)
	}
	if cluster.SaysMore(whole, slim) {
		t.Error("it is stale, or it serves, as the Pod does not")
	}
	if slim.ManagedFields != nil || len(slim.Annotations) != 2 || slim.Spec.Containers[0].Env != nil || slim.Spec.InitContainers[0].Env != nil ||
		len(slim.Spec.Volumes) != 1 || slim.Spec.Tolerations != nil || slim.Spec.Affinity != nil || slim.Status.ContainerStatuses[0].VolumeMounts != nil {
		t.Errorf("it holds what nobody reads: %+v", slim)
	}
	if got, err := slimPod("gone"); got != "gone" || err != nil {
		t.Errorf("what is no Pod is %v, %v", got, err)
	}
}

// Pods whose rows list the same nodes with the same statuses hold that list once, and each has its own row.
func TestPodsInTheCacheShareTheirCells(t *testing.T) {
	t.Parallel()
	row := make([]api.ObservedNodeStatusReport, 30)
	for i := range row {
		row[i] = api.ObservedNodeStatusReport{HostID: hostid.ID(fmt.Sprintf("11111111-1111-4111-8111-%012d", i)), Status: api.NodeStatusUp}
	}
	var shared []string
	for i := range 2 {
		whole := fat(t, "demo-r1-0", row, string(row[i].HostID))
		slim := slimmed(slimmed(whole))
		text, ok := api.RowOf(slim.Annotations)
		want := whole.Annotations[api.AnnotationNodeStatusReport]
		if !ok || text.Cells+text.Rest != want || text.Cells == "" || text.Digest() != api.ReportDigest(want) {
			t.Errorf("row %+v, digest %s, of %s", text, text.Digest(), want)
		}
		if said, err := text.Decode(); err != nil || said.HostID != row[i].HostID || len(said.ObservedNodes) != len(row) {
			t.Errorf("%+v, %v", said, err)
		}
		shared = append(shared, text.Cells)
	}
	if unsafe.StringData(shared[0]) != unsafe.StringData(shared[1]) {
		t.Error("the cells are held twice")
	}
}

func TestTheStatefulSetInTheCacheKeepsItsTemplate(t *testing.T) {
	t.Parallel()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "x", api.AnnotationForceProceed: "y"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
	set.Spec.Template.Spec = fat(t, "demo-r1-0", nil, "").Spec
	want := set.DeepCopy()
	want.ManagedFields, want.Annotations = nil, map[string]string{api.AnnotationForceProceed: "y"}
	got, err := slimSet(set)
	if diff := cmp.Diff(any(want), got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// streaming is an API server with a Pod for each of row.
func streaming(t *testing.T, row []api.ObservedNodeStatusReport) *httptest.Server {
	t.Helper()
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") != "true" {
			http.Error(w, "the Pods are not streamed", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		enc := json.NewEncoder(w)
		send := func(what string, p *corev1.Pod) bool {
			return enc.Encode(map[string]any{"type": what, "object": p}) == nil
		}
		for i := range row {
			if !send("ADDED", fat(t, fmt.Sprintf("demo-r1-%d", i), row, string(row[i].HostID))) {
				return
			}
		}
		end := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		if send("BOOKMARK", end) && http.NewResponseController(w).Flush() == nil {
			<-r.Context().Done()
		}
	}))
}

// The cache of a controller that starts beside a cluster of 1,000 nodes, and the rows decoded, within the limit of the shipped Deployment. The API server
// that sends them is in the same process.
func TestAttack9AThousandPodsInLittleMemory(t *testing.T) {
	const nodes, limit = 1000, 256 << 20
	memory.Under(t, limit, func(t *testing.T) {
		row := make([]api.ObservedNodeStatusReport, nodes)
		for i := range row {
			row[i] = api.ObservedNodeStatusReport{HostID: hostid.ID(fmt.Sprintf("11111111-1111-4111-8111-%012d", i)), Status: api.NodeStatusUp}
		}
		server := streaming(t, row)
		defer server.Close()
		v, err := DefaultOptions().validate()
		must(t, err)
		o, err := cacheOptions(v)
		must(t, err)
		mapper := meta.NewDefaultRESTMapper(nil)
		for _, kind := range []string{"Pod", "Service", "Secret"} {
			mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
		}
		mapper.Add(appsv1.SchemeGroupVersion.WithKind("StatefulSet"), meta.RESTScopeNamespace)
		mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
		o.Mapper = mapper
		held, err := cache.New(&rest.Config{Host: server.URL}, o)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // before the server is closed, which waits for the stream to end
		if _, err := held.GetInformer(ctx, &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		go func() { _ = held.Start(ctx) }()
		var pods corev1.PodList
		if !held.WaitForCacheSync(ctx) {
			t.Fatal("the Pods are not read")
		}
		must(t, held.List(ctx, &pods))
		objects := cluster.Objects{Key: cluster.Key{Namespace: "demo", Name: "demo"}, Pods: pods.Items, Read: cluster.KindPods, Decoder: &cluster.Decoder{}}
		c := cluster.New(objects, cluster.SourceAnnotation, time.Now())
		if m := c.Members(); len(m) != nodes || m[0].HostID == "" {
			t.Errorf("%d members, the first of them %+v", len(m), m[:min(1, len(m))])
		}
	})
}
