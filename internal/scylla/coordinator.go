// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// coordinator returns the host ID of the topology coordinator from a node in mode NORMAL, empty if
// the node knows none. A joining node is possibly not yet in group 0. Without Raft-managed topology
// the leader of group 0 is not the coordinator.
func (r *Reader) coordinator(ctx context.Context, row *api.NodeStatusReport) hostid.ID {
	if row.OperationMode != modeNormal || row.LegacyTopology {
		return ""
	}
	leader, err := r.c.RaftLeader(ctx)
	if err != nil {
		if !IsMissing(err) { // the path exists since 6.0
			r.gap(err)
		}
		return ""
	}
	return hostid.Known(leader)
}

// legacy reports whether a node in mode NORMAL reports that Raft does not manage its topology, or
// has a version that does not support Raft topology.
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
