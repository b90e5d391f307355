// SPDX-License-Identifier: Apache-2.0

package words

// resetWords are the reasons why a cluster must not be bootstrapped again.
var (
	ResetOfOperator = define("ResetOfOperator",
		"the Scylla Operator manages this cluster, and no object records that it was initialised")
	ResetNotKnown = define("ResetNotKnown",
		"not everything could be read, and an unknown member may be running: {why}")
	ResetMembersRun = define("ResetMembersRun",
		"ScyllaDB is running in {members&}, which would belong to a different cluster than the new one ({1}): stop {members?it|them} if the data is given up")
	ResetNodesUp = define("ResetNodesUp",
		"{nodes&} {nodes?is|are} UP, and would belong to a different cluster than the new one ({1}): stop {nodes?it|them} if the data is given up")
	ResetOtherNodes = define("ResetOtherNodes",
		"{nodes&} {nodes?is|are} known as {nodes?a member|members} elsewhere: a node that bootstraps a cluster here would belong to a different one")
	ResetPermitGiven = define("ResetPermitGiven",
		"{members&} {members?has a permit|have permits} and may be starting now ({1}): wait until the permit is used or withdrawn")
)
