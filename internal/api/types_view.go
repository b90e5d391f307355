// SPDX-License-Identifier: Apache-2.0

package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StatusReportView is the controller's stamped summary of a cluster. The view with the higher epoch
// is newer; within one epoch, the one with the higher seq. No two clocks are compared.
type StatusReportView struct {
	// Epoch is the term of the controller that wrote the view: the number of leader changes in the
	// Lease of the leader election, plus one.
	Epoch int64 `json:"epoch"`
	// Seq counts the views of an epoch. It increases with every poll of the members; the view is
	// written only when its content changes.
	Seq int64 `json:"seq"`
	// ObservedAt is the time of the view, by the controller's clock. It is for users: no decision
	// uses it.
	ObservedAt metav1.Time `json:"observedAt"`
	// Hold is the code, of package matrix, of the reason why no member may join whatever the
	// members' states are; empty when there is none.
	// +optional
	Hold string `json:"hold,omitempty"`
	// Members that have joined, in the order datacenter, rack, ordinal, host ID.
	// +optional
	Members []StatusReportViewMember `json:"members,omitempty"`
	// Policy is "permits" where the controller that made the view gives permits. A controller from
	// before permits writes no policy.
	// +optional
	// +kubebuilder:validation:Enum=permits;reports
	Policy Policy `json:"policy,omitempty"`
	// Permits allow members to start ScyllaDB for the first time. A member without one waits, where
	// its barrier has the policy permits.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Permits []StatusReportViewPermit `json:"permits,omitempty"`
	// Queue are the members that wait for a permit, the next one first; Waiting is their number
	// where the queue does not list all of them.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Queue []StatusReportViewWaiting `json:"queue,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	Waiting int32 `json:"waiting,omitempty"`
	// Founder is the only member that has ever had a permit to bootstrap the cluster. No other
	// member gets one while this report exists.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Founder string `json:"founder,omitempty"`
	// Credential tells one member to act on the root credential; absent where no member is to.
	// +optional
	Credential *StatusReportViewCredential `json:"credential,omitempty"`
}

// Policy is the rule by which a barrier opens.
type Policy string

const (
	// PolicyPermits requires a permit in addition to everything that PolicyReports requires.
	PolicyPermits Policy = "permits"
	// PolicyReports uses the reports only.
	PolicyReports Policy = "reports"
)

// PermitKind is the kind of first start that a permit allows.
type PermitKind string

const (
	// PermitForm is for the first node: it bootstraps the cluster.
	PermitForm PermitKind = "Form"
	// PermitJoin is for a further node.
	PermitJoin PermitKind = "Join"
	// PermitReplace is for a node that replaces a dead one.
	PermitReplace PermitKind = "Replace"
)

// StatusReportViewPermit allows one member to start ScyllaDB for the first time.
type StatusReportViewPermit struct {
	// +kubebuilder:validation:Enum=Form;Join;Replace
	Kind PermitKind `json:"kind"`
	// Member is the name of its Service and Pod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member"`
	// PVCUID is the UID of its data claim: on another volume the permit is void. Empty for a member
	// without a claim.
	// +optional
	PVCUID types.UID `json:"pvcUID,omitempty"`
	// PodUID is the Pod that waited when the permit was given. The permit is void for any other
	// Pod.
	// +optional
	PodUID types.UID `json:"podUID,omitempty"`
	// Seeds are the addresses of the member's seeds at the time of the permit.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Seeds []string `json:"seeds,omitempty"`
	// Since is when the permit was given, by the controller's clock. It is for people.
	Since metav1.Time `json:"since"`
}

// StatusReportViewWaiting is one member that waits for a permit.
type StatusReportViewWaiting struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member"`
	// +kubebuilder:validation:Enum=Form;Join;Replace
	Kind PermitKind `json:"kind"`
	// Reason why the member has no permit yet, as a code.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// Nodes are named by the reason: the member ahead, or nodes that are not UP; at most three.
	// +optional
	// +kubebuilder:validation:MaxItems=3
	Nodes []string `json:"nodes,omitempty"`
	// Entries of the log of group 0 by which the first of nodes was behind the second one, when
	// this view was written. The view is not written again because the number changes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Entries int64 `json:"entries,omitempty"`
}

// StatusReportViewMember is one member in a view.
type StatusReportViewMember struct {
	// Name of the member, its Service and Pod; empty for a node with only its host ID known here.
	// +optional
	Name string `json:"name,omitempty"`
	// +optional
	HostID string `json:"hostID,omitempty"`
	// +optional
	Datacenter string `json:"datacenter,omitempty"`
	// +optional
	Rack string `json:"rack,omitempty"`
	// State is UP, DOWN or UNKNOWN, debounced: DOWN as soon as one fresh row has it, UNKNOWN after
	// three polls without a response, UP after two consecutive polls with one.
	State NodeStatus `json:"state"`
	// Cause of the state where it is not the rows or the heartbeat: Trailing for a member that is
	// UNKNOWN because it is too far behind in the log of group 0.
	// +optional
	// +kubebuilder:validation:Enum=Trailing
	Cause ViewCause `json:"cause,omitempty"`
	// DownSince is when the member went DOWN, by the clock of the controller that saw it; a
	// controller that takes over keeps it.
	// +optional
	DownSince *metav1.Time `json:"downSince,omitempty"`
	// Digest of the member's own report, the annotation of its Pod: the first 16 characters of its
	// lower-case hex SHA-256.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Contact is the evidence that the member's row is still true: Heartbeat, or Row where its
	// reporter serves no heartbeat, so that a row counts for as long as its Pod's status shows that
	// the reporter runs.
	// +optional
	Contact ViewContact `json:"contact,omitempty"`
}

// ViewCause is the cause of a member's state in a view.
type ViewCause string

