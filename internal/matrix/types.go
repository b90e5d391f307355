// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Status is one cell: a reporter's status of an observed node. The zero value is Unknown, which is never Up.
type Status uint8

const (
	Unknown Status = iota // the reporter listed the node neither as up nor as down, or used a word we do not know
	Down
	Up
	Missing // the reporter has no row, or one that does not contain the node at all; in an Observation it counts as Unknown
)

// State is a node's state in the topology, by the evidence of its peers. The zero value means a plain member.
type State uint8

const (
	StateNormal State = iota
	StateJoining
	StateLeaving
	StateReplacing
	StateBeingReplaced
	StateDecommissioned
)

// Ref names a node for people and machines. Every field but HostID may be empty where it is not known.
type Ref struct {
	HostID     hostid.ID `json:"hostID,omitempty"`
	Member     string    `json:"member,omitempty"` // name of Pod and member Service
	Datacenter string    `json:"datacenter,omitempty"`
	Rack       string    `json:"rack,omitempty"`
	Ordinal    *int32    `json:"ordinal,omitempty"`
}

// Containers are the names of ScyllaDB's containers, by member; only those that are not the usual one are in it.
type Containers map[string]string

// Container is the name of the container in which a member's ScyllaDB runs.
func (c Containers) Container(member string) string { return cmp.Or(c[member], api.ContainerScyllaDB) }

// SamePlace reports whether both are at the same place, which is known.
func (r *Ref) SamePlace(o Ref) bool {
	return r.placed() && o.placed() && r.Datacenter == o.Datacenter && r.Rack == o.Rack && *r.Ordinal == *o.Ordinal
}

// Observation is one cell of an input row.
type Observation struct {
	HostID hostid.ID
	Status Status
	State  State
	// Since is when the reporter first saw this status; zero when not known.
	Since time.Time
}

// Membership is a set of distinct host IDs that several rows share by pointer, so that "all UP" is stored once for all of them.
type Membership struct {
	HostIDs []hostid.ID
}

// Row is the row of one member. A member that has not reported is a Row without Observed. Rows made by FromReports and FromStatusReport share a Base; read cells with Row.Each or
// Matrix.At, not from Observed alone.
type Row struct {
	Reporter Ref
	// Base, when set, is a membership that the reporter sees UP, all but the exceptions in Observed.
	Base *Membership
	// Observed is the whole row, or with a Base its exceptions, where Missing says that the row does not list the node. A host ID listed twice counts
	// with its worst status.
	Observed []Observation
	// Reported is false when there is no row at all (no annotation, no pod); with Reported and no Observed the row is empty.
	Reported bool
	// Trouble is why the row could not be made or decoded; such a row counts as missing. Zero when it could.
	Trouble Trouble
	// Stale is why the row may be old; zero when it is fresh.
	Stale Trouble
	// StaleSince is when it became so; zero when not known.
	StaleSince time.Time
	// State of the reporter itself, by its own row or by its peers' rows.
	State State
	// NoStates is set for a row whose writer gives no states of nodes, nor its own: the Scylla Operator's kind has no field for them. Such a row does not prove that a node is a
	// plain member.
	NoStates bool
	// Report has the reporter's answers about itself: version, mode, coordinator, group 0. Its cells are those of Base and Observed. Nil where there are none.
	Report *api.NodeStatusReport
	// Other holds the node's values where they do not count, because its host ID is not Reporter's.
	Other *Other
	// Namespace of the reporter's Pod where it is not Options.Namespace; empty when not known.
	Namespace string
}

// Says is Report, empty where there is none. The caller must not change it.
func (r *Row) Says() *api.NodeStatusReport {
	if r.Report == nil {
		return &nothing
	}
	return r.Report
}

var nothing api.NodeStatusReport

// Blocker is one reason, with names, why a newcomer must wait.
type Blocker struct {
	Reason words.Code `json:"reason"`
	// Observer is the node whose row shows it; zero when the blocker is not about a pair.
	Observer Ref `json:"observer,omitzero"`
	// Observed is the node that the blocker is about.
	Observed Ref `json:"observed,omitzero"`
	// Coordinator is set where the observer is the topology coordinator, whose view alone decides a join.
	Coordinator bool `json:"coordinator,omitempty"`
	// Since is when it began, zero when not known: the time of an observation. This package never subtracts the times of two clocks.
	Since time.Time `json:"since,omitzero"`
	// Detail is quoted: ScyllaDB's error text, an annotation's value.
	Detail string `json:"detail,omitempty"`
	// Cause adds to reason and names, as a code; zero when there is nothing to add.
	Cause words.Message `json:"cause,omitzero"`
	// Step is the next step, with the commands. Package diagnosis fills it, and nothing else does.
	Step words.Message `json:"step,omitzero"`
	// Hearsay is set where the blocker is what a Pod says of itself: no step that changes anything may rest on it.
	Hearsay bool `json:"-"`
	// More is how many further observers have the same blocker about the same node without being listed one by one. Zero but in a matrix with more than MaxPairs bad pairs, where
	// only the first observers of each node are listed.
	More int `json:"more,omitempty"`
}
