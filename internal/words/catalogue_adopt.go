// SPDX-License-Identifier: Apache-2.0

package words

// adoptWords are the codes of internal/setup/adopt, which imports this package, so they are
// declared here.
var (
	AdoptNoNodes    = define("AdoptNoNodes", "no Pod runs ScyllaDB, so no node can be queried")
	AdoptNotAsked   = define("AdoptNotAsked", "the ScyllaDB of {member} cannot be queried[: {why}]")
	AdoptNoHostID   = define("AdoptNoHostID", "the ScyllaDB of {member} does not report its host ID")
	AdoptNotJoined  = define("AdoptNotJoined", "{member} has not joined (mode {mode}): wait until it has")
	AdoptSameHostID = define("AdoptSameHostID",
		"{members&} report the same host ID {hostID}: only one of them can be that node")
	AdoptOtherHostID = define("AdoptOtherHostID",
		"{member} runs host ID {hostID}, and its Service records {recorded}: check which of the two is right")
	AdoptNotUp       = define("AdoptNotUp", "{member} is not seen UP by {by&}: bring it back first")
	AdoptUnderWay    = define("AdoptUnderWay", "an operation is in progress ({operation}): wait until it ends")
	AdoptNotRecorded = define("AdoptNotRecorded",
		"host ID {hostID} of {member} was written to its Service, but is missing there: check what else writes the Service")
	AdoptSaysElsewhere = define("AdoptSaysElsewhere", "{member} no longer runs host ID {hostID}: start again")
)
