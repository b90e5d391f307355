// SPDX-License-Identifier: Apache-2.0

// Package cluster turns Kubernetes' objects into one ScyllaDB cluster: its members, the rows with each node's state of every other, the matrix, its health, and the verdict of a
// member. No other package does so: the controller writes the reports from a Cluster, and the barrier, every verb, the dashboard, the archive and the replacement read one.
//
// It is pure: no client, no clock (the time comes in as a value), no logger. Package kube lists the objects; New judges them.
package cluster
