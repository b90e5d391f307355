// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"io"
	"regexp"
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// progressQuery selects the gauges of node operations, one per shard for each of six operations.
const progressQuery = "?__name__=scylla_node_ops_finished_percentage"

// limitProgress fits the gauges of 256 shards. A ScyllaDB that does not select by name sends all
// metrics, which exceed it.
var limitProgress = bounded.Limit{Bytes: 256 << 10,
	Cure: "this version does not select metrics by name: --scylla-metrics-url= disables the query"}

// progressGauge matches a gauge of an operation by which a node joins. Despite its name, the gauge
// is in 0..1; it is also 1 before the operation starts (repair/repair.cc:82-102).
var progressGauge = regexp.MustCompile(
	`(?m)^scylla_node_ops_finished_percentage\{(?:[^}\n]*,)?ops="(bootstrap|replace)"[^}\n]*\} ([0-9.e+-]+)`)

// JoinedPercent returns how much of its data a joining or replacing node has received, from its
// metrics: the mean of its shards, which process the same ranges. Nil if no operation is in
// progress, or if unknown, as without repair-based node operations.
func JoinedPercent(ctx context.Context, metrics *Client) *int32 {
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	var out *int32
	err := metrics.get(ctx, progressQuery, func(r io.Reader) error {
		text, err := limitProgress.Read(r, "answer")
		out = joinedPercent(string(text))
		return err
	})
	if err != nil {
		return nil // the answer may be incomplete
	}
	return out
}

func joinedPercent(text string) *int32 {
	sum, shards := map[string]float64{}, map[string]float64{}
	for _, m := range progressGauge.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil || !(value >= 0 && value <= 1) {
			return nil
		}
		sum[m[1]], shards[m[1]] = sum[m[1]]+value, shards[m[1]]+1
	}
	for _, op := range []string{"replace", "bootstrap"} {
		if sum[op] < shards[op] {
			return new(int32(100 * sum[op] / shards[op]))
		}
	}
	return nil
}
