// SPDX-License-Identifier: Apache-2.0

package words

import "github.com/kubectl-scylla/kubectl-scylla/internal/code"

// viewWords say the controller's view and the conditions that go with it. The codes of internal/view and internal/render are written out
// here: the one rests on packages whose tests import this one, the other imports it.
var viewWords = map[code.Code]string{
	"InitNoNodeYet":    "no node of the cluster has joined yet",
	"InitFirstIsWell":  "{node} has joined; it must stay well for {window} without a break",
	"InitSignalAbsent": "nodes have joined, and none of them says freshly that it is NORMAL, serves, and knows group 0's leader",
	"InitDone":         "the cluster has had its first node[, {hostID}]: nobody may found it again",
	"InitRecovered":    "the cluster had nodes before this report was made: nobody may found it again",
	"InitEmpty": "the cluster was initialised and no member of it has joined any more: every disk may be lost, and no member may found it anew. " +
		"Look at the members ({1}); to give up all data and begin anew, delete the report ({2})",

	"NodesReplaceable": "{nodes&} {nodes?has|have} been DOWN for {dead} or longer by the rows of most members, and may be replaced if it is known not to come back: {*}",

	"LimitInterval":      "how often the controller looks at the members",
	"LimitMissed":        "after so many looks in a row that heard nothing a member is UNKNOWN",
	"LimitRecovery":      "after so many looks in a row that heard of it a member is UP",
	"LimitContact":       "how old what a look goes by may be; beyond it nothing was heard",
	"LimitStabilisation": "how long the first node must be well without a break before the cluster is initialised",
	"LimitBarrier":       "how long all must stay UP without a break before a barrier opens; 0 opens at once",
	"LimitDead":          "how long a node must have been DOWN before anything suggests to replace it",

	"ControllerView": "view {epoch}.{seq} of the controller: {up} of {members} members UP[, DOWN: {down}][, UNKNOWN: {unknown}][; held: {hold}]" +
		"[; permit: {permitted&}][; {waiting} in the queue for a permit]" +
		"[; it has said so for {age}, its clock against this one]",
	"ViewPermitted":     "{member} has its permit ({kind})[, since {age}]",
	"ViewQueued":        "{place}. {member} waits for its permit ({kind}): {why}",
	"ViewQueueIsLonger": "and {more} more wait",
}
