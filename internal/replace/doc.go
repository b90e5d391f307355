// SPDX-License-Identifier: Apache-2.0

// Package replace owns the replacement of a dead node by its host ID: which checks must pass before anything is deleted, what comes next,
// when it is over, whether it has failed, and which labels and annotations say so.
//
// Next is a function from what the API server holds now to one step. Nothing is remembered, so a controller may be killed after any
// write, or run twice, or see an older state of the world, and the replacement goes on where the objects say it is:
//
//	label only        -> Record     host ID, UIDs of claims and Pod, request and time, in one write with optimistic lock
//	recorded          -> DeletePVC  by UID and resourceVersion, after all checks once more
//	claim going       -> EvictPod   by UID; a refusal by a disruption budget changes nothing, so only this is tried again
//	Pod gone          -> WaitNewPod, WaitJoin, WaitReady, WaitOldGone
//	joined            -> Finish     labels and record go, the outcome stays, in one write
//
// Between two writes:
//   - before Record nothing has happened; the label may be taken away.
//   - after Record, before DeletePVC: the claim has the recorded UID. Withdrawing first annotates the claim (KeepPVC), whose new
//     resourceVersion makes a deletion by an older view fail, then removes the record (Cancel).
//   - after DeletePVC: no claim with the recorded UID is left that is not terminating. The claim that the StatefulSet makes next has
//     another UID and is never deleted for this request. Withdrawing is refused.
//   - after EvictPod: the Pod has another UID than the recorded one and does not run on a recorded claim, so it is the new one. Its launcher
//     finds the original host ID, which has been on the Service since Record.
//   - after Finish: nothing of the replacement is left but its outcome.
//
// The proof about cancelling requires that the caller reads the claims before it reads the Service: a view whose Service still requests the
// replacement then has claims from before the cancellation.
//
// The package must not talk to anything, know a clock, or log.
package replace
