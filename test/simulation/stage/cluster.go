// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// Now is the moment of every test; Start is when everything started.
var (
	Now   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	Start = Now.Add(-time.Hour)
)

// Node is one joined member.
type Node struct {
	Name, Datacenter, Rack string
	Ordinal                int32
	HostID                 string
	Version                string
}

// Cluster builds the objects of a ScyllaDB cluster on plain StatefulSets. The zero value is not useful: begin with
// NewCluster.
type Cluster struct {
	Namespace, Name string
	Nodes           []Node
	// Finish adds what our controller writes of the objects; nil adds nothing.
	Finish func([]client.Object) []client.Object

	version string
	set     func(datacenter, rack string) string // name of a StatefulSet
	hostID  func(rack, ordinal, n int) string

	services map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	sets     map[string]*appsv1.StatefulSet
	// not maps observer to observed host IDs that it does not see UP.
	not     map[string]map[string]api.ObservedNodeStatusReport
	missing map[string]bool   // members without a row in the report
	failed  map[string]string // members whose reporter gives an error instead of a row
	says    []func(Node, *api.NodeStatusReport)
	reports bool
	// operator is set for a cluster whose rows the Scylla Operator's reporter writes.
	operator bool
	order    []string
	more     []client.Object
	byName   map[string]int // index into Nodes
}

// NumberedHostID is the host ID of the n-th node from 0, a UUID whose first group tells it apart.
func NumberedHostID(n int) string {
	return fmt.Sprintf("%08x-5ea1-4d00-8000-%012x", 0x35d0f1a0+uint32(n)*0x01010101, n)
}

// NewCluster has racks rack1.. with so many members each, all joined, running and UP.
func NewCluster(namespace, name, datacenter string, racks, members int) *Cluster {
	c := Bare(namespace, name)
	return c.AddDatacenter(datacenter, racks, members)
}

// Bare is a cluster without members, for tests that make them one by one.
func Bare(namespace, name string) *Cluster {
	return &Cluster{
		Namespace: namespace, Name: name, reports: true, version: "2025.2.1",
		set:      func(dc, rack string) string { return name + "-" + dc + "-" + rack },
		hostID:   func(_, _, n int) string { return NumberedHostID(n) },
		services: map[string]*corev1.Service{}, pods: map[string]*corev1.Pod{}, sets: map[string]*appsv1.StatefulSet{},
		not:     map[string]map[string]api.ObservedNodeStatusReport{},
		missing: map[string]bool{}, failed: map[string]string{}, byName: map[string]int{},
	}
}

func (c *Cluster) AddDatacenter(datacenter string, racks, members int) *Cluster {
	for r := 1; r <= racks; r++ {
		rack := fmt.Sprintf("rack%d", r)
		set := c.set(datacenter, rack)
		c.sets[set] = c.NewSet(set, datacenter, rack, int32(members))
		for o := range members {
			n := Node{Name: fmt.Sprintf("%s-%d", set, o), Datacenter: datacenter, Rack: rack, Ordinal: int32(o), HostID: c.hostID(r, o, len(c.Nodes)), Version: c.version}
			c.byName[n.Name] = len(c.Nodes)
			c.Nodes = append(c.Nodes, n)
			c.order = append(c.order, n.Name)
			c.services[n.Name] = Joined(c.NewService(n.Name, datacenter, rack, n.Ordinal), n.HostID)
			c.pods[n.Name] = c.NewPod(n.Name, datacenter, rack)
		}
	}
	return c
}

func (c *Cluster) labels(dc, rack string) map[string]string {
	return map[string]string{
		api.LabelCluster: c.Name, api.LabelDatacenter: dc, api.LabelRack: rack, api.LabelManagedBy: api.ManagedByUs, api.LabelPodType: api.PodTypeNode,
	}
}

// Meta of an object of the cluster, created at Start.
func (c *Cluster) Meta(kind, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: c.Namespace, Name: name, Labels: labels, UID: types.UID(c.Namespace + "-" + kind + "-" + name), CreationTimestamp: metav1.NewTime(Start),
	}
}

