// SPDX-License-Identifier: Apache-2.0

package words

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// memberWords are the reasons for a member's state, and for its Pod's waiting.
var memberWords = map[code.Code]string{
	"DecommissionAsked":   "its decommission is asked for",
	"IsDecommissioned":    "it is decommissioned",
	"PeersSay":            "its peers say that it is {state}",
	"HasNotJoined":        "it has not joined",
	"NoHostIDKnown":       "no host ID is known of it",
	"JoinUnknown":         "nothing tells whether it has joined",
	"MemberWithoutPod":    "it is a member and has no Pod",
	"ReplacesHostID":      "it replaces host ID {hostID}",
	"PodNotMade":          "its Pod is not made yet",
	"SeenWithoutService":  "peers see it {state}; no Service here has its host ID yet",
	"GossipOnly":          "{pod} gossips with it at {address} and does not have it as a member",
	"ServiceAndPodUnread": "neither its Service nor its Pod was read",
	"ServicesUnread":      "the Services, which record host IDs, were not read",
	"PodElsewhere":        "its Pod is not in this namespace",
	"RecordedElsewhere":   "Service {service} records it: it is a node of that cluster",
	"OfDatacenter":        "of datacenter {datacenter}: not known here",
	"OfAnotherDatacenter": "of another datacenter: not known here",
	"RowOnly":             "the report has its row; no Service or Pod here has its host ID",
	"ListedOnly":          "peers list it as a member; no Service or Pod here has its host ID",

	"WaitsForStatefulSet":    "StatefulSet {statefulSet} to make its Pod",
	"WaitsForEnd":            "its Pod to end",
	"WaitsForKubernetesNode": "a Kubernetes node[: {words}]",
	"WaitsForStart":          "{container} to start",
	"WaitsForFinish":         "{container} to finish",
	"WaitsForReady":          "{container} to become ready",
	"WaitsForEnded":          "{container}, which ended with exit code {code}[: {words}]",
	"WaitsForContainer":      "{container} ({reason})[: {words}][: exit code {code}]",
	"Container":              "container {container}",
	"InitContainer":          "init container {container}",
}
