// SPDX-License-Identifier: Apache-2.0

package words

// sentences is the catalogue: one English sentence for each code.
var sentences = map[Code]string{}

// define declares a code and its sentence, and returns the code. The variable has the name of the
// code; the placeholders of the sentence are the parameters of its messages, see Printer.Text.
func define(c Code, sentence string) Code {
	if _, twice := sentences[c]; twice {
		panic("two sentences for code " + c)
	}
	sentences[c] = sentence
	return c
}

// ofChecks and ofReplacements are the possible steps of each statement, for the generated pages.
var ofChecks, ofReplacements = map[Code][]Code{}, map[Code][]Code{}

// ofCheck is define for a result of package preflight.
func ofCheck(c Code, sentence string, steps ...Code) Code {
	ofChecks[c] = steps
	return define(c, sentence)
}

// ofReplacement is define for the reason why a replacement is refused, is blocked or has failed.
func ofReplacement(c Code, sentence string, steps ...Code) Code {
	ofReplacements[c] = steps
	return define(c, sentence)
}

// Blockers, groups of blockers, and their causes.
var (
	SplitCluster = define("SplitCluster", "two clusters have the same name[: {why}]")
	NodeDown     = define("NodeDown",
		"{observer} sees {observed} DOWN[ for {age}][: {why}][ (as do {more} more)][; {coordinator} is the topology coordinator]")
	NodeUnknown = define("NodeUnknown",
		"{observer} reports {observed} as UNKNOWN[ for {age}][: {why}][ (as do {more} more)][; {coordinator} is the topology coordinator]")
	NodeNotSeen = define("NodeNotSeen",
		"{observer} does not list {observed}[ (for {age})][: {why}][ (nor do {more} more)][; {coordinator} is the topology coordinator]")
	RowMissing            = define("RowMissing", "no status report from {observed}[ for {age}][: {why}]")
	RowError              = define("RowError", "no usable status report from {observed}[ for {age}][: {why}]")
	RowStale              = define("RowStale", "no current status report from {observed}[ for {age}][: {why}]")
	HostIDMissing         = define("HostIDMissing", "the host ID of {observed} is unknown[ (for {age})][: {why}]")
	DatacenterNotVerified = define("DatacenterNotVerified",
		"datacenter {datacenter} is unverified: its nodes are not reachable from here")
	DecommissionLabel = define("DecommissionLabel",
		"{name} has the decommissioned label but is still a member[: {why}]")
	ScyllaDBHalted    = define("ScyllaDBHalted", "ScyllaDB of {name} does not recover automatically[: {why}]")
	ReportMissing     = define("ReportMissing", "no status report exists, but the cluster is not new[: {why}]")
	ForceValueInvalid = define("ForceValueInvalid",
		`annotation scylla-operator.scylladb.com/force-proceed-to-bootstrap on the Service of {name} is {q:why}; only "true" skips the barrier`)
	ReplaceRequestInvalid = define("ReplaceRequestInvalid", "the node that {name} replaces is unknown[: {why}]")
	LabelMissing          = define("LabelMissing", "the position of {name} in the cluster is unknown[: {why}]")
	DataDirectoryUnusable = define("DataDirectoryUnusable", "the data directory of {name} cannot be reused[: {why}]")
	ControllerSilent      = define("ControllerSilent", "no response from the controller[ for {age}][: {why}]")

	ReportOutdated    = define("ReportOutdated", "the status report differs from the Pod annotations[: {why}]")
	OperatorDegraded  = define("OperatorDegraded", "the Scylla Operator is degraded[ (for {age})][: {why}]")
	ForeignVolume     = define("ForeignVolume", "the volume of {name} belongs to another node[: {why}]")
	ClaimDeleting     = define("ClaimDeleting", "the volume of {name} is deleted when its Pod stops[: {why}]")
	VolumeUnreadable  = define("VolumeUnreadable", "the volume of {name} cannot be verified[: {why}]")
	FirstNodePending  = define("FirstNodePending", "the cluster is new, and its first node has not joined[: {why}]")
	RolloutInProgress = define("RolloutInProgress", "rollout in progress[ for {age}][: {why}]")
	PodsNotReady      = define("PodsNotReady", "not all joined members are Ready[: {why}]")
	ReporterSilent    = define("ReporterSilent", "no response from the reporter of {name}[ for {age}][: {why}]")
	VersionTooOld     = define("VersionTooOld",
		"the ScyllaDB version of {name} is older than the cluster's[: {why}]")
	OneNewcomerAtATime = define("OneNewcomerAtATime",
		"one new node at a time, because topology is not managed by Raft[: {why}]")
	Stabilising    = define("Stabilising", "all nodes are UP, but not for long enough[: {why}]")
	NoOtherSeed    = define("NoOtherSeed", "{name} has no seed other than itself[: {why}]")
	PermitPending  = define("PermitPending", "{name} is waiting for its permit[: {why}]")
	PermitForOther = define("PermitForOther", "the permit of {name} does not match[: {why}]")
	ViewHeld       = define("ViewHeld", "the controller blocks new nodes[: {why}]")
	Isolated       = define("Isolated",
		"this Pod receives no updates from the controller, and no other member's reporter responds[ (for {age})][: {why}]")
	SeedsOfAnotherCluster = define("SeedsOfAnotherCluster", "{name} would join a different cluster[: {why}]")
	PodToBeReplaced       = define("PodToBeReplaced", "{observed} is about to be replaced: this Pod is evicted first")
	ReplacedNodeUp        = define("ReplacedNodeUp", "{observed} is UP, but is to be replaced or ignored[: {why}]")

	OlderThanOldest = define("OlderThanOldest",
		"{version}, but {node} runs {oldest}, the oldest version in the cluster")
	NewcomerOnItsWay    = define("NewcomerOnItsWay", "{node} is joining")
	NewcomerBefore      = define("NewcomerBefore", "{node} is also waiting, and joins first")
	MustStayUp          = define("MustStayUp", "they must stay UP for {left} more")
	VolumeOfOtherHostID = define("VolumeOfOtherHostID",
		"it contains host ID {volume}[ of {owner}][, but its Service records {recorded}]")
	VolumeOfUnknownHostID = define("VolumeOfUnknownHostID",
		"it contains ScyllaDB files, but neither they nor its Service show a host ID: it may be a copy of another member's volume")
	OperatorScaledDown   = define("OperatorScaledDown", "the Scylla Operator is scaled to 0 (Deployment {deployment})")
	OperatorNotAvailable = define("OperatorNotAvailable",
		"no Pod of the Scylla Operator is available (Deployment {deployment}: 0 of {replicas})")
	OperatorLeaseSilent = define("OperatorLeaseSilent",
		"the Scylla Operator[ ({holder})] has not renewed Lease {lease} for more than twice the lease duration")
	OperatorSaysDegraded = define("OperatorSaysDegraded", "condition {condition}[: {words}]")
	SaysDecommissioned   = define("SaysDecommissioned",
		"Service {service} has label scylla/decommissioned=true, but {rows} current status {rows?report lists|reports list} its host ID as a normal member")
	ClaimIsBeingDeleted = define("ClaimIsBeingDeleted",
		"PersistentVolumeClaim {claim} is Terminating, and only Pod {pod} still uses it")
	ReportBehindPods = define("ReportBehindPods",
		"the status {members?report|reports} of {members&} {members?differs from its Pod's annotation|differ from their Pods' annotations}")
	ReportFrozenByOneRow = define("ReportFrozenByOneRow",
		"the annotation of Pod {members&} is unreadable, so the Scylla Operator does not update the report")

	SeedIsMemberOfCluster = define("SeedIsMemberOfCluster",
		"its seed {seed} is {member}[ of cluster {cluster}]")
	SeedIsElsewhere = define("SeedIsElsewhere", "its seed {seed} is not a member of its cluster")
	PodIsOfCluster  = define("PodIsOfCluster",
		"label scylla/cluster is {q:pod} on its Pod, but {q:service} on its Service")
	StatefulSetHasMembersOfCluster = define("StatefulSetHasMembersOfCluster",
		"{member} of the same StatefulSet {statefulSet} belongs to cluster {cluster}")
	ReportLost = define("ReportLost",
		"the Pod annotations contain status reports, but the Scylla Operator has no report; its own barriers open without one")
	NoReportOf = define("NoReportOf",
		"none from datacenter {datacenters}, where members have joined")
	ReplacedAddressIsNotOwn = define("ReplacedAddressIsNotOwn",
		"label scylla/replace={address} on its Service is not its own address {own}")
	ReplacedAddressUnknown = define("ReplacedAddressUnknown",
		"label scylla/replace={address} on its Service cannot be verified as its own address: its Service has no ClusterIP, and none is recorded")
	ReplacingLabelIsNone = define("ReplacingLabelIsNone",
		"label internal.scylla-operator.scylladb.com/replacing-node-hostid={value} on its Service is not a host ID")
	ReplacingLabelIsEmpty = define("ReplacingLabelIsEmpty",
		"label internal.scylla-operator.scylladb.com/replacing-node-hostid on its Service is empty")

	DataIsGone = define("DataIsGone",
		"the volume of {member} is empty, and no other member has ever joined: the data of the cluster is lost")
	VolumeNotLooked   = define("VolumeNotLooked", "{why}")
	SeenUpBy          = define("SeenUpBy", "seen UP by {observers}")
	FirstNodeIs       = define("FirstNodeIs", "{first} starts first")
	HostIDRemoved     = define("HostIDRemoved", "host ID {hostID} was removed from the cluster: no node lists it")
	HostIDNotListed   = define("HostIDNotListed", "no node lists host ID {hostID} of its volume")
	PodsOfOldRevision = define("PodsOfOldRevision",
		"StatefulSet {statefulSet} has {updated} of {replicas} Pods updated")
	PodsOfOldTemplate = define("PodsOfOldTemplate",
		"kubectl scylla inject restarts the Pods of StatefulSet {statefulSet}: {updated} of {replicas} Pods updated")
	FewerPodsReady = define("FewerPodsReady",
		"StatefulSet {statefulSet} has {ready} Ready Pods for {joined} joined {joined?member|members}[; not Ready: {pods&}][; readiness gate {gate} is not True][: {why}]")

	TwoClustersOfOneName = define("TwoClustersOfOneName",
		"the members listed by {parts} have no host ID in common, and all these nodes are in operation[; their topology coordinators are {coordinators}]")
	OtherGroupThanRecorded = define("OtherGroupThanRecorded",
		"{nodes&} {nodes?has|have} group 0 ID {group} on disk, but the cluster is recorded with group 0 ID {recorded}")
	TellGroupApart = define("TellGroupApart",
		"check which cluster the node belongs to ({1}); only if group 0 was recreated to recover a lost majority, clear the recorded ID, which cannot be undone: {2}")
	TwoGroupsOfOneName = define("TwoGroupsOfOneName",
		"{parts} have different group 0 IDs on disk, {groups}, and all these nodes are in operation[; their topology coordinators are {coordinators}]")
	TopologyCoordinator = define("TopologyCoordinator",
		"the topology coordinator is {node}[ in {named} of {rows} status reports]")
	TopologyCoordinatorNotAgreed = define("TopologyCoordinatorNotAgreed",
		"the {rows} status reports disagree on the topology coordinator")
	OtherDatacenterUnverified = define("OtherDatacenterUnverified",
		"another datacenter exists, but its nodes are not reachable from here[: {why}]")
	NodeSeesItselfDown = define("NodeSeesItselfDown",
		"{observer} sees itself DOWN[ for {age}][: {why}][; {coordinator} is the topology coordinator]")
	NodeWithoutHostID = define("NodeWithoutHostID",
		"{observer} lists a node without a host ID[: {why}][; {coordinator} is the topology coordinator]")
	NodeDownForMany = define("NodeDownForMany",
		"{observed} is seen DOWN[ for {age}] by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	NodeUnknownForMany = define("NodeUnknownForMany",
		"{observed} is reported as UNKNOWN[ for {age}] by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	NodeNotSeenForMany = define("NodeNotSeenForMany",
		"{observed} is not listed[ for {age}] by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	WithoutHostIDForMany = define("WithoutHostIDForMany",
		"a node without a host ID is listed by {observers}[ and {more} more][; {coordinator} is the topology coordinator]")
	SaidSeveralTimes = define("SaidSeveralTimes", "{fact} ({times} times[, for {age}])")

	Decommissioned = define("Decommissioned",
		"its data directory belongs to a decommissioned node, and ScyllaDB does not start on it")
	HostIDBanned = define("HostIDBanned",
		"the cluster has banned the host ID in its data directory ({evidence})")
	ServiceLabelMissing   = define("ServiceLabelMissing", "label {label} is missing or empty on its Service")
	ServiceWithoutOrdinal = define("ServiceWithoutOrdinal",
		"the name of its Service does not end in a dash and an ordinal")
	JoinedAndNotReported = define("JoinedAndNotReported",
		"its Service records that it has joined, but no report lists it")
	JoinedAndReportedAsNewcomer = define("JoinedAndReportedAsNewcomer",
		"its Service records that it has joined, but the report still shows it as {state}")
	ClusterNotNew         = define("ClusterNotNew", "{facts}[, and {more} more]")
	ControllerNamed       = define("ControllerNamed", "{controller}")
	AndOneMoreReason      = define("AndOneMoreReason", "{reason}, and one more reason")
	AndMoreReasons        = define("AndMoreReasons", "{reason}, and {more} more reasons")
	AndOfMoreNodes        = define("AndOfMoreNodes", "{fact}; the same applies to {more} more nodes (-o wide)")
	MemberItselfHasJoined = define("MemberItselfHasJoined", "{member} itself has joined before")
	MemberHasJoined       = define("MemberHasJoined", "{member} has joined")
	MemberHasHostID       = define("MemberHasHostID", "{member} has a host ID")
	ClusterWasInitialized = define("ClusterWasInitialized", "status.initialized of its report is true")
	OtherDatacenterExists = define("OtherDatacenterExists", "another datacenter exists")

	QueryLoadedNoSSTable = define("QueryLoadedNoSSTable",
		"the query could not load an SSTable of system.local (exit code 1), as on an empty data directory")
	QueryFailed   = define("QueryFailed", "the query failed during execution (exit code 2)")
	QueryNotKnown = define("QueryNotKnown",
		"this ScyllaDB has no sstable query: it is older than 2025.2 (exit code 100)")
	QueryExitCode             = define("QueryExitCode", "the query ended with exit code {exitCode}")
	QueryPrintedNothing       = define("QueryPrintedNothing", "the query printed nothing")
	QueryPrintedSomethingElse = define("QueryPrintedSomethingElse", "unexpected output of the query: {error}")
	QueryFoundNoRow           = define("QueryFoundNoRow", "system.local has no row")
	QueryFoundNull            = define("QueryFoundNull", "bootstrapped is null in system.local")
	QueryFound                = define("QueryFound", "bootstrapped is {state} in system.local")
	DataDirectoryOfPod        = define("DataDirectoryOfPod", "only the Pod can read its data directory")

	SeedsFound     = define("SeedsFound", "the seeds are {seeds}")
	SeedsFirstNode = define("SeedsFirstNode",
		"no node of the cluster has joined, and {names} bootstraps it: its seed is itself, {seeds}")
	SeedsFirstNodePending = define("SeedsFirstNodePending",
		"no node of the cluster has joined yet, and {names} must be the first")
	SeedsNotUp = define("SeedsNotUp",
		"no other member that can be a seed is UP (joined: {names}); with itself as the only seed, this node would bootstrap a second cluster")
	SeedsOwnVolume = define("SeedsOwnVolume",
		"{names} is the only member that has joined, and restarts on its own volume")
	SeedsElsewhere = define("SeedsElsewhere",
		"the cluster has nodes elsewhere ({names}), and no member here has joined: specify their addresses with --seeds")
	SeedsOnlySelfJoined = define("SeedsOnlySelfJoined",
		"only {names} has joined before: on a new volume it would bootstrap a second cluster. If you give up its data, remove annotations internal.scylla-operator.scylladb.com/node-joined-scylladb-cluster and internal.scylla-operator.scylladb.com/host-id from its Service")
)