// NewService is a member Service without a host ID.
func (c *Cluster) NewService(name, dc, rack string, ordinal int32) *corev1.Service {
	l := c.labels(dc, rack)
	delete(l, api.LabelPodType)
	l[api.LabelServiceType], l[api.LabelRackOrdinal] = api.ServiceTypeMember, fmt.Sprint(ordinal)
	return &corev1.Service{
		ObjectMeta: c.Meta("service", name, l),
		Spec:       corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{appsv1.StatefulSetPodNameLabel: name}, PublishNotReadyAddresses: true},
	}
}

// podSpec is a member's. Its barrier decides by the reports alone: these clusters show rows, and have no view.
func (c *Cluster) podSpec(name string) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName: "worker-1",
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name},
		}}},
		InitContainers: []corev1.Container{
			{Name: api.ContainerReporter, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			{Name: api.ContainerBootstrappedQuery},
			{Name: api.ContainerBarrier, Args: []string{"barrier", "--policy=" + string(api.PolicyReports)}},
		},
		Containers: []corev1.Container{{
			Name: api.ContainerScyllaDB, Image: "scylladb/scylla:" + c.version, VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/scylla"}},
		}},
	}
}

// Joined marks a member Service as ScyllaDB's node of that host ID.
func Joined(svc *corev1.Service, hostID string) *corev1.Service {
	svc.Annotations = map[string]string{api.AnnotationHostID: hostID, api.AnnotationNodeJoined: "true"}
	return svc
}

func (c *Cluster) NewSet(name, dc, rack string, replicas int32) *appsv1.StatefulSet {
	l := c.labels(dc, rack)
	return &appsv1.StatefulSet{
		ObjectMeta: c.Meta("statefulset", name, l),
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: l},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: c.podSpec(name + "-0")},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
}

func running(since time.Time) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
}

// NewPod is a member's Pod that runs and is Ready.
func (c *Cluster) NewPod(name, dc, rack string) *corev1.Pod {
	l := c.labels(dc, rack)
	l[appsv1.StatefulSetPodNameLabel] = name
	finished := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(Start)}}
	started := true
	p := &corev1.Pod{ObjectMeta: c.Meta("pod", name, l), Spec: c.podSpec(name)}
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		},
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: api.ContainerReporter, Ready: true, Started: &started, State: running(Start)},
			{Name: api.ContainerBootstrappedQuery, Ready: true, State: finished},
			{Name: api.ContainerBarrier, Ready: true, State: finished},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, Started: &started, State: running(Start), Image: "docker.io/scylladb/scylla:" + c.version}},
	}
	return p
}

func (c *Cluster) Node(name string) Node {
	if i, ok := c.byName[name]; ok {
		return c.Nodes[i]
	}
	panic("no node " + name + " among " + strings.Join(c.order, ", "))
}

// Sees sets what one member says of another.
func (c *Cluster) Sees(observer, observed string, status api.NodeStatus, since time.Time) *Cluster {
	from, to := c.Node(observer), c.Node(observed)
	if c.not[from.HostID] == nil {
		c.not[from.HostID] = map[string]api.ObservedNodeStatusReport{}
	}
	o := api.ObservedNodeStatusReport{HostID: hostid.ID(to.HostID), Status: status}
	if !since.IsZero() {
		t := metav1.NewTime(since)
		o.Since = &t
	}
	c.not[from.HostID][to.HostID] = o
	return c
}

// Down is a member whose node died twelve seconds ago: all others see it DOWN, its Pod crashes, its row is gone.
func (c *Cluster) Down(name string) *Cluster {
	for _, n := range c.Nodes {
		if n.Name != name {
			c.Sees(n.Name, name, api.NodeStatusDown, Now.Add(-12*time.Second))
		}
	}
	p := c.pods[name]
	p.Status.Conditions[1].Status, p.Status.Conditions[2].Status = corev1.ConditionFalse, corev1.ConditionFalse
	c.failed[name] = "connection refused"
	p.Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: api.ContainerScyllaDB, RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(Now.Add(-12 * time.Second))}},
	}
	return c
}

// DownSince is Down, with all others seeing the node DOWN for so long.
func (c *Cluster) DownSince(name string, ago time.Duration) *Cluster {
	c.Down(name)
	for _, n := range c.Nodes {
		if n.Name != name {
			c.Sees(n.Name, name, api.NodeStatusDown, Now.Add(-ago))
		}
	}
	return c
}

