// SPDX-License-Identifier: Apache-2.0

package bootstrap

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// Summaries of verdicts; the member is the subject of each. Parameters are named beside the codes.
const (
	SummaryBootstrapped    code.Code = "StartsBootstrapped"
	SummaryKnownToPeer     code.Code = "StartsAsMemberKnownToPeer" // peer, hostID
	SummaryOnlyMember      code.Code = "StartsAsOnlyMember"
	SummaryColdStart       code.Code = "StartsWithWholeCluster"      // hostID
	SummaryLastListed      code.Code = "StartsAsMemberByLastRow"     // peer, hostID
	SummaryLikelyRestart   code.Code = "StartsAsMemberIfVolumeHolds" // peer, hostID
	SummaryForced          code.Code = "StartsForced"
	SummaryForcedOver      code.Code = "StartsForcedOverBlockers" // reasons
	SummaryReplacesHostID  code.Code = "StartsReplacingHostID"    // hostID
	SummaryReplacesAddress code.Code = "StartsReplacingAddress"   // address
	SummaryFirstNode       code.Code = "StartsAsFirstNode"
	SummaryOneNodeUp       code.Code = "StartsAsOneNodeIsUp"
	SummaryAllUp           code.Code = "StartsAsAllNodesAreUp" // nodes
	// SummaryPerhapsRemoved is for a verdict from outside the Pod, about a member that has joined and that no node lists any more.
	SummaryPerhapsRemoved code.Code = "StartsAsNewIfVolumeIsEmpty" // hostID
	SummaryMustWait       code.Code = "MustWait"                   // reasons
	SummaryUnusable       code.Code = "CannotStart"                // why
)

// Notes of verdicts.
const (
	NoteBannedBefore  code.Code = "BannedBefore"           // evidence, cure
	NoteDiskUnread    code.Code = "DataDirectoryUnread"    // why
	NoteRemoved       code.Code = "RecordedHostIDRemoved"  // member, hostID; command: forget it
	NoteNotVerified   code.Code = "DatacenterTakenOnTrust" // datacenter
	NoteOneWithoutRow code.Code = "HostIDTakenOnTrust"
	NoteWithoutRow    code.Code = "HostIDsTakenOnTrust" // count
	NoteNewRack       code.Code = "RackIsNew"           // rack, datacenter
	NoteState         code.Code = "NodeInState"         // node, state
	// NoteNotRecorded is for a member that its peers list as joined while its Service does not record it, and whose volume does not prove it.
	NoteNotRecorded   code.Code = "JoinNotRecorded"    // member, hostID; command: force-proceed
	NotePerhapsItself code.Code = "MayWaitForItself"   // member, hostID; command: force-proceed
	NoteCoordinator   code.Code = "CoordinatorDecides" // coordinator
	NoteJudgedBy      code.Code = "JudgedByOverride"   // report, annotation
)

