// SPDX-License-Identifier: Apache-2.0

package words

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
)

// permitWords are about permits, and the reasons why members wait for theirs. The codes of internal/view are written out here, as in viewWords.
var permitWords = map[code.Code]string{
	bootstrap.QueuePod:            "its Pod has not come to its barrier",
	bootstrap.QueueTurn:           "{nodes&} {nodes?goes|go} first",
	bootstrap.QueueOnItsWay:       "{nodes&} {nodes?is|are} on {nodes?its|their} way in",
	bootstrap.QueueMembersNotUp:   "{nodes&} {nodes?is|are} not UP by the controller's view",
	bootstrap.QueueTargetNotDown:  "{nodes&}, to be replaced or ignored, {nodes?is|are} not DOWN by the controller's view",
	bootstrap.QueueStabilising:    "all is well, and must stay so for a while",
	bootstrap.QueueFounder:        "{nodes&} had the permit to found the cluster, and nobody else gets one",
	bootstrap.QueueFirstNode:      "the first node must be well for a while, until the cluster counts as initialised",
	bootstrap.QueueLeaving:        "{nodes&} {nodes?leaves|leave} the cluster",
	bootstrap.QueueOld:            "the controller has not read the cluster for too long",
	bootstrap.QueueTrailing:       "{node} is [{entries} entries of group 0's log ]behind[ {leader}], more than trailing of the health policy allows",
	bootstrap.QueueSchema:         "{nodes&} have different schema versions, and how far they are behind in group 0's log is not known",
	bootstrap.QueueRefused:        "{reason}[ ({nodes&})]",
	"PermitWaitsForUnknownReason": "{reason}",

	bootstrap.CauseNoView:     "the controller has made no view of the cluster",
	bootstrap.CauseOverride:   "an override names report {report}, whose permits are for another cluster's members",
	bootstrap.CauseNoPermits:  "the controller gives no permits: it is older than this barrier, or its kinds are",
	bootstrap.CauseNotQueued:  "the controller has not put it into the queue yet",
	bootstrap.CauseQueued:     "place {place} of {waiting} in the queue: {why}",
	bootstrap.CauseOtherClaim: "it is for the claim with UID {permitted}, and {claim} has[ {uid}]",
	bootstrap.CauseOtherKind:  "it is of kind {permitted}, and this would be {kind}",
	bootstrap.CauseOtherPod:   "it is for the Pod with UID {permitted}, and this one has {uid}",
	bootstrap.CauseHold:       "{reason}",
	bootstrap.CauseViewNotUp:  "{nodes&} {nodes?is|are} not as {nodes?it|they} must be",
	bootstrap.CauseViewUnseen: "its view has not been seen to advance yet, which it does every few seconds while somebody may start",
	bootstrap.CauseViewOld:    "its view has not advanced for {age}, more than {limit}",
	bootstrap.CauseViewBack: "for more than {limit} the API server has shown view {shown}, which is older than view {seen} that this barrier has seen, and nobody may start by an older one: " +
		"Kubernetes was restored from an older backup, or the API server is behind",

	bootstrap.StepWaitForPermit: "wait: permits go round by themselves; who is before it, and why: {1}",
	bootstrap.StepMakeView:      "see that the controller runs, and where it is older than this barrier, bring it and its kinds up to date: {1}",
	bootstrap.StepGoByReports:   "let the barrier go by the reports alone: --policy=reports",
	bootstrap.StepPermitKinds:   "bring the controller and its kinds up to date ({1}), or let the barrier go by the reports alone: --policy=reports",
	bootstrap.StepOtherFounder:  "let {founder} start, it alone may found the cluster; if it is gone for good, and no member has any data, delete the ScyllaDBStatusReport",
	bootstrap.StepForgetViews:   "where Kubernetes was restored, let the barrier begin anew, with nothing remembered: {1}",

	"PermitIsGranted":   "{member} may start ScyllaDB ({kind})[, with the seeds {seeds}]",
	"PermitIsWithdrawn": "the permit of {member} ({kind}) is withdrawn[: {why}]",
	"PermitIsUsed":      "{member} has joined by its permit ({kind})",
}
