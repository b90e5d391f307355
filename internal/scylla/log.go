// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// DefaultMetricsURL is the address of ScyllaDB's metrics inside its Pod.
const DefaultMetricsURL = "http://127.0.0.1:9180/metrics"

// limitMetrics is the limit for the Raft metrics, which have about 5 KiB. A ScyllaDB that ignores
// the selection by name sends all metrics, which exceed it.
var limitMetrics = bounded.Limit{Bytes: 64 << 10,
	Cure: "this version cannot select metrics by name: --scylla-metrics-url= disables this query"}

// logTimeout limits the requests about the log: the row must not wait for them.
const logTimeout = time.Second

// ReadLog queries a node's position in the log of group 0. metrics is a client for its metrics; nil
// reads none. A failed request leaves its value empty: before 6.1 these metrics do not exist, and
// the port may be closed.
func ReadLog(ctx context.Context, c, metrics *Client) raftlog.State {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	schema := ""
	if version, err := c.SchemaVersion(ctx); err == nil {
		schema = raftlog.Schema(version)
	}
	var said raftlog.State
	if metrics != nil {
		err := metrics.get(ctx, "?"+raftlog.Query, func(r io.Reader) error {
			text, err := limitMetrics.Read(r, "answer")
			said = raftlog.Metrics(string(text))
			return err
		})
		if err != nil {
			said = raftlog.State{} // from a partial response
		}
	}
	said.Schema = schema
	return said
}

// SchemaVersion returns the node's own schema version.
func (c *Client) SchemaVersion(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/schema_version")
}
