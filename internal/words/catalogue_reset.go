// SPDX-License-Identifier: Apache-2.0

package words

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// resetWords are the reasons why a cluster must not be founded anew.
var resetWords = map[code.Code]string{
	"ResetOfOperator":  "the Scylla Operator keeps this cluster, and nothing of it says that it was initialised",
	"ResetNotKnown":    "not everything could be read, and a member that nobody sees may run: {why}",
	"ResetMembersRun":  "ScyllaDB runs in {members&}, and would be of another cluster than the new one ({1}): stop {members?it|them} if the data are given up",
	"ResetNodesUp":     "{nodes&} {nodes?is|are} UP, and would be of another cluster than the new one ({1}): stop {nodes?it|them} if the data are given up",
	"ResetOtherNodes":  "{nodes&} {nodes?is|are} known as {nodes?a member|members} elsewhere: a node that founds a cluster here would not be of that one",
	"ResetPermitGiven": "{members&} {members?has a permit|have permits} and may start just now ({1}): wait until that is over",
}
