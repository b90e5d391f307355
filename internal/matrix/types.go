// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Status is one cell: a reporter's status of an observed node. The zero value is Unknown, which is
// never Up.
type Status uint8

const (
	// the reporter listed the node neither as up nor as down, or with an unknown value
	Unknown Status = iota
	Down
	Up
	// the reporter has no row, or its row does not list the node; in an Observation it counts as
	// Unknown
	Missing
)

// State is a node's state in the topology, by its peers' rows. The zero value means a plain member.
type State uint8

const (
	StateNormal State = iota
	StateJoining
	StateLeaving
	StateReplacing
	StateBeingReplaced
	StateDecommissioned
)

// NewNode reports whether the node is joining, also as the replacement of another one.
func (s State) NewNode() bool { return s == StateJoining || s == StateReplacing }

// Ref identifies a node. Each field except HostID may be empty if unknown.
type Ref struct {
	HostID     hostid.ID `json:"hostID,omitempty"`
	Member     string    `json:"member,omitempty"` // name of Pod and member Service
	Datacenter string    `json:"datacenter,omitempty"`
	Rack       string    `json:"rack,omitempty"`
	Ordinal    *int32    `json:"ordinal,omitempty"`
}

// Containers are the names of ScyllaDB's containers, by member; only names other than the usual
// one.
type Containers map[string]string

// Container returns the name of the container in which a member's ScyllaDB runs.
func (c Containers) Container(member string) string { return cmp.Or(c[member], api.ContainerScyllaDB) }

// SamePlace reports whether both have the same known place.
func (r *Ref) SamePlace(o Ref) bool {
	return r.placed() && o.placed() && r.Datacenter == o.Datacenter && r.Rack == o.Rack && *r.Ordinal == *o.Ordinal
}

// Observation is one cell of an input row.
type Observation struct {
	HostID hostid.ID
	Status Status
	State  State
	// Since is when the reporter first saw this status; zero if unknown.
	Since time.Time
}

// Membership is a set of distinct host IDs that several rows share by pointer, so that "all UP" is
// stored once for all of them.
type Membership struct {
	HostIDs []hostid.ID
}

// Row is the row of one member. A member that has not reported is a Row without Observed. Rows from
// FromReports and FromStatusReport share a Base: read cells with Row.Each or Matrix.At, not from
// Observed alone.
type Row struct {
	Reporter Ref
	// Base, if set, is a membership that the reporter sees UP, except the nodes in Observed.
	Base *Membership
	// Observed is the whole row, or with a Base its exceptions; there Missing means that the row
	// does not list the node. A host ID listed twice counts with its worst status.
	Observed []Observation
	// Reported is false if there is no row (no annotation, no Pod). With Reported and no Observed
	// the row is empty.
	Reported bool
	// Trouble is why the row could not be read or decoded; such a row counts as missing. Zero if
	// there is no problem.
	Trouble Trouble
	// Stale is why the row may be old; zero if it is fresh.
	Stale Trouble
	// StaleSince is since when the row may be old; zero if unknown.
	StaleSince time.Time
	// State of the reporter itself, by its own row or its peers' rows.
	State State
	// NoStates is set if the row's writer gives no states of nodes, nor its own: the Scylla
	// Operator's report has no field for them. Such a row does not prove that a node is a plain
	// member.
	NoStates bool
	// Report has the reporter's answers about itself: version, mode, coordinator, group 0. Its
	// cells are those in Base and Observed. Nil if there are none.
	Report *api.NodeStatusReport
	// Other has the node's values if they are not used, because its host ID differs from
	// Reporter's.
	Other *Other
	// Namespace of the reporter's Pod if it differs from Options.Namespace; empty if unknown.
	Namespace string
}

// Says returns Report, empty if there is none. The caller must not change it.
func (r *Row) Says() *api.NodeStatusReport {
	if r.Report == nil {
		return &nothing
	}
	return r.Report
}

var nothing api.NodeStatusReport

// Blocker is one reason, with names, why a new node must wait.
type Blocker struct {
	Reason words.Code `json:"reason"`
	// Observer is the node whose row shows it; zero if the blocker is not about a pair.
	Observer Ref `json:"observer,omitzero"`
	// Observed is the node that the blocker is about.
	Observed Ref `json:"observed,omitzero"`
	// Coordinator is set if the observer is the topology coordinator, whose view alone decides a
	// join.
	Coordinator bool `json:"coordinator,omitempty"`
	// Since is when it began, zero if unknown: the time of an observation. This package never
	// subtracts the times of two clocks.
	Since time.Time `json:"since,omitzero"`
	// Detail is quoted: ScyllaDB's error text, an annotation's value.
	Detail string `json:"detail,omitempty"`
	// Cause adds to reason and names, as a code; zero if there is nothing to add.
	Cause words.Message `json:"cause,omitzero"`
	// Step is the next step, with the commands. Only package diagnosis sets it.
	Step words.Message `json:"step,omitzero"`
	// Hearsay is set if only the Pod's own annotation shows the blocker: no step that changes
	// anything may rely on it.
	Hearsay bool `json:"-"`
	// More is how many more observers have the same blocker about the same node without being
	// listed. More > 0 only in a matrix with more than MaxPairs bad pairs, which lists only the
	// first observers of each node.
	More int `json:"more,omitempty"`
}
