// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
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
		a.ask(f, a.witness())
		return evidence.Do(words.New(words.SeeIfRemoved, "hostID", f["hostID"], "node", f["node"]), f)
	},
}

// discardIfLeft is the step for a volume whose host ID is in no row, if the rows may hide it.
var discardIfLeft = rule{
	steps: one(words.DiscardClaimIfLeft),
	when:  because(words.HostIDNotListed),
	take: func(a *asked) words.Message {
		f := a.facts()
		a.ask(f, a.notListing(a.b.Observed.HostID))
		return evidence.Do(words.New(words.DiscardClaimIfLeft,
			"hostID", f["hostID"], "claim", f["claim"], "member", f["member"]), f)
	},
}

// ask adds the member whose tables show the state of a host ID.
func (s *asker) ask(f evidence.Facts, witness string) {
	f["witness"], f["container"] = witness, s.c.Containers().Container(witness)
}

// witness returns a member whose row does not list the blocker's node, a member; empty if a row
// lists it, its node is ready, no row can hide it, or the nodes are of two clusters.
func (a *asked) witness() string {
	m := a.c.Member(a.b.Observed.Member)
	if m == nil || !m.HasJoined() || m.RecordedID() == "" || !m.Idle() || !a.m.Hides(m.Ref) ||
		!a.m.SplitFact().IsZero() {
		return ""
	}
	return a.notListing(m.RecordedID())
}

// notListing returns a member whose row does not list the host ID; empty if a row lists it.
func (s *asker) notListing(id hostid.ID) string {
	o := s.m.Opinion(id)
	if o.Listing() > 0 {
		return ""
	}
	for _, i := range o.NotListed {
		if name := s.m.Nodes()[i].Member; name != "" {
			return name
		}
	}
	return ""
}
