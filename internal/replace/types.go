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
	// ByHostID passes --replace-node-first-boot.
	ByHostID Procedure = "host-id"
	// ByAddress passes the deprecated --replace-address-first-boot, for versions before 5.2 and 2023.1.
	ByAddress Procedure = "address"
)

// Diagnosis is a recognised failure.
type Diagnosis struct {
	// Code is stable.
	Code words.Code
	// Text is the fact, with the error in ScyllaDB's own words where there is one; Cure what to do.
	Text, Cure words.Message
}

// Input is everything that a replacement depends on. The caller reads every field from objects at the moment of the call.
type Input struct {
	Namespace string
	Cluster   string
	// Dead is how long a node must have been DOWN before it is taken for dead; the default where it is zero.
	Dead time.Duration
	// Self is the member. Its host ID is the one that its Service records (Member.Recorded), not the one that its node reports.
	Self *cluster.Member
	// LostHostID is the host ID of the member's node where its Service does not record it but the rows have it; under the Scylla Operator only.
	LostHostID hostid.ID
	// Unrecorded is that of the new node of an open replacement where it has taken the original's place, and the Service still records the original: its volume is gone
	// with its Pod, or today's Pod is on no Kubernetes node.
	Unrecorded hostid.ID
	// Away is the step for a member whose whole rack or datacenter is DOWN; zero for any other.
	Away words.Message
	// Claims of the member that exist now. They must have been read before Service and Pod: see the package documentation.
	Claims []*corev1.PersistentVolumeClaim
	// Unscheduled is the step for a Pod that waits for a Kubernetes node although its volume can be used; zero for any other.
	Unscheduled words.Message
	// Paused is why its ScyllaDB, which is alive, serves nobody: it was drained, or is in maintenance mode. Resume brings it back. Both are zero for any other.
	Paused, Resume words.Message
	// Barrier lists, while the Pod is in its barrier, the barrier's reasons to wait.
	Barrier []words.Message
	// Seeds is the choice that launch will make for the new node; nil where the Pod does not start through launch.
	Seeds *bootstrap.SeedChoice
	// Matrix of the whole cluster, nil where there are no rows, and the members with a Service beside Self.
	Matrix *matrix.Matrix
	Others []*cluster.Member
	// Containers are the names of their ScyllaDB's containers.
	Containers matrix.Containers
	// NotVerified are datacenters that are known to exist and whose nodes no reporter in this Kubernetes cluster can ask.
	NotVerified []string
	// Operations are those that ScyllaDB's task manager shows as open or failed, on any member. OperationsKnown is set when at least one node that is up
	// was asked; without it an empty list proves nothing.
	Operations      []api.NodeOperation
	OperationsKnown bool
	// Version is the ScyllaDB version for texts, ByHostID whether it can replace by host ID.
	Version  string
	ByHostID release.Support
	// Excludes is true where every version that is known has `nodetool excludenode`.
	Excludes bool
	// VersionDetail is why ByHostID is unknown.
	VersionDetail string
	// Operator is set when the Scylla Operator manages the member: then no step is ours. Conditions are the operator's own about the member, when the
	// caller has read them.
	Operator   bool
	Conditions []string
	// OperatorOff is why the operator does not run, zero where it does or where the caller could not find out. Budget is a disruption budget that lets
	// no Pod be evicted.
	OperatorOff words.Message
	Budget      string
	// Data is the location of the cluster's data as a live node reports it; nil where the caller did not ask, as in the controller, which relies on what
	// the CLI showed to the person who made the request.
	Data *Data
	// Log is the diagnosis of the ScyllaDB container's log, when the caller has read it.
	Log *Diagnosis
	// Now is the caller's clock, NewID a fresh identity for a request that has none.
	Now   time.Time
	NewID string
}

// Data lists the nodes that hold the same data.
type Data struct {
	// Known is false where no node reported it; Why is then the reason.
	Known     bool
	Why       string
	Keyspaces []maintenance.Keyspace
}

// Result of a check.
type Result string

const (
	OK     Result = "ok"
	Failed Result = "failed"
	// Unknown means that it could not be checked, which blocks as well.
	Unknown Result = "unknown"
)

// Check is one condition that must hold before anything is deleted.
type Check struct {
	// Name is stable, lower case with dashes; --skip-check takes it.
	Name   string
	Result Result
	// Evidence is the fact: statuses in rows, values of labels. Cure is the remedy, zero when the result is ok.
	Evidence, Cure words.Message
	// Skipped is set when a person decided to proceed in spite of the result; Skippable is whether --skip-check can skip it.
	Skipped, Skippable bool
}

