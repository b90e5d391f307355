// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// OperationDecommission is ScyllaDB's name of the operation.
const OperationDecommission = "decommission"

// Decommission is what the objects show of a member's decommission.
type Decommission struct {
	// Requested is true while the Scylla Operator requests it. Running is true if ScyllaDB lists it
	// as open, or the node reports that it leaves. Ended is true if the node reports its end.
	Requested, Running, Ended bool
	// Failed is true if ScyllaDB lists an attempt that failed, and none that is open. Error is its
	// text.
	Failed bool
	Error  string
	// Asked is when it was requested, or later; Unchanged since when no status report that shows it
	// has changed. Zero if unknown.
	Asked, Unchanged time.Time
}

// Since returns the earliest time at which the decommission is known to be in progress; zero if
// unknown.
func (d *Decommission) Since() time.Time { return earlier(d.Asked, d.Unchanged) }

// earlier returns the earlier of two times. Zero is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Decommissions returns the decommissions of members that leave, have left or failed to leave, by
// member. Under "" are failed attempts without a known member.
func (c *Cluster) Decommissions() map[string]Decommission {
	out := map[string]Decommission{}
	members := c.Members()
	for i := range members {
		if d := members[i].decommission(); members[i].Member != "" && (d.Requested || d.Running || d.Ended) {
			out[members[i].Member] = d
		}
	}
	only := "" // up to 2025.4 an operation has no host ID
	if names := slices.Collect(maps.Keys(out)); len(names) == 1 {
		only = names[0]
	}
	operations, _ := c.Operations()
	for _, open := range []bool{false, true} { // an open attempt is later than a failed one
		for _, op := range operations {
			name, listed := only, true
			if op.HostID != "" {
				name, listed = c.ix.hosts[op.HostID]
			}
			if op.Type != OperationDecommission || OperationOpen(op) != open || !listed || out[name].Ended ||
				open && name == "" {
				continue
			}
			d := out[name]
			d.Running, d.Failed, d.Error = open || d.Running, !open, op.Error
			d.Unchanged = earlier(d.Unchanged, c.listedSince(op))
			out[name] = d
		}
	}
	return out
}

// listedSince returns since when a status report with the operation has not changed.
func (c *Cluster) listedSince(op api.NodeOperation) (since time.Time) {
	members := c.Members()
	for i := range members {
		if m := &members[i]; m.Pod != nil && !m.RowFrozen() && slices.Contains(m.Says().Operations, op) {
			since = earlier(since, m.rowOwnWrite())
		}
	}
	return since
}

// rowOwnWrite returns when the member's reporter last changed its row; zero if unknown. Other than
// RowUnchangedSince, it is not renewed by the rows of other members.
func (m *Member) rowOwnWrite() time.Time {
	return writtenAt(m.Pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport)
}

// decommission returns what the member's own Service and row show.
func (m *Member) decommission() Decommission {
	d := Decommission{Requested: m.Decommissioning()}
	if d.Requested {
		if owner := LastOwner(m.Service.ManagedFields, "labels", api.LabelDecommissioned); owner != nil {
			d.Asked = owner.Time.Time
		}
	}
	if m.Pod == nil || m.Deleting() || m.RowFrozen() {
		return d
	}
	switch matrix.StateOfMode(m.Says().OperationMode) {
	case matrix.StateDecommissioned:
		d.Ended, d.Unchanged = true, m.rowOwnWrite()
	case matrix.StateLeaving:
		d.Running, d.Unchanged = true, m.rowOwnWrite()
	}
	return d
}

// decommissionBlockers returns the decommissions that do not end without help. They do not block
// new nodes, but a cluster with one is not healthy.
func (c *Cluster) decommissionBlockers() []matrix.Blocker {
	var out []matrix.Blocker
	all := c.Decommissions()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if m := c.Member(name); m != nil {
			if why := c.whyNotLeft(m, &d); !why.IsZero() {
				out = append(out, matrix.Blocker{Reason: words.DecommissionStuck, Observed: m.Ref, Cause: why,
					Since: d.Since()})
			}
		}
	}
	return out
}

// whyNotLeft returns why the decommission does not end; zero if it may end.
func (c *Cluster) whyNotLeft(m *Member, d *Decommission) words.Message {
	reached := func(since time.Time, limit time.Duration) bool {
		return !since.IsZero() && !c.TakenAt.IsZero() && c.TakenAt.Sub(since) >= limit
	}
	_, known := c.Operations()
	switch labelled := m.Label(api.LabelDecommissioned) != ""; {
	case d.Ended:
		if m.StatefulSet == nil || !slices.Contains(MemberNames(m.StatefulSet), m.Member) ||
			labelled && !reached(d.Unchanged, DecommissionBegins) {
			return words.Message{}
		}
		_, n := Ordinals(m.StatefulSet)
		names := MemberNames(m.StatefulSet)
		return words.New(words.DecommissionEnded, "statefulSet", m.StatefulSet.Name, "replicas", n, "last",
			names[len(names)-1] == m.Member)
	case d.Failed && !d.Running:
		return words.New(words.DecommissionFailed, "error", FirstLine(d.Error))
	case d.Running && reached(d.Unchanged, DecommissionUnchanged), reached(d.Asked, DecommissionRequested):
		return words.New(words.DecommissionSlow)
	case d.Requested && !d.Running && known && m.Says().OperationMode == modeNormal &&
		reached(d.Asked, DecommissionBegins):
		return words.New(words.DecommissionNotRun)
	}
	return words.Message{}
}
