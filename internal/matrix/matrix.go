// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// maxPairs is how many bad pairs Blockers lists one by one. Beyond it, only the first observers of
// each node are listed, and Blocker.More counts the rest. So a network partition of 1,000 nodes
// needs thousands of blockers, not half a million.
const maxPairs = 10_000

// foldedObservers is how many observers of each node are listed if there are more than MaxPairs bad
// pairs.
const foldedObservers = 3

// Options are the settings by which rows are judged. The zero value judges every row strictly, as a
// status display does.
type Options struct {
	// Self is the member that wants to start: its row is left out. It is found by (datacenter,
	// rack, ordinal), or by host ID if a row has no place. Nil leaves out no row.
	Self *Ref
	// Reports is how many datacenter reports the rows came from; only AllowNonReporting uses it.
	Reports int
	// AllowNonReporting is the shipped --single-report-allow-non-reporting-host-ids: host IDs
	// without a row need none if all rows come from exactly one report, of Self's datacenter. Every
	// row must still have them UP.
	AllowNonReporting bool
	// NotVerified are datacenters that exist and whose nodes cannot be queried from here. They
	// block, unless the lenient rule of AllowNonReporting applies.
	NotVerified []string
	// Names has places and members for host IDs without a row, or whose row lacks them.
	Names map[hostid.ID]Ref
	// Namespace is where the members' Pods and Services are; empty if unknown.
	Namespace string
	// Settled is the time before which a node must have gone DOWN so that a next step may name a
	// replacement; with zero no step does.
	Settled time.Time
	// Fates are the known facts about nodes from outside the rows, by host ID.
	Fates map[hostid.ID]NodeFacts
	// Identity is the recorded ID of the cluster's group 0, empty if not recorded. A running node
	// with a different ID belongs to another cluster.
	Identity string
}

// NodeFacts has facts about a node from Services and Pods. A caller that did not read them leaves
// the field empty.
type NodeFacts struct {
	// Member is the member for which a replacement of the node is requested or open.
	Member string
	// Open is set while that replacement is open.
	Open bool
	// Joining is set for a node whose Service records that it has not joined: its row is not
	// required.
	Joining bool
	// Passes is set if the cause of the node's being DOWN is known, so that the node is not
	// replaced for it.
	Passes bool
	// Explained is set if the member's own objects or log show why it is DOWN: its Pod found its
	// volume empty, or is not created before another one, or its ScyllaDB never starts on its
	// volume. So it is not for what its rack has in common.
	Explained bool
	// NotReadySince is since when its Pod has not been Ready, for rows without the time at which
	// the node went DOWN; zero if it is Ready or the time is unknown.
	NotReadySince time.Time
}

// Cell is one node's observation of another.
type Cell struct {
	Status Status
	State  State
	Since  time.Time // zero if unknown
	// Contradicts is true if the node's rows have two different values for the other node. Status
	// is then the more severe one.
	Contradicts bool
}

// Node is a host ID that appears anywhere, or a member without host ID.
type Node struct {
	Ref
	// Row is the node's own row; nil if only other rows mention it. If several rows have the host
	// ID, it is the first by place.
	Row *Row
	// State is the state on which all rows that mention the node agree; StateNormal if they
	// disagree. For a node that no row mentions it is the state in its own row.
	State State
	// Joined is true if the node is a member of the cluster: peers list it, or it has a row, and it
	// is not joining, replacing or decommissioned.
	Joined bool
	// Reports is true if all rows of the node exist, are fresh and readable.
	Reports bool
	// Self marks the judged member (Options.Self).
	Self bool
	// Removed is true for a node without a usable row that no fresh row lists, while there are
	// fresh rows. It was removed from the cluster, so nothing is required of it, even if an object
	// still records its host ID.
	Removed bool
	// SeenUp, SeenDown, SeenUnknown and NotSeen count the rows with that status of the node. Self's
	// row, unreadable rows and stale rows are not counted.
	SeenUp, SeenDown, SeenUnknown, NotSeen int
	// Own is the status of itself in the row of a node that Reports.
	Own Status
	// DownSince is the latest Since of the rows that have the node DOWN, so since when all of these
	// have it DOWN; zero if unknown.
	DownSince time.Time
}

