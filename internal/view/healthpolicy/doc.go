// SPDX-License-Identifier: Apache-2.0

// Package healthpolicy holds the numbers by which the nodes of a cluster are judged: their defaults, the values that may override them, and the
// overrides in the annotations of a cluster's StatefulSets. It is pure: it must not read or write anything, and it knows no client, no clock and no
// logger.
package healthpolicy
