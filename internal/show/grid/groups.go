// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"cmp"
	"slices"
)

// By is what one line of a grid represents.
type By uint8

const (
	ByNode By = iota
	ByRack
	ByDatacenter
)

// String returns node, rack or datacenter.
func (b By) String() string { return [...]string{"node", "rack", "datacenter"}[b] }

// Most is the maximum of readable lines: a larger grid is by rack, and then by datacenter.
const Most = 48

// Tally counts pairs by their marks.
type Tally [Marks]int

// NotUp returns the number of pairs that are not UP.
func (t *Tally) NotUp() int { return t[Down] + t[Unknown] + t[Missing] }

// Total returns the number of pairs.
func (t *Tally) Total() int { return t.NotUp() + t[Up] }

// Worst returns the most severe mark; None without a pair.
func (t *Tally) Worst() Mark {
	for _, m := range Worst {
		if t[m] > 0 {
			return m
		}
	}
	return None
}

// Add adds the pairs of another tally.
func (t *Tally) Add(other *Tally) {
	for m, n := range other {
		t[m] += n
	}
}

// Group is one line: a node, a rack or a datacenter.
type Group struct {
	Datacenter, Rack string // "?" where not known; Rack is empty in a line of a datacenter
	Nodes            []int
	listed           int // how many of them other nodes can list
}

// Name returns the datacenter with the rack.
func (g *Group) Name() string {
	if g.Rack == "" {
		return g.Datacenter
	}
	return g.Datacenter + "/" + g.Rack
}

// Groups is a grid with a line for each group, in the order of the nodes.
type Groups struct {
	By   By
	List []Group
	In   []int // the group of each node; -1 without one
	// Cells[a][b] counts the entries of b's nodes in the rows of a's nodes, except the node itself.
	Cells [][]Tally
	grid  *Grid
}

// Group groups the nodes that other nodes can list, or all.
func (g *Grid) Group(by By, all bool) *Groups {
	s := &Groups{By: by, In: make([]int, len(g.Nodes)), grid: g}
	type key struct {
		datacenter, rack string
		node             int
	}
	index := map[key]int{}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if s.In[i] = -1; !all && !n.Listed {
			continue
		}
		at, group := key{datacenter: n.Datacenter}, Group{Datacenter: cmp.Or(n.Datacenter, "?")}
		if by != ByDatacenter {
			at.rack, group.Rack = n.Rack, cmp.Or(n.Rack, "?")
		}
		if by == ByNode {
			at.node = i
		}
		k, known := index[at]
		if !known {
			k = len(s.List)
			index[at], s.List = k, append(s.List, group)
		}
		s.In[i], s.List[k].Nodes = k, append(s.List[k].Nodes, i)
		if n.Listed {
			s.List[k].listed++
		}
	}
	s.Cells = make([][]Tally, len(s.List))
	for k := range s.Cells {
		s.Cells[k] = make([]Tally, len(s.List))
		for _, i := range s.List[k].Nodes {
			s.add(s.Cells[k], i)
		}
	}
	return s
}

// add counts the row of node i, in O(groups + len(NotUp)).
func (s *Groups) add(cells []Tally, i int) {
	n := &s.grid.Nodes[i]
	if !n.Reports {
		return
	}
	for k := range s.List {
		cells[k][Up] += s.List[k].listed
	}
	if n.Listed && s.In[i] >= 0 {
		cells[s.In[i]][Up]-- // itself
	}
	for _, p := range n.NotUp {
		if k := s.In[p.Of]; k >= 0 && s.grid.Nodes[p.Of].Listed {
			cells[k][Up]--
			cells[k][p.Is]++
		}
	}
}

// Row returns the entries of each group in the row of node i; nil without a usable row.
func (s *Groups) Row(i int) []Tally {
	if !s.grid.Nodes[i].Reports {
		return nil
	}
	cells := make([]Tally, len(s.List))
	s.add(cells, i)
	return cells
}

// Mark returns the most severe mark of a cell.
func (s *Groups) Mark(a, b int) Mark {
	if s.By == ByNode && a == b {
		return Self
	}
	switch reports := func(i int) bool { return s.grid.Nodes[i].Reports }; {
	case s.Cells[a][b].Total() > 0:
		return s.Cells[a][b].Worst()
	case !slices.ContainsFunc(s.List[a].Nodes, reports):
		return None
	case s.List[b].listed == 0:
		return Absent
	}
	return Self // the only node that reports, on itself
}

// All counts every pair.
func (s *Groups) All() Tally {
	var all Tally
	for _, row := range s.Cells {
		for i := range row {
			all.Add(&row[i])
		}
	}
	return all
}

// Fit returns the finest grid of all nodes with at most Most lines; by datacenter if neither nodes
// nor racks fit.
func (g *Grid) Fit() *Groups {
	if len(g.Nodes) <= Most {
		return g.Group(ByNode, true)
	}
	if racks := g.Group(ByRack, true); len(racks.List) <= Most {
		return racks
	}
	return g.Group(ByDatacenter, true)
}
