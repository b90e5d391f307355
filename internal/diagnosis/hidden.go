// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// seeIfRemoved is the step for a member in no row that the rows can hide: only ScyllaDB's tables
// show whether it was removed.
var seeIfRemoved = rule{
	steps: one(words.SeeIfRemoved),
	when:  func(a *asked) bool { return a.witness() != "" },
	take: func(a *asked) words.Message {
		f := a.facts()
		f["witness"] = a.witness()
		f["container"] = a.c.Containers().Container(f["witness"])
		return evidence.Do(words.New(words.SeeIfRemoved, "hostID", f["hostID"], "node", f["node"]), f)
	},
}

// witness returns a member whose row does not list the blocker's node, a member; empty if a row
// lists it, its node is ready, no row can hide it, or the nodes are of two clusters.
func (a *asked) witness() string {
	m := a.c.Member(a.b.Observed.Member)
	if m == nil || !m.HasJoined() || m.RecordedID() == "" || !m.Idle() || !a.m.Hides(m.Ref) ||
		!a.m.SplitFact().IsZero() {
		return ""
	}
	o := a.m.Opinion(m.RecordedID())
	if o.Listing() > 0 {
		return ""
	}
	for _, i := range o.NotListed {
		if name := a.m.Nodes()[i].Member; name != "" {
			return name
		}
	}
	return ""
}
