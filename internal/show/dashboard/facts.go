// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Snapshot is one state of a cluster for drawing, immutable after NewSnapshot.
type Snapshot struct {
	*facts
	// at is when the objects were read; zero for saved objects of unknown age.
	at time.Time
	// saved names saved objects with their time, and their age if they are old. Empty for objects
	// of a cluster, and if the time is unknown.
	saved string
	// controller is the known state of the controller at that time.
	controller controller
	// changes since the previous snapshot; in a first snapshot, changes from its objects.
	changes []Change
}

// controller is the known state of the controller as a short text, and whether it is good.
type controller struct {
	is   leading
	text string // empty if unknown
	ok   bool
}

// leading is which controller writes the reports.
type leading byte

const (
	leadingUnknown leading = iota
	leadingAlive
	leadingOthers // a controller that does not write these reports
	leadingSilent
	leadingNobody
	leadingOperator
	leadingForbidden // no permission to get its Lease
)

// Healthy reports whether all nodes see each other UP.
func (s *Snapshot) Healthy() bool { return s.doc.Healthy }

// Nodes returns the number of nodes, including new nodes.
func (s *Snapshot) Nodes() int { return len(s.nodes) }

// facts are a cluster for drawing. Nodes are indexes into nodes. Texts have no control characters.
type facts struct {
	doc            *document.ClusterStatus // without rows and blockers
	name           string                  // namespace/name
	summary, brief string                  // brief is the summary for narrow screens
	reason         string                  // reason for the source of the rows
	coordinator    string                  // the topology coordinator; empty if unknown
	view           *document.ViewStamp     // the controller's view; nil without one
	partial        []string
	nodes          []shownNode
	grid           *grid.Grid
	index          document.Index
	findings       []finding
	mayReplace     bool     // a replacement is open, or a node may be replaced
	levels         []axis   // nodes, racks and, if there are several, datacenters
	ended          []Change // containers that had exited before
	who            *matrix.Matrix
	print          uint64    // fingerprint of the objects; zero if they are not comparable
	made           time.Time // when the facts were judged
}

// shownNode is a node of the document with additions for the screen.
type shownNode struct {
	document.Node        // its texts are clean
	index         int    // in the matrix; -1 if absent
	reports       bool   // it has a usable row
	column        bool   // other nodes can list it
	coordinates   bool   // topology coordinator
	flag          byte   // an abnormal state in one character; see help
	by            string // the nodes whose rows have its worst status, unless that is UP
	newcomer      *document.Newcomer
	replacements  []string
}

// finding is a finding at one node, or a new node that waits without one.
type finding struct {
	key string // the same in every snapshot
	// stops are the pairs that show it, each reporter and observed; a node alone is twice in it.
	stops   [][2]int
	problem bool          // the verdict shows the text of the first problem
	further bool          // an earlier finding has the same step
	step    words.Message // the next step; y copies its first command
	text    func(now time.Time) string
}

// label returns the name of a node on the screen, never empty.
func (n *shownNode) label() string { return cmp.Or(n.Member, n.Short(), "?") }

// key identifies a node in every snapshot: its host ID, or its member name while it has none.
func (n *shownNode) key() string { return cmp.Or(string(n.HostID), n.Member) }

// place returns datacenter/rack.
func (n *shownNode) place() string { return cmp.Or(n.Datacenter, "?") + "/" + cmp.Or(n.Rack, "?") }

// trouble orders nodes by how badly the others see them.
func (n *shownNode) trouble() int {
	t := n.Seen.Tally()
	weight := t[grid.Down]*1_000_000 + t[grid.Unknown]*1_000 + t[grid.Missing]
	if n.Row.Status != document.RowOK {
		weight++
	}
	return weight
}

// columnOf returns the node, or -1 if no other node can list it.
func (f *facts) columnOf(node int) int {
	if node >= 0 && !f.nodes[node].column {
		return -1
	}
	return node
}
