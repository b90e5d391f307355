// SPDX-License-Identifier: Apache-2.0

package words

// leaveWords are the results and steps of `kubectl scylla check --for=decommission`.
var (
	JoinNow = ofCheck("JoinNow", "{node} has not joined: it waits or joins now", StepWaitNow)

	DecommissionNow = ofCheck("DecommissionNow", "{node} is being decommissioned", StepWaitNow)

	RFAboveLeft = ofCheck("RFAboveLeft",
		"{keyspaces&} {keyspaces?has|have} {replicas} replicas in datacenter {datacenter}, where {left} {left?node remains|nodes remain}",
		StepAddOrLower)
	ReplicasWithoutNode = ofCheck("ReplicasWithoutNode",
		"{keyspaces&} {keyspaces?has|have} replicas in datacenter {datacenter}, where no node remains", StepAlterFirst)
	RackWithoutNode = ofCheck("RackWithoutNode",
		"{keyspaces&} {keyspaces?keeps|keep} one replica of each tablet in each rack of {datacenter}, and no node of rack {rack} remains",
		StepAddOrLower)
	RackMaybeNeeded = ofCheck("RackMaybeNeeded",
		"all tablets of {keyspaces&} have a replica in rack {rack} of {datacenter}, where no node remains: unknown whether another rack may take them",
		StepLookAtReplication)
	RFOfOwn = define("RFOfOwn",
		"ScyllaDB's own {keyspaces&} will have fewer than {replicas} replicas in datacenter {datacenter}: {left} {left?node remains|nodes remain}")
	PlacesLeft = define("PlacesLeft",
		"every replica has a place on the nodes that remain (keyspaces: {keyspaces})")
	PlacesUnknown = ofCheck("PlacesUnknown",
		"the replication factors are unknown, so it is unknown whether the nodes that remain can take the data: {why}",
		StepLookAtReplication)
	StepAddOrLower = define("StepAddOrLower",
		"do not decommission it: add a node in[ rack {rack} of] datacenter {datacenter} first, or lower the replication factor of {keyspaces&}[. Show it: {1}]")
	StepAlterFirst = define("StepAlterFirst",
		"decommission none of these nodes yet: ALTER {keyspaces&} first (see the steps)[. Show the replication: {1}]")
	StepLookAtReplication = define("StepLookAtReplication", "check the replication of each keyspace first[: {1}]")

	NotHighest = ofCheck("NotHighest",
		"StatefulSet {statefulSet} removes its highest ordinal first, which is {highest}", StepHighestFirst)
	SetUnknownNow = define("SetUnknownNow",
		"its StatefulSet is unknown, so it is unknown which of its Pods Kubernetes removes first")
	HighestGoes      = define("HighestGoes", "each is the highest ordinal of its StatefulSet when its turn comes")
	StepHighestFirst = define("StepHighestFirst",
		"do not decommission it: Kubernetes cannot remove its Pod. Decommission {highest} instead, or first: {1}")

	LastOfRack    = define("LastOfRack", "no node of rack {rack} in datacenter {datacenter} remains")
	RacksLeft     = define("RacksLeft", "a node of each rack remains")
	NoNodeLeft    = define("NoNodeLeft", "no node of the cluster remains: ScyllaDB refuses to decommission the last one")
	FewVotersLeft = define("FewVotersLeft",
		"{left} {left?node remains|nodes remain}: once one is DOWN, group 0 has no majority, and no schema or topology change is possible")
	MajorityLeft  = define("MajorityLeft", "{left} nodes remain for group 0")
	NoCoordinator = ofCheck("NoCoordinator",
		"the nodes do not name one topology coordinator, which runs a decommission: group 0 may have no majority",
		StepSeeCoordinator)
	StepSeeCoordinator = define("StepSeeCoordinator",
		"do not begin it. Check which nodes answer, and which of them they name: {1}")

	NothingToMove  = define("NothingToMove", "no node of its datacenter remains to take data")
	VolumesFit     = define("VolumesFit", "the volumes of {nodes&} would be about {percent} % full")
	VolumesTooFull = ofCheck("VolumesTooFull",
		"the volumes of {nodes&} would be about {percent} % full: ScyllaDB needs free space for compaction, and rejects tablets at 98 %",
		StepMoreSpace)
	VolumesUnknown = ofCheck("VolumesUnknown",
		"unknown whether the data of {node} fits on {nodes&}: the size or use of {unknown&} is unknown", StepLookAtDisk)
	StepMoreSpace = define("StepMoreSpace",
		"add a node in[ rack {rack} of] datacenter {datacenter} or grow the volumes first[. Show their use: {1}]")
	StepLookAtDisk = define("StepLookAtDisk", "check the free space of each[: {1}]")

	LeaveClients = define("LeaveClients",
		"stop all client writes to datacenter {datacenter}; clients elsewhere use LOCAL_QUORUM or LOCAL_ONE until it is removed")
	LeaveRepair = define("LeaveRepair",
		"repair each node of datacenter {datacenter}[ for {keyspaces&}], one after the other, so that it has no unique data; first: {1}")
	LeaveRepairTablets = define("LeaveRepairTablets",
		"repair the keyspaces with tablets[ ({keyspaces&})] once, from any node: {1}")
	LeaveAlter = define("LeaveAlter",
		"ALTER {keyspaces&} so that no replica is in datacenter {datacenter}: vnodes and rack lists in one statement, other tablets one replica less at a time. It cannot be aborted[. Show the present replication: {1}]")
	LeaveCheck        = define("LeaveCheck", "check again, until no keyspace has replicas there: {1}")
	LeaveDecommission = define("LeaveDecommission",
		"decommission {node}; its data moves to the other nodes, and this cannot be undone[: {1}]")
	LeaveEnded = define("LeaveEnded",
		"check that the mode of {node} is DECOMMISSIONED before you continue: {1}")
	LeaveScaleDown = define("LeaveScaleDown",
		"scale StatefulSet {statefulSet} down to {wanted}[: {1}]. No node can start again on the volume of {node}")
	LeaveMembers = define("LeaveMembers",
		"set `members` of rack {rack} to {wanted} in the ScyllaCluster (`nodes` in a ScyllaDBDatacenter or ScyllaDBCluster): the Scylla Operator decommissions {node}, which cannot be undone, and then removes its Pod. Never scale its StatefulSet yourself")
	LeaveGone = define("LeaveGone", "check that {node} is gone before you continue: {1}")
	LeaveNext = define("LeaveNext",
		"then do the same for {nodes&}, one at a time in this order, each after its own check: {1}")
	LeaveVerify = define("LeaveVerify",
		"check that no node of datacenter {datacenter} is listed: {1}. Only then remove its[ {objects}], and its addresses from the seeds of the other datacenters")
)