// AllUp reports whether at least one row has the node UP, and no row has any other status.
func (n *Node) AllUp() bool { return n.SeenUp > 0 && n.SeenDown+n.SeenUnknown+n.NotSeen == 0 }

// Health is a summary of a matrix for status, conditions and printer columns.
type Health struct {
	// AllUp is true if there is at least one node and no blocker.
	AllUp bool
	// Nodes is how many nodes are judged, Up how many of them are AllUp. 0 <= Up <= Nodes.
	Nodes, Up int
	// Total is the number of blockers, including those that Blocker.More counts.
	Total    int
	Blockers []Blocker
}

// Matrix is the status of every node in every row. It is immutable and safe for concurrent use.
type Matrix struct {
	*grid
	opts      Options
	nodes     []Node
	required  bitset // nodes that every row must see UP
	nameless  int    // judged members without host ID
	lenient   bool
	reporting int
	parted    bool // the nodes that report do not all see each other
	// away has the datacenters and racks without a node that is UP, by placesAway.
	away map[[2]string]bool
	// coordinator is the topology coordinator, by the rows that report.
	coordinator Coordinator
	// clusters are the clusters that the nodes belong to, if more than one.
	clusters []part
	// strays are the nodes of another cluster than the recorded one.
	strays   []stray
	blockers []Blocker
}

// grid is the part of a matrix that does not depend on Options.
type grid struct {
	base  []Node              // Ref, Row and State by its own row only
	index map[hostid.ID]int32 // by host ID
	lines []line              // ordered by node
	start []int32             // lines of node i are lines[start[i]:start[i+1]]
	names map[hostid.ID]Ref
}

// line is one row in terms of node indexes.
type line struct {
	row      *Row
	node     int32
	up, seen bitset // shared between equal lines; never written after New
	extra    []pair // cells other than plain UP, ordered by node
	nameless bool   // lists a node without host ID
	// Used by every judgement of the row; independent of Options.
	reports   bool // the row exists, is fresh and readable
	empty     bool // it lists no node
	testifies bool // see testify
}

type pair struct {
	node int32
	Cell
}

func (l *line) cell(node int32) Cell {
	if !l.seen.has(node) { // a row that is missing or not readable lists no node
		return Cell{Status: Missing}
	}
	c := Cell{Status: Up}
	if i, ok := slices.BinarySearchFunc(l.extra, node,
		func(p pair, n int32) int { return cmp.Compare(p.node, n) }); ok {
		c = l.extra[i].Cell
	}
	if !l.reports { // it lists nodes and does not count: it is stale
		c.Status = Unknown
	}
	return c
}

// New builds the matrix of a cluster and judges it. The order of rows and of observations does not
// matter. The caller must not change the rows afterwards.
func New(rows []Row, opts Options) *Matrix {
	return build(rows, opts.Names).judge(opts)
}

// Judge returns the same matrix judged with other options; names are unchanged.
func (m *Matrix) Judge(opts Options) *Matrix { return m.judge(opts) }

// Excluding returns the matrix without the rows for whose reporter drop returns true. It is judged
// strictly and without Options.Names, so that only these rows give facts about a node: a
// replacement must not rely on the rows of the nodes that it affects. Indexes of nodes are as in m,
// so a node without remaining rows stays; see Appears. It costs one judgement: no cell is read
// again.
func (m *Matrix) Excluding(drop func(Ref) bool) *Matrix {
	g := &grid{index: m.index, base: make([]Node, len(m.base)), lines: make([]line, 0, len(m.lines)),
		start: make([]int32, len(m.start))}
	for i := range g.base {
		n := &g.base[i]
		n.HostID = m.base[i].HostID
		for _, l := range m.lines[m.start[i]:m.start[i+1]] {
			if drop(l.row.Reporter) {
				continue
			}
			if n.Row == nil {
				n.Ref, n.Row, n.State = l.row.Reporter, l.row, l.row.State
			}
			g.lines = append(g.lines, l)
		}
		g.start[i+1] = int32(len(g.lines))
	}
	return g.judge(Options{})
}

