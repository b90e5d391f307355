// SPDX-License-Identifier: Apache-2.0

package api

import "strings"

// Annotations on Pods.
const (
	// AnnotationNodeStatusReport is one node's row as JSON (see NodeStatusReport). Written by the
	// reporter sidecar of the Pod (ours, or the Scylla Operator's since 1.19), read by the
	// controller that writes the datacenter report. Its prefix is scylla.scylladb.com, not
	// scylla-operator.scylladb.com.
	AnnotationNodeStatusReport = "internal.scylla.scylladb.com/scylladb-node-status-report"
)

// AnnotationInjected is on StatefulSets that `kubectl scylla inject` has changed, with their
// previous values as JSON, and on the objects that it added, with value InjectedAdded. Only inject
// reads and writes it.
const (
	AnnotationInjected = "kubectl-scylla.scylladb.com/injected"
	InjectedAdded      = "added"
)

// AnnotationWantedReplicas on a StatefulSet is the wanted replica count ("3") and lets our
// controller scale the StatefulSet. Until the cluster is initialised, the controller keeps one
// member in one rack. Then it scales up rack by rack, and never down. Written by a user, read by
// our controller, which scales nothing without it.
const AnnotationWantedReplicas = "kubectl-scylla.scylladb.com/wanted-replicas"

// AnnotationRolling is on a StatefulSet while `kubectl scylla inject CLUSTER` rolls it: the update
// strategy is then OnDelete, and the annotation has the strategy to restore, as JSON. Only inject
// reads and writes it.
const AnnotationRolling = "kubectl-scylla.scylladb.com/rolling"

// Annotations on member Services.
const (
	// AnnotationHostID is the member's ScyllaDB host ID. The Scylla Operator's sidecar writes it as
	// soon as the node has one (before the join); our controller copies it from the Pod's
	// annotation. A host ID that has not joined never overwrites one that has. Read by the barrier,
	// replacement and the CLI.
	AnnotationHostID = "internal.scylla-operator.scylladb.com/host-id"

	// AnnotationNodeJoined is "true" once the member's node owns tokens, else "false". Same writers
	// as AnnotationHostID; the Scylla Operator writes it since 1.22. Read by report assembly: only
	// joined members get a row.
	AnnotationNodeJoined = "internal.scylla-operator.scylladb.com/node-joined-scylladb-cluster"

	// AnnotationMemberClaims names the PVCs of a member ("data-demo-rack1-0", comma-separated). Our
	// controller writes it when it creates the Service, and reads it once the cluster has no
	// StatefulSet left. The cluster exists as long as one of the PVCs does.
	AnnotationMemberClaims = "kubectl-scylla.scylladb.com/member-claims"

	// AnnotationJoinedAt, on a member Service, is when the controller observed the node's join: the
	// host ID, a blank, and the time (RFC 3339). Our controller writes it only if it saw the node
	// both before and after the join. It counts while AnnotationHostID has the same host ID. Read
	// to show the work that remains after a join.
	AnnotationJoinedAt = "kubectl-scylla.scylladb.com/joined-at"

	// AnnotationForceProceed set to exactly "true" opens the barrier whatever the reports contain;
	// at our barrier AnnotationForceOverrides limits it.
	// A user sets it on the member Service, on ScyllaCluster or ScyllaDBDatacenter, and with our
	// controller on the StatefulSet. The Scylla Operator (since 1.19) or our controller copies it
	// to the member Services. Read by the barrier. Any other value blocks.
	AnnotationForceProceed = "scylla-operator.scylladb.com/force-proceed-to-bootstrap"

	// AnnotationForcePropagatedFrom names the object ("StatefulSet/demo-rack1") whose force
	// annotation our controller copied to this Service, so that it removes only its own copies.
	// Only our controller reads and writes it.
	AnnotationForcePropagatedFrom = "kubectl-scylla.scylladb.com/force-propagated-from"

	// AnnotationForceReason is the reason from `kubectl scylla force-proceed --reason`; the barrier
	// repeats it in the Event that records the forced start. Written by the CLI.
	AnnotationForceReason = "kubectl-scylla.scylladb.com/force-reason"

	// AnnotationStatusReportOverrideRef names the ScyllaDBStatusReport that the datacenter's
	// barriers use instead of their own. Written on ScyllaDBDatacenter (or, on plain StatefulSets,
	// on the StatefulSet and member Services) by the program or user that aggregates several
	// datacenters. `kubectl scylla remote add --status-report` writes it on the Secret of the
	// remote, and our controller copies it to the member Services.
	AnnotationStatusReportOverrideRef = "internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref"

	// AnnotationManagedHash is on every object that the Scylla Operator applies. We only read it:
	// we must not write an object that has it.
	AnnotationManagedHash = "scylla-operator.scylladb.com/managed-hash"
)

