// SPDX-License-Identifier: Apache-2.0

package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// NodeStatus is the status of one node in another node's row. Only UP counts as up; every other
// text, known or not, does not.
type NodeStatus string

const (
	NodeStatusUp   NodeStatus = "UP"
	NodeStatusDown NodeStatus = "DOWN"
	// in neither of gossip's lists; ours: the Scylla Operator writes DOWN
	NodeStatusUnknown NodeStatus = "UNKNOWN"
)

// NodeState is the phase of a node's membership, as its peers' topology says. Empty means that only
// its membership is known.
type NodeState string

const (
	NodeStateNormal         NodeState = "NORMAL"
	NodeStateJoining        NodeState = "JOINING"
	NodeStateLeaving        NodeState = "LEAVING" // being decommissioned or removed
	NodeStateReplacing      NodeState = "REPLACING"
	NodeStateBeingReplaced  NodeState = "BEING_REPLACED"
	NodeStateDecommissioned NodeState = "DECOMMISSIONED"
)

// ObservedNodeStatusReport is one cell of the matrix, as annotations and our own kind have it. The
// Scylla Operator's kind has ObservedNode.
type ObservedNodeStatusReport struct {
	// HostID of the observed node.
	HostID hostid.ID `json:"hostID"`
	// Status as the reporter sees it: UP, DOWN or UNKNOWN. MISSING is an exception from the
	// membership: the row does not list this node.
	// +kubebuilder:validation:Enum=UP;DOWN;UNKNOWN;MISSING
	Status NodeStatus `json:"status"`
	// State of the observed node where the reporter knows it to be other than normal. Additive;
	// readers that do not know it skip it.
	// +optional
	State NodeState `json:"state,omitempty"`
	// Since is when the reporter first saw the present status, kept only while it is not UP.
	// Additive.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// Codes of NodeStatusReport.Fault.
const (
	// ScyllaDB did not respond, or the response is unusable
	FaultScyllaDB = "ScyllaDBNoAnswer"
	// the Pod was not reachable, so ScyllaDB was not queried
	FaultPodUnreachable = "PodUnreachable"
)

// NodeStatusReport is the value of AnnotationNodeStatusReport: the row of one node. The shipped
// shape is observedNodes and error; the rest is additive, and stable: the same facts give the same
// bytes.
// +kubebuilder:object:generate=false
type NodeStatusReport struct {
	ObservedNodes []ObservedNodeStatusReport `json:"observedNodes,omitempty"`
	// Error is why the reporter could not write the row; the row is then empty.
	Error *string `json:"error,omitempty"`
	// LastRow is the last row without an error, kept in addition to Error; nil without Error, and
	// if there was none. It lists the members. It does not show which of them are UP. Additive.
	LastRow *LastRow `json:"lastRow,omitempty"`
	// Fault is the code of Error; empty is ScyllaDBNoAnswer, as the Scylla Operator's reporter
	// writes no code. Additive.
	Fault string `json:"fault,omitempty"`

	// HostID of the reporting node itself, as soon as it knows it, joined or not.
	HostID hostid.ID `json:"hostID,omitempty"`
	// OperationMode is ScyllaDB's own text (STARTING, JOINING, NORMAL, LEAVING, ...).
	OperationMode string `json:"operationMode,omitempty"`
	// OwnsTokens is whether the node owns normal tokens; nil when ScyllaDB did not answer that.
	OwnsTokens *bool `json:"ownsTokens,omitempty"`
	// ScyllaVersion is the running node's release, "2025.2.1-0.20250901.abc".
	ScyllaVersion string `json:"scyllaVersion,omitempty"`
	// Complete is true if the ring has no token of a member that ObservedNodes does not list. Only
	// set up to 2025.2, where ScyllaDB lists one of two members at one address. Additive.
	Complete bool `json:"complete,omitempty"`
	// Places are the locations of the observed nodes that are not UP, from gossip, sorted by host
	// ID. Only they show that a host ID without a member is a node of another datacenter. Empty if
	// gossip has none, or if more than MaxPlaces nodes are not UP. Additive.
	Places []NodePlace `json:"places,omitempty"`
	// LegacyTopology is true if the node reports that Raft does not manage its cluster's topology.
	// Additive.
	LegacyTopology bool `json:"legacyTopology,omitempty"`
	// Coordinator is the host ID of the topology coordinator as the node knows it: the leader of
	// group 0, whose own view of gossip alone decides a join. Empty where the node knows no
	// coordinator, as in every version before 6.0. Additive.
	Coordinator hostid.ID `json:"coordinator,omitempty"`
	// Group0ID is the ID of the node's group 0, which is the identity of its cluster, as read from
	// the node's disk when its Pod started. Empty where the disk does not have it: on the first
	// start, and before 2025.2. Additive.
	Group0ID string `json:"group0ID,omitempty"`
	// RepairBased are the node operations (ScyllaDB's names: replace, bootstrap, ...) that this
	// node's configuration makes repair-based, sorted. Empty if there are none or if they are
	// unknown. Additive.
	RepairBased []string `json:"repairBased,omitempty"`
	// Operations lists topology operations that the task manager shows as open or failed.
	Operations []NodeOperation `json:"operations,omitempty"`
	// Heartbeat is where the reporter confirms its row; nil where it serves no heartbeat, as the
	// Scylla Operator's. Additive.
	Heartbeat *ReportHeartbeat `json:"heartbeat,omitempty"`
	// Process is how ScyllaDB's process ended within its running container, in addition to Error;
	// nil if it has not ended or if that is unknown. Additive.
	Process *ScyllaDBProcess `json:"process,omitempty"`
	// DiskUsedPercent is how full the volume with the node's data is, in addition to Error. Below
	// 90 it is a multiple of 5, so that it seldom changes the row. Nil if unknown, as from an older
	// reporter. Additive.
	DiskUsedPercent *int32 `json:"diskUsedPercent,omitempty"`
	// JoinedPercent is how much of its data a joining or replacing node has received; nil if it
	// does neither, or if unknown. Additive.
	JoinedPercent *int32 `json:"joinedPercent,omitempty"`
	// VnodeKeyspaces is whether a keyspace of users has vnodes: only such a keyspace needs a
	// cleanup after a join. Nil if unknown, as from an older reporter. Additive.
	VnodeKeyspaces *bool `json:"vnodeKeyspaces,omitempty"`
	// Credential is the result of the credential container; nil if the Pod has none, or if it has
	// not acted. Additive.
	Credential *CredentialReport `json:"credential,omitempty"`
}

// ScyllaDBProcess is a ScyllaDB process that has ended, by the supervisord of its container: the
// container runs on without it.
type ScyllaDBProcess struct {
	// State is supervisord's text: EXITED, FATAL, BACKOFF or STOPPED; STARTING or RUNNING once it
	// was started again.
	State string `json:"state"`
	// ExitStatus is the exit status, -1 after a signal; nil where supervisord no longer has it.
	ExitStatus *int32 `json:"exitStatus,omitempty"`
	// Ended is when it ended last; nil where it could not be started.
	Ended *metav1.Time `json:"ended,omitempty"`
}

// States of a process, in supervisord's spelling.
const (
	ProcessStarting = "STARTING"
	ProcessRunning  = "RUNNING"
	ProcessBackoff  = "BACKOFF" // ended at once; supervisord will restart it
	ProcessStopped  = "STOPPED" // stopped by a user
	ProcessExited   = "EXITED"  // permanent after exit status 0, else temporary
	ProcessFatal    = "FATAL"   // permanent
)

// MaxPlaces is the largest number of places in a row: with more nodes that are not UP, none of them
// is removed, and the row must stay small.
const MaxPlaces = 32

// NodePlace is the location of a node.
type NodePlace struct {
	HostID     hostid.ID `json:"hostID"`
	Datacenter string    `json:"datacenter"`
	Rack       string    `json:"rack"`
}

// LastRow is the last row of a reporter that can no longer make one.
type LastRow struct {
	// HostID of the reporting node.
	HostID hostid.ID `json:"hostID"`
	// ObservedNodes of that row, sorted by host ID, without since.
	ObservedNodes []ObservedNodeStatusReport `json:"observedNodes"`
}

// ReportHeartbeat is where a reporter serves the row of its Pod with a running number, over TLS.
type ReportHeartbeat struct {
	// Port at the Pod's address.
	Port int32 `json:"port"`
	// Fingerprint of the certificate there: the lower-case hex SHA-256 of its DER form. The
	// reporter makes key and certificate when it starts.
	Fingerprint string `json:"fingerprint"`
	// IntervalSeconds is the time between two polls of ScyllaDB, where that is more than 5 s; zero
	// otherwise. The number may stand still for twice as long. An older controller does not read
	// it, and takes the member for UNKNOWN meanwhile.
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
}

// NodeOperation is a topology operation as ScyllaDB's task manager lists it.
type NodeOperation struct {
	// Type is ScyllaDB's text: bootstrap, replace, decommission, "remove node", rebuild.
	Type string `json:"type"`
	// State is created, running, done or failed.
	State string `json:"state"`
	// HostID of the node that the operation concerns; empty where ScyllaDB does not tell, as in
	// every version up to 2025.4.
	HostID hostid.ID `json:"hostID"`
	// Error is the task's error text, when it failed.
	Error string `json:"error,omitempty"`
}

// ObservedNode is one cell of a datacenter report, with exactly the fields of the Scylla Operator's
// kind.
type ObservedNode struct {
	// HostID of the observed node.
	// +optional
	HostID string `json:"hostID"`
	// Status as the reporter sees it: UP, DOWN or UNKNOWN.
	// +optional
	Status NodeStatus `json:"status"`
}

// NodeReport is the row of one member in a datacenter report.
type NodeReport struct {
	// Ordinal of the member in its rack's StatefulSet.
	// +optional
	Ordinal int32 `json:"ordinal"`
	// HostID of the member's node; absent while unknown.
	// +optional
	HostID *string `json:"hostID,omitempty"`
	// ObservedNodes, sorted by host ID. Absent when the member has not reported.
	// +optional
	ObservedNodes []ObservedNode `json:"observedNodes,omitempty"`
}

// RackReport holds the rows of one rack.
type RackReport struct {
	// +optional
	Name string `json:"name"`
	// +optional
	Nodes []NodeReport `json:"nodes,omitempty"`
}

// ScyllaDBDatacenterNodesStatusReport is the report of one datacenter, in exactly the Scylla
// Operator's shape: no spec, no status, no time stamp.
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="scylla-operator.scylladb.com/internal-api-type=true"
// +kubebuilder:resource:scope=Namespaced,path=scylladbdatacenternodesstatusreports,singular=scylladbdatacenternodesstatusreport
type ScyllaDBDatacenterNodesStatusReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// DatacenterName is the name that ScyllaDB gossips.
	// +optional
	DatacenterName string `json:"datacenterName"`
	// +optional
	Racks []RackReport `json:"racks,omitempty"`
}

