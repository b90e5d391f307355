// SPDX-License-Identifier: Apache-2.0

package show

import "github.com/kubectl-scylla/kubectl-scylla/internal/show/document"

// chosen returns the lines of the requested nodes.
func (p *painter) chosen() []string {
	list := p.d.Chosen(p.o.Problems, p.o.SortBy)
	if len(list) == 0 {
		return []string{"No node has a problem."}
	}
	nodes, numbers := make([]document.Node, len(list)), make([]int, len(list))
	for k, i := range list {
		nodes[k], numbers[k] = p.d.Nodes[i], i+1
	}
	return p.nodeTable(nodes, numbers)
}
