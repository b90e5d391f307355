// SPDX-License-Identifier: Apache-2.0

// Package matrix holds the state of every node in every other node's row: it builds one Matrix from the rows of a cluster's nodes, judges it, and returns every pair that blocks a
// newcomer as a Blocker. The barrier, the command line, the dashboard, the reports, Events, conditions and metrics all read this one Matrix and these Blockers; nothing else in the
// project compares statuses.
//
// It is pure: no client, no clock (times come in as values), no logger, no printing beyond the text of a Blocker.
package matrix
