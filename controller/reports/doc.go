// SPDX-License-Identifier: Apache-2.0

// Package reports keeps the reports of each cluster that our controller manages. These are one
// ScyllaDBDatacenterNodesStatusReport per datacenter in the Scylla Operator's shape, copies of such
// reports from other Kubernetes clusters, and one ScyllaDBStatusReport for all.
//
// It writes only changes, not more often than barriers need, and never makes a stale row look
// fresh. It must not decide which member may start: package bootstrap decides that, from these
// reports.
package reports
