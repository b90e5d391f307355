// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// LeaseName is the Lease in our controller's own namespace that proves that reports are kept: it is renewed by the loop that assembles and
// writes them, and by nothing else. LeaseElection is the one by which controllers elect a leader; it proves nothing about reports.
const (
	LeaseName     = "kubectl-scylla-controller"
	LeaseElection = "kubectl-scylla-controller-leader"
)

// AnnotationKeeps on the Lease LeaseName lists the clusters whose reports its holder has kept up to the Lease's last renewal: their KeepMarks,
// separated by blanks. Written by the controller, read by barriers and the CLI. No controller keeps the reports of a cluster that is not listed.
const AnnotationKeeps = "kubectl-scylla.scylladb.com/keeps"

// AnnotationViewAt on the Lease LeaseName is the address at which its holder serves the views: address with port, a blank, and the fingerprint of the
// certificate there. Written by the controller that leads, read by the barriers and the CLI.
const AnnotationViewAt = "kubectl-scylla.scylladb.com/view-at"

// ViewAt reads AnnotationViewAt; false where it is absent or malformed.
func ViewAt(annotations map[string]string) (address, fingerprint string, ok bool) {
	address, fingerprint, ok = strings.Cut(annotations[AnnotationViewAt], " ")
	return address, fingerprint, ok && address != "" && IsFingerprint(fingerprint)
}

// KeepMark identifies a cluster in AnnotationKeeps. It is a digest: every Pod's ServiceAccount may read the Lease, and must not learn the names of
// namespaces and clusters from it.
func KeepMark(namespace, cluster string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + cluster))
	return hex.EncodeToString(sum[:8])
}

// LeaseHeartbeatPrefix begins the name of a Lease with a member's heartbeat, for networks in which the controller cannot reach the reporter; the
// Pod's name follows. AnnotationHeartbeat on it is the running number, a blank, and the digest of the row that it confirms. Written by the member's
// own reporter, which an admission policy enforces, read by the controller. AnnotationRaft beside it is the node's place in the log of group 0 and its
// schema version, as far as they are known.
const (
	LeaseHeartbeatPrefix = "scylla-heartbeat-"
	AnnotationHeartbeat  = "kubectl-scylla.scylladb.com/heartbeat"
	AnnotationRaft       = "kubectl-scylla.scylladb.com/raft"
)
