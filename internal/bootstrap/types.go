// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"time"

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
	BootstrappedUnknown        Bootstrapped = iota // could not be read, or not asked
	BootstrappedNo                                 // no COMPLETED in system.local: new, or never flushed
	BootstrappedYes                                // COMPLETED
	BootstrappedDecommissioned                     // DECOMMISSIONED: ScyllaDB will refuse to start on it
)

// Volume is the known state of the data directory beside the query's answer. The zero value is for a caller that cannot look, as outside the Pod.
type Volume uint8

const (
	VolumeNotLooked  Volume = iota
	VolumeUnreadable        // the barrier could not read it: Input.VolumeDetail is the reason
	VolumeEmpty             // no file of ScyllaDB's is in it, not even a commit log
	VolumeUsed              // ScyllaDB's own files are in it
)

// Input is everything that the decision depends on.
type Input struct {
	// Member wants to start.
	Member *cluster.Member
	// Disk is the result of the query of the data directory.
	Disk Bootstrapped
	// DiskDetail is how the query failed or its result; zero when that is not known.
	DiskDetail words.Message
	// Volume is the state of the data directory as the barrier read it. VolumeDetail is why it could not be read, where it could not.
	Volume       Volume
	VolumeDetail words.Message
	// VolumeHostID is the host ID in the data directory, by the same query; empty when the query did not return it.
	VolumeHostID hostid.ID
	// AtBarrier is set by a reader outside the Pod while its barrier has not opened: a verdict that rests on the volume is then withheld. The member may have lost its volume, and
	// would start as a new node or not at all. For a Pod past its barrier the verdict is about a later start.
	AtBarrier bool
	// Refused is the refusal of the Pod's own barrier, which has read the data directory; empty where it has not refused.
	Refused string
	// Banned is the evidence that ScyllaDB has banned this data directory's host ID; zero when there is none.
	Banned words.Message

	// LastListedBy is another node whose last row, which cannot be renewed, lists Self's host ID as a plain member, while no last row has it otherwise; zero where none is kept. It
	// is no evidence for UP, and counts only where no row is fresh.
	LastListedBy matrix.Ref

	// Matrix of the cluster, built from the reports; nil or empty when there is none.
	Matrix *matrix.Matrix
	// Reports is how many reports were selected.
	Reports int
	// NotVerified are datacenters known to exist whose nodes cannot be asked from here.
	NotVerified []string
	// Peers are the cluster's other members that have a Service in this namespace.
	Peers []*cluster.Member
	// Version is that of the image which Self would start; unknown where the image does not say.
	Version release.Version
	// Rollouts are the StatefulSets of the cluster that are not at rest.
	Rollouts []maintenance.Rollout
	// Initialized is true where the cluster report records that the cluster has had its first node: no member creates it again.
	Initialized bool
	// Permission is what is known of Self's permit; nil where none is needed. It is one more condition, and never overrides the others.
	Permission *Permission
	// JudgedBy is the report that an override names in place of the cluster's own, where the member needs no permit; empty otherwise.
	JudgedBy string
	// Held are the further blockers that the member's own barrier has reported. They count only while there are no others.
	Held []matrix.Blocker
	// Doubts are reasons why the reports may not be true now: their controller is off, or the Pods' annotations differ.
	Doubts []matrix.Blocker
	// AllowNonReporting is the shipped --single-report-allow-non-reporting-host-ids.
	AllowNonReporting bool
	// ControllerSilentSince is set when the controller that owns the reports has not renewed its Lease for too long.
	ControllerSilentSince time.Time
	// ControllerSilent names the silent controller, or is the reason why that is not known; zero when it is alive or not ours to watch.
	ControllerSilent words.Message

	self matrix.Ref // Member.ByService, once
}

// Decision is the branch that was taken.
type Decision string

const (
	DecisionBootstrapped Decision = "AlreadyBootstrapped" // the disk has COMPLETED
	DecisionRestart      Decision = "RestartOfMember"     // the disk has not, but its peers list it as a member
	DecisionForced       Decision = "Forced"
	DecisionReplacing    Decision = "Replacing"
	DecisionAllUp        Decision = "AllNodesUp"
	DecisionGenesis      Decision = "FirstNode"
	DecisionWait         Decision = "Wait"
	DecisionRefuse       Decision = "Refuse" // waiting cannot cure it
)

// Verdict is the answer, with every blocker. The same value feeds text, JSON, dashboard, HTML, events, conditions and metrics.
type Verdict struct {
	Satisfied bool     `json:"satisfied"`
	Decision  Decision `json:"decision"`
	// Summary is the decisive fact. The member, which is left out, is the subject of its sentence: "must wait: ...".
	Summary words.Message `json:"summary"`
	// Blockers, in a stable order: the gravest first. With Forced these are the overruled blockers.
	Blockers []matrix.Blocker `json:"blockers,omitempty"`
	// Notes are facts worth adding that do not block ("dc2 was not verified").
	Notes []words.Message `json:"notes,omitempty"`
	// Self is the member judged.
	Self matrix.Ref `json:"member"`
	// Pause is when the barrier judges again although it sees no change, zero for its usual interval.
	Pause time.Duration `json:"-"`
}
