// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// noHostID stands for an observation without host ID.
const noHostID = int32(-1)

// place is the key of a member without host ID.
type place struct {
	datacenter, rack, member string
	ordinal                  int64 // -1 if unknown
}

func (r *Ref) place() place {
	p := place{datacenter: r.Datacenter, rack: r.Rack, member: r.Member, ordinal: -1}
	if r.Ordinal != nil {
		p.ordinal = int64(*r.Ordinal)
	}
	return p
}

// placed reports whether the Ref has an ordinal, and so a place.
func (r *Ref) placed() bool { return r.Ordinal != nil }

// builder numbers nodes in the order of their appearance; finish sorts them.
type builder struct {
	names   map[hostid.ID]Ref
	nodes   []Node
	index   map[hostid.ID]int32
	byPlace map[place]int32

	// Most rows list the same host IDs in the same order as the previous row. Then its numbers are
	// reused, without map lookups.
	previous    []Observation
	previousIDs []int32

	bases map[*Membership]numbers
}

// numbers has the number of each host ID of a list. nameless is true if one of them is noHostID.
type numbers struct {
	ids      []int32
	nameless bool
}

// entry is a row whose host IDs have numbers.
type entry struct {
	row  *Row
	node int32
	base numbers // of the row's Base; zero without one
	ids  []int32 // of row.Observed; noHostID for a cell without host ID
}

func build(rows []Row, names map[hostid.ID]Ref) *grid {
	b := &builder{names: names, index: make(map[hostid.ID]int32, len(rows)), nodes: make([]Node, 0, len(rows))}
	entries := make([]entry, len(rows))
	for i := range rows {
		entries[i] = b.number(&rows[i])
	}
	return b.finish(entries)
}

func (b *builder) number(row *Row) entry {
	e := entry{row: row, node: b.reporter(row)}
	if !row.Reported || !row.Trouble.IsZero() {
		return e // such a row's cells do not count
	}
	if row.Base != nil {
		e.base = b.membership(row.Base)
	}
	e.ids = b.observed(row.Observed)
	return e
}

func (b *builder) reporter(row *Row) int32 {
	var i int32
	if row.Reporter.HostID != "" {
		i = b.hostID(row.Reporter.HostID)
	} else {
		if b.byPlace == nil {
			b.byPlace = map[place]int32{}
		}
		key := row.Reporter.place()
		known, ok := b.byPlace[key]
		if !ok {
			known = b.add(row.Reporter)
			b.byPlace[key] = known
		}
		i = known
	}
	n := &b.nodes[i]
	if n.Row == nil || compareRows(row, n.Row) < 0 {
		n.Row, n.State = row, row.State
	}
	return i
}

func (b *builder) add(ref Ref) int32 {
	b.nodes = append(b.nodes, Node{Ref: ref})
	return int32(len(b.nodes) - 1)
}

func (b *builder) hostID(id hostid.ID) int32 {
	if id == "" {
		return noHostID
	}
	i, ok := b.index[id]
	if !ok {
		i = b.add(Ref{HostID: id})
		b.index[id] = i
	}
	return i
}

func (b *builder) membership(m *Membership) numbers {
	if n, ok := b.bases[m]; ok {
		return n
	}
	n := numbers{ids: make([]int32, 0, len(m.HostIDs))}
	for _, id := range m.HostIDs {
		n.ids = append(n.ids, b.hostID(id))
	}
	n.nameless = slices.Contains(n.ids, noHostID)
	if b.bases == nil {
		b.bases = map[*Membership]numbers{}
	}
	b.bases[m] = n
	return n
}

func (b *builder) observed(cells []Observation) []int32 {
	same := 0
	for same < len(cells) && same < len(b.previous) && cells[same].HostID == b.previous[same].HostID {
		same++
	}
	if same == len(cells) {
		return b.previousIDs[:same:same]
	}
	ids := make([]int32, len(cells))
	copy(ids, b.previousIDs[:same])
	for k := same; k < len(cells); k++ {
		ids[k] = b.hostID(cells[k].HostID)
	}
	b.previous, b.previousIDs = cells, ids
	return ids
}