// ScyllaDBDatacenterNodesStatusReportList is a list of ScyllaDBDatacenterNodesStatusReport.
// +kubebuilder:object:root=true
type ScyllaDBDatacenterNodesStatusReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScyllaDBDatacenterNodesStatusReport `json:"items"`
}

// StatusReportNode is the row of one node in a cluster report.
type StatusReportNode struct {
	// HostID of the reporting node.
	// +optional
	HostID string `json:"hostID"`
	// Member is the name of its Service and Pod, where these are in the namespace of the report.
	// +optional
	Member string `json:"member,omitempty"`
	// MembershipDigest, if set, means that this node sees every host ID of the membership with that
	// digest UP, except those in observedNodes. If empty, observedNodes is the whole row, as in the
	// proposal. In a cluster of up to 32 nodes every row that is not stale is whole.
	// +optional
	MembershipDigest string `json:"membershipDigest,omitempty"`
	// ObservedNodes is the whole row, or with a membershipDigest its exceptions.
	// +optional
	ObservedNodes []ObservedNodeStatusReport `json:"observedNodes,omitempty"`
	// Fault is why the row is missing or cannot be used.
	// +optional
	Fault *RowTrouble `json:"fault,omitempty"`
	// Stale is why the row may be old: it is then the last known row, and blocks.
	// +optional
	Stale *RowTrouble `json:"stale,omitempty"`
}

