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

// AnnotationKeeps on the Lease LeaseName lists the clusters whose reports its holder has kept up to the Lease's last renewal: their
// KeepMarks, separated by blanks. Written by the controller, read by barriers and the CLI. A cluster that is not in it has nobody who keeps
// its reports.
const AnnotationKeeps = "kubectl-scylla.scylladb.com/keeps"

// AnnotationViewAt on the Lease LeaseName is where its holder serves the views: address with port, a blank, and the fingerprint of the certificate there.
// Written by the controller that leads, read by whoever asks for a view.
const AnnotationViewAt = "kubectl-scylla.scylladb.com/view-at"

// ViewAt reads AnnotationViewAt; false where nobody serves views or the annotation is none.
func ViewAt(annotations map[string]string) (address, fingerprint string, ok bool) {
	address, fingerprint, ok = strings.Cut(annotations[AnnotationViewAt], " ")
	return address, fingerprint, ok && address != "" && IsFingerprint(fingerprint)
}

// KeepMark stands for a cluster in AnnotationKeeps. It is a digest: every Pod's ServiceAccount may read the Lease, and need not learn from
// it which namespaces and clusters there are.
func KeepMark(namespace, cluster string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + cluster))
	return hex.EncodeToString(sum[:8])
}

// LeaseHeartbeatPrefix begins the name of a Lease that is a member's heartbeat where a network forbids the controller to ask its reporter; the Pod's name follows.
// AnnotationHeartbeat on it is the running number, a blank, and the digest of the row that it confirms. Written by the member's own reporter, as an admission policy
// makes sure of, read by the controller.
const (
	LeaseHeartbeatPrefix = "scylla-heartbeat-"
	AnnotationHeartbeat  = "kubectl-scylla.scylladb.com/heartbeat"
)
