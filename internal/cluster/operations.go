// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Operations are the topology operations that ScyllaDB's task manager lists as open or failed, by every node whose row is fresh and, where no Pod carries a row, by our cluster
// report. They are sorted and without duplicates. known is true when at least one serving node was asked: without it, an empty list proves nothing.
func (c *Cluster) Operations() (operations []api.NodeOperation, known bool) {
	said := false
	for i := range c.rows {
		row := &c.rows[i]
		if row.Reporter.Member == "" || !row.Reported || !row.Stale.IsZero() || !row.Trouble.IsZero() {
			continue
		}
		if s := c.Said(row.Reporter.Member); s != nil {
			said = true
			if matrix.StateOfMode(s.OperationMode) == matrix.StateDecommissioned {
				continue // it lists the operation of its own departure for as long as it runs
			}
			// Only our reporter writes a mode; a node that is not NORMAL may not have looked.
			known = known || s.OperationMode == "NORMAL" && s.ScyllaVersion != ""
			operations = append(operations, s.Operations...)
		}
	}
	if !said && c.Source == SourceReport && c.ByClusterReport() && c.StatusReport != nil {
		operations = slices.Clone(c.StatusReport.Status.Operations)
	}
	return sortOperations(operations), known
}

// sortOperations puts operations, in place, into their one order and drops repetitions: every node lists the same.
func sortOperations(all []api.NodeOperation) []api.NodeOperation {
	slices.SortFunc(all, func(a, b api.NodeOperation) int {
		return cmp.Or(cmp.Compare(a.HostID, b.HostID), cmp.Compare(a.Type, b.Type), cmp.Compare(a.State, b.State), cmp.Compare(a.Error, b.Error))
	})
	return slices.Compact(all)
}

// OperationOpen is true while an operation is queued or under way.
func OperationOpen(op api.NodeOperation) bool { return op.State == "created" || op.State == "running" }

// OperationFact is the fact that an operation is open, about the node of that name. An operation without a host ID counts as well: up to 2025.4 no task names its node.
func OperationFact(op api.NodeOperation, node string) words.Message {
	if op.HostID == "" {
		return words.New(words.OperationUnnamed, "operation", op.Type)
	}
	return words.New(words.OperationOpen, "operation", op.Type, "node", node)
}
