// SPDX-License-Identifier: Apache-2.0

package words

// memberWords are the reasons for a member's state, and for its Pod's waiting.
var (
	DecommissionAsked   = define("DecommissionAsked", "its decommission is asked for")
	IsDecommissioned    = define("IsDecommissioned", "it is decommissioned")
	PeersSay            = define("PeersSay", "its peers say that it is {state}")
	HasNotJoined        = define("HasNotJoined", "it has not joined")
	NoHostIDKnown       = define("NoHostIDKnown", "no host ID is known of it")
	JoinUnknown         = define("JoinUnknown", "nothing tells whether it has joined")
	MemberWithoutPod    = define("MemberWithoutPod", "it is a member and has no Pod")
	ReplacesHostID      = define("ReplacesHostID", "it replaces host ID {hostID}")
	PodNotMade          = define("PodNotMade", "its Pod is not made yet")
	SeenWithoutService  = define("SeenWithoutService", "peers see it {state}; no Service here has its host ID yet")
	GossipOnly          = define("GossipOnly", "{pod} gossips with it at {address} and does not have it as a member")
	ServiceAndPodUnread = define("ServiceAndPodUnread", "neither its Service nor its Pod was read")
	ServicesUnread      = define("ServicesUnread", "the Services, which record host IDs, were not read")
	PodElsewhere        = define("PodElsewhere", "its Pod is not in this namespace")
	RecordedElsewhere   = define("RecordedElsewhere", "Service {service} records it: it is a node of that cluster")
	OfDatacenter        = define("OfDatacenter", "of datacenter {datacenter}: not known here")
	OfAnotherDatacenter = define("OfAnotherDatacenter", "of another datacenter: not known here")
	RowOnly             = define("RowOnly", "the report has its row; no Service or Pod here has its host ID")
	ListedOnly          = define("ListedOnly", "peers list it as a member; no Service or Pod here has its host ID")

	WaitsForStatefulSet    = define("WaitsForStatefulSet", "StatefulSet {statefulSet} to make its Pod")
	WaitsForEnd            = define("WaitsForEnd", "its Pod to end")
	WaitsForKubernetesNode = define("WaitsForKubernetesNode", "a Kubernetes node[: {words}]")
	WaitsForStart          = define("WaitsForStart", "{container} to start")
	WaitsForFinish         = define("WaitsForFinish", "{container} to finish")
	WaitsForReady          = define("WaitsForReady", "{container} to become ready")
	WaitsForEnded          = define("WaitsForEnded", "{container}, which ended with exit code {code}[: {words}]")
	WaitsForContainer      = define("WaitsForContainer", "{container} ({reason})[: {words}][: exit code {code}]")
	Container              = define("Container", "container {container}")
	InitContainer          = define("InitContainer", "init container {container}")
)