// Next steps: each begins with what the user does.
var (
	TellClustersApart = define("TellClustersApart",
		"do not start, replace, remove or delete anything here until you know which of them has your data[; compare their group 0 IDs: {1}][; {2}]. A node of the other cluster can join only with an empty volume, and loses its data")
	TellClustersApartFirst = define("TellClustersApartFirst", "first check which cluster each node belongs to")
	RestartReporter        = define("RestartReporter",
		"if this persists, restart the reporter of {node}: every node has a host ID, so its report is wrong")
	StartMember = define("StartMember",
		"check that {node} starts; its host ID is recorded on its Service once ScyllaDB has one")
	ReplacementOpen = define("ReplacementOpen",
		"wait[ up to {limit}] until its replacement has finished; check its progress: {1}")
	ReplacementRequested = define("ReplacementRequested",
		"wait[ up to {limit}]: its replacement is requested; check its progress: {1}")
	WaitForRollback = define("WaitForRollback",
		"wait[ up to {limit}] until no node lists it: its join was interrupted, and ScyllaDB rolls it back automatically; check its log: {1}")
	ReplaceFormerNode = define("ReplaceFormerNode",
		"replace the former node of this member, which the cluster still lists; this cannot be undone: {1}")
	ReplaceLater  = define("ReplaceLater", "do not replace it yet: {why}")
	KeepOwnVolume = define("KeepOwnVolume",
		"do not replace it: nothing shows that its volume is lost; check the volume: {1}, and which nodes list it: {2}")
	WaitForGossip = define("WaitForGossip",
		"wait[ up to {limit}] until gossip has settled; if this persists, compare nodetool status on both nodes")
	WaitForMembership = define("WaitForMembership",
		"wait[ up to {limit}] until all nodes list the same members; if this persists, compare nodetool status on both nodes")
	SeeIfRemoved = define("SeeIfRemoved",
		"check node_state of host ID {hostID}: {1}; if it is left, remove the host ID from the Service, which cannot be undone: {2}; otherwise {node} is a member: check that its Pod starts. Up to 2025.2 ScyllaDB lists one of two nodes at one address")
	BringReport = define("BringReport",
		"if it runs in another datacenter, copy that datacenter's report here; check whether it is an orphaned host ID that can be removed: {1}")
	KeepDatacenterReport = define("KeepDatacenterReport",
		"check that the report of its datacenter[ {datacenter}] is updated and readable")
	RunMemberAndReporter = define("RunMemberAndReporter", "check that it and its reporter are running: {1}")
	RunMemberAndWriteRow = define("RunMemberAndWriteRow",
		"check that {node} is running and that its reporter updates the Pod's annotation")
	MendNetwork = define("MendNetwork",
		"fix the network first (routes, firewalls, NetworkPolicies; ports 7000 and 7001); do not replace any node")
	ReachCutOffNode = define("ReachCutOffNode",
		"fix the network between it and the nodes that see it DOWN; do not replace it: it sends status reports, so it is running")
	MendLink = define("MendLink",
		"fix the network between it and the nodes that see it DOWN; do not replace it: it sends status reports, and most see it UP")
	WaitForJoin           = define("WaitForJoin", "wait[ up to {limit}] until it has joined; if it stopped, check its log: {1}")
	FinishLeavingOrRemove = define("FinishLeavingOrRemove",
		"start it again so that it can finish leaving; check its log for why it stopped: {1}")
	WaitForReplacement = define("WaitForReplacement", "wait[ up to {limit}] until its replacement has joined")
	StartElsewhere     = define("StartElsewhere",
		"if it runs in another datacenter, start it there; check whether it is an orphaned host ID that can be removed: {1}")
	SeeOrphan = define("SeeOrphan",
		"no member here has this host ID, and no other datacenter is known; check whether it can be removed: {1}")
	OrphansFirst = define("OrphansFirst",
		"first check whether the host IDs that no member has can be removed: {1}; while they are DOWN, ScyllaDB cancels a replacement")
	StartInItsDatacenter = define("StartInItsDatacenter",
		"check that it is running and reachable where the Pods of datacenter {datacenter} are")
	ReplaceLost = define("ReplaceLost",
		"replace it, because {why}; this cannot be undone: {1}")
	ReadScyllaDBLog = define("ReadScyllaDBLog", "check the ScyllaDB log: {1}")
	ReachPod        = define("ReachPod", "check that its Pod is running and reachable: {1}")
	RunController   = define("RunController", "check that the controller is running: it rewrites the report")
	ReadReporterLog = define("ReadReporterLog",
		"wait[ up to {limit}] for its next status report; if the problem persists, check the reporter log: {1}")
	CheckElsewhereThenForce = define("CheckElsewhereThenForce",
		"check there manually that every node sees every node UP, then let the new node skip the barrier; its start cannot be undone: {1}")

	DiscardClaim = define("DiscardClaim",
		"delete PVC {claim}, which cannot be undone; the member then starts as a new node[: {1} && {2} && {3}]")
	DiscardClaimIfLeft = define("DiscardClaimIfLeft",
		"check node_state of host ID {hostID}: {1}; if it is left, delete PVC {claim}, which cannot be undone; the member then starts as a new node: {2} && {3} && {4}; if it is normal, let {member} start on its volume: {5}. Up to 2025.2 ScyllaDB lists one of two nodes at one address")
	DiscardClaimOf = define("DiscardClaimOf",
		"delete the PVC of {member}, which cannot be undone; the member then starts as a new node")
	MendForceValue   = define("MendForceValue", `set it to "true", after which its start cannot be undone, or remove it with --undo: {1}`)
	MendReplaceLabel = define("MendReplaceLabel",
		"set it to the host ID of the node to replace, or remove the label. Without a host ID, ScyllaDB would start as an ordinary new node")
	EmptyReplaceLabel = define("EmptyReplaceLabel",
		"set the label to the empty value; the controller determines the address. With this address, ScyllaDB would replace the node that had it. A replacement cannot be undone: {1}")
	NameOneCluster = define("NameOneCluster",
		"fix label scylla/cluster or --seeds; if it is to join nodes elsewhere, check manually that each of them sees every node UP, then let it skip the barrier; its start cannot be undone: {1}")
	LabelService = define("LabelService", "label the Service: {1}")
	NameService  = define("NameService", "name the Service after its Pod: STATEFULSET-ORDINAL")
	BeginAnew    = define("BeginAnew",
		"restore its former volume or a backup while this Pod waits; or, only if no copy is left, start with an empty cluster, which cannot be undone[: {1}]")
	RunControllerAndReporters = define("RunControllerAndReporters",
		"check that the controller and the reporters of all joined members are running; collect the details: {1}")
	CheckOtherDatacenterThenForce = define("CheckOtherDatacenterThenForce",
		"check manually that every node of the other datacenter sees every node UP, then let the new node skip the barrier; its start cannot be undone: {1}")
	StartController = define("StartController",
		"restart the controller; until then the reports may be out of date")
	WaitForFirstNode = define("WaitForFirstNode", "wait[ up to {limit}] until {first} has joined; check its Pod: {1}")
	SeeNotReady      = define("SeeNotReady", "check why it is not Ready: {1}")
	WaitForRollout   = define("WaitForRollout", "wait[ up to {limit}] until the rollout has finished: {1}")
	WaitForInject    = define("WaitForInject",
		"wait[ up to {limit}] until kubectl scylla inject has finished; if it was interrupted, run the same command again; check the revision of each Pod: {1}")
	GiveNewerImage = define("GiveNewerImage",
		"use an image of {oldest} or later: ScyllaDB rejects and bans a node that lacks features that the cluster uses")
	WaitForNewcomer    = define("WaitForNewcomer", "wait[ up to {limit}] until {node} has joined: {1}")
	WaitWhileAllStayUp = define("WaitWhileAllStayUp", "wait[ up to {limit}]: no action is needed while all nodes stay UP")
	ReachReporter      = define("ReachReporter",
		"check that its reporter is running and that the new node's Pod can connect to it (NetworkPolicies): {1}")
	SeeOtherSeed = define("SeeOtherSeed",
		"check that another member has joined and is UP, or specify nodes elsewhere with --seeds; list the members: {1}")
	StartOperator = define("StartOperator",
		"check that the Scylla Operator is running, because only it updates its report: {1}")
	ReadDegraded       = define("ReadDegraded", "check its conditions: {1}")
	ClearPodAnnotation = define("ClearPodAnnotation", "remove the annotation; the reporter rewrites it: {1}")
	MendForeignVolume  = define("MendForeignVolume",
		"bind the correct volume to PVC {claim}; if its own data is lost, replace the node that the Service records")
	GiveOwnVolume = define("GiveOwnVolume",
		"give the member an empty volume of its own, or bind the correct one to PVC {claim}. Two nodes with the same host ID must never run. Check where its volume came from: {1}")
	TellVolume = define("TellVolume",
		"check where the volume of PVC {claim} came from: {1}. If it is a copy or a restored backup, give {member} an empty volume. Only if it was empty at the first start of {member}, which was interrupted, let it start, which cannot be undone: {2}")
	MountVolume = define("MountVolume",
		"mount the ScyllaDB volume read-only in the barrier's container, so that the container's user can read it")
	WaitForEviction   = define("WaitForEviction", "wait[ up to {limit}]: the next Pod starts as the replacement: {1}")
	ReplacedNodeLives = define("ReplacedNodeLives",
		"do not replace a running node; check which nodes are replaced and ignored: {1}")
	RenewReport = define("RenewReport",
		"check that the controller is running: the report has not been updated since this member joined")
)

