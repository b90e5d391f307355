// SPDX-License-Identifier: Apache-2.0

package words

// Findings about several nodes with one cause, and their steps, of internal/diagnosis.
var (
	FindingNodesDown       = define("FindingNodesDown", "{nodes&} DOWN[ for {age}], each: {why}")
	FindingNodesNotServing = define("FindingNodesNotServing",
		"{nodes&} not Ready[ for {age}], each: {why}")
	FindingNodesDownElsewhere = define("FindingNodesDownElsewhere",
		"{nodes&} DOWN[ for {age}]: no member here has them[: they are nodes of datacenter {datacenter}][: they may be in another datacenter ({sign})]")
	FindingNodesRestarted = define("FindingNodesRestarted",
		"ScyllaDB of {nodes&} ended, and has started again within one minute[ (DOWN for {age})]: none is Ready")
	FindingAllStarting = define("FindingAllStarting",
		"all {nodes} nodes started within one minute[, {age} ago][, after up to {restarts} {restarts?restart|restarts}]: none is Ready[ ({why})]")
	FindingPlaceNotHeard = define("FindingPlaceNotHeard",
		"the {observers} other nodes see all {nodes} nodes of {place} DOWN[ for {age}], but these are running and send status reports")
	FindingPlaceHearsNot = define("FindingPlaceHearsNot",
		"all {nodes} nodes of {place} see the {observers} other nodes DOWN[ for {age}], but all are running")

	StartsInSplit = define("StartsInSplit",
		"two clusters have the same name: {why}; do not restart, replace or delete anything until you know which of them has your data: {1}")
	FindingDatacenterAway = define("FindingDatacenterAway",
		"datacenter {datacenter} DOWN or cut off[ for {age}]: all {nodes} of its nodes, and none of its status reports is here")
	FindingNoneSeesAny = define("FindingNoneSeesAny",
		"none of {nodes} running nodes sees another one UP[ (for {age})][: {why}]")
	VolumesOlderThanServices = define("VolumesOlderThanServices",
		"their volumes are older than their Services, so the nodes may look for one another at former addresses")

	SeeFormerAddresses = define("SeeFormerAddresses",
		"do not delete or replace anything. Compare the addresses that the nodes have for one another with those of their Services: {1}; {2}; check the network if they are the same")
	SeeThereTogether = define("SeeThereTogether",
		"do not remove or replace any of these nodes. Check the network to their datacenter[ {datacenter}] (routes, firewalls, NetworkPolicies; ports 7000 and 7001), and whether they are running there[; give the controller here access to their status reports: {1}]")
	SeeOneLog = define("SeeOneLog",
		"nodes that end together have one cause: check the end of a log for the first error, for example of {node}, and restart no node that is UP: {1}")
	WaitForAll = define("WaitForAll",
		"wait[ up to {limit}]: nodes that start together wait for one another; do not delete or replace anything. Check the end of a log, for example of {node}: {1}")
	MendLinksOfPlace = define("MendLinksOfPlace",
		"check the network between {place} and the others (routes, firewalls, NetworkPolicies; ports 7000 and 7001); do not replace any node: all are running")
)
