// SPDX-License-Identifier: Apache-2.0

package api

// Annotations of a replacement, on the member Service of the replaced node. The two labels of a
// replacement are LabelReplace and LabelReplacingNodeHostID. These annotations hold all other
// state, because the controller keeps nothing in memory. docs/replace-a-node.md has the order in
// which they are written.
const (
	// AnnotationReplaceRequest is the identity (a UUID) of the request in LabelReplace. The CLI
	// writes both in one patch, so that it waits for its own request and not for an older one. Read
	// by the controller, which generates an identity if a user has set only the label.
	AnnotationReplaceRequest = "kubectl-scylla.scylladb.com/replace-request"

	// AnnotationReplaceResume requests another attempt after a failed one, on a new volume and with
	// the same original host ID. Its value is the identity of that attempt; it counts while it
	// differs from AnnotationReplaceAccepted. Written by the CLI.
	AnnotationReplaceResume = "kubectl-scylla.scylladb.com/replace-resume"

	// AnnotationReplaceIgnoreDead is a comma-separated list of host IDs of further dead nodes, for
	// ScyllaDB's option ignore_dead_nodes_for_replace. ScyllaDB bans them together with the
	// replaced node. Written by the CLI or a user, read by the controller's verification and by the
	// launcher.
	AnnotationReplaceIgnoreDead = "kubectl-scylla.scylladb.com/replace-ignore-dead"

	// AnnotationReplaceSkipChecks is a comma-separated list of the checks that a user decided to
	// skip. Written by the CLI or a user, read by the controller, which repeats it in its Events.
	AnnotationReplaceSkipChecks = "kubectl-scylla.scylladb.com/replace-skip-checks"

	// AnnotationReplaceAccepted is the identity of the request (or attempt) that the controller
	// verified and executes. The controller writes it in one patch with LabelReplacingNodeHostID
	// and the three annotations below, before it deletes anything.
	AnnotationReplaceAccepted = "kubectl-scylla.scylladb.com/replace-accepted"

	// AnnotationReplacePVCUIDs is a comma-separated list of the UIDs of the PVCs that this attempt
	// deletes, or "none". A PVC with any other UID is never deleted. Same writer and reader as
	// AnnotationReplaceAccepted.
	AnnotationReplacePVCUIDs = "kubectl-scylla.scylladb.com/replace-pvc-uids"

	// AnnotationReplacePodUID is the UID of the Pod that this attempt evicts, or "none". It
	// distinguishes the old Pod from the new one. Same writer and reader as
	// AnnotationReplaceAccepted.
	AnnotationReplacePodUID = "kubectl-scylla.scylladb.com/replace-pod-uid"

	// AnnotationReplaceStartedAt is when the first attempt was accepted (RFC 3339). Written by the
	// controller; read by it and the CLI for the duration, and to order two replacements accepted
	// at the same time.
	AnnotationReplaceStartedAt = "kubectl-scylla.scylladb.com/replace-started-at"

	// AnnotationReplaceAttempt counts attempts from 1. From the second on the replacement cannot be
	// cancelled: since the first attempt the cluster bans the old node. Same writer and reader as
	// AnnotationReplaceAccepted.
	AnnotationReplaceAttempt = "kubectl-scylla.scylladb.com/replace-attempt"

	// AnnotationReplaceOriginalHostID repeats the original host ID of LabelReplacingNodeHostID, so
	// that the controller can restore a label that was removed or changed manually. In the address
	// procedure, which must not have that label, it is the only record. Written once per
	// replacement by the controller, read by it.
	AnnotationReplaceOriginalHostID = "kubectl-scylla.scylladb.com/replace-original-host-id"

	// AnnotationReplaceAddress exists only in the address procedure: the replaced address, from the
	// value of LabelReplace. Written by the controller with AnnotationReplaceAccepted, read by it
	// and the launcher.
	AnnotationReplaceAddress = "kubectl-scylla.scylladb.com/replace-address"

	// AnnotationReplaceRefused records that the API server refused to delete the PVC or to evict
	// the Pod of this attempt. It is JSON (replace.Refusal): message, first time, count, and time
	// of the next try. Written by the controller at each refusal, read by it and the CLI.
	AnnotationReplaceRefused = "kubectl-scylla.scylladb.com/replace-refused"

	// AnnotationReplaceLast is the outcome of the last replacement as JSON (replace.Last):
	// identity, old and new host ID, start, end. The controller writes it in the patch that removes
	// the labels; to the CLI it proves that its request succeeded.
	AnnotationReplaceLast = "kubectl-scylla.scylladb.com/replace-last"
)

// AnnotationReplaceKept, on a PVC, is the identity of a request that was cancelled before the PVC
// was deleted. Only the controller reads and writes it. It changes the PVC's resourceVersion, so
// that the deletion by a controller that has not yet seen the cancellation fails.
const AnnotationReplaceKept = "kubectl-scylla.scylladb.com/replace-kept"

// AnnotationReplaceDeleting, on a PVC, announces its deletion: the identity of the request, a
// blank, and the time (RFC 3339). The controller writes it, judges everything once more, and then
// deletes the PVC or removes the annotation. Each write changes the PVC's resourceVersion, so that
// a delayed deletion fails its precondition.
const AnnotationReplaceDeleting = "kubectl-scylla.scylladb.com/replace-deleting"

// ReplaceNone is the value of AnnotationReplacePVCUIDs and AnnotationReplacePodUID if there was no
// PVC to delete or no Pod to evict.
const ReplaceNone = "none"