// Says changes what every member's reporter writes beside its row.
func (c *Cluster) Says(change func(by Node, said *api.NodeStatusReport)) *Cluster {
	c.says = append(c.says, change)
	return c
}

// NoRow takes a member's row out of report and annotation.
func (c *Cluster) NoRow(name string) *Cluster {
	c.missing[name] = true
	return c
}

// NoReports is a cluster without controller: only the annotations of the Pods speak.
func (c *Cluster) NoReports() *Cluster {
	c.reports = false
	return c
}

// Newcomer adds a member that waits in its barrier since two minutes.
func (c *Cluster) Newcomer(dc, rack string, ordinal int32) string {
	set := c.set(dc, rack)
	if c.sets[set] == nil {
		c.sets[set] = c.NewSet(set, dc, rack, 0)
	}
	*c.sets[set].Spec.Replicas = max(*c.sets[set].Spec.Replicas, ordinal+1)
	name := fmt.Sprintf("%s-%d", set, ordinal)
	c.services[name], c.pods[name] = c.NewService(name, dc, rack, ordinal), c.NewPod(name, dc, rack)
	p := c.pods[name]
	p.Status.Phase = corev1.PodPending
	p.Status.Conditions[1].Status, p.Status.Conditions[2].Status = corev1.ConditionFalse, corev1.ConditionFalse
	p.Status.InitContainerStatuses[2] = corev1.ContainerStatus{Name: api.ContainerBarrier, State: running(Now.Add(-2 * time.Minute))}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: api.ContainerScyllaDB, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}},
	}}
	return name
}

// Ghost takes a member's Pod away.
func (c *Cluster) Ghost(name string) *Cluster {
	delete(c.pods, name)
	return c
}

func (c *Cluster) Service(name string) *corev1.Service { return c.services[name] }

func (c *Cluster) Pod(name string) *corev1.Pod { return c.pods[name] }

func (c *Cluster) Set(dc, rack string) *appsv1.StatefulSet { return c.sets[c.set(dc, rack)] }

func (c *Cluster) Add(objects ...client.Object) *Cluster {
	c.more = append(c.more, objects...)
	return c
}

// Operator makes the objects those of the Scylla Operator: a ScyllaCluster, its ScyllaDBDatacenter, and their marks on the members.
func (c *Cluster) Operator() *Cluster {
	c.operator = true
	owner := metav1.OwnerReference{APIVersion: api.GroupVersion.String(), Kind: api.ScyllaDBDatacenterGVK.Kind, Name: c.Name, UID: "sdc", Controller: new(true)}
	for _, s := range c.services {
		s.Labels[api.LabelManagedBy] = api.ManagedByOperator
		s.OwnerReferences = []metav1.OwnerReference{owner}
	}
	for _, s := range c.sets {
		s.Labels[api.LabelManagedBy] = api.ManagedByOperator
		s.OwnerReferences = []metav1.OwnerReference{owner}
	}
	for _, p := range c.pods {
		p.Labels[api.LabelManagedBy] = api.ManagedByOperator
	}
	sc := &metav1.PartialObjectMetadata{ObjectMeta: c.Meta("scyllacluster", c.Name, nil)}
	sc.SetGroupVersionKind(api.ScyllaClusterGVK)
	sdc := &metav1.PartialObjectMetadata{ObjectMeta: c.Meta("scylladbdatacenter", c.Name, nil)}
	sdc.SetGroupVersionKind(api.ScyllaDBDatacenterGVK)
	sdc.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scylla.scylladb.com/v1", Kind: api.ScyllaClusterGVK.Kind, Name: c.Name, UID: sc.UID, Controller: new(true)}}
	return c.Add(sc, sdc)
}

func (c *Cluster) row(n Node) []api.ObservedNodeStatusReport {
	cells := make([]api.ObservedNodeStatusReport, 0, len(c.Nodes))
	for _, o := range c.Nodes {
		cell, ok := c.not[n.HostID][o.HostID]
		switch {
		case !ok:
			cell = api.ObservedNodeStatusReport{HostID: hostid.ID(o.HostID), Status: api.NodeStatusUp}
		case cell.Status == "":
			continue // the row lacks it
		}
		cells = append(cells, cell)
	}
	return cells
}