// RowTrouble is why a row is missing or may be old, as a code.
type RowTrouble struct {
	// Code is one of the codes of package matrix: ScyllaDBNoAnswer, RowMalformed, PodGone, ...
	Code string `json:"code"`
	// Object is the container, Kubernetes node, host ID or digest that the code refers to.
	// +optional
	Object string `json:"object,omitempty"`
	// Words are ScyllaDB's or Kubernetes' own text.
	// +optional
	Words string `json:"words,omitempty"`
	// Since is when the trouble began, where that is known.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// StatusReportDatacenter holds the rows of one datacenter in a cluster report.
type StatusReportDatacenter struct {
	// +optional
	Name string `json:"name"`
	// Stale is set when the datacenter's own report can no longer be read; its last rows are kept
	// and block.
	// +optional
	Stale bool `json:"stale,omitempty"`
	// StaleSince is when reading it first failed.
	// +optional
	StaleSince *metav1.Time `json:"staleSince,omitempty"`
	// NotVerified is set for a datacenter that is known to exist but whose nodes no reporter in
	// this Kubernetes cluster can ask.
	// +optional
	NotVerified bool `json:"notVerified,omitempty"`
	// +optional
	Nodes []StatusReportNode `json:"nodes,omitempty"`
}

// Membership is a set of host IDs with its digest, stored once for all rows.
type Membership struct {
	// Digest is the lower-case hex SHA-256 of the sorted host IDs joined by newlines, first 16
	// characters.
	Digest string `json:"digest"`
	// HostIDs, sorted.
	HostIDs []string `json:"hostIDs"`
}

// StatusReportMember is the controller's record of one member, in addition to its row.
type StatusReportMember struct {
	// Name of the member: its Service and Pod.
	Name string `json:"name"`
	// +optional
	Namespace  string `json:"namespace,omitempty"`
	Datacenter string `json:"datacenter"`
	Rack       string `json:"rack"`
	// +optional
	Ordinal int32 `json:"ordinal"`
	// +optional
	HostID string `json:"hostID,omitempty"`
	// Joined is true once the node has owned tokens.
	// +optional
	Joined bool `json:"joined,omitempty"`
	// State of the node in every row that mentions it; empty when the rows do not agree.
	// +optional
	State NodeState `json:"state,omitempty"`
	// OperationMode and ScyllaVersion are the node's own answers.
	// +optional
	OperationMode string `json:"operationMode,omitempty"`
	// +optional
	ScyllaVersion string `json:"scyllaVersion,omitempty"`
	// Coordinator is the host ID of the topology coordinator as the node knows it.
	// +optional
	Coordinator string `json:"coordinator,omitempty"`
	// Group0ID is the ID of the node's group 0, where its disk has it.
	// +optional
	Group0ID string `json:"group0ID,omitempty"`
}

// ScyllaDBStatusReportStatus is our part of the cluster report.
type ScyllaDBStatusReportStatus struct {
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Nodes, Up and Blockers feed the printer columns: "5", "5/5", number of blockers for a new
	// node.
	// +optional
	Nodes int32 `json:"nodes"`
	// +optional
	Up string `json:"up,omitempty"`
	// +optional
	Blockers int32 `json:"blockers"`
	// FirstBlocker is the first blocker as a sentence.
	// +optional
	FirstBlocker string `json:"firstBlocker,omitempty"`
	// Members, sorted by datacenter, rack, ordinal.
	// +optional
	Members []StatusReportMember `json:"members,omitempty"`
	// Operations that are open or failed, without duplicates.
	// +optional
	Operations []NodeOperation `json:"operations,omitempty"`
	// HealthPolicy are the numbers by which the cluster's nodes are judged.
	// +optional
	HealthPolicy *StatusReportHealthPolicy `json:"healthPolicy,omitempty"`
	// View is the controller's summary of the cluster. It is written when its content changes.
	// +optional
	View *StatusReportView `json:"view,omitempty"`
	// Initialized is set once and never removed: the cluster has had its first node, and no member
	// may bootstrap it again.
	// +optional
	Initialized bool `json:"initialized,omitempty"`
	// Initialization is the evidence for Initialized. Written with Initialized and never changed.
	// +optional
	Initialization *StatusReportInitialization `json:"initialization,omitempty"`
	// RootCredential is the last result about the first credential; absent where no member has a
	// container of the credential.
	// +optional
	RootCredential *RootCredential `json:"rootCredential,omitempty"`
	// SelfInitialized is true once the superuser that ScyllaDB's configuration names was found, and
	// the default one closed. Never removed.
	// +optional
	SelfInitialized bool `json:"selfInitialized,omitempty"`
	// InitialSettings are the settings that precede the growth of the cluster.
	// +optional
	InitialSettings *InitialSettings `json:"initialSettings,omitempty"`
	// Group0ID is the ID of the cluster's group 0, which is its identity, from the first nodes
	// whose disks had it. Set once, and never changed: a node with another one belongs to another
	// cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	Group0ID string `json:"group0ID,omitempty"`
}

// LastListed is a node that a last row listed as a normal member.
type LastListed struct {
	HostID hostid.ID `json:"hostID"`
	// By is the host ID of the node whose row it was: another node, except in a cluster of one
	// member.
	By hostid.ID `json:"by"`
}

// Condition types and reasons of ScyllaDBStatusReport.
const (
	// ConditionAllNodesUp is True if every node sees every node UP: a new node can join.
	ConditionAllNodesUp = "AllNodesUp"
	// ConditionRowsDecoded is False if an annotation could not be decoded; the message names the
	// Pod.
	ConditionRowsDecoded = "RowsDecoded"
	// ConditionRemotesReachable is False if a remote datacenter's report could not be read.
	ConditionRemotesReachable = "RemotesReachable"
)

// ScyllaDBStatusReport is the report of a whole cluster: the proposal's
// datacenters[].nodes[].observedNodes[], and our status. In a cluster of up to 32 nodes every row
// is whole, and the proposal's algorithm reads it. In a larger one the membership is stored once,
// and a row lists only its exceptions (membershipDigest): the size grows with nodes plus
// exceptions. Rows that may be old, and all rows while a datacenter is not verified, are written
// with a membershipDigest in small clusters too: the proposal's algorithm has no field for either,
// and then waits.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=scylladbstatusreports,singular=scylladbstatusreport
// +kubebuilder:printcolumn:name="NODES",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="UP",type=string,JSONPath=`.status.up`
// +kubebuilder:printcolumn:name="ALL-UP",type=string,JSONPath=`.status.conditions[?(@.type=="AllNodesUp")].status`
// +kubebuilder:printcolumn:name="BLOCKERS",type=integer,JSONPath=`.status.blockers`
// +kubebuilder:printcolumn:name="FIRST-BLOCKER",type=string,priority=1,JSONPath=`.status.firstBlocker`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ScyllaDBStatusReport struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Membership of all rows that carry its digest.
	// +optional
	Membership *Membership `json:"membership,omitempty"`
	// +optional
	Datacenters []StatusReportDatacenter `json:"datacenters,omitempty"`
	// LastListed are the members in the last rows, while no node has a usable row. When the whole
	// cluster starts, they distinguish a member that starts on its own volume from a new node.
	// Sorted by host ID, at most 4,096. They do not show which members are UP.
	// +optional
	LastListed []LastListed `json:"lastListed,omitempty"`
	// +optional
	Status ScyllaDBStatusReportStatus `json:"status,omitempty"`
}

// ScyllaDBStatusReportList is a list of ScyllaDBStatusReport.
// +kubebuilder:object:root=true
type ScyllaDBStatusReportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ScyllaDBStatusReport `json:"items"`
}
