// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// vnodes returns whether a NORMAL node has keyspaces of users with vnodes; nil if unknown.
func (r *Reader) vnodes(ctx context.Context, row *api.NodeStatusReport) *bool {
	if row.OperationMode != modeNormal {
		return nil
	}
	has, err := r.c.HasVnodeKeyspaces(ctx)
	if err != nil {
		if !IsMissing(err) {
			r.gap(err)
		}
		return nil
	}
	return &has
}

// repairBased returns the repair-based operations of a node in mode NORMAL, none if the node has no
// such option.
func (r *Reader) repairBased(ctx context.Context, row *api.NodeStatusReport) []string {
	if row.OperationMode != modeNormal {
		r.repair, r.repairAsked = nil, false
		return nil
	}
	if !r.repairAsked {
		list, err := r.c.RepairBased(ctx)
		if err != nil && !IsMissing(err) {
			r.gap(err)
			return nil
		}
		r.repair, r.repairAsked = list, true
	}
	return slices.Clone(r.repair)
}
