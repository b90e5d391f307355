// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Procedure is how ScyllaDB identifies the node to replace.
type Procedure string

const (
	// byHostID passes --replace-node-first-boot.
	byHostID Procedure = "host-id"
	// ByAddress passes the deprecated --replace-address-first-boot, for versions before 5.2 and
	// 2023.1.
	ByAddress Procedure = "address"
)

// Diagnosis is a known cause of a failure.
type Diagnosis struct {
	// Code is stable.
	Code words.Code
	// Text is the fact, with ScyllaDB's error if there is one, and the remedy.
	Text, Cure words.Message
}

// Input is everything that a replacement depends on, read from objects at the time of the call.
type Input struct {
	Namespace string
	Cluster   string
	// Dead is the minimum time of DOWN of a dead node; zero means the default.
	Dead time.Duration
	// Self is the member, with the host ID on its Service (Member.Recorded), not in its row.
	Self *cluster.Member
	// LostHostID is the host ID of the member's node if only rows have it, not the Service. Set
	// under the Scylla Operator only.
	LostHostID hostid.ID
	// Unrecorded is the host ID of a new node that has joined while its Service still records the
	// original. Its volume is gone with its Pod, or the present Pod is not scheduled.
	Unrecorded hostid.ID
	// Away is the step for a member whose whole rack or datacenter is DOWN; else zero.
	Away words.Message
	// Claims are the member's PVCs, read before Service and Pod: see the package.
	Claims []*corev1.PersistentVolumeClaim
	// VolumeGone is the evidence that the member's volume no longer exists; zero without any.
	VolumeGone words.Message
	// Unscheduled is the step for a Pod without a Kubernetes node, unless its volume is gone; else
	// zero. VolumeUsable is true if an existing Kubernetes node is known to be able to use it.
	Unscheduled  words.Message
	VolumeUsable bool
	// Order is the step for a Pod that is not created before one that waits in its barrier for this
	// member; zero otherwise.
	Order words.Message
	// Paused is why the running ScyllaDB serves no clients: it was drained, or is in maintenance
	// mode. Resume is the remedy. Both are zero otherwise.
	Paused, Resume words.Message
	// Ended is true if ScyllaDB's process has ended in its running container, and is not restarted.
	Ended bool
	// Barrier lists the reasons of the barrier to wait, while the Pod is in its barrier.
	Barrier []words.Message
	// Seeds is launch's choice for the new node; nil if the Pod does not use launch.
	Seeds *bootstrap.SeedChoice
	// Matrix of the whole cluster, nil without rows. Others are the other members with a Service.
	Matrix *matrix.Matrix
	Others []*cluster.Member
	// Gone are the members whose objects show that their volume no longer exists.
	Gone []string
	// Containers are the names of the members' ScyllaDB containers.
	Containers matrix.Containers
	// NotVerified are known datacenters whose nodes no reporter of this Kubernetes cluster can
	// query.
	NotVerified []string
	// Elsewhere is true if a host ID that no member here has may be a node of another datacenter.
	Elsewhere bool
	// Operations are the open and failed operations of ScyllaDB's task manager, on any member.
	// OperationsKnown is set if at least one node that is UP was queried; without it an empty list
	// proves nothing.
	Operations      []api.NodeOperation
	OperationsKnown bool
	// Version is the ScyllaDB version for texts, ByHostID whether it can replace by host ID.
	Version  string
	ByHostID release.Support
	// Excludes is set if every known version has `nodetool excludenode`.
	Excludes bool
	// VersionDetail is why ByHostID is unknown.
	VersionDetail string
	// Operator is set if the Scylla Operator manages the member: then Next does nothing. Conditions
	// are the operator's conditions of the member, if the caller has read them.
	Operator   bool
	Conditions []string
	// OperatorOff is why the operator does not run; zero if it runs or the state is unknown. Budget
	// is a disruption budget that blocks evictions.
	OperatorOff words.Message
	Budget      string
	// OperatorLeads is set if the operator is known to run.
	OperatorLeads bool
	// Data is the location of the cluster's data from a live node. Nil if the caller did not query
	// it, as in the controller, which relies on the CLI's checks for the user who made the request.
	Data *Data
	// Log is the diagnosis of the ScyllaDB container's log, if the caller has read it.
	Log *Diagnosis
	// Now is the caller's clock; NewID is the identity of a request that has none.
	Now   time.Time
	NewID string
}

