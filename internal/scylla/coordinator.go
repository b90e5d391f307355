// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// coordinator is the host ID of the topology coordinator in the answer of a node that serves; empty where it knows none. A joining node may not be in group 0 yet, and where
// topology is not managed by Raft the leader of group 0 does not coordinate it.
func (r *Reader) coordinator(ctx context.Context, row *api.NodeStatusReport) hostid.ID {
	if row.OperationMode != modeNormal || row.LegacyTopology {
		return ""
	}
	leader, err := r.c.RaftLeader(ctx)
	if err != nil {
		if !IsMissing(err) { // before 6.0 there is no such call
			r.gap(err)
		}
		return ""
	}
	return hostid.Known(leader)
}

// legacy is true where the node serves and answers that its cluster's topology is not managed by Raft, or where its version does not support that.
func (r *Reader) legacy(ctx context.Context, row *api.NodeStatusReport) bool {
	if r.byRaft || row.OperationMode != modeNormal {
		return false
	}
	upgrade, err := r.c.TopologyUpgrade(ctx)
	if err != nil {
		if !IsMissing(err) {
			r.gap(err)
			return false
		}
		version, _ := release.Parse(row.ScyllaVersion)
		return version.KnowsTopologyByRaft() == release.No
	}
	r.byRaft = upgrade == topologyDone
	return !r.byRaft
}
