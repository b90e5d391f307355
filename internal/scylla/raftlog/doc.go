// SPDX-License-Identifier: Apache-2.0

// Package raftlog has a node's position in the log of group 0, the Raft group of topology and
// schema. It decodes the position from ScyllaDB's metrics and encodes it for a heartbeat. It must
// not use a client or a clock, and must not judge.
package raftlog
