// SPDX-License-Identifier: Apache-2.0

package words

// permitWords are about permits, and why members wait for theirs. The codes of internal/view are
// declared here, as in viewWords.
var (
	PermitWaitsForPod      = define("PermitWaitsForPod", "its Pod has not reached its barrier")
	PermitWaitsForTurn     = define("PermitWaitsForTurn", "{nodes&} {nodes?joins|join} first")
	PermitWaitsForNewcomer = define("PermitWaitsForNewcomer", "{nodes&} {nodes?is|are} joining")
	PermitWaitsForMembers  = define("PermitWaitsForMembers",
		"{nodes&} {nodes?is|are} not UP in the controller view")
	PermitWaitsForTargetDown = define("PermitWaitsForTargetDown",
		"{nodes&}, to be replaced or ignored, {nodes?is|are} not DOWN in the controller view")
	PermitWaitsForStability = define("PermitWaitsForStability", "all members must stay UP for longer")
	PermitOfFounder         = define("PermitOfFounder",
		"{nodes&} had the permit to bootstrap the cluster, and no other member gets one")
	PermitWaitsForFirstNode = define("PermitWaitsForFirstNode",
		"before other nodes may join, the first node must stay healthy for the stabilisation time")
	PermitWaitsForCredential = define("PermitWaitsForCredential",
		"{nodes&} verifies the root credential first, for a minute at most")
	PermitWaitsForLeaving = define("PermitWaitsForLeaving", "{nodes&} {nodes?is|are} leaving the cluster")
	PermitWaitsForReading = define("PermitWaitsForReading",
		"the controller's last reading of the cluster is too old")
	PermitWaitsForLog = define("PermitWaitsForLog",
		"{node} is [{entries} entries of the group 0 log ]behind[ {leader}], more than the health policy allows (field trailing)")
	PermitWaitsForSchema = define("PermitWaitsForSchema",
		"{nodes&} have different schema versions, and how far they are behind in group 0's log is unknown")
	FindingUnprotected = define("FindingUnprotected",
		"no join is protected: feature gate BootstrapSynchronisation is off at controller {controller}, and barriers open at once")
	ProtectAgain = define("ProtectAgain",
		"to protect joins, turn the feature gate on: {1}")
	PermitUnused = define("PermitUnused",
		"it had a permit for minutes and its barrier did not open, so other members go first; its log shows why")
	PermitWaitsForReason        = define("PermitWaitsForReason", "{reason}[ ({nodes&})]")
	PermitWaitsForUnknownReason = define("PermitWaitsForUnknownReason", "{reason}")

	NoViewYet        = define("NoViewYet", "the controller has created no controller view of the cluster")
	ViewOfAnOverride = define("ViewOfAnOverride",
		"an override names report {report}, whose permits are for members of another cluster")
	ControllerGivesNoPermits = define("ControllerGivesNoPermits",
		"the controller grants no permits: the controller or its CRDs are older than this barrier")
	PermitNotQueued     = define("PermitNotQueued", "the controller has not queued it yet")
	PermitQueued        = define("PermitQueued", "{place} of {waiting} in the queue; {why}")
	PermitForOtherClaim = define("PermitForOtherClaim",
		"it is for the PVC with UID {permitted}, and {claim} has[ {uid}]")
	PermitForOtherKind = define("PermitForOtherKind", "it is for {permitted}, not {kind}")
	PermitForOtherPod  = define("PermitForOtherPod",
		"it is for the Pod with UID {permitted}, and this Pod has {uid}")
	ViewHolds    = define("ViewHolds", "{reason}")
	ViewHasNotUp = define("ViewHasNotUp",
		"{nodes&} {nodes?is|are} not in the required state (UP; DOWN if to be replaced or ignored)")
	ViewNotSeenToAdvance = define("ViewNotSeenToAdvance",
		"this barrier has not seen the controller view advance yet; it advances every few seconds while a member may start")
	ViewTooOld   = define("ViewTooOld", "the controller view has not advanced for more than {limit}")
	ViewWentBack = define("ViewWentBack",
		"for more than {limit} the API server has returned controller view {shown}, which is older than view {seen} that this barrier has read, and no member may start with an older one: "+
			"Kubernetes was restored from an older backup, or the API server is behind")

	WaitForPermit = define("WaitForPermit", "wait[ up to {limit}] for the permit; to show the queue: {1}")
	MakeView      = define("MakeView",
		"check that the controller is running; if it is older than this barrier, upgrade it and its CRDs: {1}")
	GoByReports       = define("GoByReports", "let the barrier use status reports only: --policy=reports")
	UpgradeForPermits = define("UpgradeForPermits",
		"upgrade the controller and its CRDs ({1}), or let the barrier use status reports only: --policy=reports")
	StartFounder = define("StartFounder",
		"start {founder}: only this member may bootstrap the cluster; check why it has not joined: {1}")
	ForgetViews = define("ForgetViews",
		"if Kubernetes was restored, restart the barrier without its remembered controller view: {1}")

	PermitIsGranted   = define("PermitIsGranted", "{member} may start ScyllaDB ({kind})[, with the seeds {seeds}]")
	PermitIsWithdrawn = define("PermitIsWithdrawn", "the permit of {member} ({kind}) is withdrawn[: {why}]")
	PermitIsUsed      = define("PermitIsUsed", "{member} has joined with its permit ({kind})")
)

// What a force covers.
var (
	// ForceDoesNotCover is about reasons that are new since a user forced the start.
	ForceDoesNotCover  = define("ForceDoesNotCover", "must wait: its force does not cover: {reasons}")
	ForceOfOtherVolume = define("ForceOfOtherVolume",
		"the force counts only for the volume with UID {forced}; this one has UID {uid}: force again")
	ForceOfOlderVersion = define("ForceOfOlderVersion",
		"the force does not count: an older version recorded it without its volume; force again")
	ForceCovers = define("ForceCovers",
		"the force covers only {reasons&}; to override what is new, force again")
)
