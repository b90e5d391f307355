// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// finding is a blocker in terms of node indexes.
type finding struct {
	reason             words.Code
	observed, observer int32 // -1 for none
	since              time.Time
	trouble            Trouble
	more               int
}

func (g *grid) judge(opts Options) *Matrix {
	opts.Names = g.names
	m := &Matrix{grid: g, opts: opts, nodes: slices.Clone(g.base), required: make(bitset, chunks(len(g.base)))}
	judged, ownRow, mentioned := m.choose()
	m.lenient = m.isLenient()
	for i := range mentioned.all() {
		// until the rows agree on another state; the node's own state is Row.State
		m.nodes[i].State = StateNormal
	}
	reporting := make([]*line, 0, len(judged))
	for _, l := range judged {
		if l.reports && !l.empty {
			reporting = append(reporting, l)
		}
	}
	m.reporting = len(reporting)
	m.forget(reporting, ownRow)
	rowless := m.evidence(reporting)

	var findings []finding
	for i := range m.nodes {
		i := int32(i)
		switch n := &m.nodes[i]; {
		case n.HostID == "" && ownRow.has(i):
			m.nameless++
			findings = append(findings, finding{reason: words.HostIDMissing, observed: i, observer: -1})
		case m.required.has(i) && !ownRow.has(i) && !m.lenient && !rowless[i]:
			findings = append(findings, finding{reason: words.RowMissing, observed: i, observer: -1})
		}
	}
	for _, l := range judged {
		if l.nameless {
			findings = append(findings, finding{reason: words.HostIDMissing, observed: -1, observer: l.node})
		}
		if l.reports && !l.empty {
			continue
		}
		m.nodes[l.node].Reports = false
		if n := &m.nodes[l.node]; n.HostID == "" || n.Removed || rowless[l.node] {
			continue
		}
		f := finding{reason: words.RowMissing, observed: l.node, observer: -1}
		switch {
		case !l.row.Trouble.IsZero():
			f.reason, f.trouble = words.RowError, l.row.Trouble
		case !l.row.Stale.IsZero():
			f.reason, f.trouble, f.since = words.RowStale, l.row.Stale, l.row.StaleSince
		}
		findings = append(findings, f)
	}
	m.coordinator = m.elect(reporting)
	m.count(reporting)
	m.members(mentioned)
	findings = append(findings, m.pairs(reporting)...)
	m.clusters, m.strays = m.split(judged), m.others(judged)
	if len(findings) > 0 {
		m.parted, m.away = m.Partition() != nil, m.placesAway()
	}
	m.blockers = m.describe(findings)
	return m
}

// choose marks Self, and returns the judged lines, the nodes that have one, and the nodes that
// these lines mention.
func (m *Matrix) choose() (judged []*line, ownRow, mentioned bitset) {
	ownRow, mentioned = make(bitset, len(m.required)), make(bitset, len(m.required))
	judged = make([]*line, 0, len(m.lines))
	var last bitset
	for i := range m.lines {
		l := &m.lines[i]
		if m.isSelf(&l.row.Reporter) {
			m.nodes[l.node].Self = true
			continue
		}
		judged = append(judged, l)
		if !ownRow.has(l.node) {
			ownRow.set(l.node)
			m.nodes[l.node].Reports = true
		}
		if m.nodes[l.node].HostID != "" {
			m.required.set(l.node)
		}
		if !l.seen.same(last) {
			mentioned.or(l.seen)
			last = l.seen
		}
	}
	m.required.or(mentioned)
	return judged, ownRow, mentioned
}

