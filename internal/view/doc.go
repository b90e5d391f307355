// SPDX-License-Identifier: Apache-2.0

// Package view has the rules of the controller's stamped summary of a cluster (the controller
// view): which of two views is newer, how members' states are debounced, how old a view is, and the
// result of one poll for each member. It is pure: the caller passes all times; there is no client,
// clock or logger. It must not fetch or write anything.
package view
