// SPDX-License-Identifier: Apache-2.0

package words

// decommissionWords are about nodes that leave their cluster.
var (
	DecommissionStuck = define("DecommissionStuck", "the decommission of {name} does not end[: {why}]")

	DecommissionFailed = define("DecommissionFailed", "ScyllaDB stopped it: {error}")
	DecommissionSlow   = define("DecommissionSlow", "it has been in progress for too long without a change")
	DecommissionNotRun = define("DecommissionNotRun",
		"it is requested, but ScyllaDB lists no such operation, and its mode is NORMAL")
	DecommissionEnded = define("DecommissionEnded",
		"its mode is DECOMMISSIONED, but StatefulSet {statefulSet} still has its Pod")

	FindingDecommissionFailed = define("FindingDecommissionFailed",
		"decommission of {node} failed[ {age} ago or earlier]: {error}")
	FindingDecommissionUnnamed = define("FindingDecommissionUnnamed",
		"the decommission of a node failed[ {age} ago or earlier]: {error}")
	FindingDecommissionSlow = define("FindingDecommissionSlow",
		"decommission of {node} in progress[ for {age}] without a change of its status reports")
	FindingDecommissionNotRun = define("FindingDecommissionNotRun",
		"decommission of {node} requested[ {age} ago], but ScyllaDB does not run it")
	FindingDecommissioned = define("FindingDecommissioned",
		"{node} is decommissioned[ for {age}], but StatefulSet {statefulSet} still has its Pod")
	FindingDecommissionOpen = define("FindingDecommissionOpen",
		"decommission of {node} in progress[ for {age} or longer]")

	AddNodeOrLowerRF = define("AddNodeOrLowerRF",
		"delete nothing: the node keeps its data and stays a member. Its tablets have no other place: add a node in[ rack {rack} of] datacenter {datacenter}, or lower the replication factor of the keyspaces that need it; then decommission it again. Show their replication: {1}")
	SeeDecommission = define("SeeDecommission",
		"delete nothing: the node keeps its data and stays a member. Check the log of {pod} for the reason: {1}; then decommission it again, or withdraw the request")
	SeeSlowDecommission = define("SeeSlowDecommission",
		"delete nothing: the node still has data. Waiting is no answer at this age: check which operation it waits for: {1}; and the log of {pod}: {2}")
	WaitForDecommission = define("WaitForDecommission",
		"wait until its data has moved, as long as the reports change within {limit}; delete nothing. Check its operation: {1}")
	ScaleDownDecommissioned = define("ScaleDownDecommissioned",
		"scale StatefulSet {statefulSet} down to {wanted}: its data is on the other nodes, and it cannot start again on its data directory: {1}")
	KeepDecommissioned = define("KeepDecommissioned",
		"delete nothing, and do not restart it: it cannot start again on its data directory. Its data is on the other nodes, and a StatefulSet removes its highest ordinal first: {1}")
)