// Summaries of verdicts, whose subject is the member, and notes.
var (
	StartsBootstrapped = define("StartsBootstrapped",
		"may start: its data directory shows that it has bootstrapped")
	StartsAsMemberKnownToPeer = define("StartsAsMemberKnownToPeer",
		"may start: this is a restart, {peer} lists its host ID {hostID} as a member")
	StartsAsOnlyMember = define("StartsAsOnlyMember",
		"may start: this is a restart of the only member that has joined")
	StartsAsHiddenMember = define("StartsAsHiddenMember",
		"may start: its Service records that {hostID} has joined, and ScyllaDB up to 2025.2 can omit a member from "+
			"the status reports")
	StartsAsMemberByLastRow = define("StartsAsMemberByLastRow",
		"may start: this is a restart, no node reports now, and the last status report of {peer} lists its host ID {hostID} as a member")
	StartsWithWholeCluster = define("StartsWithWholeCluster",
		"may start: this is a restart, no node reports now, and its volume contains the host ID {hostID} that its Service records")
	StartsAsMemberIfVolumeHolds = define("StartsAsMemberIfVolumeHolds",
		"may start as a restart if its volume is its own, which only its Pod can check; {peer} lists its host ID {hostID} as member")
	StartsForced             = define("StartsForced", "may start: it is forced, and nothing blocks it")
	StartsForcedOverBlockers = define("StartsForcedOverBlockers",
		"may start: it is forced, which overrides: {reasons}")
	StartsUnprotected = define("StartsUnprotected",
		"may start: feature gate BootstrapSynchronisation is off[ at controller {controller}]; no node was checked")
	StartsReplacingHostID = define("StartsReplacingHostID",
		"may start: it replaces the node with host ID {hostID}")
	StartsReplacingAddress = define("StartsReplacingAddress",
		"may start: it replaces the node with address {address}")
	StartsAsFirstNode = define("StartsAsFirstNode",
		"may start as the first node: no member of this cluster has ever joined")
	StartsAsOneNodeIsUp        = define("StartsAsOneNodeIsUp", "may start: the only node sees itself UP")
	StartsAsNewIfVolumeIsEmpty = define("StartsAsNewIfVolumeIsEmpty",
		"may start as a new node if its volume is empty, which only its Pod can check. No node lists its host ID {hostID} any more, and ScyllaDB rejects a volume that contains it")
	StartsAsAllNodesAreUp = define("StartsAsAllNodesAreUp",
		"may start: all {nodes} nodes are seen UP by all nodes that report")
	MustWait    = define("MustWait", "must wait: {reasons}")
	CannotStart = define("CannotStart", "cannot start, no matter how long it waits: {why}")

	BannedBefore = define("BannedBefore",
		"ScyllaDB has rejected this host ID before ({evidence})[; if it does so again, {cure}]")
	DataDirectoryUnread = define("DataDirectoryUnread",
		"the data directory could not be read ({why}), so the status reports were used instead")
	RecordedHostIDRemoved = define("RecordedHostIDRemoved",
		"no node lists host ID {hostID} of {member} any more: it was removed, and barriers ignore it; to remove it from the Service, which cannot be undone: {1}")
	RecordedHostIDNotListed = define("RecordedHostIDNotListed",
		"no node lists host ID {hostID} of {member} any more, and barriers ignore it. Check its node_state: {1}; if it is left, remove the host ID from the Service, which cannot be undone: {2}")
	DatacenterTakenOnTrust = define("DatacenterTakenOnTrust",
		"datacenter {datacenter} is unverified: its nodes are not reachable from here")
	HostIDTakenOnTrust = define("HostIDTakenOnTrust",
		"1 host ID without a status report was accepted because of --single-report-allow-non-reporting-host-ids")
	HostIDsTakenOnTrust = define("HostIDsTakenOnTrust",
		"{count} host IDs without a status report were accepted because of --single-report-allow-non-reporting-host-ids")
	RackIsNew = define("RackIsNew",
		"rack {rack} is new in datacenter {datacenter}: ScyllaDB rolls back a join that makes a keyspace RF-rack-invalid (valid: as many racks as the replication factor, or one)")
	JoinNotRecorded = define("JoinNotRecorded",
		"the nodes list {hostID} of {member} as a member that is DOWN, but no join is recorded on its Service, perhaps because its Kubernetes node failed first. See when its volume was created: {1}. ScyllaDB's log of its first start on it has \"Setting local host id to\". Only if that is this host ID, and no later join was started on it, let {member} start, which cannot be undone: {2}")
	MayWaitForItself = define("MayWaitForItself",
		"the volume of {member} contains files of a node, but no host ID is recorded for it. The node may be {hostID}, which is DOWN and belongs to no member here. See when the volume was created: {1}. ScyllaDB's log of its first start on it has \"Setting local host id to\". Only if that is {hostID}, let it start, which cannot be undone: {2}")
	CoordinatorDecides = define("CoordinatorDecides",
		"{coordinator}; only its gossip state decides whether a node can join")
	JudgedByOverride = define("JudgedByOverride",
		"policy reports: annotation {annotation} names ScyllaDBStatusReport {report}, which has no permits for this cluster")
	NodeInState = define("NodeInState", "{node} is {state} in every status report that lists it")
)