// CauseTrailing means that the member is more entries of the log of group 0 behind its leader than
// the health policy allows.
const CauseTrailing ViewCause = "Trailing"

// ViewContact is the evidence that a member's row is still true.
type ViewContact string

// Values of ViewContact.
const (
	ContactHeartbeat ViewContact = "Heartbeat"
	ContactRow       ViewContact = "Row"
)

// StatusReportInitialization is the evidence that a cluster has had its first node.
type StatusReportInitialization struct {
	// FirstHostID is the host ID of the node that proved it; in a recovered cluster with several
	// nodes the first node is unknown.
	// +optional
	FirstHostID string `json:"firstHostID,omitempty"`
	// At is the time of the evidence, by the controller's clock.
	At metav1.Time `json:"at"`
	// Recovered is set where nodes had joined before any controller looked: a report that was lost,
	// or a cluster that was handed to us.
	// +optional
	Recovered bool `json:"recovered,omitempty"`
}

// FieldOwnerInitialization is the field manager of Initialized, Initialization and Group0ID alone.
const FieldOwnerInitialization = "kubectl-scylla-initialization"

// Condition types of the initialisation, and of nodes that may be replaced.
const (
	// ConditionInitialized is True once Initialized is set, Unknown while nodes have joined but
	// none reports it itself.
	ConditionInitialized = "Initialized"
	// ConditionInitializedButEmpty is present, and True, while an initialised cluster has no joined
	// member: no member may bootstrap it again.
	ConditionInitializedButEmpty = "InitializedButEmpty"
	// ConditionSplitCluster is present, and True, while nodes of one cluster name belong to two
	// clusters: no member may join. Their group 0 or their lists of members show this.
	ConditionSplitCluster = "SplitCluster"
	// ConditionPrerequisitesMissing is present, and True, while Pods do not start because a Secret
	// or ConfigMap does not exist; the message names it.
	ConditionPrerequisitesMissing = "PrerequisitesMissing"
	// ConditionNodeReplaceable is present, and True, while nodes have been DOWN for so long that
	// they may be replaced; the message has the command. The controller never replaces a node
	// without a request.
	ConditionNodeReplaceable = "NodeReplaceable"
)

// StatusReportHealthPolicy are the numbers by which a cluster's nodes are judged, as its controller
// has resolved them: its defaults, overridden by annotations of the cluster's StatefulSets
// (AnnotationHealthPrefix). Barriers, the controller and the CLI read them here.
type StatusReportHealthPolicy struct {
	// Profile sets the default of minQuorum.
	// +kubebuilder:validation:Enum=production;development
	Profile HealthProfile `json:"profile"`
	// Dead is how long a node must have been DOWN before its replacement is suggested, and how long
	// a node must have been missing from every row before its own row is cleaned up.
	Dead metav1.Duration `json:"dead"`
	// Contact is the greatest age of an observation that a node is judged by.
	Contact metav1.Duration `json:"contact"`
	// Stabilisation is how long all nodes must stay UP before a permit is granted.
	Stabilisation metav1.Duration `json:"stabilisation"`
	// MinQuorum is the floor of the clean-up of dead reports: it never leaves fewer members that
	// report. MinQuorum is the floor of the clean-up of dead reports: it never leaves fewer members
	// that report.
	MinQuorum int32 `json:"minQuorum"`
	// Trailing is the most entries of the log of group 0 that a member may be behind the leader and
	// count as UP. Reports of older controllers have none.
	// +optional
	Trailing int64 `json:"trailing,omitempty"`
	// ViewLimit is the greatest age of a view that lets a member start. Reports of older
	// controllers have none of this and the next three.
	// +optional
	ViewLimit metav1.Duration `json:"viewLimit"`
	// PeerCheck is how often a view that lets a member start is rewritten, and how often a barrier
	// whose view does not advance queries the reporters of the other members.
	// +optional
	PeerCheck metav1.Duration `json:"peerCheck"`
	// LookInterval is the time between two polls of the members by the controller.
	// +optional
	LookInterval metav1.Duration `json:"lookInterval"`
	// MissedLooks is the number of consecutive polls without a heartbeat after which a member is
	// UNKNOWN.
	// +optional
	MissedLooks int32 `json:"missedLooks,omitempty"`
	// CleanUpDeadReports removes the row of a node that no member lists any more from the reports.
	// It never removes a node.
	CleanUpDeadReports bool `json:"cleanUpDeadReports"`
	// WhenControllerSilent is never set. An older controller writes no report if the CRD lacks it,
	// and an installed CRD never loses a field. Removed in the next release.
	// +optional
	// +kubebuilder:validation:Enum=Wait;Peers
	WhenControllerSilent string `json:"whenControllerSilent,omitempty"`
	// Overridden are the fields that annotations set, sorted.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Overridden []string `json:"overridden,omitempty"`
}

// HealthProfile is the purpose of a cluster.
type HealthProfile string

// Values of HealthProfile.
const (
	ProfileProduction  HealthProfile = "production"
	ProfileDevelopment HealthProfile = "development"
)

// AnnotationHealthPrefix begins the annotations of StatefulSets that override a field of their
// cluster's health policy: "kubectl-scylla.scylladb.com/health-dead: 10m". Written by a user, read
// by our controller.
const AnnotationHealthPrefix = "kubectl-scylla.scylladb.com/health-"

// Condition types of the health policy.
const (
	// ConditionHealthPolicyValid is present, and False, while an annotation of the health policy is
	// invalid. That field keeps its value.
	ConditionHealthPolicyValid = "HealthPolicyValid"
	// ConditionDeadReportRetained is present, and True, while the row of a node is kept that no
	// member lists any more.
	ConditionDeadReportRetained = "DeadReportRetained"
)