// Data lists the nodes that have replicas of the same data.
type Data struct {
	// Known is false if no node reported the data, for the reason Why.
	Known     bool
	Why       string
	Keyspaces []maintenance.Keyspace
}

// Result of a check.
type Result string

const (
	OK     Result = "ok"
	Failed Result = "failed"
	// Unknown means that the check could not run; it blocks as well.
	Unknown Result = "unknown"
)

// Check is one condition for the deletion.
type Check struct {
	// Name is stable, lower case with dashes; --skip-check accepts it.
	Name   string
	Result Result
	// Evidence is the fact: statuses in rows, values of labels. The remedy is zero if OK.
	Evidence, Cure words.Message
	// Skipped is set if a user skipped the check; Skippable allows it.
	Skipped, Skippable bool
}

// Blocks reports whether the check blocks the replacement.
func (c Check) Blocks() bool { return c.Result != OK && !c.Skipped }

// blockers returns the checks that block the replacement.
func blockers(checks []Check) []Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return !c.Blocks() })
}

// Action is what the caller of a step does: at most one write to the API server.
type Action string

const (
	ActionNone Action = "None" // no replacement, or not ours
	// a check blocks it; this attempt has deleted nothing
	ActionRefuse Action = "Refuse"
	// apply Step.Patch, which records the original host ID permanently
	ActionRecord Action = "Record"
	// delete Step.Claim, with its UID and resourceVersion as preconditions
	ActionDeletePVC Action = "DeletePVC"
	// the old node is running again after its PVC was deleted
	ActionHoldEviction Action = "HoldEviction"
	ActionEvictPod     Action = "EvictPod" // evict Step.PodUID
	// the API server refused the deletion or eviction: retry at Step.Refused.Next
	ActionWaitRefused Action = "WaitRefused"
	ActionWaitPodGone Action = "WaitPodGone" // the old Pod terminates
	ActionWaitNewPod  Action = "WaitNewPod"  // the StatefulSet creates the new Pod
	ActionWaitJoin    Action = "WaitJoin"    // ScyllaDB starts, streams, joins
	ActionWaitReady   Action = "WaitReady"   // joined, Pod not yet Ready
	ActionWaitOldGone Action = "WaitOldGone" // joined and Ready, original host ID still listed
	// apply Step.Patch: removes the labels, keeps the outcome
	ActionFinish Action = "Finish"
	// the attempt failed; only `replace resume` starts another
	ActionFail Action = "Fail"
	// withdrawn in time: annotate Step.Claim first, so that no older read can delete it
	ActionKeepPVC Action = "KeepPVC"
	// apply Step.Patch: the request was withdrawn in time
	ActionCancel Action = "Cancel"
	// apply Step.Patch: withdrawn too late, so the label is restored
	ActionCancelRefused Action = "CancelRefused"
	// apply Step.Patch: record a procedure by address that another controller began
	ActionAdopt Action = "Adopt"
)

// Writes reports whether the action changes an object.
func (a Action) Writes() bool {
	switch a {
	case ActionRecord, ActionDeletePVC, ActionEvictPod, ActionFinish, ActionKeepPVC, ActionCancel, ActionCancelRefused,
		ActionAdopt:
		return true
	}
	return false
}

// Patch is a change of the member Service's metadata, in one write with optimistic lock.
type Patch struct {
	SetLabels         map[string]string
	RemoveLabels      []string
	SetAnnotations    map[string]string
	RemoveAnnotations []string
}

