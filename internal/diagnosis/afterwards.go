// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Fresh is how long the tasks after an operation are listed. ScyllaDB keeps no record of a repair
// or a cleanup, so without a limit a task would be listed indefinitely.
const Fresh = 24 * time.Hour

// operationReplace is ScyllaDB's name of a replacement in the configuration of repair-based node
// operations.
const operationReplace = "replace"

// operation is the kind of an operation that has ended.
type operation string

const (
	Replaced operation = "Replaced" // a node replaced another
	Joined   operation = "Joined"   // a node joined
)

// taskState is whether a task is left to do.
type taskState string

const (
	// TaskOpen must be done. Its completion is not observable: no call of ScyllaDB's API returns
	// when a repair or a cleanup ended.
	TaskOpen taskState = "Open"
	// taskNotNeeded is a task that an observation makes unnecessary.
	taskNotNeeded taskState = "NotNeeded"
)

// task is one task that ScyllaDB's documentation requires after an operation.
type task struct {
	// Node on which it is done.
	Node  matrix.Ref
	State taskState
	// Message describes the task, or why it is not needed. Command does it; nil if there is nothing
	// to do.
	Message words.Message
	Command words.Command
}

// Afterwards are the tasks that follow one operation.
type Afterwards struct {
	Operation operation
	// Node is the new node, Original the host ID that it replaced, empty for a join.
	Node     matrix.Ref
	Original hostid.ID
	// Finished is when it ended; zero if unknown.
	Finished time.Time
	// Message names the operation that has ended. Wait is why the open tasks must wait, zero if
	// they can be done now.
	Message, Wait words.Message
	Tasks         []task
}

// Open reports whether a task is left.
func (a *Afterwards) Open() bool {
	return slices.ContainsFunc(a.Tasks, func(t task) bool { return t.State == TaskOpen })
}

// After returns the tasks that follow the operations that ended within Fresh before now: each
// replacement, and the last join of each datacenter, as one cleanup serves all joins before it. The
// operations are those that our controller records on member Services. Under the Scylla Operator
// there are no records; it runs the cleanup itself.
func After(c *cluster.Cluster, now time.Time) []Afterwards {
	var out []Afterwards
	last := map[string]record{} // by datacenter
	records := recordsOf(c)
	for _, r := range records {
		if r.joined.IsZero() || now.Sub(r.joined) > Fresh {
			continue
		}
		if r.original != "" {
			out = append(out, AfterReplacement(c, r.Ref, r.original, r.joined))
			continue
		}
		if l, ok := last[r.Datacenter]; !ok || r.joined.After(l.joined) {
			last[r.Datacenter] = r
		}
	}
	for _, r := range records {
		if last[r.Datacenter].Member != r.Member {
			continue
		}
		if a := afterJoin(c, r, records); slices.ContainsFunc(a.Tasks, func(t task) bool {
			return t.Message.Code != words.AfterCleanupTablets // a cluster without vnodes has no tasks
		}) {
			if age := young(c, records, now); age > 0 {
				a.Message = words.New(words.AfterCreated, "node", r.String(), "created", age)
			}
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b Afterwards) int { return b.Finished.Compare(a.Finished) })
	return out
}

// AfterReplacement returns the task after the replacement of a node: a repair of the new node,
// unless its configuration makes replacements repair-based.
func AfterReplacement(c *cluster.Cluster, newcomer matrix.Ref, original hostid.ID, finished time.Time) Afterwards {
	a := Afterwards{
		Operation: Replaced, Node: newcomer, Original: original, Finished: finished,
		Message: words.New(words.AfterReplaced, "node", newcomer.String(), "original", original),
	}
	t := task{Node: newcomer, State: TaskOpen, Message: words.New(words.AfterRepair, "node", newcomer.String()),
		Command: nodetool(c, newcomer, "repair")}
	if said := c.Said(newcomer.Member); said != nil && said.HostID == newcomer.HostID &&
		slices.Contains(said.RepairBased, operationReplace) {
		t.State, t.Message, t.Command = taskNotNeeded, words.New(words.AfterRepairCovered, "node", newcomer.String()),
			nil
	}
	a.Tasks = []task{t}
	if a.Open() {
		a.Wait = waits(c)
	}
	return a
}