// Why an orphaned host ID cannot be removed, of internal/cluster.
var (
	StrangerUnjudged     = define("StrangerUnjudged", "the Services, which record host IDs, were not read")
	StrangerClaimsUnread = define("StrangerClaimsUnread",
		"the PersistentVolumeClaims were not read, and one of them may have its data")
	StrangerNotDown = define("StrangerNotDown",
		"it is not DOWN[: {by&} {by?sees|see} it UP, so it is running somewhere]")
	StrangerRecorded  = define("StrangerRecorded", "Service {service} records it: it is a node of that cluster")
	StrangerElsewhere = define("StrangerElsewhere",
		"it is in [datacenter {datacenter}][, rack {rack}, which has no member here][another datacenter, unknown here ({sign})]")
	StrangerMayBeOurs = define("StrangerMayBeOurs",
		"it may be the node of {members&}, whose host ID is unknown. ScyllaDB's log of its first start has \"Setting local host id to\"")
	StrangerNoPlace = define("StrangerNoPlace",
		"its datacenter and rack are unknown: no majority of the status reports has them (try --source=live)")
	StrangerLeftVolume = define("StrangerLeftVolume",
		"[PersistentVolume {volume}, kept for PVC {claim},][PVC {claim}] may have its data, and no member has it")
	StrangerShared = define("StrangerShared",
		"datacenter {datacenter} has nodes that are not members here: {nodes&}")
	StrangerOthers = define("StrangerOthers",
		"{nodes&} {nodes?is|are} also listed, and {nodes?belongs|belong} to no member here")
	StrangerOld = define("StrangerOld",
		"the saved objects are more than an hour old, or their age is unknown; check the running cluster")

	ReadNow = define("ReadNow",
		"check the running cluster, because the saved objects are more than an hour old, or their age is unknown: {1}")

	JoinOperationFailed = define("JoinOperationFailed", "its {operation} of host ID {hostID} failed[: {error}]")

	SignDatacenterNotVerified = define("SignDatacenterNotVerified", "the members of {datacenters&} are not reachable")
	SignReportCopiedIn        = define("SignReportCopiedIn",
		"report {report} was copied in from datacenter {datacenter}")
	SignRowOfOtherDatacenter = define("SignRowOfOtherDatacenter",
		"{node} sends status reports, and its datacenter[ {datacenter}] is not here")
	SignPartOfScyllaDBCluster = define("SignPartOfScyllaDBCluster",
		"it is part of ScyllaDBCluster {name}, which may have other datacenters")
	SignExternalSeeds  = define("SignExternalSeeds", "its Pods have seeds that are not members here: {seeds&}")
	SignLenientBarrier = define("SignLenientBarrier",
		"its barriers run with {flag}, which is for external seeds")
	SignPodsNotRead = define("SignPodsNotRead",
		"neither StatefulSets nor Pods were read, so this is not excluded")
)

