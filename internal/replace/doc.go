// SPDX-License-Identifier: Apache-2.0

// Package replace owns the replacement of a dead node by its host ID: the checks before a deletion,
// the next step, the end and failures. It also owns the labels and annotations that record them.
//
// Next computes one step from the present API objects. It has no memory: a controller may be killed
// after any write, run twice, or read older objects. The replacement resumes from the objects:
//
//	label only        -> Record     host ID, UIDs of PVCs and Pod, request, time; optimistic lock
//	recorded          -> DeletePVC  by UID and resourceVersion, after all checks ran again
//	PVC terminating   -> EvictPod   by UID; if a disruption budget refuses, only this is retried
//	Pod deleted       -> WaitNewPod, WaitJoin, WaitReady, WaitOldGone
//	joined            -> Finish     removes labels and record, keeps the outcome, in one write
//
// Between two writes:
//   - before Record nothing has happened; the label may be removed.
//   - after Record, before DeletePVC: the PVC has the recorded UID. A withdrawal first annotates
//     the PVC (KeepPVC): its new resourceVersion makes a deletion from older objects fail. The
//     withdrawal then removes the record (Cancel).
//   - after DeletePVC: every PVC with the recorded UID is terminating or deleted. The
//     StatefulSet's next PVC has another UID and is never deleted for this request. Withdrawing is
//     refused.
//   - after EvictPod: a Pod with another UID that does not run on a recorded PVC is the new one.
//     Its launcher reads the original host ID, which Record has put on the Service.
//   - after Finish: only the outcome of the replacement is left.
//
// The proof of cancelling requires that the caller reads the PVCs before the Service. If that
// Service still requests the replacement, the PVCs are from before the cancellation.
//
// The package performs no I/O, reads no clock and writes no log.
package replace
