// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"iter"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Key names a cluster: the namespace and the value of label scylla/cluster. With the Scylla Operator that value is the
// name of the ScyllaDBDatacenter.
type Key struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String is "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Kinds is a set of kinds of objects.
type Kinds uint16

// The kinds of a cluster's objects.
const (
	KindServices Kinds = 1 << iota
	KindPods
	KindStatefulSets
	KindPVCs
	KindReports
	KindStatusReport
	KindLease
)

// Objects are the objects of one cluster, read at one moment. Lists may hold objects that are not the cluster's own: New leaves them out.
type Objects struct {
	Key

	Services     []corev1.Service
	Pods         []corev1.Pod
	StatefulSets []appsv1.StatefulSet
	PVCs         []corev1.PersistentVolumeClaim
	// Reports are the datacenter reports whose selector label names the cluster: its own and those copied in from elsewhere.
	Reports []api.ScyllaDBDatacenterNodesStatusReport
	// StatusReport is the cluster report: the one of the cluster's name, or the one that an override names.
	StatusReport *api.ScyllaDBStatusReport
	Lease        *coordinationv1.Lease
	// Machines are the states of the Kubernetes nodes that the Pods are on, by name; nil where they were not read.
	Machines map[string]string
	// NotReadySince is since when Kubernetes nodes of Machines have not been ready, by name; without those that are ready, or of which that is not known.
	NotReadySince map[string]time.Time
	// Volumes are the Kubernetes nodes that PersistentVolumes can be used on, by the volume's name: empty for one that can move. Only those of Pods without a Kubernetes node are read.
	Volumes map[string][]string
	// OperatorState is the visible state of the Scylla Operator where it manages the cluster; nil when it was not read.
	OperatorState *OperatorState

	// Live holds the answer of each member's ScyllaDB, by member name; nil when no node was asked.
	Live map[string]*api.NodeStatusReport
	// Facts are the answers of each member's ScyllaDB beyond its row, by member name; filled with Live.
	Facts map[string]LiveFacts

	// Elsewhere names the Services of other namespaces and clusters that record host IDs which no member here has, as NAMESPACE/NAME by host ID; nil where they were not asked for.
	Elsewhere map[hostid.ID]string

	// Banned is the evidence in the logs of newcomers that ScyllaDB will never let them join, by member; see WithBanned.
	Banned map[string]words.Message

	// Read distinguishes an empty list from one that was not read. Zero means that a list without objects was not read.
	Read Kinds
	// Problems name what could not be read. Not empty means that the cluster is known in part only.
	Problems []Problem
	// Notes are remarks on the reading itself ("2 objects of kind Secret skipped").
	Notes []string
	// Offline is true for saved objects.
	Offline bool
	// SavedAt is the newest time in a file of saved objects; zero where it has none.
	SavedAt time.Time
	// Old is true for saved objects that are too old to rest a step on that cannot be undone; see Cluster.Aged.
	Old bool
	// Decoder remembers decoded annotations from one Cluster to the next; nil decodes each anew.
	Decoder *Decoder
}

// LiveFacts are a node's answers beyond its row.
type LiveFacts struct {
	// Schemas maps schema versions to the addresses that have them, as this node sees it; one key means agreement. Nil without an answer.
	Schemas map[string][]string
	// GossipOnly are the nodes that gossip with this one and are not among its members.
	GossipOnly []Endpoint
	// Vitals of its process and its data.
	Vitals Vitals `json:"Vitals,omitzero"`
}

// Endpoint is a gossip endpoint.
type Endpoint struct {
	HostID, Address string
}

// Empty is true when there is no trace of the cluster. A Service or Pod that is not a member's does not count.
func (o *Objects) Empty() bool {
	return len(o.StatefulSets)+len(o.PVCs)+len(o.Reports) == 0 && o.StatusReport == nil &&
		!slices.ContainsFunc(o.Pods, func(p corev1.Pod) bool { return IsNodePod(&p) }) &&
		!slices.ContainsFunc(o.Services, func(s corev1.Service) bool { return IsMemberService(&s) })
}

// Override is the name of the ScyllaDBStatusReport by which the cluster is judged instead of its own reports, empty when none is named. Any of the cluster's objects may name it:
// the Scylla Operator copies a datacenter's annotations to its Services and reports. Without the operator it is on the Services and StatefulSets: the credentials of a remote
// datacenter may write reports, and must not choose the one that decides.
func (o *Objects) Override() string {
	ours := slices.ContainsFunc(o.Services, func(s corev1.Service) bool { return Managed(&s) }) ||
		slices.ContainsFunc(o.StatefulSets, func(s appsv1.StatefulSet) bool { return Managed(&s) })
	for part := range o.parts() {
		if r, ok := part.(*api.ScyllaDBDatacenterNodesStatusReport); ok && (ours || isRemote(r)) {
			continue
		}
		if v := part.GetAnnotations()[api.AnnotationStatusReportOverrideRef]; v != "" {
			return v
		}
	}
	return ""
}

// parts yields the objects that every manager of a cluster makes: Services, StatefulSets and datacenter reports, in this order.
func (o *Objects) parts() iter.Seq[metav1.Object] {
	return func(yield func(metav1.Object) bool) {
		for i := range o.Services {
			if !yield(&o.Services[i]) {
				return
			}
		}
		for i := range o.StatefulSets {
			if !yield(&o.StatefulSets[i]) {
				return
			}
		}
		for i := range o.Reports {
			if !yield(&o.Reports[i]) {
				return
			}
		}
	}
}

// KnowsPods is true when a Pod that is not among the objects does not exist.
func (o *Objects) KnowsPods() bool {
	return o.Read&KindPods != 0 || o.Read == 0 && len(o.Pods) > 0
}

// knowsServices is true when a Service that is not among the objects does not exist.
func (o *Objects) knowsServices() bool {
	return o.Read&KindServices != 0 || o.Read == 0 && len(o.Services) > 0
}
