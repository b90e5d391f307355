// SPDX-License-Identifier: Apache-2.0

package words

// resetWords are the reasons why a cluster must not be founded anew.
var (
	ResetOfOperator  = define("ResetOfOperator", "the Scylla Operator keeps this cluster, and nothing of it says that it was initialised")
	ResetNotKnown    = define("ResetNotKnown", "not everything could be read, and a member that nobody sees may run: {why}")
	ResetMembersRun  = define("ResetMembersRun", "ScyllaDB runs in {members&}, and would be of another cluster than the new one ({1}): stop {members?it|them} if the data are given up")
	ResetNodesUp     = define("ResetNodesUp", "{nodes&} {nodes?is|are} UP, and would be of another cluster than the new one ({1}): stop {nodes?it|them} if the data are given up")
	ResetOtherNodes  = define("ResetOtherNodes", "{nodes&} {nodes?is|are} known as {nodes?a member|members} elsewhere: a node that founds a cluster here would not be of that one")
	ResetPermitGiven = define("ResetPermitGiven", "{members&} {members?has a permit|have permits} and may start just now ({1}): wait until that is over")
)
