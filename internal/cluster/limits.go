// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Ages from which waiting is no answer any more: every step that says "wait" has one of these, and
// then names the object that blocks and a command that shows it.
const (
	// DecommissionUnchanged is how long a decommission may be in progress without a change of the
	// status reports that show it. The disk use of the nodes, which reports have in steps of 5 %,
	// changes while data moves: 12 h without one step are no progress.
	DecommissionUnchanged = 12 * time.Hour
	// DecommissionRequested is the same where reports have no operations, as the Scylla Operator's:
	// only the request has an age. In 24 h, 4 TB move at 50 MB/s.
	DecommissionRequested = 24 * time.Hour
	// DecommissionBegins is how long a request may be without an operation of ScyllaDB, and how
	// long the Scylla Operator may keep the Pod of a decommissioned node: it acts within seconds.
	DecommissionBegins = 10 * time.Minute
)