// finish sorts the nodes and turns entries into lines.
func (b *builder) finish(entries []entry) *grid {
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.Row != nil {
			hostID := n.HostID
			n.Ref = n.Row.Reporter
			n.HostID = hostID
		}
		if n.HostID != "" {
			n.Ref = n.Ref.filled(b.names[n.HostID])
		}
	}
	order := make([]int32, len(b.nodes)) // order[new] = old
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return compareRefs(&b.nodes[x].Ref, &b.nodes[y].Ref) })
	rank := make([]int32, len(order)) // rank[old] = new
	nodes := make([]Node, len(order))
	for to, from := range order {
		rank[from] = int32(to)
		nodes[to] = b.nodes[from]
	}
	for id, i := range b.index {
		b.index[id] = rank[i]
	}

	g := &grid{base: nodes, index: b.index, names: b.names}
	d := drawer{rank: rank, scratch: make(bitset, chunks(len(nodes)))}
	g.lines = make([]line, len(entries))
	for i := range entries {
		l := d.line(&entries[i])
		l.reports = l.row.Reported && l.row.Trouble.IsZero() && l.row.Stale.IsZero()
		l.empty = !l.nameless && l.seen.count() == 0
		l.testifies = l.testify()
		g.lines[i] = l
	}
	slices.SortStableFunc(g.lines, func(x, y line) int {
		return cmp.Or(cmp.Compare(x.node, y.node), compareRows(x.row, y.row))
	})
	g.start = make([]int32, len(nodes)+1)
	for i := range g.lines {
		g.start[g.lines[i].node+1]++
	}
	for i := range nodes {
		g.start[i+1] += g.start[i]
	}
	return g
}

// drawer makes lines. Equal lines share their sets, so that a set is compared and read once.
type drawer struct {
	rank    []int32
	scratch bitset // the set under construction; never part of a line
	// of the previous line; lastUp of a line that does not have all of it UP
	lastSeen, lastUp bitset
	bases            map[*Membership]bitset
}

// keep returns the known set that equals scratch, else a copy of scratch.
func (d *drawer) keep(known ...bitset) bitset {
	for _, b := range known {
		if b != nil && slices.Equal(b, d.scratch) {
			return b
		}
	}
	return slices.Clone(d.scratch)
}

func (d *drawer) line(e *entry) line {
	l := line{row: e.row, node: d.rank[e.node], nameless: e.base.nameless}
	var base bitset
	if e.base.ids != nil {
		base = d.base(e)
		if len(e.ids) == 0 {
			l.up, l.seen = base, base
			return l
		}
	}
	seen := d.scratch
	clear(seen)
	twice := false
	var unlisted []int32 // of the Base, by exception
	for k, id := range e.ids {
		if id == noHostID {
			l.nameless = true
			continue
		}
		i, o := d.rank[id], &e.row.Observed[k]
		if o.Status == Missing && base != nil {
			unlisted = append(unlisted, i)
			continue
		}
		twice = twice || seen.has(i)
		seen.set(i)
		if o.Status != Up || o.State != StateNormal {
			l.extra = append(l.extra, pair{node: i, Cell: o.cell()})
		}
	}
	if twice {
		l.extra = d.merge(e)
	}
	slices.SortFunc(l.extra, func(x, y pair) int { return cmp.Compare(x.node, y.node) })
	if base != nil {
		unlisted = slices.DeleteFunc(unlisted, seen.has)
		seen.or(base)
		for _, i := range unlisted {
			seen.clear(i)
		}
	}
	l.seen = d.keep(base, d.lastSeen)
	l.up, d.lastSeen = l.seen, l.seen
	if !slices.ContainsFunc(l.extra, func(p pair) bool { return p.Status != Up }) {
		return l
	}
	for _, p := range l.extra {
		if p.Status != Up {
			d.scratch.clear(p.node)
		}
	}
	l.up = d.keep(d.lastUp)
	d.lastUp = l.up
	return l
}