// afterJoin returns a cleanup of the other members of the new node's datacenter, one after the
// other.
func afterJoin(c *cluster.Cluster, newcomer record, all []record) Afterwards {
	a := Afterwards{
		Operation: Joined, Node: newcomer.Ref, Finished: newcomer.joined,
		Message: words.New(words.AfterJoined, "node", newcomer.String()),
	}
	for _, r := range all {
		if r.Member == newcomer.Member || r.Datacenter != newcomer.Datacenter || !r.member {
			continue
		}
		t := task{Node: r.Ref, State: TaskOpen, Message: words.New(words.AfterCleanup, "node", r.String()),
			Command: nodetool(c, r.Ref, "cleanup")}
		switch said := c.Said(r.Member); {
		case r.joined.After(newcomer.joined):
			t.State, t.Message, t.Command = taskNotNeeded, words.New(words.AfterCleanupNewer, "node", r.String()), nil
		case said != nil && said.HostID == r.HostID && said.OperationMode == "NORMAL" && said.OwnsTokens != nil &&
			!*said.OwnsTokens:
			// A member that owns no tokens has no user data. [derived]
			t.State, t.Message, t.Command = taskNotNeeded, words.New(words.AfterCleanupNoTokens, "node", r.String()),
				nil
		case said != nil && said.HostID == r.HostID && said.VnodeKeyspaces != nil && !*said.VnodeKeyspaces:
			// Tablets are cleaned up automatically (nodetool-commands/cluster/cleanup.rst).
			t.State, t.Message, t.Command = taskNotNeeded, words.New(words.AfterCleanupTablets, "node", r.String()), nil
		}
		a.Tasks = append(a.Tasks, t)
	}
	if a.Open() {
		a.Wait = waits(c)
	}
	return a
}

// young returns the age of a cluster all of whose nodes have joined within Fresh, as their records
// show; zero for any other.
func young(c *cluster.Cluster, records []record, now time.Time) (age time.Duration) {
	for i := range c.Matrix().Nodes() {
		n := &c.Matrix().Nodes()[i]
		if !n.Joined || n.Removed {
			continue
		}
		at := slices.IndexFunc(records, func(r record) bool { return r.HostID == n.HostID })
		if at < 0 || records[at].joined.IsZero() || records[at].original != "" || now.Sub(records[at].joined) > Fresh {
			return 0
		}
		age = max(age, now.Sub(records[at].joined))
	}
	return age
}

// waits returns why neither a repair nor a cleanup should start now: ScyllaDB's documentation
// requires all nodes UP and no topology change.
func waits(c *cluster.Cluster) words.Message {
	if len(maintenance.UnderWay(c).Operations) > 0 {
		return words.New(words.AfterWaitOperation)
	}
	members := c.Members()
	for i := range members {
		if members[i].State == cluster.MemberNewcomer || members[i].ReplaceRequested || members[i].Replacing != "" {
			return words.New(words.AfterWaitNewcomer, "node", members[i].Name())
		}
	}
	if h := bootstrap.HealthOf(c); h.Up < h.Nodes || h.Nodes == 0 {
		return words.New(words.AfterWaitAllUp, "up", h.Up, "nodes", h.Nodes)
	}
	return words.Message{}
}

// record is a member Service's record of how its node joined.
type record struct {
	matrix.Ref
	// member is set for a node that has joined.
	member bool
	// joined is when the join was observed, zero if it was not; original is the host ID that it
	// replaced.
	joined   time.Time
	original hostid.ID
}

func recordsOf(c *cluster.Cluster) []record {
	var out []record
	members := c.Members()
	for i := range members {
		mb := &members[i]
		if mb.Service == nil {
			continue
		}
		r := record{Ref: mb.Ref, member: mb.HasJoined() && mb.HostID != ""}
		if r.member && mb.RecordedID() == mb.HostID {
			r.joined = mb.JoinedAt()
		}
		var l replace.Last
		v := mb.Service.Annotations[api.AnnotationReplaceLast]
		if r.member && v != "" && json.Unmarshal([]byte(v), &l) == nil && l.Outcome == replace.OutcomeReplaced &&
			l.NewHostID == mb.HostID {
			r.joined, r.original = l.FinishedAt, l.HostID
		}
		if mb.ReplaceRequested || mb.Replacing != "" {
			r.joined = time.Time{} // an operation in progress has not ended
		}
		out = append(out, r)
	}
	return out
}

func nodetool(c *cluster.Cluster, on matrix.Ref, args ...string) words.Command {
	return append(append(words.Scylla(c.Namespace, "nodetool", on.Member), "--"), args...)
}
