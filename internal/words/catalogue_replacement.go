// SPDX-License-Identifier: Apache-2.0

package words

// replacementSentences are the sentences of package replace and of the replace command.
var (
	SayCommand   = define("Command", "{1}")
	InstallKinds = define("InstallKinds",
		"install the CRDs ({1}), or read without them: --source=annotation or --source=live")
	ReplaceFacts = ofReplacement("ReplaceFacts", "{facts;}", DataBringBack, DataRaise, ReplaceWaitRows,
		OthersBringBackOnly, OthersBringBack, OthersExclude, OrphansFirst, OthersWait, OperationWait, ReplaceOnlyNormal)
	ScyllaDBSaid = define("ScyllaDBSaid", "log of ScyllaDB on Pod {pod}: {text}")
	LogCure      = define("LogCure", "{text}")

	// The request and its record.
	ReplaceOriginalMalformed = define("ReplaceOriginalMalformed", `{key}="{value}" {why}`)
	ReplaceTimeMalformed     = define("ReplaceTimeMalformed", `annotation {key}="{value}" is not a time`)
	ReplaceAttemptMalformed  = define("ReplaceAttemptMalformed", `annotation {key}="{value}" is not a number from 1`)
	ReplaceOutcomeMalformed  = define("ReplaceOutcomeMalformed", "annotation {key} cannot be decoded: {why}")
	ReplaceRecordMalformed   = ofReplacement("ReplaceRecordMalformed", "{problems;}", ReplaceCorrectRecord)
	ReplaceCorrectRecord     = define("ReplaceCorrectRecord", "correct or remove it on Service {namespace}/{member}")
	ReplaceRequestReadable   = define("ReplaceRequestReadable", "label and annotations of the request are readable")
	ReplaceLabelMalformed    = ofReplacement("ReplaceLabelMalformed",
		`label {label}="{value}" is neither empty nor an IP address`, ReplaceEmptyLabel, WithdrawRequest)
	WithdrawRequest     = define("WithdrawRequest", "its node is running; withdraw the request: {1}")
	ReplaceEmptyLabel   = define("ReplaceEmptyLabel", "set it to the empty value; a replacement cannot be undone: {1}")
	ReplaceCheckUnknown = ofReplacement("ReplaceCheckUnknown",
		`annotation {annotation} names check "{check}", which does not exist`, ReplaceSkippableChecks)
	ReplaceCheckNotSkippable = ofReplacement("ReplaceCheckNotSkippable",
		`annotation {annotation} names check "{check}", which cannot be skipped`, ReplaceSkippableChecks)
	ReplaceSkippableChecks = define("ReplaceSkippableChecks", "the checks that can be skipped are {checks}")
	ReplaceIsOpen          = define("ReplaceIsOpen",
		"a replacement[ of {original}] is open on {member}[ since {since}]; a second one would lose its host ID")
	ReplaceSeeHowFar = define("ReplaceSeeHowFar", "show its progress: {1}[; if it has failed, resume it, which cannot be undone: {2}]")

	// The node that is replaced.
	ReplaceOriginalRecorded = define("ReplaceOriginalRecorded",
		"original host ID {hostID} is recorded on Service {member}")
	ReplaceHostIDRecorded  = define("ReplaceHostIDRecorded", "Service {member} records host ID {hostID}")
	ReplaceHostIDMalformed = ofReplacement("ReplaceHostIDMalformed",
		`annotation {annotation}="{value}" of Service {member} {why}`, ReplaceHostIDLost, ReplaceNeverHadHostID)
	ReplaceHostIDMissing = ofReplacement("ReplaceHostIDMissing",
		"Service {member} has no annotation {annotation}, so the node that ran on it is unknown", ReplaceHostIDLost,
		ReplaceNeverHadHostID)
	ReplaceHostIDLost = define("ReplaceHostIDLost",
		"it had a host ID, and its volume may have its data: delete nothing. Run {1} to find the host ID that belongs to no member, and record it: {2}")
	ReplaceNeverHadHostID = define("ReplaceNeverHadHostID",
		"if a node ever ran on it, its volume may have its data: delete nothing, and run {1} to find the host ID that belongs to no member; if no node did, there is nothing to replace: it joins automatically")
	CureGiveHostID       = define("CureGiveHostID", "find the dead node's host ID with {1} and specify it: {2}")
	ReplaceHasJoined     = define("ReplaceHasJoined", "{node} has joined (annotation {annotation})")
	ReplaceMemberOfPeers = define("ReplaceMemberOfPeers", "{node} is a member in the status reports of other nodes")
	ReplaceNeverJoined   = ofReplacement("ReplaceNeverJoined",
		"{node} never joined (annotation {annotation}=false): its volume never bootstrapped", ReplaceLetJoinAnew)
	ReplaceLetJoinAnew = define("ReplaceLetJoinAnew",
		"do not replace it: it joins as a new node; check the log of Pod {member} for why it has not")
	ReplaceJoinUnconfirmed = ofReplacement("ReplaceJoinUnconfirmed",
		"Service {member} has no annotation {annotation}, and no other node confirms that the node joined",
		ReplaceOnlyWithData)
	ReplaceOnlyWithData = define("ReplaceOnlyWithData",
		"if it never joined, it joins as a new node; check its log for why it has not. Only nodes that had data are replaced")
	NodeListedAs            = define("NodeListedAs", "{by&} {by?lists|list} {node} as {state}")
	ReplaceMemberNobodySays = ofReplacement("ReplaceMemberNobodySays",
		"no other node has a fresh status report, so it is unknown whether it is a member", ReplaceSeeStatus)
	ReplaceSeeStatus = define("ReplaceSeeStatus", "check why status reports are missing: {1}")
	ReplaceNoMember  = ofReplacement("ReplaceNoMember",
		"{by&} {by?does|do} not list host ID {hostID}: it is not a member of the cluster", CureUnrecordedLost,
		CureRecordNewcomer, ReplaceNothingToReplace, CureStartAsNew)
	ReplaceNothingToReplace = define("ReplaceNothingToReplace",
		"ScyllaDB would reject the replacement, because the node to replace is not a member; check the members (kubectl scylla status) and the log of its Pod")
	ReplaceOnlyNormal = define("ReplaceOnlyNormal",
		"only a normal member can be replaced; wait until its operation has ended")
	ReplaceMemberDisputed = ofReplacement("ReplaceMemberDisputed",
		"{by&} {by?lists|list} it as a member, {not&} {not?does|do} not", ReplaceWaitAgreement)
	ReplaceWaitAgreement = define("ReplaceWaitAgreement", "the nodes disagree; wait until they agree")
	ReplaceNormalMember  = define("ReplaceNormalMember",
		"{listing} of {total} fresh status reports list {node} as a normal member")
	ReplaceNobodySees = ofReplacement("ReplaceNobodySees",
		"no other node has a fresh status report: it is unknown whether {node} is DOWN", ReplaceSeeStatus)
	NodeSeenUp         = ofReplacement("NodeSeenUp", "{by&} {by?sees|see} {node} UP", ReplaceAliveCannot)
	ReplaceAliveCannot = define("ReplaceAliveCannot",
		"a running node cannot be replaced; decommission it, or wait until all nodes see it DOWN")
	ReplaceNoMajority = ofReplacement("ReplaceNoMajority",
		"{down} of {total} fresh status reports show {node} DOWN, which is not a majority[; {unsure&} {unsure?reports|report} UNKNOWN (the address may be shared with a running node)][; {not&} {not?does|do} not list it]", ReplaceWaitMajority)
	ReplaceWaitMajority = define("ReplaceWaitMajority", "check which nodes see it DOWN: a majority must[: {1}]")
	ReplaceContradicted = ofReplacement("ReplaceContradicted",
		"{by&} {by?has a contradictory status report|have contradictory status reports} about {node}",
		ReplaceWaitAgreement)
	NodeSeenDown = define("NodeSeenDown",
		"{by&} {by?sees|see} {node} DOWN ({down} of {total} fresh status reports), none UP")
	ReplaceDownSinceUnknown = ofReplacement("ReplaceDownSinceUnknown",
		"how long {node} has been DOWN is unknown, so it may be a restart", ReplaceCheckYourself, ReplaceWaitUntil)
	ReplaceCheckYourself = define("ReplaceCheckYourself",
		"check how long it has been DOWN, then continue with --skip-check={check}")
	ReplaceDownTooShort = ofReplacement("ReplaceDownTooShort",
		"{node} has been DOWN since {since}, which is less than {minimum}: it may be a restart", ReplaceWaitUntil)
	ReplaceWaitUntil   = define("ReplaceWaitUntil", "wait until {until}, then retry if it is still DOWN")
	ReplaceDownAtLeast = define("ReplaceDownAtLeast",
		"{node} has been DOWN since {since} or longer, by the last changes of the status reports")
	ReplaceDownSince = define("ReplaceDownSince", "{node} has been DOWN since {since}")
	PodAbsent        = define("PodAbsent", "the Pod does not exist")
	PodUnscheduled   = define("PodUnscheduled", "Pod {pod} is waiting for {waits}, and its volume is intact")
	PodServes        = ofReplacement("PodServes",
		"Pod {pod} is Ready: its ScyllaDB is running, whatever the other nodes see", ReplaceCutOff)
	PodAlive      = define("PodAlive", "ScyllaDB on Pod {pod} is not Ready: {why}")
	ReplaceCutOff = define("ReplaceCutOff",
		"a running node is cut off, not dead; fix the network, or stop the node first if its data is to be given up")
	PodNotReady      = define("PodNotReady", "Pod {pod} is not Ready")
	PodWithoutVolume = define("PodWithoutVolume", "Pod {pod} has no volume to restart with")
	PodNodeLost      = define("PodNodeLost", "Kubernetes node {node} of Pod {pod} is not responding")
	PodInitialising  = ofReplacement("PodInitialising",
		"Pod {pod} is still initialising[: it is waiting for {waits}]", ReplaceStartingWait)
	PodYoung = ofReplacement("PodYoung", "Pod {pod} was created at {since}, on an intact volume",
		ReplaceStartingWait)
	ContainerYoung = ofReplacement("ContainerYoung",
		"ScyllaDB on Pod {pod} was started at {since}, on an intact volume", ReplaceStartingWait)
	StatefulSetRolling = ofReplacement("StatefulSetRolling", "StatefulSet {set} has a rolling update in progress",
		ReplaceStartingWait)
	ReplaceStartingWait = define("ReplaceStartingWait",
		"it is starting: wait. If it does not start, continue with --skip-check={check}")
	ContainerUnready = ofReplacement("ContainerUnready",
		"ScyllaDB's container in Pod {pod} has been running since {since} on an intact volume, and is not Ready", ReplaceReadLog)
	ReplaceReadLog = define("ReplaceReadLog",
		"do not replace it yet: check its log, because ScyllaDB may recover on this volume: {1}; to override: --skip-check={check}")
	PodNotStarting    = define("PodNotStarting", "Pod {pod} is not starting")
	AttemptNoNewcomer = define("AttemptNoNewcomer", "no new node of an earlier attempt is known")
	AttemptOperation  = ofReplacement("AttemptOperation", `ScyllaDB is still running "{operation}" of {node}`,
		AttemptWait)
	AttemptReplacing = ofReplacement("AttemptReplacing",
		"{by&} {by?lists|list} new node {node} as replacing: the attempt is in progress", AttemptWait)
	AttemptWait   = define("AttemptWait", "check its progress; nothing has failed yet[: {1}]")
	AttemptJoined = ofReplacement("AttemptJoined", "new node {node} owns tokens: it has joined",
		AttemptGoesOn)
	AttemptGoesOn = define("AttemptGoesOn", "the replacement continues automatically; show its progress: {1}")
	AttemptMember = ofReplacement("AttemptMember", "{by&} {by?lists|list} new node {node} as a member",
		AttemptMayHaveJoined)
	AttemptMayHaveJoined = define("AttemptMayHaveJoined", "it may have joined; check with {1}")
	AttemptNoMember      = define("AttemptNoMember", "new node {node} of the earlier attempt is not a member")

	// All other nodes.
	IgnoredMalformed = ofReplacement("IgnoredMalformed", `"{value}" in the ignore list {why}`,
		IgnoredListHostIDs)
	IgnoredListHostIDs = define("IgnoredListHostIDs", "list host IDs, separated by commas; to show them: {1}")
	IgnoredIsTarget    = ofReplacement("IgnoredIsTarget",
		"{node} is in the ignore list and is also the node to replace", IgnoredTakeOff)
	IgnoredTakeOff = define("IgnoredTakeOff", "remove it from the ignore list")
	IgnoredIsUp    = ofReplacement("IgnoredIsUp", "{by&} {by?sees|see} ignored node {node} UP",
		IgnoredWouldBeBanned)
	IgnoredWouldBeBanned = define("IgnoredWouldBeBanned",
		"a running node cannot be ignored; the cluster would ban it permanently")
	IgnoredNoMember = ofReplacement("IgnoredNoMember",
		"no status report lists ignored node {node}: it is not a member", IgnoredTakeOff)
	IgnoredNoMajority = ofReplacement("IgnoredNoMajority",
		"{down} of {total} fresh status reports show ignored node {node} DOWN, which is not a majority",
		ReplaceWaitMajority)
	IgnoredAreDown = define("IgnoredAreDown",
		"{nodes&} {nodes?is|are} DOWN and will be ignored, and banned with the replaced node")
	NodeHasNoRow            = define("NodeHasNoRow", "{node} has no status report")
	NodeHasNotReported      = define("NodeHasNotReported", "{node} has not reported")
	NodeCannotReport        = define("NodeCannotReport", "{node} cannot report: {why}")
	NodeReportIsOld         = define("NodeReportIsOld", "{node} has a stale status report: {why}")
	NodeReportIsEmpty       = define("NodeReportIsEmpty", "{node} has an empty status report")
	NodeHasNoHostID         = define("NodeHasNoHostID", "{node} has no host ID")
	DatacenterCannotBeAsked = define("DatacenterCannotBeAsked",
		"the nodes of datacenter {datacenter} are not reachable from here")
	NoOtherRow      = define("NoOtherRow", "no other node has a status report")
	NoOtherFreshRow = ofReplacement("NoOtherFreshRow", "no other node has a fresh status report",
		ReplaceSeeStatus)
	ReplaceWaitRows = define("ReplaceWaitRows", "check why status reports are missing[: {1}]")
	RowFreshOne     = define("RowFreshOne", "the other node has a fresh status report")
	RowsFresh       = define("RowsFresh", "each of the {others} other nodes has a fresh status report")
	NodeSeenDownBy  = define("NodeSeenDownBy", "{by&} {by?sees|see} {node} DOWN")
	NodeNotSaidUp   = define("NodeNotSaidUp", "{by&} {by?does|do} not report {node} UP")
	OthersExclude   = define("OthersExclude",
		"bring these nodes back; or exclude {nodes&}, whose data is lost: that bans {nodes?it|them} permanently, and a join still requires every node UP, until {nodes?it is|they are} replaced or removed: {1}; then replace with --skip-check={check}")
	OthersBringBackOnly = define("OthersBringBackOnly",
		"bring these nodes back first[: check why and for how long they are DOWN: {1}][; {manager} cannot make one node ignore others]")
	OthersBringBack = define("OthersBringBack",
		"bring these nodes back; or replace without {nodes&}, whose data is lost; this cannot be undone, and bans {nodes?it|them} permanently: {1}")
	OthersWait  = define("OthersWait", "check which nodes do not see each other UP[: {1}]")
	OtherIsUp   = define("OtherIsUp", "the other node is UP")
	OthersAreUp = define("OthersAreUp",
		"each of the {others} other nodes is UP in every fresh status report")
	QuorumAlive = define("QuorumAlive", "{up} of {total} members are running")
	DataSafe    = define("DataSafe",
		"all its data has running replicas on other nodes, and a quorum (keyspaces: {keyspaces})")
	DataLost = define("DataLost",
		"it has the only replica of data of {keyspaces}, which is lost with its volume")
	DataNoLiveCopy         = define("DataNoLiveCopy", "no running node has another replica of data of {keyspaces}")
	DataNoCopyInDatacenter = define("DataNoCopyInDatacenter",
		"no other node of its datacenter {datacenter} has a replica of data of {keyspaces}")
	DataNoQuorum = define("DataNoQuorum",
		"without it, too few replicas of {keyspaces} are running for a quorum")
	DataNotKnown     = ofReplacement("DataNotKnown", "unknown: {why}", DataLookYourself)
	DataLookYourself = define("DataLookYourself",
		"run DESCRIBE KEYSPACES in cqlsh. Only if no keyspace has replication factor 1, in total or in this node's datacenter, continue with --skip-check={check}")
	DataBringBack = define("DataBringBack",
		"bring the node back with its volume if at all possible; to continue without that data, or with a backup: --skip-check={check}")
	DataRaise = define("DataRaise",
		"queries at QUORUM or LOCAL_QUORUM may fail, and data that was written only there is lost: bring more nodes back first, or continue with --skip-check={check} and run a repair afterwards")
	QuorumLed  = define("QuorumLed", "{node} is the topology coordinator, so group 0 has a majority")
	QuorumLost = ofReplacement("QuorumLost",
		"only {up} of {total} members are running, which is not a majority", QuorumBringBack)
	QuorumBringBack = define("QuorumBringBack",
		"ScyllaDB cannot change its topology without a majority; bring nodes back first. Only if that is impossible, see the Manual Recovery Procedure in ScyllaDB's manual (Handling Node Failures), which cannot be undone")
	MemberIsReplaced     = define("MemberIsReplaced", "{member} is being replaced[ ({original})]")
	MemberDecommissioned = define("MemberDecommissioned", "{node} is being decommissioned (label {label}=false)")
	TargetDecommissioned = define("TargetDecommissioned",
		"{member} itself is being decommissioned (label {label}={value})")
	OperationUnnamed = define("OperationUnnamed",
		`an unnamed operation is in progress[ ("{operation}")]: ScyllaDB does not report its node`)
	OperationOpen = define("OperationOpen", `ScyllaDB is running "{operation}" of {node}`)
	NodeIsInState = define("NodeIsInState", "{node} is {state}")
	OperationWait = define("OperationWait",
		"check its progress: ScyllaDB changes its topology one step at a time[: {1}]")
	OperationsNotAsked = ofReplacement("OperationsNotAsked",
		"no node could be queried for open topology operations", OperationsLookYourself)
	OperationsLookYourself = define("OperationsLookYourself",
		"check nodetool status and nodetool tasks list node_ops, then continue with --skip-check={check}")
	NoOperation = define("NoOperation", "no replacement, join, decommission or removenode in progress")

	// The objects and processes that create the new node.
	VersionByHostID  = define("VersionByHostID", "ScyllaDB {version} replaces by host ID")
	VersionByAddress = define("VersionByAddress",
		"ScyllaDB {version} cannot replace by host ID; the deprecated procedure by address is used")
	VersionUnknown = ofReplacement("VersionUnknown", "the ScyllaDB version is unknown[: {why}]",
		VersionUseFullTag)
	VersionUseFullTag = define("VersionUseFullTag",
		"use an image tag with a full version (5.2.0, 2025.2.1); or continue by host ID with --skip-check={check}")
	VersionDoesNotFit = ofReplacement("VersionDoesNotFit",
		"the replacement was started by {procedure}, which does not match ScyllaDB {version}", VersionGoBack)
	VersionGoBack = define("VersionGoBack", "use the image with which it was started")
	VersionCannot = ofReplacement("VersionCannot", "ScyllaDB {version} cannot replace by {procedure}",
		VersionUpgrade)
	VersionUpgrade = define("VersionUpgrade",
		"upgrade to ScyllaDB 5.2, 2023.1 or later, which replaces by host ID")
	AddressUnknown = ofReplacement("AddressUnknown",
		"the address of {member} is unknown: its Service has no ClusterIP and its Pod no IP", AddressRemoveNode)
	AddressRemoveNode = define("AddressRemoveNode",
		"the dead node cannot be named by its address; run removenode with its host ID, then let the member join as a new node")
	AddressNotOwn = ofReplacement("AddressNotOwn",
		"label {label}={address} is not the address of {member}, which is {own}", ReplaceEmptyLabel,
		WithdrawRequest)
	AddressIPv6 = ofReplacement("AddressIPv6", "address {address} is IPv6, which a label cannot contain",
		AddressUpgrade)
	AddressUpgrade   = define("AddressUpgrade", "upgrade to ScyllaDB 5.2 or later, which replaces by host ID")
	AddressOfAnother = ofReplacement("AddressOfAnother", "address {address} now belongs to {node}",
		AddressRemoveNode)
	AddressOwn      = define("AddressOwn", "{member} had address {address}, which no other member has")
	PlaceUnlabelled = ofReplacement("PlaceUnlabelled", "Service {member} lacks label {labels}",
		PlaceLabelService)
	PlaceLabelService = define("PlaceLabelService",
		"label the Service: the replacement must be in the same datacenter and rack")
	PlaceDiffers = ofReplacement("PlaceDiffers", "the dead node was in {node}, its member is in {member}",
		PlaceCorrect)
	PlaceOfStatefulSetDiffers = ofReplacement("PlaceOfStatefulSetDiffers",
		"StatefulSet {set} is in {place}, its member in {member}", PlaceCorrect)
	PlaceAway = define("PlaceAway",
		"every node of datacenter {datacenter}[, rack {rack}] is DOWN: a common cause is likely")
	PlaceCorrect = define("PlaceCorrect",
		"correct the labels: the replacement must be in the same datacenter and rack")
	PlaceSame           = define("PlaceSame", "the new node is in {place} like the old one")
	StatefulSetMustMake = define("StatefulSetMustMake",
		"check that a StatefulSet recreates this Pod and its volume: nothing is deleted before that")
	StatefulSetNotFound = ofReplacement("StatefulSetNotFound", "the StatefulSet of {member} was not found",
		StatefulSetMustMake)
	StatefulSetDeleting = ofReplacement("StatefulSetDeleting", "StatefulSet {set} is being deleted",
		StatefulSetMustMake)
	OrdinalUnknown = ofReplacement("OrdinalUnknown", "the ordinal of {member} is unknown",
		StatefulSetMustMake)
	StatefulSetScaledAway = ofReplacement("StatefulSetScaledAway",
		"StatefulSet {set} has {replicas} {replicas?replica|replicas}, so it will not recreate {member}",
		StatefulSetScaleBack)
	StatefulSetScaleBack = define("StatefulSetScaleBack",
		"no Pod is created for it, so nothing replaces it. If the StatefulSet was scaled down by mistake, scale it back to {wanted}, and the node returns with its volume")
	StatefulSetNoVolume = ofReplacement("StatefulSetNoVolume",
		"StatefulSet {set} has no volume claim template: there is no volume to replace", StatefulSetNeedsVolume)
	StatefulSetNeedsVolume = define("StatefulSetNeedsVolume", "a replacement requires an empty data directory")
	StatefulSetMakes       = define("StatefulSetMakes", "StatefulSet {set} recreates Pod {member} and its volume")
	PodOfAnother           = ofReplacement("PodOfAnother", "Pod {pod} is not controlled by StatefulSet {set}",
		PodOfAnotherDelete)
	PodForeign = ofReplacement("PodForeign", "Pod {pod} is not controlled by the member's StatefulSet",
		PodOfAnotherDelete)
	PodOfAnotherDelete = define("PodOfAnotherDelete", "delete that Pod, or recreate it with another name")
	SeedsWanted        = define("SeedsWanted",
		"check that another member is UP and has a Pod with an address, or specify the addresses of nodes elsewhere with --seeds")
	LauncherThere = define("LauncherThere",
		"StatefulSet {set} starts ScyllaDB through the launcher, which adds the replace argument")
	LauncherMissing = ofReplacement("LauncherMissing",
		"StatefulSet {set} starts ScyllaDB without `scylla-agent launch`: the new node would join as a plain new one",
		LauncherAdd)
	LauncherAdd = define("LauncherAdd",
		"start ScyllaDB through `scylla-agent launch --`, as `kubectl scylla inject` does, roll that out, then replace")
	LauncherUnknown = ofReplacement("LauncherUnknown", "how the new Pod gets the replace argument is unknown",
		LauncherSee)
	LauncherSee = define("LauncherSee",
		"check that its ScyllaDB container starts through `scylla-agent launch`")

	// Steps.
	ReplaceNone     = define("ReplaceNone", "no replacement is requested")
	ReplaceEnded    = define("ReplaceEnded", "{outcome} (request {request})")
	Replaced        = define("Replaced", "node {hostID} was replaced by {newHostID}[ in {took}]")
	ReplacedUnknown = define("ReplacedUnknown",
		"a node of an unknown host ID was replaced by {newHostID}[ in {took}]")
	ReplaceCancelled = define("ReplaceCancelled",
		"the request to replace {hostID} was cancelled before anything was deleted")
	ReplaceClaimKept = define("ReplaceClaimKept",
		"the request is being withdrawn: PersistentVolumeClaim {claim} is kept")
	ReplaceWithdrawn = define("ReplaceWithdrawn", "the request was withdrawn before anything was deleted")
	ReplaceTooLate   = define("ReplaceTooLate",
		"label {label} was removed too late: the volume of {member} is deleted and the cluster may have banned the old node, so the replacement continues")
	ReplacePodAnew = define("ReplacePodAnew",
		"Pod {pod} was recreated before its volume is deleted: this Pod is deleted now, and the next one starts as the replacement")
	ReplaceLabelRestored = define("ReplaceLabelRestored",
		"label {label} of Service {member} was removed or changed during the replacement and is restored")
	ReplaceAdopted = define("ReplaceAdopted",
		"a replacement of address {address} was started by another controller or user and is continued")
	ReplaceByAddressDeprecated = define("ReplaceByAddressDeprecated",
		"ScyllaDB {version} replaces {member} by its address {address} (replace_address_first_boot), which is deprecated; upgrade to 5.2, 2023.1 or later to replace by host ID")
	ReplaceRecord = define("ReplaceRecord",
		"all checks passed; host ID {hostID} is recorded before anything is deleted")
	ReplaceStarted = define("ReplaceStarted",
		"replacement of node {hostID}[ (address {address})] has started (request {request})[; checks skipped by request: {skipped}]")
	ReplaceResumed = define("ReplaceResumed",
		"replacement of node {hostID}[ (address {address})] is resumed as attempt {attempt} (request {request})[; checks skipped by request: {skipped}]")
	CheckHolds    = define("CheckHolds", "{check}: {evidence}")
	ReplaceHeld   = define("ReplaceHeld", "nothing is deleted: {checks;}")
	ReplaceHeldUp = define("ReplaceHeldUp", "replacement of {member} is blocked: {checks;}")
	ClaimDeletes  = define("ClaimDeletes", "PersistentVolumeClaim {claim} (UID {uid}) is being deleted")
	ClaimDeleted  = define("ClaimDeleted",
		"PersistentVolumeClaim {claim} (UID {uid}) of dead node {hostID} deleted (request {request})")
	ClaimCannotBeDeleted = define("ClaimCannotBeDeleted", "PersistentVolumeClaim {claim} cannot be deleted")
	ClaimGoing           = define("ClaimGoing", "PersistentVolumeClaim {claim} is still being deleted")
	ClaimUnbound         = define("ClaimUnbound", "PersistentVolumeClaim {claim} is not bound to a volume")
	PodEvicts            = define("PodEvicts", "Pod {pod} (UID {uid}) is being evicted")
	PodEvicted           = define("PodEvicted",
		"Pod {pod} (UID {uid}) of dead node {hostID} evicted (request {request})")
	PodCannotBeEvicted = define("PodCannotBeEvicted", "Pod {pod} cannot be evicted")
	PodCannotEnd       = ofReplacement("PodCannotEnd", "Kubernetes node {node} is not responding, so nothing confirms that Pod {pod} has terminated; Kubernetes deletes the Pod when that Node object no longer exists", MendKubernetesNode, SeeWhyPodStays)
	PodEnds            = define("PodEnds", "wait until it has terminated")
	PodOverdue         = ofReplacement("PodOverdue", "Pod {pod} should have terminated by {by}, but its Kubernetes node {node} has not stopped it", MendKubernetesNode, SeeWhyPodStays)
	PodNodeGone        = ofReplacement("PodNodeGone", "Kubernetes node {node} does not exist any more, so nothing confirms that Pod {pod} has terminated; Kubernetes deletes such a Pod after a minute", MendKubernetesNode, SeeWhyPodStays)
	SeeWhyPodStays     = define("SeeWhyPodStays", "check why the Pod is still there ({1}) and whether its Kubernetes node is Ready ({2}); delete neither")
	OldNodeCameBack    = ofReplacement("OldNodeCameBack",
		"the old node restarted after its PVC was deleted; Pod {pod} is not stopped: {evidence}", OldNodeCameBackCure,
		OldNodeCameBackKeep, OldNodeCameBackLook)
	OldNodeCameBackCure = define("OldNodeCameBackCure",
		"its data exists only as long as this Pod: decommission the node, which cannot be undone ({1}), or stop ScyllaDB so that the replacement continues")
	OldNodeCameBackLook = define("OldNodeCameBackLook",
		"do not stop it; check whether its PVC exists: {1}. If it does not, the data exists only as long as this Pod")
	OldNodeCameBackKeep = define("OldNodeCameBackKeep",
		"its PVC is deleted with this Pod. To save the data, first retain volume {volume}: {1}; then decommission the node, which cannot be undone: {2}. Or stop ScyllaDB: the replacement continues, and the data stays in that volume until you delete it")
	ReplaceRefusedYet   = define("ReplaceRefusedYet", "{what} yet: {says}")
	ReplaceRefusedUntil = define("ReplaceRefusedUntil",
		"refused {times} {times?time|times} since {since}, next try at {next}; nothing else is deleted until then")
	ReplaceRefusedDue = define("ReplaceRefusedDue",
		"refused {times} {times?time|times} since {since}, retried now; nothing else is deleted until then")
	PodCannotBeEvictedUID   = define("PodCannotBeEvictedUID", "Pod {pod} (UID {uid}) cannot be evicted")
	ClaimCannotBeDeletedUID = define("ClaimCannotBeDeletedUID",
		"PersistentVolumeClaim {claim} (UID {uid}) cannot be deleted")
	ReplaceRefusedEvent = define("ReplaceRefusedEvent",
		"{what} yet: {says}; the replacement is waiting, nothing else is deleted")
	CureBudget = define("CureBudget",
		"bring back the missing Pods of the PodDisruptionBudget ({1}), or set its unhealthyPodEvictionPolicy: AlwaysAllow, so that it does not protect a Pod that is not Ready")
	WaitNewPod  = define("WaitNewPod", "waiting for the StatefulSet to create Pod {pod}")
	WaitPodGone = ofReplacement("WaitPodGone", "waiting for the old Pod {pod} to terminate", PodEnds)
	WaitStart   = define("WaitStart", "waiting for ScyllaDB on new Pod {pod} to start")
	WaitJoin    = define("WaitJoin", "waiting for new node {node} on Pod {pod} to join")
	WaitReady   = define("WaitReady", "node {node} has joined; waiting for Pod {pod} to be Ready")
	WaitOldGone = define("WaitOldGone",
		"node {node} has joined; waiting for old host ID {original} to leave the cluster")
	OldStillListed        = define("OldStillListed", "{by&} still {by?lists|list} {original}")
	PodWaits              = define("PodWaits", "Pod {pod} is waiting for {waits}")
	BarrierCannotBeJudged = define("BarrierCannotBeJudged", "{why}")
	LauncherRetries       = define("LauncherRetries",
		"its launcher got no response from the API server (exit code {code}) and retries")
	BarrierWaits         = define("BarrierWaits", "its barrier is waiting: {blocker}")
	NewcomerHasNoHostID  = define("NewcomerHasNoHostID", "the new node has no host ID yet")
	NewcomerOwnsNoTokens = define("NewcomerOwnsNoTokens", "{node} owns no tokens yet[ (mode {mode})]")
	NewcomerNotUp        = define("NewcomerNotUp", "{by&} {by?does|do} not see {node} UP")
	NewcomerNotNormal    = define("NewcomerNotNormal", "{by&} {by?does|do} not list {node} as a normal member")
	NodesWithoutFreshRow = define("NodesWithoutFreshRow", "{nodes&} {nodes?has|have} no fresh status report")
	NobodySaysWhomItSees = define("NobodySaysWhomItSees",
		"no other node has a status report that shows which nodes it sees")
	NewcomerJoined = define("NewcomerJoined",
		"node {node} on Pod {pod} joined in place of {original} (request {request})")

	// Failures and their remedies.
	ReplaceFailed = define("ReplaceFailed", "replacement of {original} by Pod {pod} failed: {text}. {cure}")
	SameHostID    = ofReplacement("SameHostID",
		"new Pod {pod} runs with the old host ID {hostID}: it uses the old node's data", SeeMountedVolume)
	SeeMountedVolume = define("SeeMountedVolume",
		"check which volume the Pod has mounted: a node cannot replace itself")
	ReplaceOperationFailed = ofReplacement("ReplaceOperationFailed",
		"ScyllaDB's {operation} operation of new node {node} failed[: {error}]", CureResume, CureResumeAfter,
		CureLook)
	ReplaceLabelsMalformed = ofReplacement("ReplaceLabelsMalformed",
		"ScyllaDB on Pod {pod} was not started: the replace labels of its Service are invalid[ ({detail})]",
		CorrectLabels)
	CorrectLabels       = define("CorrectLabels", "correct labels {labels&} of Service {namespace}/{member}")
	ExitedBeforeJoining = ofReplacement("ExitedBeforeJoining",
		"ScyllaDB on Pod {pod} exited with code {code} before it joined ({restarts} restarts)[ ({detail})]; check the first error in its log", CureLook)
	NewcomerIsMember = define("NewcomerIsMember",
		"new node {node} is already a normal member, and {original} is removed: it was restarted before it had recorded that it joined, and cannot start again. {says}")
	CureNewcomerIsMember = define("CureNewcomerIsMember",
		"do not delete its volume: it belongs to a member. Replace the new node's own host ID, which cannot be undone: {1}")
	CureResume = define("CureResume",
		"resume the replacement; this deletes the new volume, which cannot be reused, and cannot be undone: {1}")
	CureIgnoreOther = define("CureIgnoreOther",
		"continue without {nodes&}, whose data is lost, which cannot be undone: {1}; then also replace {nodes?it|them}")
	CureVolumeLost = define("CureVolumeLost",
		"start again with an empty volume, because {why}; this cannot be undone: {1}")
	CureStartAsNew = define("CureStartAsNew",
		"neither the replaced node nor the new one is a member any more: nothing is left to replace. Remove the request from {member} and let it join as a new node on an empty volume, which cannot be undone: {1} && {2} && {3} && {4} && {5}")
	CureNewSeeds = define("CureNewSeeds",
		"new node {node} reaches none of the addresses that it was started with as seeds, and has not begun discovery. Recreate its Pod to refresh them: {1}")
	CureUnheard = define("CureUnheard",
		"no node knows new node {node}: delete nothing yet. Once its log has \"found no local group 0. Discovering\", recreating its Pod does not help: the outdated seed addresses are stored on its volume. Check its progress, and whether a node lists it: {1}; {2}")
	CureNewcomerLost = define("CureNewcomerLost",
		"replace the new node's own host ID, because it is already a member, and {why}; this cannot be undone: {1}")
	CureRecordNewcomer = define("CureRecordNewcomer",
		"{node} has replaced the original, and its Pod and volume were deleted before its host ID was recorded. Record it on the Service of {member}, then replace it, which cannot be undone: {1}; then: {2}")
	CureUnrecordedLost = define("CureUnrecordedLost",
		"{node} has replaced the original, and {why}. Its host ID was not recorded: record it on the Service of {member}, then replace it, which cannot be undone: {1}; then: {2}")
	CureResumeAfter = define("CureResumeAfter",
		"the new volume cannot be reused. Bring {nodes&} back first, then resume, which cannot be undone: {1}[; or continue without {nodes&}, whose data is lost: {2}]")
	CureBringBack = define("CureBringBack",
		"bring {nodes&} back: nothing was stored, and ScyllaDB retries automatically")
	CureBringBackOrResume = define("CureBringBackOrResume",
		"bring {nodes&} back: nothing was stored, and ScyllaDB retries automatically; or continue without {nodes?it|them}, whose data is lost, which cannot be undone: {1}")
	CureNothingStored = define("CureNothingStored",
		"fix the reason in ScyllaDB's message, or withdraw the replacement: nothing was stored, the new volume is not lost and no node is banned. Show details: {1}")
	CureLook = define("CureLook",
		"delete nothing yet: it is unknown whether the new volume is lost. Check whether a node lists its host ID, and check its log: {1}[; {2}]")
	CureTakeBack = define("CureTakeBack",
		"host ID {hostID} is not a member: it is wrong, or was removed meanwhile ({status} lists the members). It cannot be replaced: withdraw the replacement: {*}; the member then joins as a new node")
	CureAliveTarget = define("CureAliveTarget",
		"node {node} is running and cannot be replaced. If it is to be given up, stop it: ScyllaDB retries automatically. If it was named by mistake: withdraw the replacement: {*}; the member then joins as a new node")
	CureOperatorByHand = define("CureOperatorByHand",
		"the Scylla Operator has no second attempt: follow its documentation (recover from a failed replacement)")

	// Orphaned host IDs.
	GhostListed    = define("GhostListed", "{by&} {by?lists|list} {hostID}, which belongs to no member here")
	GhostElsewhere = define("GhostElsewhere",
		"{why}; check it there, and let the controller here read its datacenter: {1}")
	GhostNotDead = define("GhostNotDead",
		"a majority of the status reports must have shown it DOWN for {least}, and none UP: wait, and check where it ran")
	GhostNoNodeToRemoveFrom = define("GhostNoNodeToRemoveFrom",
		"no node from which it could be removed is seen UP by all")
	GhostOthersMayReturn = define("GhostOthersMayReturn",
		"{nodes&} {nodes?is|are} also DOWN and may recover: not DOWN for a majority for {least} yet, or nothing shows that the data is lost, and removenode would ban {nodes?it|them} permanently; wait, or start {nodes?it|them}")

	// Phases.
	PhaseVerify       = define("PhaseVerify", "verifying and recording the host ID")
	PhaseDeleteVolume = define("PhaseDeleteVolume", "deleting the dead node's volume")
	PhaseEvictPod     = define("PhaseEvictPod", "evicting the dead node's Pod")
	PhaseNewPod       = define("PhaseNewPod", "waiting for the new Pod")
	PhaseJoin         = define("PhaseJoin", "the new node is joining")
	PhaseReady        = define("PhaseReady", "waiting for the new Pod to be Ready")
	PhaseOldNodeGone  = define("PhaseOldNodeGone", "waiting for the old host ID to leave")
	PhaseDone         = define("PhaseDone", "removing the labels")
	PhaseFailed       = define("PhaseFailed", "the attempt failed")
	PhaseCancelled    = define("PhaseCancelled", "the request was withdrawn")
	PhaseNone         = define("PhaseNone", "no replacement is open")
)
