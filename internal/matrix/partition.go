// SPDX-License-Identifier: Apache-2.0

package matrix

import "github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"

// Partition returns the parts of the reporting nodes, by host ID, in the order of their first
// nodes. Two nodes are in one part if either sees the other UP. Nil if all are in one part, or if
// they belong to two clusters (see Split). A node that is DOWN does not report, so it makes no
// part.
func (m *Matrix) Partition() [][]hostid.ID {
	if m.clusters != nil {
		return nil // nodes of two clusters have no network to fix
	}
	part := make([]int32, len(m.nodes))
	reporting := make(bitset, len(m.required))
	for i := range m.nodes {
		part[i] = int32(i)
		if n := &m.nodes[i]; n.Reports && n.HostID != "" {
			reporting.set(int32(i))
		}
	}
	root := func(i int32) int32 {
		for part[i] != i {
			part[i] = part[part[i]]
			i = part[i]
		}
		return i
	}
	silent := make(bitset, len(m.required))
	for i := range part {
		if !reporting.has(int32(i)) {
			silent.set(int32(i))
		}
	}
	apart := reporting.count() - 1
	for k := range m.lines {
		l := &m.lines[k]
		if apart <= 0 {
			return nil // in most clusters the first row joins all of them
		}
		if !reporting.has(l.node) || !l.reports {
			continue
		}
		for i := range l.up.minus(silent) {
			if a, b := root(i), root(l.node); a != b {
				part[a] = b
				apart--
			}
		}
	}
	if apart <= 0 {
		return nil
	}
	var parts [][]hostid.ID
	index := map[int32]int{}
	for i := range reporting.all() {
		r := root(i)
		k, ok := index[r]
		if !ok {
			k = len(parts)
			index[r] = k
			parts = append(parts, nil)
		}
		parts[k] = append(parts[k], m.nodes[i].HostID)
	}
	return parts
}
