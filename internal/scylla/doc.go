// SPDX-License-Identifier: Apache-2.0

// Package scylla owns what this project knows of ScyllaDB itself: the REST API of one node (port 10000, plain HTTP), the row that a
// node's answers make, and the failures that a container log shows.
//
// It must not talk to Kubernetes, decide whether anything may start, or guess: a fact that ScyllaDB did not state is unknown, and an
// unknown node is never UP.
package scylla
