// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// Reasons for a Member's State.
const (
	detailDecommissionAsked code.Code = "DecommissionAsked"
	detailDecommissioned    code.Code = "IsDecommissioned"
	detailPeersSay          code.Code = "PeersSay" // state
	detailNotJoined         code.Code = "HasNotJoined"
	detailNoHostID          code.Code = "NoHostIDKnown"
	detailJoinUnknown       code.Code = "JoinUnknown"
	detailNoPod             code.Code = "MemberWithoutPod"
	detailReplaces          code.Code = "ReplacesHostID" // hostID
	detailPodNotMade        code.Code = "PodNotMade"
	detailUnnamed           code.Code = "SeenWithoutService" // state
	detailGossipOnly        code.Code = "GossipOnly"         // pod, address
	detailNeitherRead       code.Code = "ServiceAndPodUnread"
	detailServicesUnread    code.Code = "ServicesUnread"
	detailOtherNamespace    code.Code = "PodElsewhere"
	detailRecorded          code.Code = "RecordedElsewhere" // service
	detailOfDatacenter      code.Code = "OfDatacenter"      // datacenter
	detailOfAnother         code.Code = "OfAnotherDatacenter"
	detailRowOnly           code.Code = "RowOnly"
	detailListedOnly        code.Code = "ListedOnly"
)

// Causes for which a Pod does not serve yet. container is one of the two containers below, words are those of the scheduler or the kubelet.
const (
	waitsForStatefulSet    code.Code = "WaitsForStatefulSet" // statefulSet
	waitsForEnd            code.Code = "WaitsForEnd"
	waitsForKubernetesNode code.Code = "WaitsForKubernetesNode" // words
	waitsForStart          code.Code = "WaitsForStart"          // container
	waitsForFinish         code.Code = "WaitsForFinish"         // container
	waitsForReady          code.Code = "WaitsForReady"          // container
	waitsForEnded          code.Code = "WaitsForEnded"          // container, code, words
	waitsForContainer      code.Code = "WaitsForContainer"      // container, reason, words or code
	plainContainer         code.Code = "Container"              // container
	initContainer          code.Code = "InitContainer"          // container
)
