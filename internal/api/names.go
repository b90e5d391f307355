// SPDX-License-Identifier: Apache-2.0

package api

// Annotations on Pods.
const (
	// AnnotationNodeStatusReport holds one node's row as JSON (see NodeStatusReport). Written by the reporter sidecar of the
	// Pod (ours, or the Scylla Operator's since 1.19), read by the controller that assembles the datacenter report. Its prefix
	// is scylla.scylladb.com, not scylla-operator.scylladb.com.
	AnnotationNodeStatusReport = "internal.scylla.scylladb.com/scylladb-node-status-report"
)

// AnnotationInjected is on StatefulSets that `kubectl scylla inject` has changed, with their previous values as JSON, and on the objects that it
// added, with InjectedAdded. Only that verb reads and writes it.
const (
	AnnotationInjected = "kubectl-scylla.scylladb.com/injected"
	InjectedAdded      = "added"
)

// AnnotationWantedReplicas on a StatefulSet hands its replica count to our controller, and gives the wanted count: "3". Until the cluster is
// initialised the controller keeps it at one member in one rack; then it raises rack by rack, and never lowers. Written by a person, read by our
// controller; without it no count is changed.
const AnnotationWantedReplicas = "kubectl-scylla.scylladb.com/wanted-replicas"

// AnnotationRolling is on a StatefulSet while `kubectl scylla inject CLUSTER` holds it: its update strategy is then OnDelete, and the annotation has
// the strategy to restore, as JSON. Only that verb reads and writes it.
const AnnotationRolling = "kubectl-scylla.scylladb.com/rolling"

// Annotations on member Services.
const (
	// AnnotationHostID is the member's ScyllaDB host ID. Written by the Scylla Operator's sidecar as soon as the node knows it
	// (before it has joined), under our controller from the Pod's annotation; never overwritten by a host ID that has not
	// joined when the recorded one has. Read by the barrier, replacement and the CLI.
	AnnotationHostID = "internal.scylla-operator.scylladb.com/host-id"

	// AnnotationNodeJoined is "true" once the member's node owns tokens and "false" while it does not. Same writers as
	// AnnotationHostID; the Scylla Operator has it since 1.22. Read by report assembly: only joined members get a row.
	AnnotationNodeJoined = "internal.scylla-operator.scylladb.com/node-joined-scylladb-cluster"

	// AnnotationMemberClaims names the claims of a member's volumes ("data-demo-rack1-0", separated by commas). Written by our controller when it
	// creates the Service, read by it once no StatefulSet of the cluster is left: while a claim exists, the cluster does.
	AnnotationMemberClaims = "kubectl-scylla.scylladb.com/member-claims"

	// AnnotationJoinedAt, on a member Service, is when the controller saw its node join: the node's host ID, a blank, and the time (RFC 3339). Written
	// by our controller where it saw the node both before and after; never for a node that was a member when the controller first saw it. It counts
	// while AnnotationHostID is the same host ID. Read to show what has to be done after a join.
	AnnotationJoinedAt = "kubectl-scylla.scylladb.com/joined-at"

	// AnnotationForceProceed set to exactly "true" opens the barrier whatever the reports say. Written by a person (on the
	// member Service, on ScyllaCluster or ScyllaDBDatacenter, and with our controller on the StatefulSet), propagated to the
	// member Services by the Scylla Operator (since 1.19) or our controller. Read by the barrier. Any other value blocks.
	AnnotationForceProceed = "scylla-operator.scylladb.com/force-proceed-to-bootstrap"

	// AnnotationForcePropagatedFrom names the object ("StatefulSet/demo-rack1") whose force annotation our controller copied to this Service, so that it
	// removes only its own copies. Written and read by our controller alone.
	AnnotationForcePropagatedFrom = "kubectl-scylla.scylladb.com/force-propagated-from"

	// AnnotationForceReason is the reason a person gave with `kubectl scylla force-proceed --reason`; the barrier repeats it in
	// the Event that records the forced start. Written by the CLI.
	AnnotationForceReason = "kubectl-scylla.scylladb.com/force-reason"

	// AnnotationStatusReportOverrideRef names the ScyllaDBStatusReport that the datacenter's barriers judge by instead of their own. Written on
	// ScyllaDBDatacenter (or, on plain StatefulSets, on the StatefulSet and member Services) by the program or person that aggregates several
	// datacenters; by `kubectl scylla remote add --status-report` on the Secret of the remote, from where our controller copies it to the member
	// Services.
	AnnotationStatusReportOverrideRef = "internal.scylla-operator.scylladb.com/scylladb-status-report-override-ref"

	// AnnotationManagedHash is on every object that the Scylla Operator applies. We only read it: it marks an object that is
	// not ours to write.
	AnnotationManagedHash = "scylla-operator.scylladb.com/managed-hash"
)

