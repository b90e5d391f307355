// SPDX-License-Identifier: Apache-2.0

// Package reports keeps the reports of each cluster that was handed to our controller: one ScyllaDBDatacenterNodesStatusReport per
// datacenter in the Scylla Operator's shape, copies of the reports of datacenters in other Kubernetes clusters, and one
// ScyllaDBStatusReport over all of them.
//
// It writes only on change and not more often than the rows can matter, it never leaves an old row looking fresh, and it must not
// judge: who may start is for package bootstrap to say, from what stands here.
package reports
