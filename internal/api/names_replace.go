// SPDX-License-Identifier: Apache-2.0

package api

// Annotations of a replacement, on the member Service of the node that is replaced. The two labels of a replacement are LabelReplace and
// LabelReplacingNodeHostID; all other state of a replacement is in these annotations, because its controller keeps nothing in memory.
// docs/replace-a-node.md gives the order in which they are written.
const (
	// AnnotationReplaceRequest is the identity (a UUID) of the request that LabelReplace makes. The CLI writes it in the same patch as the label, so
	// that it waits for its own request and not for an older one. Read by the controller, which generates an identity when a person has set the label
	// alone.
	AnnotationReplaceRequest = "kubectl-scylla.scylladb.com/replace-request"

	// AnnotationReplaceResume asks for another attempt, on a fresh volume and with the same original host ID, after a failed
	// one. Its value is the identity of that attempt; it counts while it differs from AnnotationReplaceAccepted. Written by the CLI.
	AnnotationReplaceResume = "kubectl-scylla.scylladb.com/replace-resume"

	// AnnotationReplaceIgnoreDead lists, separated by commas, the host IDs of further dead nodes that ScyllaDB is told to ignore
	// (ignore_dead_nodes_for_replace). They are banned together with the replaced node. Written by the CLI or a person, read by the
	// controller's verification and by the launcher.
	AnnotationReplaceIgnoreDead = "kubectl-scylla.scylladb.com/replace-ignore-dead"

	// AnnotationReplaceSkipChecks lists, separated by commas, the names of the checks that a person decided to skip. Written by the
	// CLI or a person, read by the controller, which repeats it in its Events.
	AnnotationReplaceSkipChecks = "kubectl-scylla.scylladb.com/replace-skip-checks"

	// AnnotationReplaceAccepted is the identity of the request (or attempt) that the controller verified and acts on. Written
	// by the controller in one patch together with LabelReplacingNodeHostID and the three annotations below, before anything is deleted.
	AnnotationReplaceAccepted = "kubectl-scylla.scylladb.com/replace-accepted"

	// AnnotationReplacePVCUIDs lists, separated by commas, the UIDs of the PersistentVolumeClaims that this attempt deletes, or is
	// "none". A claim with any other UID is never deleted. Same writer and reader as AnnotationReplaceAccepted.
	AnnotationReplacePVCUIDs = "kubectl-scylla.scylladb.com/replace-pvc-uids"

	// AnnotationReplacePodUID is the UID of the Pod that this attempt evicts, or "none": it tells the old Pod from the new one.
	// Same writer and reader as AnnotationReplaceAccepted.
	AnnotationReplacePodUID = "kubectl-scylla.scylladb.com/replace-pod-uid"

	// AnnotationReplaceStartedAt is when the first attempt was accepted (RFC 3339). Written by the controller; read by it and the
	// CLI for the duration, and to order two replacements that were accepted at once.
	AnnotationReplaceStartedAt = "kubectl-scylla.scylladb.com/replace-started-at"

	// AnnotationReplaceAttempt counts attempts from 1. From the second on the replacement cannot be cancelled: the first has
	// made the cluster ban the old node. Same writer and reader as AnnotationReplaceAccepted.
	AnnotationReplaceAttempt = "kubectl-scylla.scylladb.com/replace-attempt"

	// AnnotationReplaceOriginalHostID repeats the original host ID of LabelReplacingNodeHostID, so that the controller can restore a label that was
	// removed or changed by hand; in the procedure by address, where that label must stay absent, it is the only record. Written once per replacement by
	// the controller, read by it.
	AnnotationReplaceOriginalHostID = "kubectl-scylla.scylladb.com/replace-original-host-id"

	// AnnotationReplaceAddress is present in the procedure by address only: the address that is replaced, as in the value of
	// LabelReplace. Written by the controller with AnnotationReplaceAccepted, read by it and the launcher.
	AnnotationReplaceAddress = "kubectl-scylla.scylladb.com/replace-address"

	// AnnotationReplaceRefused records, as JSON (replace.Refusal), that the API server refused to delete the claim or to evict the Pod of this
	// attempt: its message, since when, how often, and the time of the next try. Written by the controller at each refusal, read by it and the CLI.
	AnnotationReplaceRefused = "kubectl-scylla.scylladb.com/replace-refused"

	// AnnotationReplaceLast is the outcome of the last replacement as JSON (replace.Last): identity, old and new host ID, start, end. Written by the
	// controller in the patch that removes the labels; the CLI's proof that its request succeeded.
	AnnotationReplaceLast = "kubectl-scylla.scylladb.com/replace-last"
)

// AnnotationReplaceKept, on a PersistentVolumeClaim, is the identity of a request that was cancelled before the claim was deleted.
// Written and read by the controller; it changes the claim's resourceVersion, so that a controller that has not seen the
// cancellation yet fails to delete it.
const AnnotationReplaceKept = "kubectl-scylla.scylladb.com/replace-kept"

// AnnotationReplaceDeleting, on a PersistentVolumeClaim, announces its deletion: the identity of the request, a blank, and the time of the mark (RFC
// 3339). Written by the controller before it judges everything once more and deletes, and removed when it decides otherwise: each write changes the
// claim's resourceVersion, so that a delayed deletion fails its precondition.
const AnnotationReplaceDeleting = "kubectl-scylla.scylladb.com/replace-deleting"

// ReplaceNone is the value of AnnotationReplacePVCUIDs and AnnotationReplacePodUID when there was no claim to delete or no Pod to evict.
const ReplaceNone = "none"
