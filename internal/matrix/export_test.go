// SPDX-License-Identifier: Apache-2.0

package matrix

import "github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"

// FoldedObservers is for the tests, which are outside the package because they ask package words for texts.
const FoldedObservers = foldedObservers

// EachUp calls each for every UP of every row, with the host IDs of the reporter and of the observed node.
func (m *Matrix) EachUp(each func(observer, observed hostid.ID)) {
	for i := range m.lines {
		l := &m.lines[i]
		if !l.reports {
			continue // a second row of a node, which cannot be used
		}
		for j := range l.up.all() {
			each(l.row.Reporter.HostID, m.nodes[j].HostID)
		}
	}
}
