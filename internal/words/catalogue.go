// SPDX-License-Identifier: Apache-2.0

package words

// sentences is the catalogue: one English sentence for each code.
var sentences = map[Code]string{}

// define declares a code with its sentence. The variable has the name of the code; the placeholders of the sentence are the parameters of its messages.
func define(c Code, sentence string) Code {
	if _, twice := sentences[c]; twice {
		panic("two sentences for code " + c)
	}
	sentences[c] = sentence
	return c
}

// ofChecks and ofReplacements are the steps that a package names beside its statements, for the documents. A statement may have more than one.
var ofChecks, ofReplacements = map[Code][]Code{}, map[Code][]Code{}

// ofCheck is define for what package preflight finds.
func ofCheck(c Code, sentence string, steps ...Code) Code {
	ofChecks[c] = steps
	return define(c, sentence)
}

// ofReplacement is define for why a replacement is refused, is held up or has failed.
func ofReplacement(c Code, sentence string, steps ...Code) Code {
	ofReplacements[c] = steps
	return define(c, sentence)
}

// facts are the sentences of blockers and groups of blockers.
var (
	SplitCluster          = define("SplitCluster", "there are two clusters of one name[: {why}]")
	NodeDown              = define("NodeDown", "{observer} sees {observed} DOWN[: {why}][ (and so do {more} more nodes)][; {coordinator} is the topology coordinator]")
	NodeUnknown           = define("NodeUnknown", "{observer} cannot say whether {observed} is UP[: {why}][ (and so do {more} more nodes)][; {coordinator} is the topology coordinator]")
	NodeNotSeen           = define("NodeNotSeen", "{observer} does not list {observed}[: {why}][ (and so do {more} more nodes)][; {coordinator} is the topology coordinator]")
	RowMissing            = define("RowMissing", "no status report from {observed}[: {why}]")
	RowError              = define("RowError", "the report of {observed} cannot be used[: {why}]")
	RowStale              = define("RowStale", "the report of {observed} is old[: {why}]")
	HostIDMissing         = define("HostIDMissing", "the host ID of {observed} is not known yet[: {why}]")
	DatacenterNotVerified = define("DatacenterNotVerified", "datacenter {datacenter} was not verified: its nodes cannot be asked from here")
	DecommissionLabel     = define("DecommissionLabel", "{name} is labelled as decommissioned and is a member[: {why}]")
	ScyllaDBHalted        = define("ScyllaDBHalted", "ScyllaDB of {name} does not come up by itself[: {why}]")
	ReportMissing         = define("ReportMissing", "there is no status report, and the cluster is not new[: {why}]")
	ForceValueInvalid     = define("ForceValueInvalid", `annotation scylla-operator.scylladb.com/force-proceed-to-bootstrap on the Service of {name} is {q:why}; only "true" opens`)
	ReplaceRequestInvalid = define("ReplaceRequestInvalid", "which node {name} replaces is not known[: {why}]")
	LabelMissing          = define("LabelMissing", "the place of {name} is not known[: {why}]")
	DataDirectoryUnusable = define("DataDirectoryUnusable", "the data directory of {name} cannot be used again[: {why}]")
	ControllerSilent      = define("ControllerSilent", "the controller that keeps the reports is silent[: {why}]")

	ReportOutdated        = define("ReportOutdated", "the status report differs from the Pod annotations[: {why}]")
	OperatorDegraded      = define("OperatorDegraded", "the Scylla Operator cannot do its work[: {why}]")
	ForeignVolume         = define("ForeignVolume", "the volume of {name} belongs to another node[: {why}]")
	ClaimDeleting         = define("ClaimDeleting", "the volume of {name} goes when its Pod ends[: {why}]")
	VolumeUnreadable      = define("VolumeUnreadable", "the volume of {name} cannot be looked into[: {why}]")
	FirstNodePending      = define("FirstNodePending", "the cluster is new, and another member is its first node[: {why}]")
	RolloutInProgress     = define("RolloutInProgress", "a rollout is in progress[: {why}]")
	PodsNotReady          = define("PodsNotReady", "not every member that has joined is ready[: {why}]")
	ReporterSilent        = define("ReporterSilent", "the reporter of {name} does not answer[: {why}]")
	VersionTooOld         = define("VersionTooOld", "the version of {name} is older than that of the cluster[: {why}]")
	OneNewcomerAtATime    = define("OneNewcomerAtATime", "one newcomer at a time, as topology is not managed by Raft[: {why}]")
	Stabilising           = define("Stabilising", "everything is UP, and not for long enough yet[: {why}]")
	NoOtherSeed           = define("NoOtherSeed", "{name} would have nobody but itself as seed[: {why}]")
	PermitPending         = define("PermitPending", "{name} has no permit yet[: {why}]")
	PermitForOther        = define("PermitForOther", "the permit of {name} is not for this start[: {why}]")
	ViewHeld              = define("ViewHeld", "the controller's view holds newcomers[: {why}]")
	Isolated              = define("Isolated", "this Pod has seen no view of the controller advance for too long, and no other member's reporter answers it[: {why}]")
	SeedsOfAnotherCluster = define("SeedsOfAnotherCluster", "{name} would not found its cluster but join another one[: {why}]")
	PodToBeReplaced       = define("PodToBeReplaced", "{observed} is about to be replaced: this Pod goes first")
	ReplacedNodeUp        = define("ReplacedNodeUp", "{observed} is to be replaced or ignored, and is UP[: {why}]")

	OlderThanOldest       = define("OlderThanOldest", "{version}, while {node} runs {oldest}, the oldest there is")
	NewcomerOnItsWay      = define("NewcomerOnItsWay", "{node} is on its way in")
	NewcomerBefore        = define("NewcomerBefore", "{node} waits too, and goes first")
	MustStayUp            = define("MustStayUp", "it must hold for {window} without a break, {left} left")
	VolumeOfOtherHostID   = define("VolumeOfOtherHostID", "it holds host ID {volume}[, which is that of {owner}][, while its Service records {recorded}]")
	VolumeOfUnknownHostID = define("VolumeOfUnknownHostID", "ScyllaDB's files are in it, and neither they nor its Service show a host ID: they may be a copy of another member's volume")
	OperatorScaledDown    = define("OperatorScaledDown", "the Scylla Operator is scaled to 0 (Deployment {deployment})")
	OperatorNotAvailable  = define("OperatorNotAvailable", "no Pod of the Scylla Operator is available (Deployment {deployment} wants {replicas})")
	OperatorLeaseSilent   = define("OperatorLeaseSilent", "the Scylla Operator[ ({holder})] has not renewed its Lease {lease} for more than twice its duration")
	OperatorSaysDegraded  = define("OperatorSaysDegraded", "condition {condition}[: {words}]")
	SaysDecommissioned    = define("SaysDecommissioned", "Service {service} has label scylla/decommissioned=true, and {rows} fresh status {rows?report lists|reports list} its host ID as a normal member")
	ClaimIsBeingDeleted   = define("ClaimIsBeingDeleted", "PersistentVolumeClaim {claim} is being deleted, and Pod {pod} alone keeps it")
	ReportBehindPods      = define("ReportBehindPods", "the row of {members&} is another than the annotation of its Pod")
	ReportFrozenByOneRow  = define("ReportFrozenByOneRow", "the annotation of Pod {members&} cannot be read, and the Scylla Operator then leaves the whole report as it was")

	SeedIsMemberOfCluster          = define("SeedIsMemberOfCluster", "its seed {seed} is {member}[ of cluster {cluster}]")
	SeedIsElsewhere                = define("SeedIsElsewhere", "its seed {seed} is no member of its cluster")
	PodIsOfCluster                 = define("PodIsOfCluster", "label scylla/cluster of its Pod is {q:pod}, and of its Service {q:service}")
	StatefulSetHasMembersOfCluster = define("StatefulSetHasMembersOfCluster", "{member} of the same StatefulSet {statefulSet} is of cluster {cluster}")
	ReportLost                     = define("ReportLost", "the Pods carry rows, and the Scylla Operator has no report of them; its own barriers open without one")
	NoReportOf                     = define("NoReportOf", "none of datacenter {datacenters}, where members have joined")
	ReplacedAddressIsNotOwn        = define("ReplacedAddressIsNotOwn", "label scylla/replace={address} on its Service is not its own address, which is {own}")
	ReplacedAddressUnknown         = define("ReplacedAddressUnknown", "label scylla/replace={address} on its Service cannot be told to be its own address: its Service has no ClusterIP, and none is recorded")
	ReplacingLabelIsNone           = define("ReplacingLabelIsNone", "label internal.scylla-operator.scylladb.com/replacing-node-hostid={value} on its Service is no host ID")
	ReplacingLabelIsEmpty          = define("ReplacingLabelIsEmpty", "label internal.scylla-operator.scylladb.com/replacing-node-hostid on its Service is empty")

	DataIsGone        = define("DataIsGone", "the volume of {member} is empty, and no other member has ever joined: the data of the cluster is gone")
	VolumeNotLooked   = define("VolumeNotLooked", "{why}")
	SeenUpBy          = define("SeenUpBy", "by the rows of {observers}")
	FirstNodeIs       = define("FirstNodeIs", "{first} starts first")
	HostIDRemoved     = define("HostIDRemoved", "host ID {hostID} was removed from the cluster: no node lists it any more")
	PodsOfOldRevision = define("PodsOfOldRevision", "StatefulSet {statefulSet} has {updated} of {replicas} Pods of its newest revision")
	FewerPodsReady    = define("FewerPodsReady", "StatefulSet {statefulSet} has {ready} ready Pods for {joined} members that have joined[; not ready: {pods&}][; readiness gate {gate} is not True]")

	TwoClustersOfOneName         = define("TwoClustersOfOneName", "the members that {parts} list have no host ID in common, and all of these nodes serve[; their topology coordinators are {coordinators}]")
	OtherGroupThanRecorded       = define("OtherGroupThanRecorded", "{nodes&} {nodes?is|are} of group 0 {group} by {nodes?its|their} own {nodes?disk|disks}, and the cluster was recorded with group 0 {recorded}")
	TellGroupApart               = define("TellGroupApart", "see which cluster the node is of ({1}); only if group 0 was made anew by the recovery of a lost majority, forget the recorded one: {2}")
	TwoGroupsOfOneName           = define("TwoGroupsOfOneName", "{parts} are of different group 0s by their own disks, {groups}, and all of these nodes serve[; their topology coordinators are {coordinators}]")
	TopologyCoordinator          = define("TopologyCoordinator", "the topology coordinator is {node}[, by {named} of {rows} rows]")
	TopologyCoordinatorNotAgreed = define("TopologyCoordinatorNotAgreed", "the {rows} rows do not agree on the topology coordinator")
	OtherDatacenterUnverified    = define("OtherDatacenterUnverified", "another datacenter exists, and its nodes cannot be asked from here[: {why}]")
	NodeSeesItselfDown           = define("NodeSeesItselfDown", "{observer} sees itself DOWN[: {why}][; {coordinator} is the topology coordinator]")
	NodeWithoutHostID            = define("NodeWithoutHostID", "{observer} lists a node without a host ID[: {why}][; {coordinator} is the topology coordinator]")
	NodeDownForMany              = define("NodeDownForMany", "{observed} is seen DOWN by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	NodeUnknownForMany           = define("NodeUnknownForMany", "whether {observed} is UP cannot be said by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	NodeNotSeenForMany           = define("NodeNotSeenForMany", "{observed} is not listed by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	WithoutHostIDForMany         = define("WithoutHostIDForMany", "a node without a host ID is listed by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	SaidSeveralTimes             = define("SaidSeveralTimes", "{fact} ({times} times)")

	Decommissioned              = define("Decommissioned", "its data directory belongs to a node that was decommissioned, and ScyllaDB will not start on it")
	HostIDBanned                = define("HostIDBanned", "the cluster has banned the host ID in its data directory ({evidence})")
	ServiceLabelMissing         = define("ServiceLabelMissing", "label {label} is missing or empty on its Service")
	ServiceWithoutOrdinal       = define("ServiceWithoutOrdinal", "the name of its Service does not end in a dash and an ordinal")
	JoinedAndNotReported        = define("JoinedAndNotReported", "its Service says that it has joined, and no report mentions it")
	JoinedAndReportedAsNewcomer = define("JoinedAndReportedAsNewcomer", "its Service says that it has joined, and the report has it as {state} still")
	ClusterNotNew               = define("ClusterNotNew", "{facts}[, and {more} more]")
	ControllerNamed             = define("ControllerNamed", "{controller}")
	AndOneMoreReason            = define("AndOneMoreReason", "{reason}, and one more reason")
	AndMoreReasons              = define("AndMoreReasons", "{reason}, and {more} more reasons")
	MemberItselfHasJoined       = define("MemberItselfHasJoined", "{member} itself has joined before")
	MemberHasJoined             = define("MemberHasJoined", "{member} has joined")
	MemberHasHostID             = define("MemberHasHostID", "{member} has a host ID")
	ClusterWasInitialized       = define("ClusterWasInitialized", "it has had its first node before, as status.initialized of its report says")
	OtherDatacenterExists       = define("OtherDatacenterExists", "another datacenter exists")

	QueryLoadedNoSSTable      = define("QueryLoadedNoSSTable", "the query could not load an SSTable of system.local (exit code 1), as on an empty data directory")
	QueryFailed               = define("QueryFailed", "the query failed while it ran (exit code 2)")
	QueryNotKnown             = define("QueryNotKnown", "this ScyllaDB has no sstable query, it is older than 2025.2 (exit code 100)")
	QueryExitCode             = define("QueryExitCode", "the query ended with exit code {exitCode}")
	QueryPrintedNothing       = define("QueryPrintedNothing", "the query printed nothing")
	QueryPrintedSomethingElse = define("QueryPrintedSomethingElse", "the query printed something that is not its result: {error}")
	QueryFoundNoRow           = define("QueryFoundNoRow", "system.local has no row")
	QueryFoundNull            = define("QueryFoundNull", "system.local says nothing of a bootstrap")
	QueryFound                = define("QueryFound", "system.local says {state}")
	DataDirectoryOfPod        = define("DataDirectoryOfPod", "only the Pod can read its data directory")

	SeedsFound            = define("SeedsFound", "the seeds are {seeds}")
	SeedsFirstNode        = define("SeedsFirstNode", "no node of the cluster has joined, and {names} founds it: the seed is itself, {seeds}")
	SeedsFirstNodePending = define("SeedsFirstNodePending", "no node of the cluster has joined yet, and {names} has to be the first")
	SeedsNotUp            = define("SeedsNotUp", "no other member is UP that could be a seed (joined: {names}); with itself as only seed this node would found a second cluster")
	SeedsOwnVolume        = define("SeedsOwnVolume", "{names} is the only member that has joined, and comes back on its own volume")
	SeedsElsewhere        = define("SeedsElsewhere", "the cluster has nodes elsewhere ({names}), and no member here has joined: give their addresses with --seeds")
	SeedsOnlySelfJoined   = define("SeedsOnlySelfJoined", "{names} has joined before, and no other member has: on a new volume it would found a second cluster. If its data are given up, remove the annotations internal.scylla-operator.scylladb.com/node-joined-scylladb-cluster and internal.scylla-operator.scylladb.com/host-id from its Service")
)

// steps are the next steps for an administrator.
var (
	TellClustersApart = define("TellClustersApart", "start, replace, remove and delete nothing here before it is known which of them has your data[; the ID of group 0 tells them apart: {1}][; {2}]. A node of "+
		"the other one can join only with an empty volume, and loses what it has")
	TellClustersApartFirst  = define("TellClustersApartFirst", "first see which cluster each node is of")
	RestartReporter         = define("RestartReporter", "restart the reporter of {node} if this lasts; a node always has a host ID")
	StartMember             = define("StartMember", "see that {node} starts; its host ID is recorded on its Service once ScyllaDB has one")
	ReplacementOpen         = define("ReplacementOpen", "its replacement is under way; how far it is: {1}")
	ReplacementRequested    = define("ReplacementRequested", "its replacement is asked for; how far it is: {1}")
	WaitForRollback         = define("WaitForRollback", "the join of this very member was cut short: ScyllaDB takes it back by itself, so wait until no node lists it; what became of it, its log says: {1}")
	ReplaceFormerNode       = define("ReplaceFormerNode", "the cluster still counts the former node of this very member: replace it: {1}")
	WaitForGossip           = define("WaitForGossip", "gossip has not settled; if this lasts, compare nodetool status on both nodes")
	WaitForMembership       = define("WaitForMembership", "membership has not spread yet; if this lasts, compare nodetool status on both nodes")
	BringReport             = define("BringReport", "if it runs in another datacenter, bring that one's report here; whether it is a ghost and may be removed: {1}")
	KeepDatacenterReport    = define("KeepDatacenterReport", "see that the report of its datacenter[ {datacenter}] is kept and can be read")
	RunMemberAndReporter    = define("RunMemberAndReporter", "see that it and its reporter run: {1}")
	RunMemberAndWriteRow    = define("RunMemberAndWriteRow", "see that {node} runs and that its reporter writes the Pod's annotation")
	MendNetwork             = define("MendNetwork", "mend the network between the parts first: routes, firewalls and network policies, ports 7000 and 7001; replace no node")
	ReachCutOffNode         = define("ReachCutOffNode", "it has a row of its own, so it lives and is cut off: mend the network between it and those that see it DOWN; do not replace it")
	MendLink                = define("MendLink", "most nodes see it UP, and it has a row of its own: mend the network to those that do not; do not replace it")
	WaitForJoin             = define("WaitForJoin", "wait until it has joined; if it stopped, its log says why: {1}")
	FinishLeavingOrRemove   = define("FinishLeavingOrRemove", "start it again so that it can finish leaving; its log says why: {1}")
	WaitForReplacement      = define("WaitForReplacement", "wait until its replacement has joined")
	StartElsewhere          = define("StartElsewhere", "if it runs in another datacenter, start it there; whether it is a ghost and may be removed: {1}")
	StartInItsDatacenter    = define("StartInItsDatacenter", "see that it runs and is reached, where the Pods of datacenter {datacenter} are")
	ReadLogOrReplace        = define("ReadLogOrReplace", "its log says why: {1}; if it is lost: {2}")
	RunOrReplace            = define("RunOrReplace", "see that it runs and is reached; if it is lost, replace it: {1}")
	ReadScyllaDBLog         = define("ReadScyllaDBLog", "look at that ScyllaDB, its log says why: {1}")
	ReachPod                = define("ReachPod", "see that its Pod runs and can be reached: {1}")
	RunController           = define("RunController", "see that the controller runs: it writes the report anew")
	ReadReporterLog         = define("ReadReporterLog", "the row heals with its next report; if not, the reporter's log says why: {1}")
	CheckElsewhereThenForce = define("CheckElsewhereThenForce", "check there by hand that every node sees every node UP, then let the newcomer through: {1}")

	DiscardClaim                  = define("DiscardClaim", "delete PVC {claim}, and the member starts again as a new node[: {1} && {2}]")
	DiscardClaimOf                = define("DiscardClaimOf", "delete PVC of {member}, and the member starts again as a new node")
	MendForceValue                = define("MendForceValue", `set it to "true", or take it away with --undo: {1}`)
	MendReplaceLabel              = define("MendReplaceLabel", "give it the host ID of the node to replace, or remove the label: without one ScyllaDB would start as a plain new node")
	EmptyReplaceLabel             = define("EmptyReplaceLabel", "leave the address out, the controller finds it; ScyllaDB would replace whoever has had that one: {1}")
	NameOneCluster                = define("NameOneCluster", "correct label scylla/cluster or --seeds; if it is to join nodes elsewhere, see by hand that each of them sees every node UP, then: {1}")
	LabelService                  = define("LabelService", "label the Service: {1}")
	NameService                   = define("NameService", "a member Service is called as its Pod: STATEFULSET-ORDINAL")
	BeginAnew                     = define("BeginAnew", "decide: bring its former volume or a backup back, while this Pod waits; or, if no copy is left, begin with an empty cluster[: {1}]")
	RunControllerAndReporters     = define("RunControllerAndReporters", "see that the controller runs and that the reporters of the members that have joined are up; what there is: {1}")
	CheckOtherDatacenterThenForce = define("CheckOtherDatacenterThenForce", "see by hand that every node of the other datacenter sees every node UP, then: {1}")
	StartController               = define("StartController", "start the controller again; until then it cannot be told whether the reports are still true")
	WaitForFirstNode              = define("WaitForFirstNode", "wait until {first} has joined; how far it is: {1}")
	SeeNotReady                   = define("SeeNotReady", "see why it is not ready: {1}")
	WaitForRollout                = define("WaitForRollout", "wait until it has ended: {1}")
	GiveNewerImage                = define("GiveNewerImage", "give it an image of {oldest} or later: ScyllaDB refuses a node that lacks what the cluster uses, and bans it")
	WaitForNewcomer               = define("WaitForNewcomer", "wait until {node} has joined: {1}")
	WaitWhileAllStayUp            = define("WaitWhileAllStayUp", "wait: nobody has to do anything while every node stays UP")
	ReachReporter                 = define("ReachReporter", "see that its reporter runs and that the newcomer's Pod may connect to it (a NetworkPolicy?): {1}")
	SeeOtherSeed                  = define("SeeOtherSeed", "see that another member has joined and is UP, or give the addresses of nodes elsewhere with --seeds; the members: {1}")
	StartOperator                 = define("StartOperator", "see that the Scylla Operator runs: nobody else keeps its report: {1}")
	ReadDegraded                  = define("ReadDegraded", "its own words are in the conditions: {1}")
	ClearPodAnnotation            = define("ClearPodAnnotation", "take the annotation away, and its reporter writes it anew: {1}")
	MendForeignVolume             = define("MendForeignVolume", "bind the right volume to claim {claim}; if its own data are lost, replace the node that the Service records")
	GiveOwnVolume                 = define("GiveOwnVolume", "two nodes with one host ID must never run: give the member an empty volume of its own, or bind the right one to claim {claim}; where its volume "+
		"came from: {1}")
	TellVolume = define("TellVolume", "check where the volume of claim {claim} came from: {1}. If it is a copy or a restored backup, give {member} an empty volume. Only if it was empty at the "+
		"first start of {member}, which was cut short: {2}")
	MountVolume       = define("MountVolume", "mount ScyllaDB's volume into the barrier's container, read-only, so that its user may read it")
	WaitForEviction   = define("WaitForEviction", "wait: the next Pod starts as the replacement: {1}")
	ReplacedNodeLives = define("ReplacedNodeLives", "a live node must not be replaced: see what is replaced and ignored: {1}")
	RenewReport       = define("RenewReport", "see that the controller runs: the report is older than the member")
)

// verdicts are summaries, of which the member is the subject, and notes.
var (
	StartsBootstrapped          = define("StartsBootstrapped", "may start: its data directory says that it has bootstrapped")
	StartsAsMemberKnownToPeer   = define("StartsAsMemberKnownToPeer", "may start: it is a restart, {peer} has its host ID {hostID} as a member")
	StartsAsOnlyMember          = define("StartsAsOnlyMember", "may start: it is a restart, it has joined before and no other member has, so there is nobody to ask")
	StartsAsMemberByLastRow     = define("StartsAsMemberByLastRow", "may start: it is a restart, no node reports and the last row of {peer} has its host ID {hostID} as a member")
	StartsWithWholeCluster      = define("StartsWithWholeCluster", "may start: it is a restart, no node reports and its volume holds the host ID {hostID} that its Service records")
	StartsAsMemberIfVolumeHolds = define("StartsAsMemberIfVolumeHolds", "may start as a restart if its volume is its own, which only its Pod can tell: {peer} has its host ID {hostID} as a member")
	StartsForced                = define("StartsForced", "may start: it is forced, and nothing was in its way")
	StartsForcedOverBlockers    = define("StartsForcedOverBlockers", "may start: it is forced, which overrules that {reasons}")
	StartsReplacingHostID       = define("StartsReplacingHostID", "may start: it replaces the node with host ID {hostID}")
	StartsReplacingAddress      = define("StartsReplacingAddress", "may start: it replaces the node with address {address}")
	StartsAsFirstNode           = define("StartsAsFirstNode", "may start as the first node: no member of this cluster has ever joined")
	StartsAsOneNodeIsUp         = define("StartsAsOneNodeIsUp", "may start: the one node there is sees itself UP")
	StartsAsNewIfVolumeIsEmpty  = define("StartsAsNewIfVolumeIsEmpty", "may start as a new node if its volume is empty, which only its Pod can tell: no node lists its host ID {hostID} any more, and ScyllaDB refuses a volume that holds it")
	StartsAsAllNodesAreUp       = define("StartsAsAllNodesAreUp", "may start: all {nodes} nodes are seen UP by every one that reports")
	MustWait                    = define("MustWait", "must wait: {reasons}")
	CannotStart                 = define("CannotStart", "cannot start, however long it waits: {why}")

	BannedBefore           = define("BannedBefore", "ScyllaDB has refused this host ID before ({evidence})[; if it does again, {cure}]")
	DataDirectoryUnread    = define("DataDirectoryUnread", "the data directory could not be read ({why}), so the cluster was asked instead")
	RecordedHostIDRemoved  = define("RecordedHostIDRemoved", "no node lists host ID {hostID} of {member} any more: it was removed, and nothing is required of it; to forget it: {1}")
	DatacenterTakenOnTrust = define("DatacenterTakenOnTrust", "datacenter {datacenter} was not verified: its nodes cannot be asked from here")
	HostIDTakenOnTrust     = define("HostIDTakenOnTrust", "1 host ID without a row of its own was accepted by --single-report-allow-non-reporting-host-ids")
	HostIDsTakenOnTrust    = define("HostIDsTakenOnTrust", "{count} host IDs without a row of their own were accepted by --single-report-allow-non-reporting-host-ids")
	RackIsNew              = define("RackIsNew", "rack {rack} is new in datacenter {datacenter}: ScyllaDB takes the join back where it would make a keyspace RF-rack-invalid "+
		"(as many racks as its replication factor, or one)")
	JoinNotRecorded = define("JoinNotRecorded", "the nodes list {hostID}, which the Service of {member} records, as a member that is DOWN, and the Service does not say that it has joined: its machine may have "+
		"failed before that was seen. If the volume of {member} is that of this node, and no later attempt was begun on it, let it start: {1}")
	MayWaitForItself = define("MayWaitForItself", "the volume of {member} holds a node's files, and no host ID of a member is recorded of it: it may be {hostID} itself, which is DOWN and which no member here has. If "+
		"the volume is the one that it had, let it start: {1}")
	CoordinatorDecides = define("CoordinatorDecides", "{coordinator}, whose own view alone decides a join")
	JudgedByOverride   = define("JudgedByOverride", "policy reports: annotation {annotation} names ScyllaDBStatusReport {report}, which has no permits for this cluster")
	NodeInState        = define("NodeInState", "{node} is {state}, as every row that mentions it says")
)

// clusterWords belong to internal/cluster, whose own tests import this package: its codes are written out here.
var (
	StrangerUnjudged  = define("StrangerUnjudged", "the Services, which record host IDs, were not read")
	StrangerNotDown   = define("StrangerNotDown", "it is not DOWN[: {by&} {by?sees|see} it UP, so that it runs somewhere]")
	StrangerRecorded  = define("StrangerRecorded", "Service {service} records it: it is a node there")
	StrangerElsewhere = define("StrangerElsewhere", "it is of [datacenter {datacenter}][, rack {rack}, which has no member here][another datacenter: not known here ({sign})]")
	StrangerMayBeOurs = define("StrangerMayBeOurs", "it may be the node of {members&}, whose host ID is not known")
	StrangerNoPlace   = define("StrangerNoPlace", "its datacenter and rack are not known: no majority of the status reports has them (--source=live may)")
	StrangerShared    = define("StrangerShared", "datacenter {datacenter} has nodes that are no members here: {nodes&}")
	StrangerOthers    = define("StrangerOthers", "{nodes&} {nodes?is|are} listed too, and nothing here explains {nodes?it|them}")
	StrangerOld       = define("StrangerOld", "the saved objects are more than an hour old, or their age is not known; read the cluster as it is now")

	ReadNow = define("ReadNow", "the saved objects are more than an hour old, or their age is not known; read the cluster as it is now: {1}")

	JoinOperationFailed = define("JoinOperationFailed", "its {operation} of host ID {hostID} failed[: {error}]")

	SignDatacenterNotVerified = define("SignDatacenterNotVerified", "the members of {datacenters&} cannot be asked")
	SignReportCopiedIn        = define("SignReportCopiedIn", "report {report} was copied in from datacenter {datacenter}")
	SignRowOfOtherDatacenter  = define("SignRowOfOtherDatacenter", "{node} has a row and is of [datacenter {datacenter}, which is] no datacenter here")
	SignPartOfScyllaDBCluster = define("SignPartOfScyllaDBCluster", "it is a part of ScyllaDBCluster {name}, which may have others")
	SignExternalSeeds         = define("SignExternalSeeds", "its Pods have seeds that are no members here: {seeds&}")
	SignLenientBarrier        = define("SignLenientBarrier", "its barriers run with {flag}, which is for external seeds")
	SignPodsNotRead           = define("SignPodsNotRead", "neither StatefulSets nor Pods were read, which would tell of one")
)

// barrierWords belong to the barrier, which imports this package: its codes are written out here.
var (
	MemberServiceMissing = define("MemberServiceMissing", "{why}")
	APIUnreachable       = define("APIUnreachable", "{why}")
	ReadingIncomplete    = define("ReadingIncomplete", "{why}")

	ServiceDoesNotExist = define("ServiceDoesNotExist", "Service {namespace}/{service} does not exist")
	NoLease             = define("NoLease", "there is no Lease {lease}, so no controller has led there (is --lease-namespace right?)")
	LeaseForbidden      = define("LeaseForbidden", "Lease {lease} may not be read, so it cannot be told whether the controller lives: bind Role kubectl-scylla-lease-reader")
	LeaseUnread         = define("LeaseUnread", "Lease {lease} cannot be read: {error}")
	LeaseWithoutHolder  = define("LeaseWithoutHolder", "no controller leads: Lease {lease} has no holder")
	LeaseNotRenewed     = define("LeaseNotRenewed", "controller {controller} has not renewed Lease {lease} for more than twice its duration")
	ReportsNotKept      = define("ReportsNotKept", "controller {controller} does not keep the reports of this cluster by Lease {lease}: it cannot write them (its log says why), or does not look after this namespace")
	LeaseNotSeenRenewed = define("LeaseNotSeenRenewed", "controller {controller} has not been seen to renew Lease {lease} yet")

	ReporterWithoutAddress = define("ReporterWithoutAddress", "its Pod has no address")
	ReporterWithoutPort    = define("ReporterWithoutPort", "its flag --health-probe-bind-address names no port, so it cannot be asked")
	ReporterWithoutTLS     = define("ReporterWithoutTLS", "its row names no TLS port, so nothing confirms the row: give it --heartbeat-bind-address")
	ReporterNotAsked       = define("ReporterNotAsked", "too many others did not answer, so it was not asked")
	ReporterTimedOut       = define("ReporterTimedOut", "no answer from {address} within {limit}")
	ReporterRefuses        = define("ReporterRefuses", "{address} answers {status}[: {words}]")
	ReporterHasOtherRow    = define("ReporterHasOtherRow", "its row is another one than the annotation's")
	ReporterUnconfirmed    = define("ReporterUnconfirmed", "no heartbeat of it confirms its row")
	BarrierFound           = define("BarrierFound", "{why}")

	DecidedByPeers = define("DecidedByPeers", "no controller leads: decided by the members' own fresh rows, without permit, hold or turn (--when-controller-silent=Peers)")
	RelaysAreFresh = define("RelaysAreFresh", "it is this Pod that does not reach the API server: {answering} other members' reporters answer, and have a fresh view of the controller, which opens nothing from them ({error})")
	RelaysAreOld   = define("RelaysAreOld", "{answering} other members' reporters answer, and have no fresh view either ({error})")
	ReachMembers   = define("ReachMembers", "see that this Pod reaches the API server, and the other members' reporters (port 8083): a NetworkPolicy or the Kubernetes node's network may be in the way")

	GrantMemberRights          = define("GrantMemberRights", "give the Pod's ServiceAccount the rights of ClusterRole kubectl-scylla-member")
	NameCluster                = define("NameCluster", "label the Service with the cluster's name, or give the barrier --selector-label-value")
	SeeControllerMakesServices = define("SeeControllerMakesServices", "the controller makes one Service for each member: see that it runs, and that the StatefulSet has label app.kubernetes.io/managed-by=kubectl-scylla")
	MakeNamedReport            = define("MakeNamedReport", "check that the program that makes ScyllaDBStatusReport {report} runs, or remove the annotation that names it: {1}")
	BarrierRetries             = define("BarrierRetries", "the barrier never opens without having read the reports, and goes on trying")

	QueryLeftNoAnswer        = define("QueryLeftNoAnswer", "no answer of the query: {error}")
	VolumeNotRead            = define("VolumeNotRead", "look into {dir}: {error}")
	VolumeNotNamed           = define("VolumeNotNamed", "the barrier was given no data directory to look into")
	ScyllaDBWithoutQuery     = define("ScyllaDBWithoutQuery", "ScyllaDB {version} is older than 2025.2.0 and has no sstable query: the data directory cannot be asked")
	ScyllaDBQueryFailsOnNull = define("ScyllaDBQueryFailsOnNull", "{detail}; ScyllaDB {version} fails on a node that has started and not joined, 2025.2.3 is mended")
	OperationFailed          = define("OperationFailed", "{operation} of host ID {hostID} failed[: {error}]")
)

// renderWords belong to internal/show, which imports this package: its codes are written out here.
var (
	BarrierRefuses        = define("BarrierRefuses", "cannot start, its barrier refuses: {message}")
	MemberWithoutService  = define("MemberWithoutService", "has no member Service yet, so its barrier does not know its place")
	NewcomerWithoutMember = define("NewcomerWithoutMember", "{detail}")
	NotJudged             = define("NotJudged", "{error}")

	ReplacementAttemptFailed = define("ReplacementAttemptFailed", "{summary}; {cure}")

	ResumeReplacement = define("ResumeReplacement", "the replacement failed: {cure}")
	ReplacementWaits  = define("ReplacementWaits", "the replacement waits: {cure}")
	RemoveGhost       = define("RemoveGhost", "no member has it; remove it: {1}")
	ExcludeThenRemove = define("ExcludeThenRemove", "no member has it; {first}; then remove it: {1}")
	GhostCannotGo     = define("GhostCannotGo", "no member here has it, and it must not be removed: {why}")
)
