// SPDX-License-Identifier: Apache-2.0

package document

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// Index maps host IDs and member names to indexes of Nodes.
type Index struct {
	ByID     map[hostid.ID]int
	ByMember map[string]int
}

// Index returns the Index of the document's nodes, with the first of several equal names.
func (d *ClusterStatus) Index() Index {
	x := Index{make(map[hostid.ID]int, len(d.Nodes)), make(map[string]int, len(d.Nodes))}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.HostID != "" {
			x.ByID[n.HostID] = i
		}
		if _, known := x.ByMember[n.Member]; !known && n.Member != "" {
			x.ByMember[n.Member] = i
		}
	}
	return x
}

// Find returns the index of a node by its host ID, then by its member; -1 if there is none.
func (x Index) Find(r matrix.Ref) int {
	if i, ok := x.ByID[r.HostID]; ok {
		return i
	}
	if i, ok := x.ByMember[r.Member]; ok {
		return i
	}
	return -1
}

// Grid returns who sees whom, with the indexes of Nodes.
func (d *ClusterStatus) Grid() *grid.Grid {
	x, nodes := d.Index(), make([]grid.Node, len(d.Nodes))
	for _, r := range d.Rows {
		i := x.Find(r.Observer)
		if i < 0 {
			continue
		}
		nodes[i].Reports, nodes[i].NotUp = true, make([]grid.Pair, 0, len(r.NotUp))
		for _, p := range r.NotUp {
			if j, ok := x.ByID[p.Observed]; ok && j != i {
				nodes[i].NotUp = append(nodes[i].NotUp, grid.Pair{Of: j, Is: grid.Of(p.Status), Since: TimeOf(p.Since)})
			}
		}
	}
	for i := range nodes {
		n := &d.Nodes[i]
		nodes[i].Datacenter, nodes[i].Rack, nodes[i].Listed = n.Datacenter, n.Rack, n.HostID != "" &&
			(n.Seen != nil || nodes[i].Reports)
	}
	return grid.New(nodes)
}
