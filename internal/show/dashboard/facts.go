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

// Snapshot is one state of a cluster, ready to be drawn. It is not changed after NewSnapshot.
type Snapshot struct {
	*facts
	// at is when the objects were read; zero for saved objects of unknown age.
	at time.Time
	// saved names saved objects and their time, and their age once they are old; empty for objects of a cluster, and where the time is not known.
	saved string
	// controller is what was known at that time of the one that keeps the reports.
	controller controller
	// changes since the snapshot before; in a first snapshot, what its objects tell of the past.
	changes []Change
}

// controller is what is known of the controller, in a few words, and whether that is good.
type controller struct {
	is   leading
	text string // empty where nothing is known
	ok   bool
}

// leading says who keeps the reports.
type leading byte

const (
	leadingUnknown leading = iota
	leadingAlive
	leadingOthers // a controller that does not keep these
	leadingSilent
	leadingNobody
	leadingOperator
	leadingForbidden // its Lease may not be read
)

// Healthy is true when every node sees every node UP.
func (s *Snapshot) Healthy() bool { return s.doc.Healthy }

// Nodes is the number of nodes, newcomers included.
func (s *Snapshot) Nodes() int { return len(s.nodes) }

// facts are a cluster as it is drawn. Nodes are named by their places in nodes. All texts are free of control characters.
type facts struct {
	doc            *document.ClusterStatus // without rows and blockers
	name           string                  // namespace/name
	summary, brief string                  // brief is the summary for want of room
	reason         string                  // why the rows come from there
	coordinator    string                  // the topology coordinator; empty when not known
	view           *document.ViewStamp     // which view the controller has; nil where it keeps none
	partial        []string
	partition      [][]int
	nodes          []shownNode
	grid           *grid.Grid
	index          document.Index
	blockers       []blocker
	mayReplace     bool     // a replacement is open, or a node may be replaced
	levels         []axis   // nodes, racks and, where there are several, datacenters
	ended          []Change // containers that ended before
	who            *matrix.Matrix
	print          uint64    // fingerprint of the objects; zero when they cannot be compared
	made           time.Time // when the facts were judged
}

// shownNode is a node of the document with what the screen adds to it.
type shownNode struct {
	document.Node        // its texts are clean
	index         int    // in the matrix; -1 when it is not in it
	reports       bool   // it has a row that counts
	column        bool   // other nodes can list it
	coordinates   bool   // topology: its view decides a join
	flag          byte   // anything out of the ordinary, in one character; help explains it
	by            string // the nodes whose rows say as the worst of them, unless that is UP
	newcomer      *document.Newcomer
	replacements  []string
}

// blocker is one reason why a newcomer must wait, with every node whose row shows it.
type blocker struct {
	key       string // the same in every snapshot
	observed  int    // -1 when it is about no node
	observers []int
	step      words.Message // the next step; y copies its first command
	text      func(now time.Time) string
}

// label is the name of a node on the screen. It is never empty.
func (n *shownNode) label() string { return cmp.Or(n.Member, n.Short(), "?") }

// key names a node in every snapshot: its host ID, or its member name while it has none.
func (n *shownNode) key() string { return cmp.Or(string(n.HostID), n.Member) }

// place is datacenter/rack.
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

// observer returns observer i, starting again after the last, and the observed node where no observer is known.
func (b *blocker) observer(i int) int {
	if len(b.observers) == 0 {
		return b.observed
	}
	return b.observers[i%len(b.observers)]
}