// forget removes required nodes whose own rows are all unusable and that no reporting row lists:
// after a removenode the Service may remain, and with it the host ID. It does so only if the
// reporting rows outnumber the nodes to remove. If two halves do not list each other, it is unknown
// which is the cluster. Nor does it remove a node that the rows can hide.
func (m *Matrix) forget(reporting []*line, ownRow bitset) {
	if len(reporting) == 0 {
		return
	}
	known := make(bitset, len(m.required))
	var last bitset
	for _, l := range reporting {
		known.set(l.node)
		if !l.seen.same(last) {
			known.or(l.seen)
			last = l.seen
		}
	}
	var forgotten []int32
	for i := range m.nodes {
		if n := &m.nodes[i]; ownRow.has(int32(i)) && !known.has(int32(i)) && n.HostID != "" && !n.Self {
			forgotten = append(forgotten, int32(i))
		}
	}
	if len(reporting) <= len(forgotten) {
		return
	}
	for _, i := range forgotten {
		if m.Hides(m.nodes[i].Ref) {
			continue
		}
		m.nodes[i].Removed = true
		m.required.clear(i)
	}
}

func (m *Matrix) isSelf(r *Ref) bool {
	s := m.opts.Self
	switch {
	case s == nil:
		return false
	case s.placed() && r.placed():
		return s.SamePlace(*r)
	}
	return s.HostID != "" && s.HostID == r.HostID
}

func (m *Matrix) isLenient() bool {
	if !m.opts.AllowNonReporting || m.opts.Reports != 1 || m.opts.Self == nil {
		return false
	}
	for i := range m.lines {
		if m.lines[i].row.Reporter.Datacenter != m.opts.Self.Datacenter {
			return false
		}
	}
	return true
}

// evidence sets every node's State, and returns which nodes need no row of their own. Every
// reporting row that mentions a node must agree. Other rows do not count: an old row may list a
// node as joining that has become a member since.
func (m *Matrix) evidence(reporting []*line) []bool {
	rowless := make([]bool, len(m.nodes))
	candidates := make(bitset, len(m.required))
	found := false
	for _, l := range reporting {
		for i := range l.extra {
			if l.extra[i].State != StateNormal {
				candidates.set(l.extra[i].node)
				found = true
			}
		}
	}
	if !found {
		return rowless
	}
	for i := range candidates.all() {
		n := &m.nodes[i]
		first, agreed, needsNone := true, true, true
		for _, l := range reporting {
			c := l.cell(i)
			if c.Status == Missing {
				continue
			}
			if first {
				n.State, first = c.State, false
			}
			agreed = agreed && n.State == c.State
			needsNone = needsNone && c.State.inProgress()
		}
		if !agreed {
			n.State = StateNormal
		}
		if !first {
			rowless[i] = needsNone
		}
	}
	return rowless
}

// inProgress reports whether a node in the state must be UP, but needs no row: a new node gets one
// after its join, and a leaving node may have lost it already. A node that is being replaced waives
// nothing: if the replacement is rolled back, its target stays banned and DOWN, and ScyllaDB would
// then cancel a join. Nothing writes DECOMMISSIONED into a cell, so it waives nothing.
func (s State) inProgress() bool { return s.NewNode() || s == StateLeaving }

// count sets the nodes' counters.
func (m *Matrix) count(pairs []*line) {
	for i := range m.required.all() {
		n := &m.nodes[i]
		if n.SeenUp = len(pairs); n.Reports {
			n.Own = m.At(int(i), int(i))
		}
	}
	for _, l := range pairs {
		for i := range m.required.minus(l.up) {
			n, c := &m.nodes[i], l.cell(i)
			n.SeenUp--
			switch c.Status {
			case Down:
				n.SeenDown++
				if c.Since.After(n.DownSince) {
					n.DownSince = c.Since
				}
			case Missing:
				n.NotSeen++
			default:
				n.SeenUnknown++
			}
		}
	}
}

// earlier reports whether a is known and before b, or b is unknown.
func earlier(a, b time.Time) bool { return !a.IsZero() && (b.IsZero() || a.Before(b)) }

// members sets Joined of every node.
func (m *Matrix) members(mentioned bitset) {
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.Row == nil && !mentioned.has(int32(i)) {
			continue // only Self's row lists it
		}
		n.Joined = n.HostID != "" && n.State.joined() && (n.Row == nil || n.Row.State.joined())
	}
}

func (s State) joined() bool { return !s.NewNode() && s != StateDecommissioned }

