// SPDX-License-Identifier: Apache-2.0

package words

// viewWords say the controller's view and the conditions that go with it. The codes of internal/view and internal/show are written out
// here: the one rests on packages whose tests import this one, the other imports it.
var (
	InitNoNodeYet    = define("InitNoNodeYet", "no node of the cluster has joined yet")
	InitFirstIsWell  = define("InitFirstIsWell", "{node} has joined; it must stay well for {window} without a break")
	InitSignalAbsent = define("InitSignalAbsent", "nodes have joined, and none of them says freshly that it is NORMAL, serves, and knows group 0's leader")
	InitDone         = define("InitDone", "the cluster has had its first node[, {hostID}]: nobody may found it again")
	InitRecovered    = define("InitRecovered", "the cluster had nodes before this report was made: nobody may found it again")
	InitEmpty        = define("InitEmpty", "the cluster was initialised and no member of it has joined any more: every disk may be lost, and no member may found it anew. "+
		"Look at the members ({1}); to give up all data and begin anew: {2}")

	NodesReplaceable = define("NodesReplaceable", "{nodes&} {nodes?has|have} been DOWN for {dead} or longer by the rows of most members, and may be replaced if it is known not to come back: {*}")

	InitSplit = define("InitSplit", "nodes have joined, and they are of two clusters of one name")
	SplitIs   = define("SplitIs", "{why}. Nobody may join: {step}")

	PrerequisitesMissing = define("PrerequisitesMissing", "{objects&} {objects?does|do} not exist in namespace {namespace}, and {pods&} {pods?does|do} not start without {objects?it|them}: "+
		"create {objects?it|them}, and the rest happens by itself")

	ReplicasAreCapped = define("ReplicasAreCapped", "{set} has {to} and not {from} replicas until the cluster is initialised, then it is raised to {wanted}")
	ReplicasAreRaised = define("ReplicasAreRaised", "{set} is raised from {from} to {to} replicas: all members that there are have joined")
	WantedReplicasBad = define("WantedReplicasBad", "annotation kubectl-scylla.scylladb.com/wanted-replicas of {set} is {q:value}: give a number from 0 to {most}; until then its count is left as it is")

	HealthFieldInvalid  = define("HealthFieldInvalid", "annotation {annotation} of StatefulSet {object} is {q:value}, which cannot be used: {cure}, or take it off: {1}; until then it is {kept}")
	HealthFieldUnknown  = define("HealthFieldUnknown", "annotation {annotation} of StatefulSet {object} names no field of the health policy, which are {known&}: take it off: {1}")
	HealthFieldDisputed = define("HealthFieldDisputed", "StatefulSets {objects&} say different things in annotation {annotation}: give all of them the same; until then it is {kept}")
	HealthGiveDuration  = define("HealthGiveDuration", "give a duration from {least} to {most}, for example 1m30s")
	HealthGiveNumber    = define("HealthGiveNumber", "give a number from {least} to {most}")
	HealthGiveSwitch    = define("HealthGiveSwitch", "give true or false")
	HealthGiveProfile   = define("HealthGiveProfile", "give production or development")
	HealthGiveSilent    = define("HealthGiveSilent", "give Wait or Peers")

	DeadReports      = define("DeadReports", "no member lists {nodes&} any more, and {nodes?its row is|their rows are} kept in the reports, because {why}; to take {nodes?it|them} out: {*}")
	DeadReportsOff   = define("DeadReportsOff", "the clean-up is off (cleanUpDeadReports of the health policy)")
	DeadReportsFloor = define("DeadReportsFloor", "{reporting} members report, and the clean-up leaves no fewer than {least} (minQuorum)")

	LimitViewLimit     = define("LimitViewLimit", "how old a view may be by which a member starts, by the clock of its barrier; also how long a controller is away before a barrier says so")
	LimitPeerCheck     = define("LimitPeerCheck", "how often a view by which a member may start is written anew, and how often its barrier, while it does not see the view advance, asks the other members for theirs")
	LimitInterval      = define("LimitInterval", "how often the controller looks at the members")
	LimitMissed        = define("LimitMissed", "after so many looks in a row that heard nothing a member is UNKNOWN")
	LimitRecovery      = define("LimitRecovery", "after so many looks in a row that heard of it a member is UP")
	LimitContact       = define("LimitContact", "how old what a look goes by may be; beyond it nothing was heard. For a reporter with a longer interval it is twice that interval, if that is more")
	LimitStabilisation = define("LimitStabilisation", "how long the first node must be well without a break before the cluster is initialised")
	LimitBarrier       = define("LimitBarrier", "how long all must stay UP without a break before a barrier opens, 0 opens at once; where the flag is not given it is the one of the permits")
	LimitPermit        = define("LimitPermit", "how long all must stay UP without a break before a member gets its permit")
	LimitProfile       = define("LimitProfile", "what the cluster is for: it sets the default of the minimum quorum")
	LimitQuorum        = define("LimitQuorum", "the clean-up of dead reports leaves no fewer members that report. By default 3, or as many as there are members if that is more; in profile development as many as there are members")
	LimitSilent        = define("LimitSilent", "what a barrier that goes by permits does while no controller leads. Wait: for one; Peers: a plain join goes by the members alone, without permit, hold or turn")
	LimitCleanUp       = define("LimitCleanUp", "takes the row of a node that no member lists any more out of the reports, once that has been so for as long as dead says. By default off where the minimum quorum is below 3")
	LimitTrailing      = define("LimitTrailing", "how many entries of the log of group 0 a member may be behind the leader; beyond it in two looks in a row it is UNKNOWN")
	LimitDead          = define("LimitDead", "how long a node must have been DOWN before anything suggests to replace it")

	ControllerView = define("ControllerView", "view {epoch}.{seq} of the controller: {up} of {members} members UP[, DOWN: {down}][, UNKNOWN: {unknown}][; held: {hold}]"+
		"[; permit: {permitted&}][; {waiting} in the queue for a permit]"+
		"[; it has said so for {age}, its clock against this one]")
	ControllerViewAge = define("ControllerViewAge", "view {epoch}.{seq} of the controller[; it has said so for {age}, its clock against this one]")
	ViewPermitted     = define("ViewPermitted", "{member} has its permit ({kind})[, for {age}]")
	ViewQueued        = define("ViewQueued", "{place}. {member} waits for its permit ({kind}): {why}")
	ViewQueueIsLonger = define("ViewQueueIsLonger", "and {more} more wait")
)
