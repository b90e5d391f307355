// SPDX-License-Identifier: Apache-2.0

// Package stage is the one builder of clusters for tests: it makes the Kubernetes objects of a ScyllaDB cluster, racks
// of StatefulSets whose members have all joined, run, and see each other UP. Each test changes the part that it tests: a
// Cluster by what happens to a member, a Stage object by object. The package must not know any package of the product but
// internal/api, so that every one can be tested with it.
package stage

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/hostids"
)

const (
	Namespace = "db"
	Name      = "demo"
)

func HostID(rack, ordinal int) string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", rack*0x1000+ordinal+0xa0000000, ordinal)
}

// Stage has the objects of a cluster of racks x nodes by name, made once, for tests that change each by itself.
// Every row has every node UP.
type Stage struct {
	Services map[string]*corev1.Service
	Pods     map[string]*corev1.Pod
	Sets     map[string]*appsv1.StatefulSet
	PVCs     map[string]*corev1.PersistentVolumeClaim
	Reports  map[string]*api.ScyllaDBDatacenterNodesStatusReport
	More     []client.Object

	cluster *Cluster
}

// short is a cluster without members whose StatefulSets are named for the rack alone.
func short() *Cluster {
	c := Bare(Namespace, Name)
	c.version = "2026.2.0"
	c.set = func(_, rack string) string { return Name + "-" + rack }
	c.hostID = func(rack, ordinal, _ int) string { return HostID(rack, ordinal) }
	return c
}

func New(racks, nodes int) *Stage {
	c := short().AddDatacenter("dc1", racks, nodes)
	st := &Stage{
		Services: c.services, Pods: c.pods, Sets: c.sets, PVCs: map[string]*corev1.PersistentVolumeClaim{},
		Reports: map[string]*api.ScyllaDBDatacenterNodesStatusReport{}, cluster: c,
	}
	for _, r := range c.makeReports() {
		st.Reports[r.DatacenterName] = r
	}
	for _, n := range c.Nodes {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: c.Meta("pvc", "data-"+n.Name, c.labels(n.Datacenter, n.Rack))}
		st.PVCs[pvc.Name] = pvc
	}
	for _, o := range st.Objects() {
		plain(o)
	}
	return st
}

// plain takes the times of an object: a test of them sets those that it means.
func plain(o client.Object) {
	o.SetCreationTimestamp(metav1.Time{})
	o.SetManagedFields(nil)
}

// NewService is a joined member's.
func NewService(name string, rack int, id string) *corev1.Service {
	svc := Joined(short().NewService(name, "dc1", fmt.Sprintf("rack%d", rack), 0), id)
	plain(svc)
	return svc
}

// NewPod is a member's that runs; without a report its reporter has written nothing.
func NewPod(t interface{ Fatal(...any) }, name string, rack int, report *api.NodeStatusReport) *corev1.Pod {
	p := short().NewPod(name, "dc1", fmt.Sprintf("rack%d", rack))
	p.Annotations = map[string]string{}
	plain(p)
	if report != nil {
		p.Annotations[api.AnnotationNodeStatusReport] = *RowText(t, *report)
	}
	return p
}

// Newcomer adds a member that waits in its barrier since Start.
func (st *Stage) Newcomer(rack, ordinal int) string {
	name := st.cluster.Newcomer("dc1", fmt.Sprintf("rack%d", rack), int32(ordinal))
	st.Services[name].Annotations, st.Pods[name].Annotations = map[string]string{}, map[string]string{}
	st.Pods[name].Status.InitContainerStatuses[2].State = running(Start)
	plain(st.Services[name])
	plain(st.Pods[name])
	return name
}

func (st *Stage) Objects() []client.Object {
	return slices.Concat(byName(st.Services), byName(st.Pods), byName(st.Sets), byName(st.PVCs), byName(st.Reports), st.More)
}

// byName are objects in the order of their names, as an API server would list them.
func byName[T client.Object](all map[string]T) []client.Object {
	var out []client.Object
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[name])
	}
	return out
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

// Replacing is a member whose dead node our controller is replacing: claim and Pod are new, and ScyllaDB on it runs but has not joined.
func (c *Cluster) Replacing(name string) *Cluster {
	c.Down(name)
	n, svc, pod := c.Node(name), c.Service(name), c.Pod(name)
	set := c.Set(n.Datacenter, n.Rack)
	svc.Labels[api.LabelReplace], svc.Labels[api.LabelReplacingNodeHostID] = "", n.HostID
	for k, v := range map[string]string{
		api.AnnotationReplaceOriginalHostID: n.HostID, api.AnnotationReplaceRequest: "request-1", api.AnnotationReplaceAccepted: "request-1",
		api.AnnotationReplacePVCUIDs: "old-claim", api.AnnotationReplacePodUID: "old-pod", api.AnnotationReplaceAttempt: "1",
	} {
		svc.Annotations[k] = v
	}
	pod.UID = "new-pod"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: new(true)}}
	pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: running(Now)}
	return c.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Namespace, Name: "data-" + name, UID: types.UID("new-claim"), Labels: map[string]string{api.LabelCluster: c.Name},
	}})
}

// Exited is a member whose ScyllaDB ends with that exit code again and again.
func (c *Cluster) Exited(name string, code int32) *Cluster {
	c.Pod(name).Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: api.ContainerScyllaDB, RestartCount: 4,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
	}
	return c
}

// Leftover gives the cluster's objects once Kubernetes has forgotten the last member of a rack, which its peers still list: no Service, no
// Pod, no row, one replica less. Such a host ID stays behind when a replacement or a join fails.
func (c *Cluster) Leftover(name string) []client.Object {
	gone := c.Node(name)
	objects := slices.DeleteFunc(c.Objects(), func(o client.Object) bool {
		_, report := o.(*api.ScyllaDBDatacenterNodesStatusReport)
		return !report && o.GetName() == name
	})
	for i, o := range objects {
		switch o := o.DeepCopyObject().(type) {
		case *appsv1.StatefulSet:
			if o.Name == c.set(gone.Datacenter, gone.Rack) {
				*o.Spec.Replicas--
			}
			objects[i] = o
		case *api.ScyllaDBDatacenterNodesStatusReport:
			for j := range o.Racks {
				o.Racks[j].Nodes = slices.DeleteFunc(o.Racks[j].Nodes, func(n api.NodeReport) bool { return n.HostID != nil && *n.HostID == gone.HostID })
			}
			objects[i] = o
		}
	}
	return c.finish(objects)
}
