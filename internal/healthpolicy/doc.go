// SPDX-License-Identifier: Apache-2.0

// Package healthpolicy holds the numbers by which the nodes of a cluster are judged: their defaults, what may be said instead of them, and what a cluster's
// StatefulSets do say. It is pure: it must not read or write anything, and it knows no client, no clock and no logger.
package healthpolicy
