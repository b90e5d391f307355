// SPDX-License-Identifier: Apache-2.0

// Package matrix has the state of every node in every other node's row. It builds one Matrix from
// the rows of a cluster's nodes, judges it, and returns every pair that blocks a new node as a
// Blocker. The barrier, the command line, the dashboard, the reports, Events, conditions and
// metrics all read this Matrix and these Blockers; no other package compares statuses.
//
// It is pure: no client, no clock (times are arguments), no logger, no output except the text of a
// Blocker.
package matrix
