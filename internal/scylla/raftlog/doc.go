// SPDX-License-Identifier: Apache-2.0

// Package raftlog holds a node's place in the log of group 0, the Raft group of topology and schema: how it is read from ScyllaDB's metrics, and how it is sent beside a heartbeat.
// It knows no client and no clock, and judges nothing.
package raftlog
