// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// Files are the files and folders of the Pod that a reporter reads.
type Files struct {
	// Group0File has the output of the Pod's query for the group 0 ID; empty without that query.
	Group0File string
}

// complete adds to a row what ScyllaDB's answers about the other nodes do not contain.
func (r *reporter) complete(ctx context.Context, row *api.NodeStatusReport) {
	row.Heartbeat, row.Group0ID = r.where, r.group0(row)
	r.tell(ctx, row)
}

// limitGroup0 bounds the query's output; a correct one has about 50 bytes.
var limitGroup0 = bounded.Limit{Bytes: 1 << 20, Cure: "set --group0-file to the output file of the query container"}

// group0 returns the group 0 ID on the node's disk at the Pod's start; empty without one. Only for
// a node in NORMAL: a starting node may still be refused.
func (r *reporter) group0(row *api.NodeStatusReport) string {
	if r.Group0File == "" || row.OperationMode != modeNormal || row.HostID == "" {
		return ""
	}
	out, err := limitGroup0.ReadFile("query file", r.Group0File)
	if err != nil {
		return "" // the Pod has no query, or starts for the first time
	}
	return bootstrap.ParseGroup0ID(out)
}

// tell sets the node's position in the group 0 log in the heartbeat, if there is one.
func (r *reporter) tell(ctx context.Context, row *api.NodeStatusReport) {
	var said raftlog.Said
	if r.where != nil && row.Error == nil {
		said = scylla.ReadLog(ctx, r.ScyllaDB, r.Metrics)
	}
	r.beat.Tell(said)
}