// pairs returns every cell that is not UP. lines are ordered by node, so that two
// rows of one host ID are adjacent and give the same pair once.
func (m *Matrix) pairs(lines []*line) []finding {
	total := 0
	for _, l := range lines {
		for range m.required.minus(l.up) {
			total++
		}
	}
	if total == 0 {
		return nil
	}
	// The coordinator's row comes first, so that it is listed even if other observers are only
	// counted.
	slices.SortStableFunc(lines,
		func(x, y *line) int { return -FalseFirst(m.coordinates(x.node), m.coordinates(y.node)) })
	limit := foldedObservers
	if total <= maxPairs {
		limit = len(lines)
	}
	type seen struct{ listed, last, lastObserver int32 } // last is an index into found
	var (
		found   = make([]finding, 0, min(total, maxPairs))
		by      [3][]seen
		reasons = [3]words.Code{words.NodeDown, words.NodeUnknown, words.NodeNotSeen}
	)
	for k := range by {
		by[k] = make([]seen, len(m.nodes))
	}
	for _, l := range lines {
		for i := range m.required.minus(l.up) {
			c, kind := l.cell(i), 1
			switch c.Status {
			case Down:
				kind = 0
			case Missing:
				kind = 2
			}
			s := &by[kind][i]
			switch {
			// another row of the same host ID has the same status
			case s.listed > 0 && s.lastObserver == l.node:
				if f := &found[s.last]; f.more == 0 && earlier(c.Since, f.since) {
					f.since = c.Since
				}
				continue
			case int(s.listed) < limit:
				s.listed++
				s.last = int32(len(found))
				found = append(found, finding{reason: reasons[kind], observed: i, observer: l.node, since: c.Since})
			default:
				found[s.last].more++
			}
			s.lastObserver = l.node
		}
	}
	return found
}

// compareFindings orders findings as SortBlockers orders blockers.
func (m *Matrix) compareFindings(x, y finding) int {
	if x.reason != y.reason {
		return cmp.Compare(Rank(x.reason), Rank(y.reason))
	}
	if c := cmp.Compare(x.observed, y.observed); c != 0 {
		return c
	}
	if x.observer != y.observer {
		first := -FalseFirst(x.observer >= 0 && m.coordinates(x.observer), y.observer >= 0 && m.coordinates(y.observer))
		return cmp.Or(first, cmp.Compare(x.observer, y.observer))
	}
	return cmp.Or(compareTroubles(x.trouble, y.trouble), x.since.Compare(y.since))
}

// describe sorts findings and adds names.
func (m *Matrix) describe(findings []finding) []Blocker {
	slices.SortStableFunc(findings, m.compareFindings)
	findings = slices.CompactFunc(findings, func(x, y finding) bool {
		return x.reason == y.reason && x.observed == y.observed && x.observer == y.observer && x.trouble == y.trouble
	})
	blockers := make([]Blocker, 0, len(findings)+len(m.opts.NotVerified))
	for i := range findings {
		f := &findings[i]
		b := Blocker{Reason: f.reason, Since: f.since, More: f.more}
		if f.observer >= 0 {
			b.Observer = m.nodes[f.observer].Ref
			b.Coordinator = m.coordinates(f.observer)
		}
		if f.observed >= 0 {
			b.Observed = m.nodes[f.observed].Ref
			if !f.trouble.IsZero() {
				b.Cause = f.trouble.Message(m.podName(&m.nodes[f.observed]))
			}
		}
		blockers = append(blockers, b)
	}
	if !m.lenient {
		dcs := slices.Clone(m.opts.NotVerified)
		slices.Sort(dcs)
		for _, dc := range slices.Compact(dcs) {
			blockers = append(blockers, Blocker{Reason: words.DatacenterNotVerified, Observed: Ref{Datacenter: dc}})
		}
	}
	if why := m.SplitFact(); !why.IsZero() {
		blockers = slices.Insert(blockers, 0, Blocker{Reason: words.SplitCluster, Cause: why})
	}
	if len(blockers) == 0 {
		return nil
	}
	return blockers
}
