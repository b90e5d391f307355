// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Other has the values from a Pod whose row is not the row of Reporter, because its node has a
// different host ID.
type Other struct {
	HostID hostid.ID
	// HostIDs are the host IDs in its list, including its own.
	HostIDs []hostid.ID
	// Group0 is the ID of its group 0, if its disk has it.
	Group0 string
}

// part is one cluster, by the lists of its nodes.
type part struct {
	listed    bitset
	strangers []hostid.ID // host IDs that are not nodes of the matrix
	says      []Ref       // the nodes whose lists form it
	leaders   []hostid.ID // the coordinators that they name
	groups    []string    // the IDs of their group 0, from the nodes whose disks have it
}

// split returns the clusters that the rows belong to, nil if there is one. Two things prove that
// there are several.
//
// The ID of group 0 identifies a cluster: a node is permanently in one group 0, and nodes of two
// groups do not receive each other's gossip. The ID was read from the node's disk when its Pod
// started. Two running nodes with different IDs belong to two clusters, unless they name the same
// topology coordinator. A coordinator is a member of only one group 0. So one of the disks was read
// before its node got a new group 0, as in the recovery of a lost majority [derived].
//
// For nodes without an ID from their disk, their lists are compared. Every node of a cluster lists
// all others in its topology, even if they are DOWN or not reachable. A host ID is a member of only
// one cluster. So two running nodes that each list themselves belong to two clusters if their lists
// are disjoint: there is no other cause. Overlapping lists prove nothing.
func (m *Matrix) split(lines []*line) []part {
	if agree(lines) {
		return nil
	}
	var parts []part
	// nodes with an ID from their disk come first: the others join them by their lists
	for _, told := range []bool{true, false} {
		for _, l := range lines {
			p := m.partOf(l)
			if p == nil || (p.groups != nil) != told {
				continue
			}
			if len(parts) == 1 && parts[0].listed.same(p.listed) && parts[0].mayBe(p) {
				parts[0].join(p) // in most clusters every row lists the same
				continue
			}
			parts = mergePart(parts, p)
		}
	}
	if len(parts) < 2 {
		return nil
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(len(b.says), len(a.says)), compareRefs(&a.says[0], &b.says[0]))
	})
	return parts
}

// agree reports whether all rows that are evidence list the same nodes, and no two disks have
// different group 0s: they are one cluster. This is the usual case, found without a part for each
// row.
func agree(lines []*line) bool {
	var first *line
	group := ""
	for _, l := range lines {
		if !l.testifies {
			if l.row.Other != nil {
				return false
			}
			continue
		}
		if first == nil {
			first = l
		}
		if g := l.row.Says().Group0ID; g != "" {
			if group != "" && g != group {
				return false
			}
			group = g
		}
		if !first.seen.same(l.seen) {
			return false
		}
	}
	return true
}

// partOf returns the evidence in one row about the cluster of its node; nil if the row proves
// nothing.
func (m *Matrix) partOf(l *line) *part {
	p := &part{listed: l.seen}
	group := l.row.Says().Group0ID
	switch {
	case l.testifies:
		p.says = []Ref{m.nodes[l.node].Ref}
	case l.row.Other != nil && l.row.Stale.IsZero():
		p.listed = make(bitset, len(m.required))
		for _, id := range l.row.Other.HostIDs {
			if i, ok := m.index[id]; ok {
				p.listed.set(i)
			} else {
				p.strangers = append(p.strangers, id)
			}
		}
		ref := l.row.Reporter
		ref.HostID = l.row.Other.HostID
		p.says, group = []Ref{ref}, l.row.Other.Group0
	default:
		return nil
	}
	if id := l.row.Says().Coordinator; id != "" {
		p.leaders = []hostid.ID{id}
	}
	if group != "" {
		p.groups = []string{group}
	}
	return p
}

// testify reports whether the row's node is running, by its mode or because its writer gives none,
// and lists itself UP as a member.
func (l *line) testify() bool {
	if !l.reports || l.empty || l.row.Reporter.HostID == "" || l.row.State != StateNormal {
		return false
	}
	if mode := l.row.Says().OperationMode; mode != "" && mode != modeNormal {
		return false
	}
	own := l.cell(l.node)
	return own.Status == Up && own.State == StateNormal
}