// merge reads a row that lists a host ID twice. The worst status wins in any order: a row with both
// DOWN and UP for one node is not evidence that admits a new node.
func (d *drawer) merge(e *entry) []pair {
	cells := make(map[int32]Cell, len(e.ids))
	for k, id := range e.ids {
		if id == noHostID || e.row.Base != nil && e.row.Observed[k].Status == Missing {
			continue
		}
		c, i := e.row.Observed[k].cell(), d.rank[id]
		if old, ok := cells[i]; ok {
			c = old.worse(c)
		}
		cells[i] = c
	}
	var extra []pair
	for i, c := range cells {
		if c.Status != Up || c.State != StateNormal {
			extra = append(extra, pair{node: i, Cell: c})
		}
	}
	return extra
}

func (d *drawer) base(e *entry) bitset {
	if b, ok := d.bases[e.row.Base]; ok {
		return b
	}
	b := make(bitset, len(d.scratch))
	for _, id := range e.base.ids {
		if id != noHostID {
			b.set(d.rank[id])
		}
	}
	if d.bases == nil {
		d.bases = map[*Membership]bitset{}
	}
	d.bases[e.row.Base] = b
	return b
}

func (o *Observation) cell() Cell {
	c := Cell{Status: o.Status, State: o.State, Since: o.Since}
	if c.Status >= Missing {
		c.Status = Unknown // listed, so it is not missing
	}
	return c
}

// worse merges two observations of one node: the more severe status, its earliest known time, the
// state if both are equal, and whether they contradict each other.
func (c Cell) worse(other Cell) Cell {
	w := c
	switch a, b := c.Status.gravity(), other.Status.gravity(); {
	case b > a:
		w = other
	case a == b && earlier(other.Since, c.Since):
		w.Since = other.Since
	}
	w.State = StateNormal
	if c.State == other.State {
		w.State = c.State
	}
	w.Contradicts = c.Contradicts || other.Contradicts || c.Status != other.Status
	return w
}

// filled returns the Ref with its empty fields taken from other.
func (r Ref) filled(other Ref) Ref {
	r.Member = cmp.Or(r.Member, other.Member)
	r.Datacenter = cmp.Or(r.Datacenter, other.Datacenter)
	r.Rack = cmp.Or(r.Rack, other.Rack)
	if r.Ordinal == nil {
		r.Ordinal = other.Ordinal
	}
	return r
}

// Compare orders nodes by datacenter, rack, ordinal, host ID and member; unknown values come last.
func (r Ref) Compare(other Ref) int { return compareRefs(&r, &other) }

// compareRefs is Compare.
func compareRefs(a, b *Ref) int {
	if c := compareKnown(a.Datacenter, b.Datacenter); c != 0 {
		return c
	}
	if c := compareKnown(a.Rack, b.Rack); c != 0 {
		return c
	}
	switch {
	case a.Ordinal == nil && b.Ordinal != nil:
		return 1
	case a.Ordinal != nil && b.Ordinal == nil:
		return -1
	case a.Ordinal != nil && *a.Ordinal != *b.Ordinal:
		return cmp.Compare(*a.Ordinal, *b.Ordinal)
	}
	if c := compareKnown(a.HostID, b.HostID); c != 0 {
		return c
	}
	return compareKnown(a.Member, b.Member)
}

func compareKnown[T ~string](a, b T) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	return cmp.Compare(a, b)
}

// compareRows orders rows of one host ID, so that the row that names the node does not depend on
// the input order.
func compareRows(a, b *Row) int {
	return cmp.Or(
		compareRefs(&a.Reporter, &b.Reporter),
		FalseFirst(a.Reported, b.Reported),
		-compareTroubles(a.Trouble, b.Trouble),
		-compareTroubles(a.Stale, b.Stale),
		a.StaleSince.Compare(b.StaleSince),
		cmp.Compare(a.State, b.State),
		strings.Compare(a.Says().ScyllaVersion, b.Says().ScyllaVersion),
		strings.Compare(a.Says().OperationMode, b.Says().OperationMode),
	)
}

func compareTroubles(a, b Trouble) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), strings.Compare(a.Object, b.Object), strings.Compare(a.Words, b.Words))
}
