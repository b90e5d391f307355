// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Operations returns the topology operations that ScyllaDB's task manager lists as open or failed,
// sorted, without duplicates. They come from every node whose row is fresh; if no Pod carries a
// row, from our cluster report. known is true if a NORMAL node of our reporter answered: without
// it, an empty list proves nothing.
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
				continue // it lists its own decommission as long as it runs
			}
			// Only our reporter writes a mode; a node that is not NORMAL has possibly not queried
			// its tasks.
			known = known || s.OperationMode == "NORMAL" && s.ScyllaVersion != ""
			operations = append(operations, s.Operations...)
		}
	}
	if !said && c.Source == SourceReport && c.ByClusterReport() && c.StatusReport != nil {
		operations = slices.Clone(c.StatusReport.Status.Operations)
	}
	return sortOperations(operations), known
}

// sortOperations sorts operations in place and removes duplicates: every node lists the same.
func sortOperations(all []api.NodeOperation) []api.NodeOperation {
	slices.SortFunc(all, func(a, b api.NodeOperation) int {
		return cmp.Or(cmp.Compare(a.HostID, b.HostID), cmp.Compare(a.Type, b.Type), cmp.Compare(a.State, b.State),
			cmp.Compare(a.Error, b.Error))
	})
	return slices.Compact(all)
}

// OperationOpen reports whether an operation is queued or in progress.
func OperationOpen(op api.NodeOperation) bool { return op.State == "created" || op.State == "running" }

// OperationFact is the fact that an operation is open for the named node. An operation without a
// host ID also counts: up to 2025.4 no task names its node.
func OperationFact(op api.NodeOperation, node string) words.Message {
	if op.HostID == "" {
		return words.New(words.OperationUnnamed, "operation", op.Type)
	}
	return words.New(words.OperationOpen, "operation", op.Type, "node", node)
}