// Apply changes the maps in place and creates nil maps.
func (p *Patch) Apply(labels, annotations *map[string]string) {
	apply(labels, p.SetLabels, p.RemoveLabels)
	apply(annotations, p.SetAnnotations, p.RemoveAnnotations)
}

func apply(m *map[string]string, set map[string]string, remove []string) {
	if *m == nil {
		*m = map[string]string{}
	}
	for k, v := range set {
		(*m)[k] = v
	}
	for _, k := range remove {
		delete(*m, k)
	}
}

// Event is published once, when the caller takes the step. Its note has no age, so that the same
// fact is the same Event.
type Event struct {
	Warning bool
	Reason  string
	Note    words.Message
}

// Reasons of Events.
const (
	EventStarted           = "ReplacementStarted"
	EventResumed           = "ReplacementResumed"
	EventRefused           = "ReplacementRefused"
	EventPVCDeleted        = "PersistentVolumeClaimDeleted"
	EventPodEvicted        = "PodEvicted"
	EventEvictionRefused   = "EvictionRefused"
	EventJoined            = "ReplacementJoined"
	EventFinished          = "FinishedReplacingNode" // the Scylla Operator's name for it
	EventFailed            = "ReplacementFailed"
	EventCancelled         = "ReplacementCancelled"
	EventCancelRefused     = "ReplacementCancelRefused"
	EventAdopted           = "ReplacementAdopted"
	EventLabelRestored     = "ReplacementLabelRestored"
	EventAddressDeprecated = "ReplacementByAddressDeprecated"
)

// Step is the state of a replacement and the one thing to do next.
type Step struct {
	Action    Action
	Procedure Procedure
	// Request identifies the request of the step; empty without one.
	Request string
	// Attempt counts from 1; 0 before the first is accepted.
	Attempt int
	// Original is the host ID to replace, NewHostID the new node's; empty if unknown. Address is
	// set in the procedure by address.
	Original, NewHostID hostid.ID
	Address             string
	StartedAt           time.Time
	// Message is the state in one sentence, with the remedy for a person, if any.
	Message, Cure words.Message
	// Waiting lists the reasons of a step that waits.
	Waiting   []words.Message
	Checks    []Check
	Diagnosis *Diagnosis
	Patch     *Patch
	Claim     *corev1.PersistentVolumeClaim
	PodUID    string
	Events    []Event
	// Refused is set while the API server refuses the deletion or eviction of the step.
	Refused *Refusal
	// OperatorOff is true if the Scylla Operator, which ends the replacement, does not run.
	OperatorOff bool
	// Last is the outcome of the last replacement, if none is open.
	Last *Last
}

// Allowed returns the step with every remedy filtered by the function Allowed.
func (s Step) Allowed(c *cluster.Cluster) Step {
	s.Cure = Allowed(c, s.Cure)
	s.Checks = slices.Clone(s.Checks)
	for i := range s.Checks {
		s.Checks[i].Cure = Allowed(c, s.Checks[i].Cure)
	}
	if s.Diagnosis != nil {
		d := *s.Diagnosis
		d.Cure = Allowed(c, d.Cure)
		s.Diagnosis = &d
	}
	return s
}

// Held reports whether the replacement is blocked until something else changes.
func (s Step) Held() bool {
	return s.Action == ActionRefuse || s.Action == ActionHoldEviction || s.Refused != nil || s.OperatorOff
}

// Last is the outcome of a replacement; it is the value of api.AnnotationReplaceLast.
type Last struct {
	Request    string    `json:"request"`
	Outcome    outcome   `json:"outcome"`
	HostID     hostid.ID `json:"hostID,omitempty"`
	NewHostID  hostid.ID `json:"newHostID,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	Attempts   int       `json:"attempts,omitempty"`
}

// outcome of a replacement.
type outcome string

const (
	OutcomeReplaced  outcome = "Replaced"
	OutcomeCancelled outcome = "Cancelled"
)