const modeNormal = "NORMAL"

// mayBe reports whether two parts may have the same group 0.
func (p *part) mayBe(other *part) bool {
	return p.groups == nil || other.groups == nil || common(p.groups, other.groups) || common(p.leaders, other.leaders)
}

// same reports whether the parts belong to one cluster: by their group 0 if both have the ID, else
// by their lists.
func (p *part) same(other *part) bool {
	if p.groups != nil && other.groups != nil {
		return p.mayBe(other)
	}
	return p.overlaps(other)
}

func common[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// mergePart merges p with the parts of the same cluster. A part without a group 0 that matches two
// clusters proves nothing, and is left out.
func mergePart(parts []part, p *part) []part {
	var apart, with []part
	told := 0
	for i := range parts {
		if !parts[i].same(p) {
			apart = append(apart, parts[i])
			continue
		}
		with = append(with, parts[i])
		if parts[i].groups != nil {
			told++
		}
	}
	if p.groups == nil && told > 1 {
		return parts
	}
	all := *p
	for i := range slices.Backward(with) {
		one := with[i]
		one.listed = slices.Clone(one.listed)
		one.join(&all)
		all = one
	}
	return append(apart, all)
}

func (p *part) overlaps(other *part) bool {
	for w := range p.listed {
		if p.listed[w]&other.listed[w] != 0 {
			return true
		}
	}
	return slices.ContainsFunc(p.strangers, func(id hostid.ID) bool { return slices.Contains(other.strangers, id) })
}

func (p *part) join(other *part) {
	if !p.listed.same(other.listed) {
		p.listed.or(other.listed)
	}
	p.says = append(p.says, other.says...)
	for _, id := range other.strangers {
		if !slices.Contains(p.strangers, id) {
			p.strangers = append(p.strangers, id)
		}
	}
	p.leaders, p.groups = union(p.leaders, other.leaders), union(p.groups, other.groups)
}

func union[T comparable](a, b []T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// Split returns, by host ID, the clusters that the nodes belong to if the rows prove several of one
// name; the cluster with most rows first. Nil otherwise.
func (m *Matrix) Split() [][]hostid.ID {
	out := make([][]hostid.ID, 0, len(m.clusters))
	for i := range m.clusters {
		ids := slices.Clone(m.clusters[i].strangers)
		for at := range m.clusters[i].listed.all() {
			if id := m.nodes[at].HostID; id != "" {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		out = append(out, ids)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// SplitFact is the evidence for two clusters of one name; zero if there is none.
func (m *Matrix) SplitFact() words.Message {
	if m.clusters == nil {
		return m.strayFact()
	}
	const most = 3
	var parts, leaders, groups []string
	for i := range m.clusters {
		p := &m.clusters[i]
		names := make([]string, 0, most)
		for _, r := range p.says[:min(most, len(p.says))] {
			names = append(names, r.Name())
		}
		text := strings.Join(names, " + ")
		if len(p.says) > most {
			text += " + …"
		}
		parts = append(parts, text)
		if len(p.leaders) == 1 {
			leaders = append(leaders, Ref{HostID: p.leaders[0]}.Short())
		}
		if p.groups != nil {
			groups = append(groups, strings.Join(p.groups, " + "))
		}
	}
	fact := words.New(words.TwoClustersOfOneName, "parts", parts)
	if len(groups) == len(parts) {
		fact = words.New(words.TwoGroupsOfOneName, "parts", parts, "groups", groups)
	}
	if len(leaders) == len(parts) {
		fact.Params["coordinators"] = leaders
	}
	return fact
}

// Witnesses returns one node of each cluster of Split, the first by place, that shows its list.
func (m *Matrix) Witnesses() []Ref {
	out := make([]Ref, len(m.clusters))
	for i := range m.clusters {
		out[i] = m.clusters[i].says[0]
	}
	return out
}