// Causes of blockers, and facts that are parts of other messages.
const (
	CauseDecommissioned code.Code = "Decommissioned"
	CauseBanned         code.Code = "HostIDBanned"        // evidence
	CauseRemoved        code.Code = "HostIDRemoved"       // hostID
	CauseLabelMissing   code.Code = "ServiceLabelMissing" // label
	CauseNoOrdinal      code.Code = "ServiceWithoutOrdinal"
	CauseNotMentioned   code.Code = "JoinedAndNotReported"
	CauseStillNewcomer  code.Code = "JoinedAndReportedAsNewcomer" // state
	CauseNotNew         code.Code = "ClusterNotNew"               // facts, more
	CauseVersionTooOld  code.Code = "OlderThanOldest"             // version, node, oldest
	CauseOnItsWay       code.Code = "NewcomerOnItsWay"            // node
	CauseBefore         code.Code = "NewcomerBefore"              // node
	CauseStabilising    code.Code = "MustStayUp"                  // window, left
	CauseForeignVolume  code.Code = "VolumeOfOtherHostID"         // volume, recorded, owner
	CauseDataGone       code.Code = "DataIsGone"                  // member
	CauseVolumeUnread   code.Code = "VolumeNotLooked"             // why
	CauseVolumeUnknown  code.Code = "VolumeOfUnknownHostID"
	CauseSeenUp         code.Code = "SeenUpBy"          // observers
	CauseFirstNode      code.Code = "FirstNodeIs"       // first
	RolloutRevision     code.Code = "PodsOfOldRevision" // statefulSet, updated, replicas
	RolloutNotReady     code.Code = "FewerPodsReady"    // statefulSet, ready, joined, pods, gate
	CauseController     code.Code = "ControllerNamed"   // controller

	// Why a member is not the first node of its cluster, although no node has joined.
	CauseSeedOfCluster code.Code = "SeedIsMemberOfCluster"          // seed, member, cluster
	CauseSeedElsewhere code.Code = "SeedIsElsewhere"                // seed
	CausePodOfCluster  code.Code = "PodIsOfCluster"                 // pod, service
	CauseSetOfCluster  code.Code = "StatefulSetHasMembersOfCluster" // statefulSet, member, cluster
	// Why the address in a request to replace is refused.
	CauseAddressNotOwn  code.Code = "ReplacedAddressIsNotOwn" // address, own
	CauseAddressUnknown code.Code = "ReplacedAddressUnknown"  // address
	CauseReplacesNobody code.Code = "ReplacingLabelIsEmpty"
	// CauseReplacesNonsense is for a label that is no host ID.
	CauseReplacesNonsense code.Code = "ReplacingLabelIsNone" // value

	CauseOperatorScaledDown   code.Code = "OperatorScaledDown"   // deployment
	CauseOperatorNotAvailable code.Code = "OperatorNotAvailable" // deployment, replicas
	CauseOperatorLease        code.Code = "OperatorLeaseSilent"  // lease, holder
	CauseOperatorDegraded     code.Code = "OperatorSaysDegraded" // condition, words
	CauseClaimDeleting        code.Code = "ClaimIsBeingDeleted"  // claim, pod
	CauseDecommissionLabel    code.Code = "SaysDecommissioned"   // service, rows
	CauseReportBehindPods     code.Code = "ReportBehindPods"     // members
	CauseReportFrozen         code.Code = "ReportFrozenByOneRow" // members
	CauseReportLost           code.Code = "ReportLost"           // of an operator's cluster
	CauseNoReportOf           code.Code = "NoReportOf"           // datacenters

	FactAndOneMore      code.Code = "AndOneMoreReason"      // reason
	FactAndMore         code.Code = "AndMoreReasons"        // reason, more
	FactSelfHasJoined   code.Code = "MemberItselfHasJoined" // member
	FactHasJoined       code.Code = "MemberHasJoined"       // member
	FactHasHostID       code.Code = "MemberHasHostID"       // member
	FactInitialized     code.Code = "ClusterWasInitialized"
	FactOtherDatacenter code.Code = "OtherDatacenterExists"
)

