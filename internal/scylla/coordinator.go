// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// coordinator is the host ID of the topology coordinator, as a node that serves knows it; empty where it knows none. A node that is on its way in may not
// be in group 0 yet, and where topology is not managed by Raft nobody coordinates it, whoever leads group 0.
func (r *Reader) coordinator(ctx context.Context, row *api.NodeStatusReport) string {
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
	if !api.IsHostID(leader) {
		return ""
	}
	return leader
}

// legacy is true where the node serves and says that its cluster's topology is not managed by Raft, or where its version does not know of that.
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
