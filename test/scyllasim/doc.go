// SPDX-License-Identifier: Apache-2.0

// Package scyllasim is a simulated ScyllaDB: nodes that gossip over real sockets, agree on a topology through a small
// replicated register, answer the REST API and keep system.local on disk the way ScyllaDB does, but store no user data.
//
// It owns the behaviour that Kubernetes tooling has to get right: staged availability of the REST API, failure detection,
// joins that are cancelled and poison their data directory, decommission, removenode, replace by host ID, and what
// `scylla sstable query` can and cannot see on disk.
//
// It must not offer a way to lie. No call sets a status: faults come from outside (stop, kill, cut the network), and every answer
// follows from what the node itself has seen. What it decides as ScyllaDB does is package rules, which test/simulation uses as well. It imports nothing of the
// product: shared code would be a shared mistake.
package scyllasim