// Labels on member Services, Pods and StatefulSets.
const (
	// LabelCluster, LabelDatacenter, LabelRack and LabelRackOrdinal are an object's location. The
	// datacenter is the name in ScyllaDB's gossip. Written by the Scylla Operator, or by the user's
	// manifest on plain StatefulSets; our controller copies them to the member Services that it
	// creates.
	LabelCluster     = "scylla/cluster"
	LabelDatacenter  = "scylla/datacenter"
	LabelRack        = "scylla/rack"
	LabelRackOrdinal = "scylla/rack-ordinal"

	// LabelReplace on a member Service requests the node's replacement: empty by host ID, an IP
	// address by the older address procedure. Written by a user or the CLI, removed by the
	// controller after the replacement.
	LabelReplace = "scylla/replace"

	// LabelReplacingNodeHostID is the original host ID of an open replacement, never overwritten
	// while the replacement is open. Written by the controller (ours, or the Scylla Operator since
	// 1.10), read by the launcher and the barrier.
	LabelReplacingNodeHostID = "internal.scylla-operator.scylladb.com/replacing-node-hostid"

	// LabelDecommissioned is "false" while the Scylla Operator wants the member decommissioned, and
	// "true" afterwards.
	LabelDecommissioned = "scylla/decommissioned"
	// DecommissionedDone is the value of LabelDecommissioned once the node has left.
	DecommissionedDone = "true"

	// LabelNodeMaintenance on a member Service, with any value, keeps the node's Pod from being
	// Ready in a cluster of the Scylla Operator. Written by users and, during an upgrade, by the
	// operator.
	LabelNodeMaintenance = "scylla/node-maintenance"

	// LabelOperatorAggregation is on ClusterRoles that aggregate into the Scylla Operator's
	// scyllacluster-member. None of our objects may have it; a ClusterRole of an earlier version
	// had it.
	LabelOperatorAggregation = "rbac.operator.scylladb.com/aggregate-to-scylla-member"

	// LabelServiceType is "member" on member Services and "identity" on the cluster's Service.
	// Written by the Scylla Operator and by us.
	LabelServiceType = "scylla-operator.scylladb.com/scylla-service-type"
	// ServiceTypeMember is the LabelServiceType of a member Service.
	ServiceTypeMember = "member"

	// LabelPodType is "scylladb-node" on ScyllaDB Pods. Written by the Scylla Operator and by
	// inject.
	LabelPodType = "scylla-operator.scylladb.com/pod-type"
	// PodTypeNode is the LabelPodType of a ScyllaDB Pod.
	PodTypeNode = "scylladb-node"

	// LabelManagedBy is a Kubernetes label. ManagedByUs on a StatefulSet lets our controller manage
	// its members; on a Service or report it means that our controller created it. With
	// ManagedByOperator our controller changes nothing.
	LabelManagedBy    = "app.kubernetes.io/managed-by"
	ManagedByUs       = "kubectl-scylla"
	ManagedByOperator = "scylla-operator"
)

// ownCluster precedes the name of a cluster in LabelCluster on our StatefulSets. The Scylla
// Operator adopts and deletes each StatefulSet whose LabelCluster is the name of its
// ScyllaDBDatacenter. No name of a Kubernetes object has an underscore.
const ownCluster = "own_"

// OwnCluster returns the value of LabelCluster on an object of ours that the Scylla Operator could
// adopt. A name of more than 59 characters stays unchanged: inject refuses it.
func OwnCluster(name string) string {
	if own := ownCluster + name; IsLabelValue(own) {
		return own
	}
	return name
}

