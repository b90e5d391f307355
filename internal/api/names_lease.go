// SPDX-License-Identifier: Apache-2.0

package api

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// LeaseName is the Lease in our controller's namespace by which controllers elect their leader.
// AnnotationKeeps on it proves that reports are kept.
const LeaseName = "kubectl-scylla-controller"

// AnnotationKeeps on the Lease LeaseName lists the clusters whose reports its holder has kept up to
// the last renewal: their KeepMarks, separated by blanks. Written by the controller, read by
// barriers and the CLI. No controller keeps the reports of a cluster that is not listed.
const AnnotationKeeps = "kubectl-scylla.scylladb.com/keeps"

// AnnotationUnprotected on the Lease LeaseName lists, as AnnotationKeeps does, the clusters for
// which its holder runs with feature gate BootstrapSynchronisation off: their barriers open.
// Written by the controller, read by barriers and the CLI.
const AnnotationUnprotected = "kubectl-scylla.scylladb.com/unprotected"

// AnnotationViewAt on the Lease LeaseName is where its holder serves the controller views: address
// with port, a blank, and the fingerprint of the certificate. Written by the leading controller,
// read by the barriers and the CLI.
const AnnotationViewAt = "kubectl-scylla.scylladb.com/view-at"

// ViewAt decodes AnnotationViewAt; false if it is absent or malformed.
func ViewAt(annotations map[string]string) (address, fingerprint string, ok bool) {
	address, fingerprint, ok = strings.Cut(annotations[AnnotationViewAt], " ")
	return address, fingerprint, ok && address != "" && IsFingerprint(fingerprint)
}

// KeepMark identifies a cluster in AnnotationKeeps. It is a digest: every Pod's ServiceAccount can
// read the Lease, and must not learn names of namespaces and clusters from it.
func KeepMark(namespace, cluster string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + cluster))
	return hex.EncodeToString(sum[:8])
}