// Labels on member Services, Pods and StatefulSets.
const (
	// LabelCluster, LabelDatacenter, LabelRack and LabelRackOrdinal place an object. The datacenter is the name ScyllaDB gossips.
	// Written by the Scylla Operator, or by the user's manifest on plain StatefulSets; our controller copies them to the
	// member Services that it makes.
	LabelCluster     = "scylla/cluster"
	LabelDatacenter  = "scylla/datacenter"
	LabelRack        = "scylla/rack"
	LabelRackOrdinal = "scylla/rack-ordinal"

	// LabelReplace on a member Service asks for the node's replacement. Empty: by host ID. An IP address: the old procedure by
	// address. Written by a person or the CLI, removed by the controller when the replacement is over.
	LabelReplace = "scylla/replace"

	// LabelReplacingNodeHostID is the original host ID of an open replacement, written once and never overwritten while the
	// replacement is open. Written by the controller (ours, or the Scylla Operator since 1.10), read by the launcher and the barrier.
	LabelReplacingNodeHostID = "internal.scylla-operator.scylladb.com/replacing-node-hostid"

	// LabelDecommissioned is "false" while the Scylla Operator wants the member decommissioned and "true" when it is done.
	LabelDecommissioned = "scylla/decommissioned"
	// DecommissionedDone is the value of LabelDecommissioned once the node has left.
	DecommissionedDone = "true"

	// LabelOperatorAggregation labels the ClusterRoles that the Scylla Operator's scyllacluster-member takes in. Nothing of ours may carry it; a
	// ClusterRole of an earlier version did.
	LabelOperatorAggregation = "rbac.operator.scylladb.com/aggregate-to-scylla-member"

	// LabelServiceType is "member" on member Services and "identity" on the cluster's. Written by the Scylla Operator and by us.
	LabelServiceType = "scylla-operator.scylladb.com/scylla-service-type"
	// ServiceTypeMember is the LabelServiceType of a member Service.
	ServiceTypeMember = "member"

	// LabelPodType is "scylladb-node" on ScyllaDB Pods. Written by the Scylla Operator and by the manifests `inject` makes.
	LabelPodType = "scylla-operator.scylladb.com/pod-type"
	// PodTypeNode is the LabelPodType of a ScyllaDB Pod.
	PodTypeNode = "scylladb-node"

	// LabelManagedBy is Kubernetes' own; ManagedByUs on a StatefulSet hands its members to our controller, and on a Service or
	// report says that our controller made it. ManagedByOperator keeps our controller off.
	LabelManagedBy    = "app.kubernetes.io/managed-by"
	ManagedByUs       = "kubectl-scylla"
	ManagedByOperator = "scylla-operator"
)

// FieldOwnerController is the field manager of the reports that our controller writes, in this Kubernetes cluster and in others.
const FieldOwnerController = "kubectl-scylla-controller"

// Labels on reports.
const (
	// LabelReportSelector selects the datacenter reports that a barrier judges by: with the Scylla Operator the name of its
	// ScyllaDBDatacenter, with our controller the cluster's name (all datacenters of the cluster in the namespace).
	LabelReportSelector = "scylla-operator.scylladb.com/scylladb-datacenter-nodes-status-report-selector"

	// LabelRemoteReport marks a report that was copied in from another Kubernetes cluster. The Scylla Operator writes its
	// ScyllaDBCluster's name there, our controller the remote's name.
	LabelRemoteReport = "scylla-operator.scylladb.com/remote-cluster-scylladb-datacenter-nodes-status-report"
)

// LabelParentScyllaDBCluster names the ScyllaDBCluster that an object is a part of. Written by the Scylla Operator on every object of one of that
// cluster's datacenters; read to tell that a cluster may have datacenters in other Kubernetes clusters.
const LabelParentScyllaDBCluster = "scylla-operator.scylladb.com/parent-scylladbcluster-name"

// ForceProceedValue is the only value of AnnotationForceProceed that opens a barrier.
const ForceProceedValue = "true"

// Names of containers and files that the manifests, `inject`, the barrier and the CLI agree on.
const (
	ContainerScyllaDB          = "scylla"
	ContainerReporter          = "scylla-reporter"            // native sidecar
	ContainerBarrier           = "scylladb-bootstrap-barrier" // init container; the Scylla Operator's name for it
	ContainerBootstrappedQuery = "scylladb-bootstrapped-query"
	// VolumeShared is the emptyDir between the query and the barrier, mounted at MountShared.
	VolumeShared = "scylla-shared"
	MountShared  = "/mnt/shared"
	// FileBootstrappedQuery has the query's standard output, FileBootstrappedQuery+".code" its exit code.
	FileBootstrappedQuery = MountShared + "/bootstrapped.json"
	// FileGroup0Query has the standard output of the same container's second query, which asks the disk for the ID of the node's group 0.
	FileGroup0Query = MountShared + "/group0.json"
)

// Namespace and name in the Scylla Operator's own manifests, and its leader election Lease; we only read them, to tell whether the operator runs. The
// Lease's name is a constant of the operator "that cannot be changed".
const (
	OperatorNamespace = "scylla-operator"
	OperatorName      = "scylla-operator"
	OperatorLeaseName = "scylla-operator-lock"
)

// IsName reports whether a text can be the name of an object or of a namespace. Any other text must not get into a command that people paste: a text
// that begins with a dash would be an option, such as --server or --kubeconfig.
func IsName(text string) bool {
	return len(text) <= 253 && plain(text, false)
}

// IsLabelValue reports whether a text can be the value of a label.
func IsLabelValue(text string) bool {
	return text == "" || len(text) <= 63 && plain(text, true)
}

// plain is true for letters and digits, with dashes and dots between them. It uses no regular expression because it checks the names and labels of
// 1,000 nodes at every look.
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
