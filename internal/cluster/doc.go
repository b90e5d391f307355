// SPDX-License-Identifier: Apache-2.0

// Package cluster turns Kubernetes' objects into one ScyllaDB cluster: its members, the rows with each node's state of every other, and the matrix. No other package does so: the
// controller writes the reports from a Cluster, and the barrier, every verb, the dashboard, the archive and the replacement read one. A fact about a member is a method of Member,
// and stands there once.
//
// It is pure: no client, no clock (the time comes in as a value), no logger. Package kube lists the objects. It gives no verdict: the judges (bootstrap, view, replacement, diagnosis)
// import it and take a *Member.
package cluster
