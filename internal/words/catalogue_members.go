// SPDX-License-Identifier: Apache-2.0

package words

// memberWords are the reasons for a member's state, and what its Pod waits for.
var (
	DecommissionAsked  = define("DecommissionAsked", "its decommission is requested")
	IsDecommissioned   = define("IsDecommissioned", "it is decommissioned")
	PeersSay           = define("PeersSay", "its peers report it as {state}")
	HasNotJoined       = define("HasNotJoined", "it has not joined")
	NoHostIDKnown      = define("NoHostIDKnown", "its host ID is unknown")
	JoinUnknown        = define("JoinUnknown", "it is unknown whether it has joined")
	MemberWithoutPod   = define("MemberWithoutPod", "it is a member and has no Pod")
	ReplacesHostID     = define("ReplacesHostID", "it replaces host ID {hostID}")
	PodNotMade         = define("PodNotMade", "its Pod is not created yet")
	SeenWithoutService = define("SeenWithoutService",
		"peers report it as {state}; no Service here has its host ID yet")
	GossipOnly          = define("GossipOnly", "{pod} sees it in gossip at {address}, but does not list it as a member")
	ServiceAndPodUnread = define("ServiceAndPodUnread", "neither its Service nor its Pod was read")
	ServicesUnread      = define("ServicesUnread", "the Services, which record host IDs, were not read")
	PodElsewhere        = define("PodElsewhere", "its Pod is not in this namespace")
	RecordedElsewhere   = define("RecordedElsewhere", "Service {service} records it: it is a node of that cluster")
	OfDatacenter        = define("OfDatacenter", "in datacenter {datacenter}, unknown here")
	OfAnotherDatacenter = define("OfAnotherDatacenter", "in another datacenter")
	RowOnly             = define("RowOnly", "it has a status report, but no Service or Pod here has its host ID")
	ListedOnly          = define("ListedOnly", "peers list it as a member, but no Service or Pod here has its host ID")

	NoteForced = define("NoteForced", "forced={value}[ for {reasons&}]")
	// of the record of a force
	ForceOverride      = define("ForceOverride", "{reason}[ of {object}]")
	ForceOverridesMore = define("ForceOverridesMore", "{more} more")

	WaitsForStatefulSet    = define("WaitsForStatefulSet", "StatefulSet {statefulSet} to create its Pod")
	WaitsForEnd            = define("WaitsForEnd", "its Pod to terminate")
	WaitsForKubernetesNode = define("WaitsForKubernetesNode", "scheduling[: {words}]")
	WaitsForStart          = define("WaitsForStart", "{container} to start")
	WaitsForFinish         = define("WaitsForFinish", "{container} to finish")
	WaitsForReady          = define("WaitsForReady", "{container} to become ready")
	WaitsForEnded          = define("WaitsForEnded", "{container}, which exited with code {code}[: {words}]")
	WaitsForContainer      = define("WaitsForContainer", "{container} ({reason})[: {words}][: exit code {code}]")
	// Why Kubernetes does not run a Pod's containers.
	PodImage      = define("PodImage", "{container} cannot pull its image[ {image}] ({reason})[: {words}]")
	PodConfig     = define("PodConfig", "{container} lacks an object of its configuration ({reason})[: {words}]")
	PodNotCreated = define("PodNotCreated", "{container} cannot be started ({reason})[: {words}]")
	PodMemory     = define("PodMemory",
		"{container} exceeded its memory limit[ of {limit}] (OOMKilled[, {restarts} {restarts?restart|restarts}])")
	PodExits = define("PodExits",
		"{container} exits[ with code {code}][ ({reason})][, {restarts} {restarts?restart|restarts}][: {words}]")
	SidecarNotReady = define("SidecarNotReady", "its Pod is waiting for {waits}")
	PodNoPlace      = define("PodNoPlace", "no Kubernetes node takes its Pod: {reasons&}")
	PlaceNoClaim    = define("PlaceNoClaim", "PVC {claim} does not exist")
	PlaceClaimEnds  = define("PlaceClaimEnds", "PVC {claim} is being deleted")
	PlaceUnbound    = define("PlaceUnbound", "[{count} {count?has|have} ]no volume for its PVC")
	PlaceResource   = define("PlaceResource", "[{count} {count?has|have} ]too little {resource}")
	PlaceFull       = define("PlaceFull", "[{count} {count?has|have} ]the maximum number of Pods")
	PlaceVolumes    = define("PlaceVolumes", "[{count} {count?has|have} ]the maximum number of volumes")
	PlaceCordon     = define("PlaceCordon", "[{count} {count?is|are} ]cordoned")
	PlaceTaint      = define("PlaceTaint", "[{count} {count?has|have} ]a taint[ {taint}]")
	PlaceApart      = define("PlaceApart", "[{count} ]excluded by its Pod affinity or topology spread")
	PlaceAffinity   = define("PlaceAffinity", "[{count} ]without the labels of its node affinity")
	PlaceVolume     = define("PlaceVolume", "[{count} ]cannot use its volume")
	PlaceOther      = define("PlaceOther", "[{count} ]{words}")
	ClaimNotBound   = define("ClaimNotBound",
		"PVC {claim} has no volume[ (StorageClass {class})][: {words}]")
	PodNotAllowed = define("PodNotAllowed", "StatefulSet {statefulSet} cannot create its Pod: {words}")
	PodNotEnded   = define("PodNotEnded",
		"its Pod has been Terminating[ for {for}] after its grace period[; container {container} still runs][; finalizers {finalizers&} keep it]")
	PodLacks    = define("PodLacks", "its Pod mounts {missing}, which does not exist")
	PodMount    = define("PodMount", "a volume of its Pod cannot be mounted: {words}")
	PodAttach   = define("PodAttach", "its volume cannot be attached: {words}")
	PodNotBegun = define("PodNotBegun", "its Pod does not start ({reason}): {words}")
	PodProbe    = define("PodProbe",
		"its {probe} probe ends {container} before it is ready[, {restarts} {restarts?restart|restarts}]")
	PodWasEvicted    = define("PodWasEvicted", "its Pod was evicted[: {words}]")
	PodFailed        = define("PodFailed", "its Pod failed[ ({reason})][: {words}]")
	ClaimIsLost      = define("ClaimIsLost", "the volume of PVC {claim} no longer exists (phase Lost)")
	VolumeOfGoneNode = define("VolumeOfGoneNode",
		"its volume {volume} is on Kubernetes node {kubernetesNode}, which no longer exists")

	Container     = define("Container", "container {container}")
	InitContainer = define("InitContainer", "init container {container}")
)
