// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Reasons of blockers about reading, not about the cluster, beside those of package matrix.
const (
	ReasonServiceMissing matrix.Reason = "MemberServiceMissing" // the member Service is not there (yet)
	ReasonAPIUnreachable matrix.Reason = "APIUnreachable"       // the API server does not answer
	ReasonIncomplete     matrix.Reason = "ReadingIncomplete"    // part of the decision's input may not be read
)

// Codes of the barrier's own findings. Their parameters are named beside them.
const (
	causeNoService       code.Code = "ServiceDoesNotExist" // namespace, service
	causeNoLease         code.Code = "NoLease"             // lease
	causeLeaseForbidden  code.Code = "LeaseForbidden"      // lease
	causeLeaseUnread     code.Code = "LeaseUnread"         // lease, error
	causeLeaseNotHeld    code.Code = "LeaseWithoutHolder"  // lease
	causeLeaseNotRenewed code.Code = "LeaseNotRenewed"     // controller, lease
	causeLeaseNotSeen    code.Code = "LeaseNotSeenRenewed" // controller, lease

	// Answers of other members' reporters while the API server is unreachable.
	causeRelaysFresh code.Code = "RelaysAreFresh" // answering, error
	causeRelaysOld   code.Code = "RelaysAreOld"   // answering, error

	noteByPeers        code.Code = "DecidedByPeers"
	stepReachMembers   code.Code = "ReachMembers"
	stepGrantMember    code.Code = "GrantMemberRights"
	stepNameCluster    code.Code = "NameCluster"
	stepSeeController  code.Code = "SeeControllerMakesServices"
	stepBarrierRetries code.Code = "BarrierRetries"
	stepNamedReport    code.Code = "MakeNamedReport" // report; command: get it

	diskNoAnswer      code.Code = "QueryLeftNoAnswer" // error
	diskNotLooked     code.Code = "VolumeNotRead"     // dir, error
	diskNotNamed      code.Code = "VolumeNotNamed"
	diskQueryTooOld   code.Code = "ScyllaDBWithoutQuery"     // version
	diskQueryDefect   code.Code = "ScyllaDBQueryFailsOnNull" // detail, version
	factBannedByError code.Code = "OperationFailed"          // operation, hostID, error
)
