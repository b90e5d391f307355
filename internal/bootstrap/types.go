// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Bootstrapped is the known state of a data directory.
type Bootstrapped uint8

const (
	BootstrappedUnknown Bootstrapped = iota // not readable, or not queried
	// no COMPLETED in system.local: new, or never flushed
	BootstrappedNo
	BootstrappedYes // COMPLETED
	// DECOMMISSIONED: ScyllaDB will refuse to start on it
	BootstrappedDecommissioned
)

// String is for logs.
func (b Bootstrapped) String() string {
	return [...]string{"unknown", "no", "yes", "decommissioned"}[b]
}

// Volume is the known state of the data directory, in addition to the query's answer. The zero
// value is for a caller that cannot read it, as outside the Pod.
type Volume uint8

const (
	VolumeNotLooked  Volume = iota
	VolumeUnreadable        // the barrier could not read it: Input.VolumeDetail is the reason
	VolumeEmpty             // it has no file of ScyllaDB, not even a commit log
	VolumeUsed              // it has ScyllaDB's own files
)

// String is for logs.
func (v Volume) String() string {
	return [...]string{"not checked", "not readable", "empty", "used"}[v]
}

// Input is everything that the decision depends on.
type Input struct {
	// Member wants to start.
	Member *cluster.Member
	// Disk is the result of the query of the data directory.
	Disk Bootstrapped
	// DiskDetail is how the query failed, or its result; zero if unknown.
	DiskDetail words.Message
	// Volume is the state of the data directory as the barrier read it. VolumeDetail is why it was
	// not readable, else zero.
	Volume       Volume
	VolumeDetail words.Message
	// VolumeHostID is the host ID in the data directory, by the same query; empty if the query did
	// not return it.
	VolumeHostID hostid.ID
	// Opened is true for the launcher: the Pod's barrier has opened on this volume. Files on it
	// without a known owner are those of this Pod's ScyllaDB.
	Opened bool
	// Ran is the host ID with which ScyllaDB has run in this Pod since its barrier opened; empty
	// without an answer. It is the node on the volume, and DOWN because it does not run now.
	Ran hostid.ID
	// WasEmpty is true if the barrier of this Pod found the volume empty: its files belong to the
	// node that has started in this Pod, and to no earlier one.
	WasEmpty bool
	// AtBarrier is set by a reader outside the Pod while its barrier has not opened: a verdict that
	// depends on the volume is then withheld. The member may have lost its volume, and would start
	// as a new node or not at all. For a Pod past its barrier the verdict is about a later start.
	AtBarrier bool
	// VolumeUID is cluster.Member's VolumeUID: a recorded force is for one volume.
	VolumeUID types.UID
	// Refused is the refusal of the Pod's own barrier, which has read the data directory; empty if
	// it has not refused.
	Refused string
	// Banned is the evidence that ScyllaDB has banned this data directory's host ID; zero if there
	// is none.
	Banned words.Message

	// LastListedBy is another node whose last row lists Self's host ID as a plain member, while no
	// last row contradicts; zero if there is none. It is not evidence for UP, and counts only if no
	// row is fresh.
	LastListedBy matrix.Ref

	// Matrix is the matrix of the cluster, built from the reports; nil or empty if there is none.
	Matrix *matrix.Matrix
	// Reports is how many reports were selected.
	Reports int
	// NotVerified are datacenters that exist and whose nodes cannot be queried from here.
	NotVerified []string
	// Peers are the cluster's other members that have a Service in this namespace.
	Peers []*cluster.Member
	// Version is the version of the image that Self would start; unknown if the image does not show
	// it.
	Version release.Version
	// Rollouts are the StatefulSets of the cluster that are not at rest.
	Rollouts []maintenance.Rollout
	// Initialized is true if the cluster report records that the cluster has had its first node: no
	// member creates it again.
	Initialized bool
	// FormHolder is cluster.FormHolder.
	FormHolder string
	// Permission is the known state of Self's permit; nil if none is needed. It is one more
	// condition, and never overrides the others.
	Permission *Permission
	// JudgedBy is the report that an override names instead of the cluster's own, if the member
	// needs no permit; empty otherwise.
	JudgedBy string
	// Held are more blockers that the member's own barrier has reported. They count only if there
	// are no others, or if the member is forced.
	Held []matrix.Blocker
	// Doubts are reasons why the reports may be wrong: their controller is off, the Pods'
	// annotations differ, or members share a host ID.
	Doubts []matrix.Blocker
	// SharedBy are the other members with the host ID that the member's Service records.
	SharedBy []string
	// AllowNonReporting is the shipped --single-report-allow-non-reporting-host-ids.
	AllowNonReporting bool
	// ControllerSilentSince is set if the controller that owns the reports has not renewed its
	// Lease for too long.
	ControllerSilentSince time.Time
	// ControllerSilent names the controller that is not responding, or is the reason why its state
	// is unknown. Zero if it responds, or is not ours.
	ControllerSilent words.Message

	// Unprotected names the controller for which feature gate BootstrapSynchronisation is off;
	// empty if it is on or unknown.
	Unprotected string

	self matrix.Ref // Member.ByService, computed once
}

// Decision is the result of Decide.
type Decision string

const (
	DecisionBootstrapped Decision = "AlreadyBootstrapped" // the disk has COMPLETED
	// the disk has not, but its peers list it as a member
	DecisionRestart   Decision = "RestartOfMember"
	DecisionForced    Decision = "Forced"
	DecisionReplacing Decision = "Replacing"
	// feature gate BootstrapSynchronisation is off
	DecisionUnprotected Decision = "Unprotected"
	DecisionAllUp       Decision = "AllNodesUp"
	DecisionGenesis     Decision = "FirstNode"
	DecisionWait        Decision = "Wait"
	DecisionRefuse      Decision = "Refuse" // waiting cannot help
)

// Verdict is the result of Decide, with every blocker. The same value feeds text, JSON, dashboard,
// HTML, Events, conditions and metrics.
type Verdict struct {
	Satisfied bool     `json:"satisfied"`
	Decision  Decision `json:"decision"`
	// Summary is the decisive fact. Its subject is the member, which is left out: "must wait: ...".
	Summary words.Message `json:"summary"`
	// Blockers, in a stable order: the most severe first. With Forced these are the overridden
	// blockers.
	Blockers []matrix.Blocker `json:"blockers,omitempty"`
	// Notes are more facts that do not block ("dc2 was not verified").
	Notes []words.Message `json:"notes,omitempty"`
	// Self is the judged member.
	Self matrix.Ref `json:"member"`
	// VolumeLost is true if its volume is empty or has the host ID of another node than its Service
	// records: only then may a step replace its own node.
	VolumeLost bool `json:"-"`
	// Pause is when the barrier judges again if it sees no change, zero for its usual interval.
	Pause time.Duration `json:"-"`
}
