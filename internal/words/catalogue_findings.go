// SPDX-License-Identifier: Apache-2.0

package words

// Findings, their evidence and their steps, of internal/diagnosis and internal/cluster.
var (
	FindingSplitCluster   = define("FindingSplitCluster", "two clusters have the same name: {why}")
	FindingPartition      = define("FindingPartition", "{parts&} do not see each other[ (for {age})]")
	FindingDatacenterDown = define("FindingDatacenterDown",
		"datacenter {datacenter} DOWN[ for {age}]: all {nodes} of its nodes[: {why}]")
	FindingRackDown = define("FindingRackDown",
		"rack {datacenter}/{rack} DOWN[ for {age}]: all {nodes} of its nodes[: {why}]")
	FindingClaimDeleting = define("FindingClaimDeleting",
		"PersistentVolumeClaim {claim} of running node {node} Terminating[ for {age}]: its data is lost when Pod {pod} stops")
	HostIDShared    = define("HostIDShared", "several members have one host ID[: {why}]")
	HostIDOfMembers = define("HostIDOfMembers", "{members&} have host ID {hostID}")
	SeeHostIDs      = define("SeeHostIDs",
		"two nodes with the same host ID must never run. Compare the host IDs of the nodes themselves, then correct the Service of the other member, or give it an empty volume of its own: {1}")
	FindingHostIDShared      = define("FindingHostIDShared", "several members have one host ID: {why}")
	FindingDecommissionLabel = define("FindingDecommissionLabel",
		"Service {service} has label scylla/decommissioned=true, but {rows} current status {rows?report lists|reports list} {node} as a normal member: the Scylla Operator may delete its PVC without a decommission")
	FindingKubernetesNodeDown = define("FindingKubernetesNodeDown",
		"Kubernetes node {kubernetesNode} is not responding[ (for {age})]: {nodes&} {nodes?runs|run} on it")
	FindingNodeDown           = define("FindingNodeDown", "{node} DOWN[ for {age}][: {why}]")
	FindingNodeNotServing     = define("FindingNodeNotServing", "{node} not Ready[ for {age}]: {why}")
	FindingNodeSeesItselfDown = define("FindingNodeSeesItselfDown", "{node} sees itself DOWN[ for {age}]")
	FindingSeenBoth           = define("FindingSeenBoth",
		"{down} of {rows} nodes {down?sees|see} {node} DOWN, {up} {up?sees|see} it UP; it belongs to no member here")
	FindingNodeDownElsewhere = define("FindingNodeDownElsewhere",
		"{node} DOWN[ for {age}], and it belongs to no member here[: {why}]")
	FindingNodeStarting = define("FindingNodeStarting", "{nodes&} starting[ (for {age})][: waiting for {waits}]")
	FindingLinkDown     = define("FindingLinkDown",
		"{a} and {b} do not see each other[ (for {age})]; other nodes see both")
	FindingLinkDownOneWay = define("FindingLinkDownOneWay",
		"{observer} sees running node {observed} DOWN[ for {age}]")
	FindingLinkDownGroups = define("FindingLinkDownGroups",
		"{parts&} do not see each other[ (for {age})]; other nodes see both")
	FindingNodeNotHeard = define("FindingNodeNotHeard",
		"{count} nodes see {node} DOWN[ for {age}], but it is running and sends status reports")
	FindingNodeHearsNot = define("FindingNodeHearsNot",
		"{node} and {count} other nodes do not see each other[ (for {age})], but all are running")
	FindingNodeNotSure = define("FindingNodeNotSure",
		"{observers} {observers?node reports|nodes report} {node} as UNKNOWN[ for {age}]")
	FindingNodeNotListed = define("FindingNodeNotListed",
		"{observers} {observers?node does|nodes do} not list {node}[ for {age}]")
	FindingReporterSilent = define("FindingReporterSilent",
		"no usable status report from {nodes&}[ for {age}][: {why}]")
	FindingControllerSilent = define("FindingControllerSilent",
		"no response from the controller[ for {age}][: {controller}]; its reports may be out of date")
	FindingRollout = define("FindingRollout",
		"rollout in progress[ for {age}]: {why}[; restarting: {nodes&}]")
	AskedByOperator = define("AskedByOperator",
		"the Scylla Operator itself because the Kubernetes node of its volume did not exist")
	AskedBy                   = define("AskedBy", "field manager {manager}")
	FindingReplacementOpen    = define("FindingReplacementOpen", "replacement of {node} in progress[ (DOWN for {age})][, requested by {by}][: {why}]")
	FindingReplacingLabelLeft = define("FindingReplacingLabelLeft",
		"Service {service} still has the label of a replacement that has ended: none of {rows} status reports lists {original}, and all list {node} as a normal member")
	RemoveReplacingLabel = define("RemoveReplacingLabel",
		"remove the label, which cannot be undone: on an empty volume, {member} would try to replace {original} again, which no node lists: {1}")
	FindingReplacementRequested = define("FindingReplacementRequested",
		"replacement of {node} requested[ by {by}][ (DOWN for {age})], but not begun")
	FindingReplacementFailed = define("FindingReplacementFailed",
		"replacement of {node} failed[ (DOWN for {age})]: {why}")
	FindingNodeUnheard = define("FindingNodeUnheard",
		"{node} has been starting[ for {age}], but no node lists it: its seed addresses may be out of date")
	NumbersUnheard = define("NumbersUnheard",
		"its mode is {mode}, it lists no node, no node lists it, and no topology operation is in progress")
	SeeDiscovery = define("SeeDiscovery",
		`do not delete anything yet. Once its log has "found no local group 0. Discovering", recreating its Pod does not help: the outdated seed addresses are stored on its volume. Check its progress, and whether a node lists it: {1}; {2}`)
	FindingNodeEnded = define("FindingNodeEnded",
		"the ScyllaDB container of {node} exited with code {code} before the node joined; the code does not show the cause")
	SeeWhyEnded = define("SeeWhyEnded",
		"do not delete anything yet: check its log, and whether a node lists its host ID: {1}; {2}")
	FindingNodeMaintenance = define("FindingNodeMaintenance",
		"{node} has had label scylla/node-maintenance[ for {age}][, set by {manager}]")
	NumbersMaintenance = define("NumbersMaintenance",
		"[{numbers}; ]a possible cause: {nodes&} {nodes?has|have} label scylla/node-maintenance, which keeps the Pod from being Ready")
	SeeMaintenance = define("SeeMaintenance",
		"check who set the label, and that no work on the node is in progress, such as an upgrade by the Scylla Operator: {1}; then remove the label: {2}")
	NoteMaintenance = define("NoteMaintenance", "label node-maintenance[ for {age}][, set by {manager}]")
	FindingDiskFull = define("FindingDiskFull",
		"the disk of {node} is {percent} % full[ by its {by}]: ScyllaDB 2025.4 and later reject writes, repairs and tablets at 98 %")
	NoteDisk          = define("NoteDisk", "disk {percent} %[ by {by}]")
	Joining           = define("Joining", "joining, {percent} %")
	FindingClockAhead = define("FindingClockAhead",
		"the {nodes?clock|clocks} of {nodes&} {nodes?is|are} at least {by} ahead; {nodes?its|their} times are not used")
	FindingClockBehind = define("FindingClockBehind",
		"the {nodes?clock|clocks} of {nodes&} {nodes?is|are} at least {by} behind; {nodes?its|their} times are not used")
	FindingGhost             = define("FindingGhost", "{node} is orphaned: it belongs to no member")
	FindingRightsMissing     = define("FindingRightsMissing", "cluster not readable: you cannot {rights&}")
	FindingRightsMissingPart = define("FindingRightsMissingPart",
		"part of the cluster not readable: you cannot {rights&}")
	FindingNobodyAsked        = define("FindingNobodyAsked", "no status report from any node[ for {age}][: {why}]")
	FindingDatacenterNotAsked = define("FindingDatacenterNotAsked",
		"the nodes of datacenter {datacenter} are not reachable from here")
	FindingUnclear = define("FindingUnclear", "{fact}")
	FindingNoNodes = define("FindingNoNodes",
		"no node has joined yet, {newcomers} new {newcomers?node|nodes} waiting")
	FindingSchemaDisagreement = define("FindingSchemaDisagreement", "the nodes have {count} different schema versions")
	FindingForced             = define("FindingForced",
		"forced: {objects&}; the next start skips the barrier[; reasons that the force does not cover block {blocked&}]")
	NewcomerRuns            = define("NewcomerRuns", "ScyllaDB is running, no barrier delays it")
	FindingReportLeftBehind = define("FindingReportLeftBehind",
		"report {report} of datacenter {datacenter}, copied here from elsewhere, has not been renewed[ for {age}], and no node here lists its nodes; the Scylla Operator's barrier waits for them")
	DeleteLeftReport = define("DeleteLeftReport",
		"delete the copy only if the controller that wrote it was uninstalled or its remote removed; check which controller that was, and when: {1}")
	FindingNodetoolDiffers = define("FindingNodetoolDiffers",
		"{node} is {code} by nodetool-status.log of {members&}, and {status} by {members?its status report|their status reports}")
	SeeWhichIsNewer = define("SeeWhichIsNewer",
		"do not rely on either: the objects and the files were saved at different times; check the present status: {1}")
	FindingVersionMix = define("FindingVersionMix", "the nodes run different versions: {versions&}")

	HostIDOfMember     = define("HostIDOfMember", "host ID {id} belongs to member {member}")
	RunsAtOnce         = define("RunsAtOnce", "nodetool {command} would run on these nodes at once: {members&}; run it on one node, and on the next after every node is UP")
	HostIDNotRemovable = define("HostIDNotRemovable", "host ID {id} must not be removed: {why}")

	BecauseNoPod              = define("BecauseNoPod", "it has no Pod")
	BecauseKubernetesNodeGone = define("BecauseKubernetesNodeGone",
		"its Kubernetes node {kubernetesNode} no longer exists")
	KubernetesNodeIs = define("KubernetesNodeIs", "its Kubernetes node {kubernetesNode} is {state}")
	BecausePod       = define("BecausePod",
		"its Pod is {state}[, with {ready} of {containers} {containers?container|containers} Ready]")
	BecausePodStarts = define("BecausePodStarts",
		"its Pod is starting: {passed} of {inits} {inits?init container has|init containers have} finished")
	BecauseNoPlace    = define("BecauseNoPlace", "its Pod is waiting for {waits}")
	BarrierHasOpened  = define("BarrierHasOpened", "its barrier has opened")
	BarrierNotReached = define("BarrierNotReached", "nothing blocks it, but its barrier does not run yet")
	BecauseNotJoined  = define("BecauseNotJoined", "it is [{joining}, and ]waiting for {waits}")

	ScyllaDBEnded = define("ScyllaDBEnded",
		"its ScyllaDB process exited[ {how}][ at {ended}], but its container still runs")
	ScyllaDBStartsOver = define("ScyllaDBStartsOver",
		"its ScyllaDB process exited[ {how}][ at {ended}] and is restarted in its container")
	EndedWithStatus = define("EndedWithStatus", "with status {status}")
	EndedBySignal   = define("EndedBySignal", "on a signal")
	ScyllaDBUnready = define("ScyllaDBUnready",
		"its container has been running[ for {for}], but ScyllaDB in it does not respond")
	ScyllaDBStartsLong = define("ScyllaDBStartsLong",
		"its container has been running[ for {for}] without becoming Ready")
	ScyllaDBDrained = define("ScyllaDBDrained",
		"it was drained (nodetool drain): it is running, and accepts clients again after a restart")
	ScyllaDBInMaintenance = define("ScyllaDBInMaintenance",
		"it is in maintenance mode: it is running, but connects to no other node")

	NumbersSplit = define("NumbersSplit", "number of host IDs that each of them lists: {sizes&}")
	NumbersPairs = define("NumbersPairs", "{down} of {pairs} pairs of {nodes} nodes DOWN")
	NumbersRows  = define("NumbersRows", "DOWN in {down} of {rows} reports, UP in {up}[; {machine}]")
	NumbersLink  = define("NumbersLink", "UP in {up} of {rows} reports[; {a}][, {b}]")
	WhereItIs    = define("WhereItIs", "{ip} on {kubernetesNode}")
	NumbersGroup = define("NumbersGroup",
		"reported by {rows} other {rows?node|nodes}[; {starting} {starting?is|are} starting][; {kubernetesNodes} Kubernetes {kubernetesNodes?node is|nodes are} also not responding]")
	NumbersNoGroup = define("NumbersNoGroup",
		"no status report of another node shows them[; {starting} {starting?is|are} starting][; {kubernetesNodes} Kubernetes {kubernetesNodes?node is|nodes are} also not responding]")
	NumbersSilent   = define("NumbersSilent", "{silent} status {silent?report|reports} missing, {rows} present")
	NumbersVersions = define("NumbersVersions", "{counts}")

	SeeDatacenter = define("SeeDatacenter",
		"check what its nodes have in common (power, network, Kubernetes); bring datacenter {datacenter} back, and do not replace any node")
	SeeRack = define("SeeRack",
		"check what its nodes have in common (zone, power, switch, Kubernetes nodes). Bring rack {datacenter}/{rack} back, and do not replace any node while the whole rack is DOWN")
	SeeSchedule     = define("SeeSchedule", "check why its Pod is not scheduled: {1}")
	SeeStatefulSet  = define("SeeStatefulSet", "check why its Pod is not created: {1}")
	MendLinkBetween = define("MendLinkBetween",
		"check routes, firewalls and NetworkPolicies between {a} and {b}, ports 7000 and 7001; do not replace either: both are running")
	MendLinksOf = define("MendLinksOf",
		"check routes, firewalls and NetworkPolicies between {node} and the others, ports 7000 and 7001; do not replace {node}: all nodes are running")
	GetRights = define("GetRights",
		"request these permissions, or use an account that has them; no node is known to be at fault")
	SeeSilentLog = define("SeeSilentLog",
		"no ScyllaDB answers its reporter; check the end of a log, for example of {node}: {1}")
	AskNodes      = define("AskNodes", "query the nodes directly: {1}")
	FirstJoins    = define("FirstJoins", "check what they are waiting for: {1}")
	FinishUpgrade = define("FinishUpgrade", "finish the upgrade, if one is in progress")
	WaitForSchema = define("WaitForSchema", "wait[ up to {limit}] until the nodes agree before you change the schema")
	TakeForceBack = define("TakeForceBack",
		"remove the force, unless you still want that start to skip the barrier: {1}")
	SeeLeftover              = define("SeeLeftover", "check its details: {1}")
	FindingDatacenterNotRead = define("FindingDatacenterNotRead",
		"{count} {count?node|nodes} of another datacenter {count?has|have} no status report here, which the Scylla Operator's barrier accepts (--single-report-allow-non-reporting-host-ids); every node here sees {count?it|them} UP")
	CheckThere = define("CheckThere",
		"do not remove it; check where it runs that every node sees every node UP, also before a node joins here")
	CheckThereThenForce = define("CheckThereThenForce",
		"do not remove it: it is in a datacenter that is not readable here. Check there that every node sees every node UP. Only if nothing else blocks the new node, let it skip the barrier; its start cannot be undone: {1}")
	SeeThere = define("SeeThere",
		"do not remove it; check it where it runs, and give the controller here access to its datacenter: {1}")

	WaitForLeaving = define("WaitForLeaving",
		"wait[ up to {limit}]: it is being decommissioned, and the Scylla Operator has no report of it until it has left; check its log: {1}")
	WaitForStart = define("WaitForStart", "wait[ up to {limit}]: it is starting[ and waiting for {waits}]; check its Pod: {1}")
	FixImage     = define("FixImage",
		"fix the name of the image in {object}, its pull Secret, or access to its registry; no data is lost: {1}")
	FixConfig = define("FixConfig",
		"create the missing Secret, ConfigMap or key, or fix its name in {object}; no data is lost: {1}")
	FixMemory = define("FixMemory",
		"raise the memory limit of {container} in {object}[, or lower {database}'s --memory]; no data is lost: {1}")
	SeeSlowStart = define("SeeSlowStart",
		"do not delete anything; check its log for what it is doing, and the Events of its Pod: {1}; {2}")
	SeePodEvents = define("SeePodEvents", "check the Events of its Pod; no data is lost by this: {1}")
	SeeLastRun   = define("SeeLastRun",
		"check the end of its log; do not replace it yet: {1}")
	DeleteOldPod = define("DeleteOldPod",
		"delete Pod {pod}: {object} now has another template, but with {policy} Kubernetes does not replace a Pod that is not Ready. Its volume stays: {1}")
	RestartOldPod = define("RestartOldPod",
		"{object} now has another template, but with {policy} Kubernetes does not replace a Pod that is not Ready. ScyllaDB runs in it: check that a restart is safe: {1}; then delete the Pod, its volume stays: {2}")
	SeeHaltedScyllaDB = define("SeeHaltedScyllaDB",
		"do not delete or replace anything yet; check its log: {1}[; and the meaning of its messages: {2}]")
	RestartDrained = define("RestartDrained",
		"restart it when the work that required nodetool drain is finished[: {1}]")
	EndMaintenance = define("EndMaintenance",
		"when the maintenance is finished, remove maintenance_mode from its arguments or its scylla.yaml, and restart it; check its Pod: {1}")
	ApplyParallel = define("ApplyParallel",
		"delete StatefulSet {statefulSet} but not its Pods, which cannot be undone without its manifest: {1}; then apply it again with podManagementPolicy Parallel. With OrderedReady it does not create Pod {node} while {lower} is not Ready")
	ForcePastZeroToken = define("ForcePastZeroToken",
		"only if nothing else blocks the new node, let it skip the barrier; its start cannot be undone: {1}. {node} has joined without tokens, for which the Scylla Operator waits indefinitely")
	LowerOrdinalFirst = define("LowerOrdinalFirst",
		"check what {lower} is waiting for: {1}. StatefulSet {statefulSet} does not create Pod {node} while {lower} is not Ready (podManagementPolicy OrderedReady)")
	SaveData = define("SaveData",
		"do not restart or delete Pod {pod}, and do not drain its Kubernetes node: the data would be lost. While every other node is UP: if the others have all its data, replace the node; otherwise decommission it, which moves the data and cannot be undone: {1}")
	SaveVolumeAndData = define("SaveVolumeAndData",
		"do not restart or delete Pod {pod}, and do not drain its Kubernetes node: the data would be lost. First set volume {volume} to Retain: {1}. Then, while every other node is UP: if the others have all its data, replace the node; otherwise decommission it, which moves the data and cannot be undone: {2}")
	SeeDecommissioned = define("SeeDecommissioned",
		"do not scale its rack down and do not upgrade the Scylla Operator until you know which is right. Check what the nodes list: {1}; and who set the label: {2}")
	MendKubernetesNode = define("MendKubernetesNode", "check Kubernetes node {kubernetesNode} and bring it back: {1}")
	UncordonNode       = define("UncordonNode",
		"uncordon Kubernetes node {kubernetesNode}, which has its volume, when its maintenance is finished: {1}")

	// Tasks after an operation.
	AfterReplaced      = define("AfterReplaced", "{node} has replaced {original}")
	AfterJoined        = define("AfterJoined", "{node} has joined")
	AfterRepair        = define("AfterRepair", "repair {node}: ScyllaDB does not record whether this was done")
	AfterRepairCovered = define("AfterRepairCovered",
		"no repair of {node} needed: its configuration enables repair-based node operations for replace")
	AfterCleanup = define("AfterCleanup",
		"run cleanup on {node}, one node at a time, off-peak: ScyllaDB does not record whether this was done")
	AfterCleanupNewer    = define("AfterCleanupNewer", "no cleanup of {node} needed: its data is newer than the join")
	AfterCleanupNoTokens = define("AfterCleanupNoTokens", "no cleanup of {node} needed: it owns no tokens")
	AfterCleanupTablets  = define("AfterCleanupTablets", "no cleanup of {node} needed: no keyspace of users has vnodes")
	AfterCreated         = define("AfterCreated",
		"{node} has joined a cluster that was created {created} ago; only data that was written before it joined needs a cleanup")
	AfterWaitOperation = define("AfterWaitOperation", "not yet: a topology operation is in progress")
	AfterWaitNewcomer  = define("AfterWaitNewcomer",
		"not yet: {node} is joining; run cleanup once, after the last join")
	AfterWaitAllUp = define("AfterWaitAllUp", "not yet: {up} of {nodes} nodes are UP")
)