// Options returns the options with which the matrix was judged.
func (m *Matrix) Options() Options { return m.opts }

// Nodes returns every node, ordered by datacenter, rack, ordinal, host ID; nodes without a known
// place come last. The caller must not change it.
func (m *Matrix) Nodes() []Node { return m.nodes }

// Rows yields every row, including Self's and unusable rows, ordered by node. The caller must not
// change them.
func (m *Matrix) Rows() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for i := range m.lines {
			if !yield(m.lines[i].row) {
				return
			}
		}
	}
}

// Appears reports whether the node at index i has a row, or a row other than Self's lists it.
func (m *Matrix) Appears(i int) bool { return m.nodes[i].Row != nil || m.required.has(int32(i)) }

// Index returns the index in Nodes of a host ID.
func (m *Matrix) Index(hostID hostid.ID) (int, bool) {
	i, ok := m.index[hostID]
	return int(i), ok
}

// At returns the status of node observed in the row of node observer, by index into Nodes: Missing
// if the row lacks it or does not exist, Unknown for every cell of a stale row.
func (m *Matrix) At(observer, observed int) Status { return m.Cell(observer, observed).Status }

// Cell is At with state and age. If a host ID has several rows, it is the worst of their cells.
func (m *Matrix) Cell(observer, observed int) Cell {
	worst := Cell{Status: Missing}
	for i, l := range m.lines[m.start[observer]:m.start[observer+1]] {
		if c := l.cell(int32(observed)); i == 0 {
			worst = c
		} else {
			worst = worst.worse(c)
		}
	}
	return worst
}

// NotUp yields each node whose Cell in the row of node observer is not UP, in the order of Nodes.
// It skips 64 nodes that are UP at once.
func (m *Matrix) NotUp(observer int) iter.Seq2[int, Cell] {
	return func(yield func(int, Cell) bool) {
		lines := m.lines[m.start[observer]:m.start[observer+1]]
		for w := range m.required {
			up := ^uint64(0)
			for i := range lines {
				if up &= lines[i].up[w]; !lines[i].reports {
					up = 0
				}
			}
			if len(lines) == 0 {
				up = 0
			}
			for left := ^up; left != 0; left &= left - 1 {
				j := w<<6 + bits.TrailingZeros64(left)
				if j >= len(m.nodes) {
					return
				}
				if c := m.Cell(observer, j); c.Status != Up && !yield(j, c) {
					return
				}
			}
		}
	}
}

// Reporting returns how many rows are usable: fresh and readable, without Self's.
func (m *Matrix) Reporting() int { return m.reporting }

// Parted reports whether Partition finds parts and there are blockers.
func (m *Matrix) Parted() bool { return m.parted }

// Lenient reports whether the rule of Options.AllowNonReporting applies.
func (m *Matrix) Lenient() bool { return m.lenient }

// Empty reports whether no node but Self has a row and no row but Self's mentions a node: there is
// no evidence of any cluster.
func (m *Matrix) Empty() bool { return m.nameless == 0 && m.required.count() == 0 }

// Blockers returns every reason why a new node must wait, the most severe first, in a stable order.
// If there are none, every required node has a row and every row has every required node UP; for an
// Empty matrix it means nothing. The caller must not change it.
func (m *Matrix) Blockers() []Blocker { return m.blockers }

// Health returns a summary of the matrix.
func (m *Matrix) Health() Health {
	h := Health{Nodes: m.required.count() + m.nameless, Blockers: m.blockers}
	for i := range m.nodes {
		if m.required.has(int32(i)) && m.nodes[i].AllUp() {
			h.Up++
		}
	}
	for i := range m.blockers {
		h.Total += m.blockers[i].Count()
	}
	h.AllUp = h.Nodes > 0 && h.Total == 0
	return h
}
