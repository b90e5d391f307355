// SPDX-License-Identifier: Apache-2.0

package raftlog

import (
	"strconv"
	"strings"
)

// Query selects the metrics of Raft alone: a ScyllaDB has some 10,000 others.
const Query = "__name__=scylla_raft*"

// The gauges. They are group 0's, since ScyllaDB 6.1.
const (
	gaugeCommit = "scylla_raft_commit_index"
	gaugeApply  = "scylla_raft_apply_index"
	gaugeState  = "scylla_raft_state"
)

const (
	stateLeader = 2
	// maxIndex is the largest whole number up to which a floating-point number, which metrics are, represents each whole number exactly.
	maxIndex = 1 << 53
)

// Metrics are the indexes in an answer of ScyllaDB's metrics, in Prometheus' text format. The zero Said is returned where one of the three gauges is absent, is no whole number of
// 0 or more, or is there twice: group 0 runs on shard 0, so a gauge of another shard is another group's.
func Metrics(text string) Said {
	found := map[string]int64{gaugeCommit: -1, gaugeApply: -1, gaugeState: -1}
	for line := range strings.Lines(text) {
		name, value, ok := sample(strings.TrimRight(line, "\r\n"))
		if _, wanted := found[name]; !wanted {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || !(n >= 0 && n <= maxIndex) || n != float64(int64(n)) || found[name] >= 0 {
			return Said{}
		}
		found[name] = int64(n)
	}
	if found[gaugeCommit] < 0 || found[gaugeApply] < 0 || found[gaugeState] < 0 {
		return Said{}
	}
	return Said{Known: true, Leader: found[gaugeState] == stateLeader, Commit: found[gaugeCommit], Apply: found[gaugeApply]}
}

// sample is the name and the value of a line; the name is empty for a line without a sample, or one of another shard than 0. False where a line of that name cannot be read.
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
	fields := strings.Fields(rest) // the value, and in some versions a time
	if len(fields) < 1 || len(fields) > 2 {
		return name, "", false
	}
	return name, fields[0], true
}

// labels is the value of label shard, and the text after the labels; false where they cannot be read.
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
