// SPDX-License-Identifier: Apache-2.0

// Package healthpolicy has the thresholds for the nodes of a cluster: their defaults, the permitted
// values, and the overrides in the annotations of a cluster's StatefulSets. It is pure: it reads
// and writes nothing, and has no client, clock or logger.
package healthpolicy
