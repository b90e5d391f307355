// SPDX-License-Identifier: Apache-2.0

// Package cluster turns Kubernetes objects into one ScyllaDB cluster: its members, the rows with
// each node's view of the others, and the matrix. No other package does this. The controller writes
// the reports from a Cluster; the barrier, all commands, the dashboard, the archive and the
// replacement read one. Each fact about a member is one method of Member.
//
// It is pure: no client, no clock (the time is an argument), no logger. Package kube lists the
// objects. It gives no verdict: the judges (bootstrap, view, replacement, diagnosis) import it and
// take a *Member.
package cluster