// Next steps.
const (
	StepDiscardClaim         code.Code = "DiscardClaim"   // claim; commands: delete the claim, delete the Pod
	StepDiscardClaimOf       code.Code = "DiscardClaimOf" // member
	StepMendForce            code.Code = "MendForceValue" // command: force-proceed
	StepMendReplaceLabel     code.Code = "MendReplaceLabel"
	StepEmptyReplaceLabel    code.Code = "EmptyReplaceLabel" // command: label
	StepNameOneCluster       code.Code = "NameOneCluster"    // command: force-proceed
	StepLabelService         code.Code = "LabelService"      // command: label
	StepNameService          code.Code = "NameService"
	StepBeginAnew            code.Code = "BeginAnew"                     // command: init reset
	StepRunReporters         code.Code = "RunControllerAndReporters"     // command: report
	StepCheckOtherDatacenter code.Code = "CheckOtherDatacenterThenForce" // command: force-proceed
	StepStartController      code.Code = "StartController"
	StepWaitForFirstNode     code.Code = "WaitForFirstNode" // command: get pod
	StepWaitForRollout       code.Code = "WaitForRollout"   // command: rollout status
	StepSeeNotReady          code.Code = "SeeNotReady"      // command: describe the Pod
	StepNewerImage           code.Code = "GiveNewerImage"   // oldest
	StepWaitForNewcomer      code.Code = "WaitForNewcomer"  // node; command: get pod
	StepStabilise            code.Code = "WaitWhileAllStayUp"
	StepReachReporter        code.Code = "ReachReporter"      // command: describe pod
	StepOtherSeed            code.Code = "SeeOtherSeed"       // command: status
	StepForeignVolume        code.Code = "MendForeignVolume"  // claim
	StepCopiedVolume         code.Code = "GiveOwnVolume"      // claim; command: show the claim
	StepTellVolume           code.Code = "TellVolume"         // member, claim; commands: show the claim, force-proceed
	StepStartOperator        code.Code = "StartOperator"      // command: look at its Deployment
	StepReadDegraded         code.Code = "ReadDegraded"       // command: describe the ScyllaDBDatacenter
	StepClearAnnotation      code.Code = "ClearPodAnnotation" // command: annotate the Pod
	StepReadVolume           code.Code = "MountVolume"
	StepReplacementGoesOn    code.Code = "WaitForEviction"   // command: replace status
	StepTargetLives          code.Code = "ReplacedNodeLives" // command: replace cancel
	StepSaveData             code.Code = "SaveData"          // pod; command: decommission
	StepSaveVolume           code.Code = "SaveVolumeAndData" // pod, volume; commands: let the volume outlive its claim, decommission
	StepRenewReport          code.Code = "RenewReport"
)

// Results of the query of the data directory.
const (
	QueryNoSSTable      code.Code = "QueryLoadedNoSSTable"
	QueryFailed         code.Code = "QueryFailed"
	QueryNotKnown       code.Code = "QueryNotKnown"
	QueryExitCode       code.Code = "QueryExitCode" // exitCode
	QueryPrintedNothing code.Code = "QueryPrintedNothing"
	QueryNotItsResult   code.Code = "QueryPrintedSomethingElse" // error
	QueryNoRow          code.Code = "QueryFoundNoRow"
	QueryNullRow        code.Code = "QueryFoundNull"
	QuerySays           code.Code = "QueryFound"         // state
	DiskOnlyPodReads    code.Code = "DataDirectoryOfPod" // set by callers outside the Pod
)

// Codes of the choice of seeds. Parameters: names and seeds.
const (
	// SeedsFound: the seeds are other nodes.
	SeedsFound code.Code = "SeedsFound"
	// SeedsFirstNode: no node of the cluster has joined, and this one creates the cluster, with itself as seed.
	SeedsFirstNode code.Code = "SeedsFirstNode"
	// SeedsFirstNodePending: no node has joined, and the member in names has to be the first.
	SeedsFirstNodePending code.Code = "SeedsFirstNodePending"
	// SeedsNotUp: the members in names have joined, and none of them is UP with an address: with itself as seed the node would create a second cluster.
	SeedsNotUp code.Code = "SeedsNotUp"
	// SeedsOnlySelfJoined: this member has joined before, and no other has: its cluster exists only on its former volume.
	SeedsOnlySelfJoined code.Code = "SeedsOnlySelfJoined"
	// SeedsOwnVolume: this member is the only one that has joined, and its volume holds ScyllaDB's files: it restarts.
	SeedsOwnVolume code.Code = "SeedsOwnVolume"
	// SeedsElsewhere: no member here has joined, and the cluster has nodes in the datacenters of names: seeds from there have to be given.
	SeedsElsewhere code.Code = "SeedsElsewhere"
)
