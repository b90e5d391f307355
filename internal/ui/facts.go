// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
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
func (s *Snapshot) Healthy() bool { return s.healthy }

// Nodes is the number of nodes, newcomers included.
func (s *Snapshot) Nodes() int { return len(s.nodes) }

// facts are plain data about a cluster. Nodes are named by their index in nodes. All texts are free of control characters.
type facts struct {
	name             string // namespace/name
	healthy          bool
	verdict, summary string
	brief            string            // the summary for want of room
	source           string            // where the rows come from
	reason           string            // why from there
	coordinator      string            // the topology coordinator; empty when not known
	view             *render.ViewStamp // which view the controller has; nil where it keeps none
	partial          []string
	partition        [][]int
	nodes            []node
	blockers         []blocker
	mayReplace       bool   // a replacement is open, or a node may be replaced
	levels           []axis // nodes, racks and, where there are several, datacenters
	byID, byMember   map[string]int
	ended            []Change // containers that ended before
	who              *rows
	print            uint64    // fingerprint of the objects; zero when they cannot be compared
	made             time.Time // when the facts were judged
}

// node is one node, member or newcomer.
type node struct {
	id, short, member                               string
	datacenter, rack, place                         string // place is datacenter/rack
	pod, ip, host, version, mode                    string // host is the Kubernetes node
	membership, state, force, detail                string
	index                                           int // in the matrix; -1 when it is not in it
	reports, joined, ghost, newcomer, gossip, known bool
	coordinates                                     bool // topology: its view decides a join
	flag                                            byte // anything out of the ordinary, in one character; help explains it
	seen                                            seen
	row                                             row
	notUp                                           []pair // what its own row says of others
	waits                                           waits
	replacements                                    []string
}

// seen is the node's state in the rows of the other nodes. of is the number of these rows.
type seen struct {
	status mark
	of     int
	weight int    // grows with the number of rows that do not say UP
	text   string // "DOWN 2/5"
	by     string // the nodes whose rows say status, unless that is UP
	since  time.Time
}

// row is the state of a node's own status report.
type row struct {
	status, detail      string
	ok, due, isError    bool // due is false while no row is expected
	written, staleSince time.Time
}

// pair is one cell that is not UP.
type pair struct {
	of    int
	is    mark
	since time.Time
}

// cell is one pair of nodes in full.
type cell struct {
	is    mark
	up    bool // the row says UP, also where is says that it is the node itself
	since time.Time
	state string // of the observed node, where it is no plain member
}

// waits is why a newcomer does not start yet.
type waits struct {
	on, summary string
	since       time.Time
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
func (n *node) label() string { return cmp.Or(n.member, n.short, "?") }

// key names a node in every snapshot: its host ID, or its member name while it has none.
func (n *node) key() string { return cmp.Or(n.id, n.member) }

// column is true for nodes that others can see.
func (n *node) column() bool { return n.index >= 0 && n.id != "" }

// trouble orders nodes by how badly the others see them.
func (n *node) trouble() int {
	if n.row.ok {
		return n.seen.weight
	}
	return n.seen.weight + 1
}

// find looks up a node by host ID, then by member name; -1 when there is none.
func (f *facts) find(id, member string) int {
	if i, ok := f.byID[id]; ok && id != "" {
		return i
	}
	if i, ok := f.byMember[member]; ok && member != "" {
		return i
	}
	return -1
}

// observer returns observer i, starting again after the last, and the observed node where no observer is known.
func (b *blocker) observer(i int) int {
	if len(b.observers) == 0 {
		return b.observed
	}
	return b.observers[i%len(b.observers)]
}
