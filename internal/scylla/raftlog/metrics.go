// SPDX-License-Identifier: Apache-2.0

package raftlog

import (
	"strconv"
	"strings"
)

// Query selects only the Raft metrics: ScyllaDB has about 10,000 others.
const Query = "__name__=scylla_raft*"

// The gauges of group 0, since ScyllaDB 6.1.
const (
	gaugeCommit = "scylla_raft_commit_index"
	gaugeApply  = "scylla_raft_apply_index"
	gaugeState  = "scylla_raft_state"
)

const (
	stateLeader = 2
	// maxIndex limits an index: a float64, the type of metrics, is exact for 0 <= n <= 2^53.
	maxIndex = 1 << 53
)

// Metrics decodes the indexes from ScyllaDB's metrics in Prometheus' text format. It returns the
// zero Said if one of the three gauges is missing, is duplicated, or is not a whole number with 0
// <= n <= maxIndex. Group 0 runs on shard 0, so gauges of other shards belong to other groups.
func Metrics(text string) State {
	found := map[string]int64{gaugeCommit: -1, gaugeApply: -1, gaugeState: -1}
	for line := range strings.Lines(text) {
		name, value, ok := sample(strings.TrimRight(line, "\r\n"))
		if _, wanted := found[name]; !wanted {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || !(n >= 0 && n <= maxIndex) || n != float64(int64(n)) || found[name] >= 0 {
			return State{}
		}
		found[name] = int64(n)
	}
	if found[gaugeCommit] < 0 || found[gaugeApply] < 0 || found[gaugeState] < 0 {
		return State{}
	}
	return State{Known: true, Leader: found[gaugeState] == stateLeader, Commit: found[gaugeCommit],
		Apply: found[gaugeApply]}
}

// sample returns the name and value of a line. name is empty for a line without a sample, and for
// shards other than 0. ok is false if the sample is invalid.
func sample(line string) (name, value string, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 || line[0] == '#' {
		return "", "", false
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		var shard string
		if shard, rest, ok = labels(rest[1:]); !ok {
			return name, "", false
		}
		if shard != "" && shard != "0" {
			return "", "", true
		}
	}
	fields := strings.Fields(rest) // value and, in some versions, timestamp
	if len(fields) < 1 || len(fields) > 2 {
		return name, "", false
	}
	return name, fields[0], true
}

// labels returns the value of label shard and the text after the labels; false if they are invalid.
func labels(text string) (shard, rest string, ok bool) {
	for {
		text = strings.TrimLeft(text, " ,")
		if after, closed := strings.CutPrefix(text, "}"); closed {
			return shard, after, true
		}
		name, after, found := strings.Cut(text, `="`)
		if !found {
			return "", "", false
		}
		end := 0
		for end < len(after) && after[end] != '"' {
			if after[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(after) {
			return "", "", false
		}
		if name == "shard" {
			shard = after[:end]
		}
		text = after[end+1:]
	}
}
