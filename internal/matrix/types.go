// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"time"
)

// Status is one cell: what a reporter says of an observed node. The zero value is Unknown, which is never Up.
type Status uint8

const (
	Unknown Status = iota // the reporter listed the node neither as up nor as down, or used a word we do not know
	Down
	Up
	Missing // the reporter has no row, or one that does not contain the node at all; in an Observation it counts as Unknown
)

// State is where a node is in its life, by the evidence of its peers. The zero value means a plain member.
type State uint8

const (
	StateNormal State = iota
	StateJoining
	StateLeaving
	StateReplacing
	StateBeingReplaced
	StateDecommissioned
)

// Ref names a node for people and machines. Every field but HostID may be empty when nobody knows it.
type Ref struct {
	HostID     string `json:"hostID,omitempty"`
	Member     string `json:"member,omitempty"` // name of Pod and member Service
	Datacenter string `json:"datacenter,omitempty"`
	Rack       string `json:"rack,omitempty"`
	Ordinal    *int32 `json:"ordinal,omitempty"`
}

// Observation is one cell of an input row.
type Observation struct {
	HostID string
	Status Status
	State  State
	// Since is when the reporter first saw this status; zero when not known.
	Since time.Time
}

// Membership is a set of distinct host IDs that several rows share by pointer, so that "all UP" is said once for all of them.
type Membership struct {
	HostIDs []string
}

// Row is what one member says. A member that has not reported is a Row without Observed. Rows made by FromReports and
// FromStatusReport share a Base; read cells with Row.Each or Matrix.At, not from Observed alone.
type Row struct {
	Reporter Ref
	// Base, when set, is a membership that the reporter sees UP, all of it, but for the exceptions in Observed.
	Base *Membership
	// Observed is the whole row, or with a Base its exceptions. A host ID listed twice counts with its worst status.
	Observed []Observation
	// Reported is false when there is no row at all (no annotation, no pod); with Reported and no Observed the row is empty.
	Reported bool
	// Error says why the row could not be made or decoded; such a row counts as missing. Fault says where that comes from.
	Error string
	Fault Fault
	// Stale is why the row may be old ("pod is not running", "datacenter dc2 last read 3m ago"); empty when it is fresh.
	Stale string
	// StaleSince is when it became so; zero when not known.
	StaleSince time.Time
	// State of the reporter itself, by its own word or its peers'.
	State State
	// Version, OperationMode as the node says; for display.
	Version, OperationMode string
	// Namespace of the reporter's Pod where it is not Options.Namespace; empty when not known.
	Namespace string
}

// Fault is where a row's error comes from, which decides what helps.
type Fault uint8

const (
	FaultReporter Fault = iota // what the reporter wrote cannot be read
	FaultScyllaDB              // the ScyllaDB of the Pod does not answer, or not so that a row could be made of it
	FaultPod                   // there is no Pod, or it could not be reached
	FaultReport                // the report that carries the row does not fit together
)

// Reason is the stable code of a blocker. Codes are CamelCase and never change their meaning.
type Reason string

const (
	ReasonNodeDown             Reason = "NodeDown"              // observer sees observed DOWN
	ReasonNodeUnknown          Reason = "NodeUnknown"           // observer cannot say
	ReasonNodeNotSeen          Reason = "NodeNotSeen"           // observer's row lacks observed
	ReasonRowMissing           Reason = "RowMissing"            // a member (or a host ID others see) has no row
	ReasonRowError             Reason = "RowError"              // its reporter says why it has no row, or the row cannot be decoded
	ReasonRowStale             Reason = "RowStale"              // the row is old
	ReasonHostIDMissing        Reason = "HostIDMissing"         // a member's host ID is not known yet
	ReasonDatacenterUnverified Reason = "DatacenterNotVerified" // a datacenter is known that nobody here can ask
	ReasonReportMissing        Reason = "ReportMissing"         // no report, and the cluster is not new
	ReasonForceInvalid         Reason = "ForceValueInvalid"
	ReasonReplaceInvalid       Reason = "ReplaceRequestInvalid" // replacing label present but empty
	ReasonLabelMissing         Reason = "LabelMissing"          // the member Service lacks its place (datacenter, rack, ordinal)
	ReasonDataDirectory        Reason = "DataDirectoryUnusable" // decommissioned or banned: waiting cannot help
	ReasonControllerSilent     Reason = "ControllerSilent"      // nobody keeps the reports up to date
)

// Blocker is one reason, with names, why a newcomer must wait.
type Blocker struct {
	Reason Reason `json:"reason"`
	// Observer is whose row says it; zero when the blocker is not about a pair.
	Observer Ref `json:"observer,omitzero"`
	// Observed is the node it is about.
	Observed Ref `json:"observed,omitzero"`
	// Since is when it began, zero when not known. An observation's age, never computed from two clocks' difference by this package.
	Since time.Time `json:"since,omitzero"`
	// Detail is the fact in words beyond names and reason (an error text, an annotation's value).
	Detail string `json:"detail,omitempty"`
	// NextStep is what a person can do about it, one sentence.
	NextStep string `json:"nextStep,omitempty"`
	// More is how many further observers say the same of the same observed node without being listed one by one. Zero but in
	// a matrix with more than MaxPairs bad pairs, where only the first observers of each node are listed.
	More int `json:"more,omitempty"`
}
