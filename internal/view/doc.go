// SPDX-License-Identifier: Apache-2.0

// Package view holds the rules of the controller's stamped summary of a cluster: which of two views is the newer one, how members' states are debounced, how old a view is, and the
// result of one look for each member. It is pure: the caller passes all times, and it knows no client, no clock and no logger. It must not fetch or write anything.
package view
