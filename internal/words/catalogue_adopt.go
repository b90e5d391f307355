// SPDX-License-Identifier: Apache-2.0

package words

// adoptWords belong to internal/setup/adopt, which imports this package: its codes are written out here.
var (
	AdoptNoNodes       = define("AdoptNoNodes", "no Pod runs ScyllaDB, so that there is nobody to ask")
	AdoptNotAsked      = define("AdoptNotAsked", "the ScyllaDB of {member} cannot be asked[: {why}]")
	AdoptNoHostID      = define("AdoptNoHostID", "the ScyllaDB of {member} does not say its host ID")
	AdoptNotJoined     = define("AdoptNotJoined", "{member} has not joined (mode {mode}): wait until it has")
	AdoptSameHostID    = define("AdoptSameHostID", "{members&} say the same host ID {hostID}: only one of them can be that node")
	AdoptOtherHostID   = define("AdoptOtherHostID", "{member} runs host ID {hostID}, and its Service records {recorded}: see which of the two is right")
	AdoptNotUp         = define("AdoptNotUp", "{member} is not seen UP by {by&}: bring it back first")
	AdoptUnderWay      = define("AdoptUnderWay", "an operation is under way ({operation}): wait until it ends")
	AdoptNotRecorded   = define("AdoptNotRecorded", "host ID {hostID} of {member} was written to its Service, and is not there: see who writes it")
	AdoptSaysElsewhere = define("AdoptSaysElsewhere", "{member} does not run host ID {hostID} any more: begin again")
)
