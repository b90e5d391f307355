// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Bootstrapped is what is known of a data directory.
type Bootstrapped uint8

const (
	BootstrappedUnknown        Bootstrapped = iota // could not be read, or not asked
	BootstrappedNo                                 // no COMPLETED in system.local: new, or never flushed
	BootstrappedYes                                // COMPLETED
	BootstrappedDecommissioned                     // DECOMMISSIONED: ScyllaDB will refuse to start on it
)

// Peer is a member of the cluster other than the newcomer, as its Service tells.
type Peer struct {
	matrix.Ref
	// Joined is the joined annotation: nil when absent (or neither "true" nor "false").
	Joined *bool
}

// Input is everything the decision looks at.
type Input struct {
	// Self is the member that wants to start: name, datacenter, rack and ordinal from its Service; HostID the recorded one, if any.
	Self matrix.Ref
	// Namespace of Self, for texts.
	Namespace string
	// SelfJoined is Self's joined annotation: nil when absent.
	SelfJoined *bool
	// ServiceLabels and ServiceAnnotations of Self's member Service.
	ServiceLabels, ServiceAnnotations map[string]string
	// Disk is what the query of the data directory said.
	Disk Bootstrapped
	// DiskDetail says how the query failed or what it found, for texts.
	DiskDetail string
	// DataDirectoryEmpty is set by who looked into the data directory and found nothing of ScyllaDB's in it, not even a commit
	// log: then this cannot be the restart of a node that was never flushed. Leave it false when nobody looked.
	DataDirectoryEmpty bool
	// PVC is the name of Self's claim, for texts.
	PVC string
	// Banned is set when ScyllaDB is known to have banned this data directory's host ID; its text is the evidence.
	Banned string

	// Matrix of the cluster, built from the reports; nil or empty when there is none.
	Matrix *matrix.Matrix
	// Reports is how many reports were selected.
	Reports int
	// Datacenters whose report exists, and datacenters known to exist whose nodes nobody here can ask.
	NotVerified []string
	// Peers are the cluster's other members by their Services, in this namespace.
	Peers []Peer
	// AllowNonReporting is the shipped --single-report-allow-non-reporting-host-ids.
	AllowNonReporting bool
	// ControllerSilentSince is set when the controller that owns the reports has not renewed its Lease for too long.
	ControllerSilentSince time.Time
	// ControllerSilent says who is silent ("kubectl-scylla-controller"); empty when it is alive or not ours to watch.
	ControllerSilent string
}

// Decision is the branch that was taken.
type Decision string

const (
	DecisionBootstrapped Decision = "AlreadyBootstrapped" // the disk says so
	DecisionRestart      Decision = "RestartOfMember"     // the disk does not, but its peers know it as a member
	DecisionForced       Decision = "Forced"
	DecisionReplacing    Decision = "Replacing"
	DecisionAllUp        Decision = "AllNodesUp"
	DecisionGenesis      Decision = "FirstNode"
	DecisionWait         Decision = "Wait"
	DecisionRefuse       Decision = "Refuse" // waiting cannot help
)

// Verdict is the answer, with every blocker. The same value feeds text, JSON, dashboard, HTML, events, conditions and metrics.
type Verdict struct {
	Satisfied bool     `json:"satisfied"`
	Decision  Decision `json:"decision"`
	// Summary is one sentence that names the member and the decisive fact.
	Summary string `json:"summary"`
	// Blockers, in a stable order: the gravest first. With Forced these are the blockers that were overruled.
	Blockers []matrix.Blocker `json:"blockers,omitempty"`
	// Notes are things worth saying that do not block ("dc2 was not verified").
	Notes []string `json:"notes,omitempty"`
	// Self is the member judged.
	Self matrix.Ref `json:"member"`
}
