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

// Key identifies a cluster: namespace and value of label scylla/cluster. With the Scylla Operator
// that value is the name of the ScyllaDBDatacenter.
type Key struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Kinds is a set of kinds of objects.
type Kinds uint16

// Kinds of a cluster's objects.
const (
	KindServices Kinds = 1 << iota
	KindPods
	KindStatefulSets
	KindPVCs
	KindReports
	KindStatusReport
	KindLease
)

// Objects are the objects of one cluster, read at one moment. Lists may have objects of other
// clusters: New leaves them out.
type Objects struct {
	Key

	Services     []corev1.Service
	Pods         []corev1.Pod
	StatefulSets []appsv1.StatefulSet
	PVCs         []corev1.PersistentVolumeClaim
	// Reports are the datacenter reports whose selector label names the cluster: its own and copies
	// from elsewhere.
	Reports []api.ScyllaDBDatacenterNodesStatusReport
	// StatusReport is the cluster report: with the cluster's name, or the name in an override.
	StatusReport *api.ScyllaDBStatusReport
	Lease        *coordinationv1.Lease
	// Machines are the states of the Pods' Kubernetes nodes, by name; nil if not read.
	Machines map[string]string
	// NotReadySince is when a Kubernetes node of Machines stopped being Ready, by name. Nodes that
	// are Ready, or whose time is unknown, are left out.
	NotReadySince map[string]time.Time
	// Volumes are the Kubernetes nodes that can use a PersistentVolume, by volume name; empty if it
	// can move. Only volumes of Pods that do not serve are read.
	Volumes map[string][]string
	// Classes are the StorageClasses of the PVCs of full volumes, by name; nil if not read.
	Classes map[string]StorageClass
	// Claimed are the PersistentVolumes that are bound to, or kept for, a PVC of this namespace, by
	// PVC name; nil if they were not read.
	Claimed map[string]string
	// Events are Kubernetes' warnings about members that are not Ready, the newest first; see
	// SetEvents.
	Events []corev1.Event
	// OperatorState is the visible state of the Scylla Operator if it manages the cluster; nil if
	// not read.
	OperatorState *OperatorState

	// Live is the answer of each member's ScyllaDB, by member name; nil if no node was queried.
	Live map[string]*api.NodeStatusReport
	// Facts are the answers of each member's ScyllaDB other than its row, by member name; set with
	// Live.
	Facts map[string]LiveFacts

	// Elsewhere are the Services of other namespaces and clusters, as NAMESPACE/NAME, that record a
	// host ID that no member here has; by host ID. Nil if they were not read.
	Elsewhere map[hostid.ID]string

	// Banned is the evidence from the logs of new nodes that ScyllaDB permanently refuses their
	// join, by member; see WithBanned.
	Banned map[string]words.Message

	// Logged is the known error in the log of a member that does not run, by member; see WithLogs.
	Logged map[string]LogError

	// Gathered is what commands printed in a Pod, saved with its objects; by member.
	Gathered map[string]Gathered

	// Read distinguishes an empty list from a list that was not read. If it is zero, a list without
	// objects was not read.
	Read Kinds
	// Problems are what could not be read. If there are any, only part of the cluster is known.
	Problems []Problem
	// Notes are remarks on the reading itself ("2 objects of kind Secret skipped").
	Notes []string
	// Offline is true for saved objects.
	Offline bool
	// SavedAt is the newest time in a file of saved objects; zero if it has none.
	SavedAt time.Time
	// Old is true for saved objects that are too old for a step that cannot be undone, or that
	// contradict themselves; see Cluster.Aged and Disputes.
	Old bool
	// Decoder caches decoded annotations across Clusters; nil decodes all again.
	Decoder *Decoder
}

// LiveFacts are a node's answers other than its row.
type LiveFacts struct {
	// Schemas maps schema versions to the addresses that have them, as this node sees it; one key
	// means agreement. Nil without an answer.
	Schemas map[string][]string
	// GossipOnly are the nodes that gossip with this one and are not its members.
	GossipOnly []Endpoint
	// Vitals are about its process and its data.
	Vitals Vitals `json:"Vitals,omitzero"`
}

// Endpoint is a gossip endpoint.
type Endpoint struct {
	HostID, Address string
}

// Empty reports whether there is no trace of the cluster. A Service or Pod that does not belong to
// a member does not count.
func (o *Objects) Empty() bool {
	return len(o.StatefulSets)+len(o.PVCs)+len(o.Reports) == 0 && o.StatusReport == nil &&
		!slices.ContainsFunc(o.Pods, func(p corev1.Pod) bool { return IsNodePod(&p) }) &&
		!slices.ContainsFunc(o.Services, func(s corev1.Service) bool { return IsMemberService(&s) })
}

// Override returns the name of the ScyllaDBStatusReport that replaces the cluster's own reports;
// empty if none is named. Any object of the cluster may name it, because the Scylla Operator copies
// a datacenter's annotations to its Services and reports. Without the operator only Services and
// StatefulSets count: the credentials of a remote datacenter can write reports, and must not choose
// the report that decides.
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

// parts yields the objects that every manager of a cluster creates: Services, StatefulSets and
// datacenter reports, in this order.
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

// KnowsPods reports whether a Pod that is not among the objects does not exist.
func (o *Objects) KnowsPods() bool {
	return o.Read&KindPods != 0 || o.Read == 0 && len(o.Pods) > 0
}

// knowsServices reports whether a Service that is not among the objects does not exist.
func (o *Objects) knowsServices() bool {
	return o.Read&KindServices != 0 || o.Read == 0 && len(o.Services) > 0
}
