// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// DefaultMetricsURL is where ScyllaDB serves its metrics in the own Pod.
const DefaultMetricsURL = "http://127.0.0.1:9180/metrics"

// limitMetrics is for the metrics of Raft, which are some 5 KiB. A ScyllaDB that does not select by name sends all of them: those are not read.
var limitMetrics = bounded.Limit{Bytes: 64 << 10, Cure: "this version cannot select metrics by name: --scylla-metrics-url= disables this query"}

// logTimeout bounds the requests about the log: the row must not wait for them.
const logTimeout = time.Second

// ReadLog asks a node for its place in the log of group 0: metrics is a client of its metrics, with nil they are not read. A value without an answer is absent, for any cause:
// before 6.1 there are no such metrics, and the port may be closed.
func ReadLog(ctx context.Context, c, metrics *Client) raftlog.Said {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	schema := ""
	if version, err := c.SchemaVersion(ctx); err == nil {
		schema = raftlog.Schema(version)
	}
	var said raftlog.Said
	if metrics != nil {
		err := metrics.get(ctx, "?"+raftlog.Query, func(r io.Reader) error {
			text, err := limitMetrics.Read(r, "answer")
			said = raftlog.Metrics(string(text))
			return err
		})
		if err != nil {
			said = raftlog.Said{} // of a part of an answer
		}
	}
	said.Schema = schema
	return said
}

// SchemaVersion is the version of the schema that the node itself has.
func (c *Client) SchemaVersion(ctx context.Context) (string, error) {
	return c.string(ctx, "/storage_service/schema_version")
}
