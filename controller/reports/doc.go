// SPDX-License-Identifier: Apache-2.0

// Package reports keeps the reports of each cluster that our controller manages: one ScyllaDBDatacenterNodesStatusReport per datacenter in the Scylla
// Operator's shape, copies of the reports of datacenters in other Kubernetes clusters, and one ScyllaDBStatusReport over all of them.
//
// It writes only on change and not more often than barriers need, never lets an old row look fresh, and must not decide which member may start:
// package bootstrap decides that, from these reports.
package reports