// ClusterOf returns the name of the cluster in an object's labels, with and without the prefix of
// OwnCluster; empty if there is none.
func ClusterOf(labels map[string]string) string { return ClusterValue(labels[LabelCluster]) }

// ClusterValue returns the name of the cluster in the value of LabelCluster or LabelReportSelector.
func ClusterValue(value string) string { return strings.TrimPrefix(value, ownCluster) }

// FieldOwnerController is the field manager of the reports that our controller writes, in any
// Kubernetes cluster.
const FieldOwnerController = "kubectl-scylla-controller"

// Labels on reports.
const (
	// LabelReportSelector selects the datacenter reports that a barrier uses. With the Scylla
	// Operator it is the name of its ScyllaDBDatacenter. With our controller it is the cluster's
	// name (all datacenters of the cluster in the namespace).
	LabelReportSelector = "scylla-operator.scylladb.com/scylladb-datacenter-nodes-status-report-selector"

	// LabelRemoteReport is on a report copied from another Kubernetes cluster. Its value is the
	// ScyllaDBCluster's name with the Scylla Operator, the remote's name with our controller.
	LabelRemoteReport = "scylla-operator.scylladb.com/remote-cluster-scylladb-datacenter-nodes-status-report"
)

// LabelParentScyllaDBCluster names the ScyllaDBCluster of an object. Written by the Scylla Operator
// on every object of its datacenters. It shows that the cluster may have datacenters in other
// Kubernetes clusters.
const LabelParentScyllaDBCluster = "scylla-operator.scylladb.com/parent-scylladbcluster-name"

// ForceProceedValue is the only value of AnnotationForceProceed that opens a barrier.
const ForceProceedValue = "true"

// Names of containers and files, used by the manifests, `inject`, the barrier and the CLI.
const (
	ContainerScyllaDB          = "scylla"
	ContainerReporter          = "scylla-reporter"            // native sidecar
	ContainerBarrier           = "scylladb-bootstrap-barrier" // init container, as in the operator
	ContainerBootstrappedQuery = "scylladb-bootstrapped-query"
	// ContainerIgnition is the Scylla Operator's: ScyllaDB waits until it is ready
	// (pkg/naming/constants.go).
	ContainerIgnition = "scylladb-ignition"
	// VolumeShared is the emptyDir between the query and the barrier, mounted at MountShared.
	VolumeShared = "scylla-shared"
	MountShared  = "/mnt/shared"
	// FileBootstrappedQuery has the query's standard output, FileBootstrappedQuery+".code" its exit
	// code.
	FileBootstrappedQuery = MountShared + "/bootstrapped.json"
	// FileGroup0Query has the output of the container's second query: the ID of the node's group 0
	// on disk.
	FileGroup0Query = MountShared + "/group0.json"
	// DirOwn is our empty directory on the volume with ScyllaDB's data: the only part of the volume
	// that the reporter mounts, at MountDisk, to read the size of its file system.
	DirOwn    = ".kubectl-scylla"
	MountDisk = "/mnt/disk"
)

// Namespace, name and leader election Lease in the Scylla Operator's own manifests. They show
// whether the operator runs; we only read them. The operator documents the Lease's name as a
// constant "that cannot be changed".
const (
	OperatorNamespace = "scylla-operator"
	OperatorName      = "scylla-operator"
	OperatorLeaseName = "scylla-operator-lock"
)

// IsName reports whether a text is valid as the name of an object or namespace. No other text may
// become part of a printed command: text with a leading dash would be an option, such as --server
// or --kubeconfig.
func IsName(text string) bool {
	return len(text) <= 253 && plain(text, false)
}

// IsLabelValue reports whether a text is valid as the value of a label.
func IsLabelValue(text string) bool {
	return text == "" || len(text) <= 63 && plain(text, true)
}

// plain reports whether text has only letters and digits, with dashes and dots between them. It
// uses no regular expression because every poll checks the names and labels of 1,000 nodes.
func plain(text string, label bool) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', label && c >= 'A' && c <= 'Z':
		case i > 0 && i < len(text)-1 && (c == '-' || c == '.' || label && c == '_'):
		default:
			return false
		}
	}
	return text != ""
}
