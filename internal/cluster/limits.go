// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Ages from which waiting is no answer any more: every step that says "wait" has one of these, and
// then names the object that blocks and a command that shows it.
const (
	// LimitStart is how long a Pod may be without a ready ScyllaDB: longer than an image and a
	// volume need on most clusters. The replay of a commit log takes minutes more, so that the step
	// from then on only reads.
	LimitStart = 10 * time.Minute
	// LimitGossip is how long nodes may differ about each other: a node is DOWN after 22 to 24 s,
	// and UP after a few.
	LimitGossip = 5 * time.Minute
	// LimitRollback is how long ScyllaDB may list a node whose join was interrupted: it removes it
	// once its streams end.
	LimitRollback = 30 * time.Minute
	// LimitJoin is how long a node may join, and LimitReplacement how long it may replace another
	// one: at 100 MB/s, 4 TB need 11 h.
	LimitJoin, LimitReplacement = 12 * time.Hour, 12 * time.Hour
	// LimitFirstNode is how long the first node of a cluster may start: it receives no data.
	LimitFirstNode = 15 * time.Minute
	// LimitRequest is how long a requested replacement may have no visible effect: a controller
	// acts within seconds.
	LimitRequest = 2 * time.Minute
	// LimitRollout is how long a rollout may take: a node drains and starts in minutes, and large
	// clusters have hundreds of them.
	LimitRollout = 12 * time.Hour
	// LimitPermit is how long a new node may have no permit: another one may join first.
	LimitPermit = LimitJoin
	// LimitStable is how long all nodes may fail to stay UP: the time that they must is some 10 s.
	LimitStable = 10 * time.Minute
	// LimitReread is how long a barrier or a reporter may fail to reach an API: it retries each few
	// seconds.
	LimitReread = 5 * time.Minute
	// LimitSchema is how long schema versions may differ: nodes exchange them within seconds.
	LimitSchema = 10 * time.Minute
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
