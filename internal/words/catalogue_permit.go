// SPDX-License-Identifier: Apache-2.0

package words

// permitWords are about permits, and the reasons why members wait for theirs. The codes of internal/view are written out here, as in viewWords.
var (
	PermitWaitsForPod           = define("PermitWaitsForPod", "its Pod has not come to its barrier")
	PermitWaitsForTurn          = define("PermitWaitsForTurn", "{nodes&} {nodes?goes|go} first")
	PermitWaitsForNewcomer      = define("PermitWaitsForNewcomer", "{nodes&} {nodes?is|are} on {nodes?its|their} way in")
	PermitWaitsForMembers       = define("PermitWaitsForMembers", "{nodes&} {nodes?is|are} not UP by the controller's view")
	PermitWaitsForTargetDown    = define("PermitWaitsForTargetDown", "{nodes&}, to be replaced or ignored, {nodes?is|are} not DOWN by the controller's view")
	PermitWaitsForStability     = define("PermitWaitsForStability", "all is well, and must stay so for a while")
	PermitOfFounder             = define("PermitOfFounder", "{nodes&} had the permit to found the cluster, and nobody else gets one")
	PermitWaitsForFirstNode     = define("PermitWaitsForFirstNode", "the first node must be well for a while, until the cluster counts as initialised")
	PermitWaitsForLeaving       = define("PermitWaitsForLeaving", "{nodes&} {nodes?leaves|leave} the cluster")
	PermitWaitsForReading       = define("PermitWaitsForReading", "the controller has not read the cluster for too long")
	PermitWaitsForLog           = define("PermitWaitsForLog", "{node} is [{entries} entries of group 0's log ]behind[ {leader}], more than trailing of the health policy allows")
	PermitWaitsForSchema        = define("PermitWaitsForSchema", "{nodes&} have different schema versions, and how far they are behind in group 0's log is not known")
	PermitWaitsForReason        = define("PermitWaitsForReason", "{reason}[ ({nodes&})]")
	PermitWaitsForUnknownReason = define("PermitWaitsForUnknownReason", "{reason}")

	NoViewYet                = define("NoViewYet", "the controller has made no view of the cluster")
	ViewOfAnOverride         = define("ViewOfAnOverride", "an override names report {report}, whose permits are for another cluster's members")
	ControllerGivesNoPermits = define("ControllerGivesNoPermits", "the controller gives no permits: it is older than this barrier, or its kinds are")
	PermitNotQueued          = define("PermitNotQueued", "the controller has not put it into the queue yet")
	PermitQueued             = define("PermitQueued", "place {place} of {waiting} in the queue: {why}")
	PermitForOtherClaim      = define("PermitForOtherClaim", "it is for the claim with UID {permitted}, and {claim} has[ {uid}]")
	PermitForOtherKind       = define("PermitForOtherKind", "it is of kind {permitted}, and this would be {kind}")
	PermitForOtherPod        = define("PermitForOtherPod", "it is for the Pod with UID {permitted}, and this one has {uid}")
	ViewHolds                = define("ViewHolds", "{reason}")
	ViewHasNotUp             = define("ViewHasNotUp", "{nodes&} {nodes?is|are} not as {nodes?it|they} must be")
	ViewNotSeenToAdvance     = define("ViewNotSeenToAdvance", "its view has not been seen to advance yet, which it does every few seconds while somebody may start")
	ViewTooOld               = define("ViewTooOld", "its view has not advanced for {age}, more than {limit}")
	ViewWentBack             = define("ViewWentBack", "for more than {limit} the API server has shown view {shown}, which is older than view {seen} that this barrier has seen, and nobody may start by an older one: "+
		"Kubernetes was restored from an older backup, or the API server is behind")

	WaitForPermit     = define("WaitForPermit", "wait: permits go round by themselves; who is before it, and why: {1}")
	MakeView          = define("MakeView", "see that the controller runs, and where it is older than this barrier, bring it and its kinds up to date: {1}")
	GoByReports       = define("GoByReports", "let the barrier go by the reports alone: --policy=reports")
	UpgradeForPermits = define("UpgradeForPermits", "bring the controller and its kinds up to date ({1}), or let the barrier go by the reports alone: --policy=reports")
	StartFounder      = define("StartFounder", "let {founder} start, it alone may found the cluster; if it is gone for good, and no member has any data, delete the ScyllaDBStatusReport")
	ForgetViews       = define("ForgetViews", "where Kubernetes was restored, let the barrier begin anew, with nothing remembered: {1}")

	PermitIsGranted   = define("PermitIsGranted", "{member} may start ScyllaDB ({kind})[, with the seeds {seeds}]")
	PermitIsWithdrawn = define("PermitIsWithdrawn", "the permit of {member} ({kind}) is withdrawn[: {why}]")
	PermitIsUsed      = define("PermitIsUsed", "{member} has joined by its permit ({kind})")
)
