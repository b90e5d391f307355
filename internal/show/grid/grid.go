// SPDX-License-Identifier: Apache-2.0

// Package grid is who sees whom for drawing: by node, by rack or by datacenter. It counts the
// entries of rows; it makes no decision and has no texts.
package grid

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Mark is the entry of one node in the row of another node.
type Mark uint8

const (
	None   Mark = iota // no usable row
	Absent             // no node can list it: it has no host ID yet
	Self
	Up
	Down
	Unknown
	Missing // the row lacks the node
	Marks   // number of marks
)

// Worst has the marks of pairs, most severe first.
var Worst = [...]Mark{Down, Unknown, Missing, Up}

var statuses = [Marks]api.NodeStatus{
	None: "none", Absent: "absent", Self: "self", Up: api.NodeStatusUp, Down: api.NodeStatusDown,
	Unknown: api.NodeStatusUnknown,
	Missing: api.NodeStatusMissing,
}

// Of returns the mark of a status; an unknown text counts as UNKNOWN.
func Of(s api.NodeStatus) Mark {
	if i := slices.Index(statuses[:], s); i >= int(Up) {
		return Mark(i)
	}
	return Unknown
}

// String returns UP, DOWN, UNKNOWN or MISSING; none, absent and self if there is no pair.
func (m Mark) String() string { return string(statuses[m]) }

// Status returns the mark as a status for documents.
func (m Mark) Status() api.NodeStatus { return statuses[m] }

// NotUp reports whether a pair is not UP.
func (m Mark) NotUp() bool { return m > Up }

// Pair is a node that another node does not see UP.
type Pair struct {
	Of    int // index in Nodes
	Is    Mark
	Since time.Time // zero if unknown
}

// Node is a node with its row.
type Node struct {
	Datacenter, Rack string
	Listed           bool // other nodes can list it
	Reports          bool // it has a usable row
	NotUp            []Pair
}

// Grid is who sees whom, immutable after New.
type Grid struct{ Nodes []Node }

// New creates a Grid and sorts the pairs of each node.
func New(nodes []Node) *Grid {
	byNode := func(a, b Pair) int { return cmp.Compare(a.Of, b.Of) }
	for i := range nodes {
		if pairs := nodes[i].NotUp; !slices.IsSortedFunc(pairs, byNode) {
			slices.SortFunc(pairs, byNode)
		}
	}
	return &Grid{nodes}
}

// At returns the entry of node j in the row of node i.
func (g *Grid) At(i, j int) Mark {
	n := &g.Nodes[i]
	if i == j {
		return Self
	}
	switch {
	case !n.Reports:
		return None
	case !g.Nodes[j].Listed:
		return Absent
	}
	if k, found := slices.BinarySearchFunc(n.NotUp, j,
		func(p Pair, of int) int { return cmp.Compare(p.Of, of) }); found {
		return n.NotUp[k].Is
	}
	return Up
}

// Listed returns the nodes that other nodes can list.
func (g *Grid) Listed() []int {
	var out []int
	for i := range g.Nodes {
		if g.Nodes[i].Listed {
			out = append(out, i)
		}
	}
	return out
}
