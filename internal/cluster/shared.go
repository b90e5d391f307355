// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// sharedCells has the equal rows of different nodes, converted once; by the address of the first
// cell.
type sharedCells map[*api.ObservedNodeStatusReport]matrix.Row

// add converts the cells of all statements together, so that lists with equal host IDs share their
// membership.
func (sh sharedCells) add(statements []statement) {
	var first []*api.ObservedNodeStatusReport
	var lists [][]api.ObservedNodeStatusReport
	for i := range statements {
		cells := statements[i].cells()
		if len(cells) == 0 {
			continue
		}
		if _, known := sh[&cells[0]]; !known {
			sh[&cells[0]] = matrix.Row{}
			first, lists = append(first, &cells[0]), append(lists, cells)
		}
	}
	for i, row := range matrix.FromCells(lists) {
		sh[first[i]] = row
	}
}

func (sh sharedCells) row(s *statement, namespace string) matrix.Row {
	row := matrix.Row{Reporter: s.ref, Trouble: s.trouble, Stale: s.stale, StaleSince: s.staleSince, Report: s.said,
		Other: s.other(), Namespace: namespace}
	row.State = matrix.StateOfMode(row.Says().OperationMode)
	row.NoStates = row.Says().OperationMode == "" // its reporter is not ours
	if cells := s.cells(); len(cells) > 0 {
		shared := sh[&cells[0]]
		row.Base, row.Observed, row.Reported = shared.Base, shared.Observed, true
	}
	return row
}