// Blocks reports whether the check blocks the replacement.
func (c Check) Blocks() bool { return c.Result != OK && !c.Skipped }

// blockers returns the checks that block it.
func blockers(checks []Check) []Check {
	return slices.DeleteFunc(slices.Clone(checks), func(c Check) bool { return !c.Blocks() })
}

// Action is the action of a step for its caller. Each is at most one write to the API server.
type Action string

const (
	ActionNone          Action = "None"          // no replacement, or not ours
	ActionRefuse        Action = "Refuse"        // a check blocks it; nothing was deleted in this attempt
	ActionRecord        Action = "Record"        // apply Step.Patch: the point from which the original host ID is safe
	ActionDeletePVC     Action = "DeletePVC"     // delete Step.Claim, with its UID and resourceVersion as preconditions
	ActionHoldEviction  Action = "HoldEviction"  // the old node came back to life after its claim was deleted
	ActionEvictPod      Action = "EvictPod"      // evict Step.PodUID
	ActionWaitRefused   Action = "WaitRefused"   // the API server refused the deletion or the eviction: not again before Step.Refused.Next
	ActionWaitPodGone   Action = "WaitPodGone"   // the old Pod terminates
	ActionWaitNewPod    Action = "WaitNewPod"    // the StatefulSet makes the new Pod
	ActionWaitJoin      Action = "WaitJoin"      // ScyllaDB starts, streams, joins
	ActionWaitReady     Action = "WaitReady"     // joined, Pod not Ready yet
	ActionWaitOldGone   Action = "WaitOldGone"   // joined and Ready, the original host ID is still listed
	ActionFinish        Action = "Finish"        // apply Step.Patch: removes the labels, keeps the outcome
	ActionFail          Action = "Fail"          // the attempt failed; only `replace resume` starts another
	ActionKeepPVC       Action = "KeepPVC"       // withdrawn in time: annotate Step.Claim first, so that no older view can delete it
	ActionCancel        Action = "Cancel"        // apply Step.Patch: the request was withdrawn in time
	ActionCancelRefused Action = "CancelRefused" // apply Step.Patch: it was withdrawn too late, so the label is restored
	ActionAdopt         Action = "Adopt"         // apply Step.Patch: records a procedure by address that another controller began
)

// Writes reports whether the action changes an object.
func (a Action) Writes() bool {
	switch a {
	case ActionRecord, ActionDeletePVC, ActionEvictPod, ActionFinish, ActionKeepPVC, ActionCancel, ActionCancelRefused, ActionAdopt:
		return true
	}
	return false
}

// Patch is a change of the member Service's metadata, to be applied as one write with optimistic lock.
type Patch struct {
	SetLabels         map[string]string
	RemoveLabels      []string
	SetAnnotations    map[string]string
	RemoveAnnotations []string
}

// Apply changes the maps in place; nil maps are made.
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

// Event is an Event that the caller publishes once when it takes the step. Its note contains no age, so that the same fact is the same Event.
type Event struct {
	Warning bool
	Reason  string
	Note    words.Message
}

// Reasons of events.
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
	// Request is the identity of the request that the step belongs to; empty before it has one.
	Request string
	// Attempt counts from 1; 0 before the first was accepted.
	Attempt int
	// Original is the host ID that is replaced, NewHostID that of the newcomer; empty while unknown. Address is set in the procedure by address.
	Original, NewHostID hostid.ID
	Address             string
	StartedAt           time.Time
	// Message is the state in one sentence; Cure what a person can do about it, if anything.
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
	// Last is the outcome of the last finished replacement, on a Service without an open one.
	Last *Last
}

// Allowed is the step with those of its cures that may rest on the objects of a cluster; see Allowed.
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

// Held reports whether the replacement cannot go on until something outside it changes.
func (s Step) Held() bool {
	return s.Action == ActionRefuse || s.Action == ActionHoldEviction || s.Refused != nil
}

// Last is the outcome of a finished replacement; it is the value of api.AnnotationReplaceLast.
type Last struct {
	Request    string    `json:"request"`
	Outcome    Outcome   `json:"outcome"`
	HostID     hostid.ID `json:"hostID,omitempty"`
	NewHostID  hostid.ID `json:"newHostID,omitempty"`
	StartedAt  time.Time `json:"startedAt,omitzero"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	Attempts   int       `json:"attempts,omitempty"`
}

// Outcome of a replacement.
type Outcome string

const (
	OutcomeReplaced  Outcome = "Replaced"
	OutcomeCancelled Outcome = "Cancelled"
)
