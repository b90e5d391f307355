// SPDX-License-Identifier: Apache-2.0

// Package bootstrap decides whether a member may start ScyllaDB: bootstrapped, forced, replacing,
// precondition, genesis, in that order. The barrier, the command line and the controller call the
// same function and show the same Verdict.
//
// It is pure: no client, no clock, no logger. Of takes the facts from a cluster.Member; the caller
// adds facts that only its Pod has, such as the state of the volume.
package bootstrap