// Codes of internal/show and internal/diagnosis.
var (
	BarrierRefuses       = define("BarrierRefuses", "cannot start, its barrier rejects it: {message}")
	MemberWithoutService = define("MemberWithoutService",
		"has no member Service yet, so its barrier cannot determine its position")
	NewcomerWithoutMember = define("NewcomerWithoutMember", "{detail}")
	NotJudged             = define("NotJudged", "{error}")

	ReplacementAttemptFailed = define("ReplacementAttemptFailed", "{summary}; {cure}")

	ResumeReplacement = define("ResumeReplacement", "the replacement failed: {cure}")
	ReplacementWaits  = define("ReplacementWaits", "the replacement is waiting: {cure}")
	RemoveGhost       = define("RemoveGhost",
		"[{first}; then ]remove this orphaned host ID, which belongs to no member; this cannot be undone: {1}")
	SeeClaimedVolumes = define("SeeClaimedVolumes",
		"check that no PersistentVolume is kept for the PVC of a former member, because it may have the data of this node: {1}[; {first}]")
	SeeClock        = define("SeeClock", "compare its time with that of another node, and fix its time synchronization: {1}")
	SeeWhereItRuns  = define("SeeWhereItRuns", "do not remove it, because it is running; check it where it runs")
	MendLinksToward = define("MendLinksToward",
		"do not remove it, because it is running; check routes, firewalls and NetworkPolicies from {observers&} to it, ports 7000 and 7001")
	ScaleBack = define("ScaleBack",
		"do not remove it: StatefulSet {statefulSet} has {replicas} {replicas?replica|replicas}, and the volume of {member} still exists. If it was scaled down by mistake, scale it back to {wanted}, and the node returns: {1}. Check the volume: {2}")
	ScaleBackOrLook = define("ScaleBackOrLook",
		"do not remove it: [StatefulSet {statefulSet}][rack {rack} of the ScyllaCluster] has {replicas} {replicas?replica|replicas}, and the volume of {member} still exists. If it was scaled down by mistake, scale it back to {wanted}, and the node returns. Check the volume: {1}")
	SeeLeftVolume = define("SeeLeftVolume",
		"do not remove it: the volume of {member} still exists, and may have its data; check it: {1}")
	GhostCannotGo = define("GhostCannotGo", "do not remove it, although it belongs to no member here: {why}")
)