// Blockers, causes and steps of the barrier.
var (
	MemberServiceMissing = define("MemberServiceMissing", "{why}")
	APIUnreachable       = define("APIUnreachable", "{why}")
	ReadingIncomplete    = define("ReadingIncomplete", "{why}")

	ServiceDoesNotExist = define("ServiceDoesNotExist", "Service {namespace}/{service} does not exist")
	NoLease             = define("NoLease",
		"Lease {lease} does not exist, so no controller has been leader there (check --lease-namespace)")
	LeaseForbidden = define("LeaseForbidden",
		"no permission to get Lease {lease}, so the controller's state is unknown: bind Role kubectl-scylla-lease-reader")
	LeaseUnread        = define("LeaseUnread", "Lease {lease} cannot be read: {error}")
	LeaseWithoutHolder = define("LeaseWithoutHolder", "no controller is leader: Lease {lease} has no holder")
	LeaseNotRenewed    = define("LeaseNotRenewed",
		"controller {controller} has not renewed Lease {lease} for more than twice the lease duration")
	ReportsNotKept = define("ReportsNotKept",
		"controller {controller} (Lease {lease}) does not update the reports of this cluster: it cannot write them (check its log), or does not watch this namespace")
	LeaseNotSeenRenewed = define("LeaseNotSeenRenewed",
		"controller {controller} has not renewed Lease {lease} since this barrier started")

	ReporterWithoutAddress = define("ReporterWithoutAddress", "its Pod has no address")
	ReporterWithoutTLS     = define("ReporterWithoutTLS",
		"its status report has no TLS port, so nothing confirms it: set --heartbeat-bind-address")
	ReporterNotAsked = define("ReporterNotAsked",
		"it was not queried, because too many other reporters did not respond")
	ReporterTimedOut    = define("ReporterTimedOut", "no response from {address} within {limit}")
	ReporterHasOtherRow = define("ReporterHasOtherRow", "its status report differs from its Pod's annotation")
	BarrierFound        = define("BarrierFound", "{why}")

	ReachMembers = define("ReachMembers",
		"check that this Pod can reach the API server and the other members' reporters (port 8083); check NetworkPolicies and the Kubernetes node's network")

	GrantMemberRights = define("GrantMemberRights",
		"bind ClusterRole kubectl-scylla-member to the Pod's ServiceAccount")
	NameCluster = define("NameCluster",
		"label the Service with the cluster's name, or set --selector-label-value of the barrier")
	SeeControllerMakesServices = define("SeeControllerMakesServices",
		"check that the controller, which creates a Service for each member, is running, and that the StatefulSet has label app.kubernetes.io/managed-by=kubectl-scylla")
	MakeNamedReport = define("MakeNamedReport",
		"check that the program that writes ScyllaDBStatusReport {report} is running, or remove the annotation that names it: {1}")
	BarrierRetries = define("BarrierRetries",
		"wait[ up to {limit}]: the barrier retries, and never opens without reading the reports")

	QueryLeftNoAnswer    = define("QueryLeftNoAnswer", "no result of the query: {error}")
	VolumeNotRead        = define("VolumeNotRead", "cannot read {dir}: {error}")
	VolumeNotNamed       = define("VolumeNotNamed", "no data directory is configured for the barrier")
	ScyllaDBWithoutQuery = define("ScyllaDBWithoutQuery",
		"ScyllaDB {version} is older than 2025.2.0 and has no sstable query: the data directory cannot be queried")
	ScyllaDBQueryFailsOnNull = define("ScyllaDBQueryFailsOnNull",
		"{detail}; ScyllaDB {version} fails for a node that has started but not joined (fixed in 2025.2.3)")
	OperationFailed = define("OperationFailed", "{operation} of host ID {hostID} failed[: {error}]")
)
