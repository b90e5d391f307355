// SPDX-License-Identifier: Apache-2.0

// Package scylla owns this project's knowledge of ScyllaDB itself: the REST API of one node (port 10000, plain HTTP), the row made of a node's answers, and the failures that a
// container log shows.
//
// It must not talk to Kubernetes, decide whether anything may start, or guess: a fact that ScyllaDB did not state is unknown, and an unknown node is never UP.
package scylla
