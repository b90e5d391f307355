// SPDX-License-Identifier: Apache-2.0

package words

// viewWords are about the controller's view and its conditions. The codes of internal/view and
// internal/show are declared here: internal/view imports packages whose tests import this one, and
// internal/show imports this one.
var (
	InitNoNodeYet    = define("InitNoNodeYet", "no node of the cluster has joined yet")
	InitFirstIsWell  = define("InitFirstIsWell", "{node} has joined; it must stay healthy for {window} continuously")
	InitSignalAbsent = define("InitSignalAbsent",
		"nodes have joined, but no fresh status report shows a node that is NORMAL, owns tokens and knows group 0's leader")
	InitDone = define("InitDone",
		"the cluster has had its first node[, {hostID}]: no member may bootstrap it again")
	InitRecovered = define("InitRecovered",
		"the cluster had nodes before this report was created: no member may bootstrap it again")
	InitEmpty = define("InitEmpty",
		"the cluster was initialised, but none of its members has joined any more: all disks may be lost, and no member may bootstrap it again. "+
			"Check the members ({1}); to give up all data and start again: {2}")

	NodesReplaceable = define("NodesReplaceable",
		"{nodes&} {nodes?has|have} been DOWN for {dead} or longer in the status reports of most members; check whether their data is lost: {*}")

	InitSplit = define("InitSplit", "nodes have joined, and they belong to two clusters of one name")
	SplitIs   = define("SplitIs", "{why}. No node may join: {step}")

	PrerequisitesMissing = define("PrerequisitesMissing",
		"{objects&} {objects?does|do} not exist in namespace {namespace}, and {pods&} {pods?does|do} not start without {objects?it|them}: "+
			"create {objects?it|them}; the rest is automatic")

	ReplicasAreCapped = define("ReplicasAreCapped",
		"{set} has {to} instead of {from} replicas until the cluster is initialised, then it is scaled to {wanted}")
	ReplicasAreRaised = define("ReplicasAreRaised",
		"{set} is scaled from {from} to {to} replicas: all its existing members have joined")
	WantedReplicasBad = define("WantedReplicasBad",
		"annotation kubectl-scylla.scylladb.com/wanted-replicas of {set} is {q:value}: specify a number from 0 to {most}; until then the number of replicas is unchanged")

	HealthFieldInvalid = define("HealthFieldInvalid",
		"annotation {annotation} of StatefulSet {object} has the invalid value {q:value}: {cure}, or remove it: {1}; until then it is {kept}")
	HealthFieldUnknown = define("HealthFieldUnknown",
		"annotation {annotation} of StatefulSet {object} is not a field of the health policy ({known&}): remove it: {1}")
	HealthFieldDisputed = define("HealthFieldDisputed",
		"StatefulSets {objects&} have different values in annotation {annotation}: set the same value on all of them; until then it is {kept}")
	HealthGiveDuration = define("HealthGiveDuration", "specify a duration from {least} to {most}, for example 1m30s")
	HealthGiveNumber   = define("HealthGiveNumber", "specify a number from {least} to {most}")
	HealthGiveSwitch   = define("HealthGiveSwitch", "specify true or false")
	HealthGiveProfile  = define("HealthGiveProfile", "specify production or development")

	DeadReports = define("DeadReports",
		"no member lists {nodes&} any more, and the reports still contain {nodes?its status report|their status reports}, because {why}; to remove {nodes?it|them}: {*}")
	DeadReportsOff   = define("DeadReportsOff", "the clean-up is off (cleanUpDeadReports of the health policy)")
	DeadReportsFloor = define("DeadReportsFloor",
		"{reporting} members report, and the clean-up requires at least {least} afterwards (minQuorum)")

	LimitViewLimit = define("LimitViewLimit",
		"maximum age of a controller view with which a member starts, by the clock of its barrier; also the time after which a barrier reports that the controller is not responding")
	LimitPeerCheck = define("LimitPeerCheck",
		"interval at which a controller view with which a member may start is renewed, and at which its barrier queries the other members while the view does not advance")
	LimitInterval = define("LimitInterval", "interval at which the controller polls the members")
	LimitMissed   = define("LimitMissed", "number of consecutive failed polls after which a member is UNKNOWN")
	LimitRecovery = define("LimitRecovery", "number of consecutive successful polls after which a member is UP")
	LimitContact  = define("LimitContact",
		"maximum age of the data of a poll; older data counts as a failed poll. For a reporter with a longer interval it is twice that interval, if that is more")
	LimitStabilisation = define("LimitStabilisation",
		"time for which the first node must be healthy continuously before the cluster is initialised")
	LimitBarrier = define("LimitBarrier",
		"time for which all nodes must stay UP continuously before a barrier with policy reports opens; 0 opens at once. Without the flag it is the time for permits")
	LimitPermit = define("LimitPermit",
		"time for which all nodes must stay UP continuously before a member gets its permit")
	LimitProfile = define("LimitProfile", "purpose of the cluster: it sets the default of the minimum quorum")
	LimitQuorum  = define("LimitQuorum",
		"minimum number of reporting members after the clean-up of dead reports. Default: 3, or the number of members if that is more; in profile development the number of members")
	LimitCleanUp = define("LimitCleanUp",
		"removes the status report of a node that no member lists any more from the reports, after the time dead. Default: off if the minimum quorum is below 3")
	LimitTrailing = define("LimitTrailing",
		"number of entries of the log of group 0 that a member may be behind the leader; a member further behind in two consecutive polls is UNKNOWN")
	LimitDead = define("LimitDead",
		"time for which a node must have been DOWN before any output suggests replacing it")

	ControllerView = define("ControllerView",
		"controller[ view {epoch}.{seq}]: {up} of {members} members UP[; DOWN: {down}][; UNKNOWN: {unknown}][; {pending&} not counted as UP yet][; blocks new nodes: {hold}]"+
			"[; permit: {permitted&}][; {waiting} in the queue for a permit]"+
			"[; unchanged for {age}]")
	ControllerViewAge = define("ControllerViewAge", "controller view {epoch}.{seq}[; unchanged for {age}]")
	ViewPermitted     = define("ViewPermitted", "{member} has its permit ({kind})[, for {age}]")
	ViewQueued        = define("ViewQueued", "{place}. {member} is waiting for its permit ({kind}): {why}")
	ViewQueueIsLonger = define("ViewQueueIsLonger", "and {more} more are waiting")
)