// Objects in the order of their names, as an API server would list them.
func (c *Cluster) Objects() []client.Object {
	reports := c.makeReports()
	all := slices.Concat(byName(c.services), byName(c.pods), byName(c.sets))
	if c.reports {
		for _, r := range reports {
			all = append(all, r)
		}
	}
	return c.finish(append(all, c.more...))
}

// makeReports makes the report of each datacenter, and writes each member's row into its Pod.
func (c *Cluster) makeReports() []*api.ScyllaDBDatacenterNodesStatusReport {
	var reports []*api.ScyllaDBDatacenterNodesStatusReport
	for _, n := range c.Nodes {
		i := slices.IndexFunc(reports, func(r *api.ScyllaDBDatacenterNodesStatusReport) bool { return r.DatacenterName == n.Datacenter })
		if i < 0 {
			r := &api.ScyllaDBDatacenterNodesStatusReport{
				ObjectMeta: c.Meta("report", c.Name+"-"+n.Datacenter, map[string]string{
					api.LabelReportSelector: c.Name, api.LabelManagedBy: api.ManagedByUs,
				}),
				DatacenterName: n.Datacenter,
			}
			r.ManagedFields = Written(`{"f:racks":{}}`)
			i, reports = len(reports), append(reports, r)
		}
		r := reports[i]
		if len(r.Racks) == 0 || r.Racks[len(r.Racks)-1].Name != n.Rack {
			r.Racks = append(r.Racks, api.RackReport{Name: n.Rack})
		}
		row := api.NodeReport{Ordinal: n.Ordinal, HostID: &n.HostID}
		if c.failed[n.Name] != "" {
			c.annotate(n)
		} else if !c.missing[n.Name] {
			row.ObservedNodes = api.Plain(c.row(n))
			c.annotate(n)
		}
		rack := &r.Racks[len(r.Racks)-1]
		rack.Nodes = append(rack.Nodes, row)
	}
	return reports
}

func (c *Cluster) finish(objects []client.Object) []client.Object {
	if c.Finish == nil || !c.reports {
		return objects
	}
	return c.Finish(objects)
}

func (c *Cluster) annotate(n Node) {
	p := c.pods[n.Name]
	if p == nil {
		return
	}
	said := &api.NodeStatusReport{ObservedNodes: c.row(n), HostID: hostid.ID(n.HostID), OperationMode: "NORMAL", OwnsTokens: new(true), ScyllaVersion: n.Version, Complete: strings.HasPrefix(n.Version, "2025.2")}
	for _, cell := range said.ObservedNodes {
		if i := slices.IndexFunc(c.Nodes, func(o Node) bool { return o.HostID == string(cell.HostID) }); i >= 0 && cell.Status != api.NodeStatusUp {
			said.Places = append(said.Places, api.NodePlace{HostID: cell.HostID, Datacenter: c.Nodes[i].Datacenter, Rack: c.Nodes[i].Rack})
		}
	}
	if text := c.failed[n.Name]; text != "" {
		said = &api.NodeStatusReport{Error: &text}
	}
	for _, change := range c.says {
		change(n, said)
	}
	if c.operator {
		said = operatorRow(said)
	}
	v, err := api.EncodeNodeStatusReport(said)
	if err != nil {
		panic(err)
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[api.AnnotationNodeStatusReport] = v
	p.ManagedFields = Written(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationNodeStatusReport + `":{}}}}`)
}

// Maintenance sets label scylla/node-maintenance on a member's Service, as written by kubectl.
func (c *Cluster) Maintenance(name string, ago time.Duration) *Cluster {
	svc := c.Service(name)
	svc.Labels[api.LabelNodeMaintenance] = ""
	svc.ManagedFields = Written(`{"f:metadata":{"f:labels":{"f:` + api.LabelNodeMaintenance + `":{}}}}`)
	svc.ManagedFields[0].Manager, svc.ManagedFields[0].Time = "kubectl-label", &metav1.Time{Time: Now.Add(-ago)}
	return c
}

func Written(fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: "scylla-agent", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
		Time: &metav1.Time{Time: Now.Add(-4 * time.Minute)}, FieldsV1: metav1.NewFieldsV1(fields),
	}}
}
