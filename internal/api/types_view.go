// SPDX-License-Identifier: Apache-2.0

package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StatusReportView is the controller's stamped summary of a cluster. Of two views the one with the higher epoch is the newer one, of one epoch the
// one with the higher seq; no two clocks are compared.
type StatusReportView struct {
	// Epoch is the term of the controller that made the view: one more than how often the Lease of the leader election had changed hands.
	Epoch int64 `json:"epoch"`
	// Seq counts the views of an epoch. It advances with every look at the members; the view is written only when it says something else.
	Seq int64 `json:"seq"`
	// ObservedAt is when the view was made, by the controller's clock. It is for people: nothing is decided by it.
	ObservedAt metav1.Time `json:"observedAt"`
	// Hold is why nobody may join whatever the members' states are, as a code of package matrix; empty when nothing holds.
	// +optional
	Hold string `json:"hold,omitempty"`
	// Members that have joined, in the order datacenter, rack, ordinal, host ID.
	// +optional
	Members []StatusReportViewMember `json:"members,omitempty"`
}

// StatusReportViewMember is one member in a view.
type StatusReportViewMember struct {
	// Name of the member, its Service and Pod; empty for a node of which only its host ID is known here.
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	HostID string `json:"hostID,omitempty"`
	// +optional
	Datacenter string `json:"datacenter,omitempty"`
	// +optional
	Rack string `json:"rack,omitempty"`
	// State is UP, DOWN or UNKNOWN, debounced: DOWN as soon as one fresh row says it, UNKNOWN after three looks that heard nothing, UP after two in a row that did.
	State NodeStatus `json:"state"`
	// DownSince is when the member went DOWN, by the clock of the controller that saw it; a controller that takes over keeps it.
	// +optional
	DownSince *metav1.Time `json:"downSince,omitempty"`
	// Digest of the member's own report, the annotation of its Pod: the first 16 characters of its lower-case hex SHA-256.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Contact is how it is known that the member's row is still true: Heartbeat, or Row where its reporter serves no heartbeat, so that a row counts for as long as
	// its Pod's word is that the reporter runs.
	// +optional
	Contact ViewContact `json:"contact,omitempty"`
}

// ViewContact is how it is known that a member's row is still true.
type ViewContact string

// Values of ViewContact.
const (
	ContactHeartbeat ViewContact = "Heartbeat"
	ContactRow       ViewContact = "Row"
)

// StatusReportInitialization is how it was learned that a cluster has had its first node.
type StatusReportInitialization struct {
	// FirstHostID is the host ID of the node by which it was; of a recovered cluster with several nodes it is not known which was the first.
	// +optional
	FirstHostID string `json:"firstHostID,omitempty"`
	// At is when, by the controller's clock.
	At metav1.Time `json:"at"`
	// Recovered is set where nodes had joined before any controller looked: a report that was lost, or a cluster that was handed to us.
	// +optional
	Recovered bool `json:"recovered,omitempty"`
}

// FieldOwnerInitialization is the field manager of Initialized and Initialization alone.
const FieldOwnerInitialization = "kubectl-scylla-initialization"

// Condition types of the initialisation, and of nodes that may be replaced.
const (
	// ConditionInitialized is True once Initialized is set, Unknown while nodes have joined and none of them says so itself.
	ConditionInitialized = "Initialized"
	// ConditionInitializedButEmpty is there, and True, while no member of a cluster that was initialised has joined any more: nobody may found it anew.
	ConditionInitializedButEmpty = "InitializedButEmpty"
	// ConditionNodeReplaceable is there, and True, while nodes have been DOWN for so long that they may be replaced; the message has the command. Nobody but a
	// person replaces them.
	ConditionNodeReplaceable = "NodeReplaceable"
)
