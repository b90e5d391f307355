// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// What a topology operation that is under way is called.
const (
	FactOperationOpen    code.Code = "OperationOpen"    // operation, node
	FactOperationUnnamed code.Code = "OperationUnnamed" // operation, empty while it waits in versions up to 2025.4
)

// Operations are the topology operations that ScyllaDB's task manager shows as open or failed, by the word of every node whose row is fresh and, where no
// Pod says anything, by our cluster report. They are sorted and without duplicates. known is true when at least one node that serves was asked: without
// it, none found says nothing.
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
				continue // it keeps the word of its own departure for as long as it runs
			}
			// Only our reporter says a mode; a node that is not NORMAL may not have looked.
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

// OperationFact says that an operation is under way, of the node called so. An operation without a host ID is one all the same: up to 2025.4 no task says
// which node it is about.
func OperationFact(op api.NodeOperation, node string) code.Message {
	if op.HostID == "" {
		return code.New(FactOperationUnnamed, "operation", op.Type)
	}
	return code.New(FactOperationOpen, "operation", op.Type, "node", node)
}
