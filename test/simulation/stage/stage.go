// SPDX-License-Identifier: Apache-2.0

// Package stage makes the Kubernetes objects of a small ScyllaDB cluster for tests: racks of StatefulSets whose members have all joined, run, and see
// each other UP. Each test changes the part that it tests. The package must not know any package of the product but internal/api, so that every one
// can be tested with it.
package stage

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
)

// Start is the creation time of all objects on a Stage.
var Start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

// Namespace and Name of the cluster.
const (
	Namespace = "db"
	Name      = "demo"
)

func HostID(rack, ordinal int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", rack*0x1000+ordinal+0xa0000000, ordinal)
}

// Stage is a cluster of racks x nodes on plain StatefulSets, all joined and running; every row has every node UP.
type Stage struct {
	Services map[string]*corev1.Service
	Pods     map[string]*corev1.Pod
	Sets     map[string]*appsv1.StatefulSet
	PVCs     map[string]*corev1.PersistentVolumeClaim
	Reports  map[string]*api.ScyllaDBDatacenterNodesStatusReport
	More     []client.Object
}

func PlaceLabels(rack int) map[string]string {
	return map[string]string{
		api.LabelCluster: "demo", api.LabelDatacenter: "dc1", api.LabelRack: fmt.Sprintf("rack%d", rack),
		api.LabelManagedBy: api.ManagedByUs, api.LabelPodType: api.PodTypeNode,
	}
}

func New(t testing.TB, racks, nodes int) *Stage {
	t.Helper()
	st := &Stage{
		Services: map[string]*corev1.Service{}, Pods: map[string]*corev1.Pod{}, Sets: map[string]*appsv1.StatefulSet{},
		PVCs: map[string]*corev1.PersistentVolumeClaim{}, Reports: map[string]*api.ScyllaDBDatacenterNodesStatusReport{},
	}
	var cells []api.ObservedNodeStatusReport
	for r := 1; r <= racks; r++ {
		for o := range nodes {
			cells = append(cells, api.ObservedNodeStatusReport{HostID: hostid.ID(HostID(r, o)), Status: api.NodeStatusUp})
		}
	}
	report := &api.ScyllaDBDatacenterNodesStatusReport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: "demo-dc1",
			Labels: map[string]string{api.LabelReportSelector: Name, api.LabelManagedBy: api.ManagedByUs},
		},
		DatacenterName: "dc1",
	}
	for r := 1; r <= racks; r++ {
		rack := api.RackReport{Name: fmt.Sprintf("rack%d", r)}
		set := fmt.Sprintf("demo-rack%d", r)
		for o := range nodes {
			name := fmt.Sprintf("%s-%d", set, o)
			id := HostID(r, o)
			st.Services[name] = NewService(name, r, id)
			st.Pods[name] = NewPod(t, name, r, &api.NodeStatusReport{
				ObservedNodes: cells, HostID: hostid.ID(id), OperationMode: "NORMAL", OwnsTokens: new(true), ScyllaVersion: "2026.2.0",
			})
			st.PVCs["data-"+name] = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: Namespace, Name: "data-" + name, Labels: PlaceLabels(r),
			}}
			rack.Nodes = append(rack.Nodes, api.NodeReport{Ordinal: int32(o), HostID: &id, ObservedNodes: api.Plain(cells)})
		}
		report.Racks = append(report.Racks, rack)
		st.Sets[set] = NewSet(set, r, int32(nodes))
	}
	st.Reports["dc1"] = report
	return st
}

func NewService(name string, rack int, id string) *corev1.Service {
	labels := PlaceLabels(rack)
	delete(labels, api.LabelPodType)
	labels[api.LabelServiceType] = api.ServiceTypeMember
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: name, Labels: labels,
			Annotations: map[string]string{api.AnnotationHostID: id, api.AnnotationNodeJoined: "true"},
		},
		Spec: corev1.ServiceSpec{Selector: map[string]string{appsv1.StatefulSetPodNameLabel: name}},
	}
}

// PodSpec is a member's Pod spec. Its barrier has the policy reports, because a stage has rows and no view.
func PodSpec() corev1.PodSpec {
	return corev1.PodSpec{
		InitContainers: []corev1.Container{
			{Name: api.ContainerReporter, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			{Name: api.ContainerBootstrappedQuery},
			{Name: api.ContainerBarrier, Args: []string{"barrier", "--policy=" + string(api.PolicyReports)}},
		},
		Containers: []corev1.Container{{
			Name: api.ContainerScyllaDB, Image: "scylladb/scylla:2026.2.0",
			VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/scylla"}},
		}},
	}
}

func NewSet(name string, rack int, replicas int32) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: PlaceLabels(rack)},
		Spec: appsv1.StatefulSetSpec{
			Replicas:             &replicas,
			Selector:             &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelCluster: "demo", api.LabelRack: fmt.Sprintf("rack%d", rack)}},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: PlaceLabels(rack)}, Spec: PodSpec()},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
}

func NewPod(t testing.TB, name string, rack int, report *api.NodeStatusReport) *corev1.Pod {
	t.Helper()
	labels := PlaceLabels(rack)
	labels[appsv1.StatefulSetPodNameLabel] = name
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: labels, Annotations: map[string]string{}},
		Spec:       PodSpec(),
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
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Start)}}
	finished := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(Start)}}
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

// Newcomer adds a member that waits in its barrier.
func (st *Stage) Newcomer(t testing.TB, rack, ordinal int) string {
	t.Helper()
	name := fmt.Sprintf("demo-rack%d-%d", rack, ordinal)
	svc := NewService(name, rack, "")
	svc.Annotations = map[string]string{}
	p := NewPod(t, name, rack, nil)
	p.Status.Phase = corev1.PodPending
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{
		Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(Start)}},
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
	}}
	st.Services[name], st.Pods[name] = svc, p
	*st.Sets[fmt.Sprintf("demo-rack%d", rack)].Spec.Replicas = int32(ordinal + 1)
	return name
}

func (st *Stage) Objects() []client.Object {
	var all []client.Object
	for _, o := range st.Services {
		all = append(all, o)
	}
	for _, o := range st.Pods {
		all = append(all, o)
	}
	for _, o := range st.Sets {
		all = append(all, o)
	}
	for _, o := range st.PVCs {
		all = append(all, o)
	}
	for _, o := range st.Reports {
		all = append(all, o)
	}
	return append(all, st.More...)
}

// RowText is a row as a reporter writes it into its Pod's annotation.
func RowText(t interface{ Fatal(...any) }, r api.NodeStatusReport) *string {
	s, err := api.EncodeNodeStatusReport(&r)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// Sees returns cells with the same status for several nodes.
func Sees(status api.NodeStatus, hostIDs ...string) []api.ObservedNodeStatusReport {
	var out []api.ObservedNodeStatusReport
	for _, id := range hostIDs {
		out = append(out, api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: status})
	}
	return out
}

// Cells are those of a datacenter report's row, with the host IDs as they are written.
func Cells(row []api.ObservedNode) []api.ObservedNodeStatusReport {
	var out []api.ObservedNodeStatusReport
	for _, o := range row {
		out = append(out, api.ObservedNodeStatusReport{HostID: hostid.ID(o.HostID), Status: o.Status})
	}
	return out
}

// UUID and UUIDs are those of test/simulation/hostids, for tests that have a stage anyway.
var (
	UUID  = hostids.UUID
	UUIDs = hostids.UUIDs
)
