// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// waited returns the step for the age of what it waits for. A step without a time has no age.
func (a *asked) waited(step words.Message) words.Message {
	since, f := a.b.Since, a.facts()
	switch step.Code {
	case words.WaitForStart, words.WaitForLeaving: // their age is not the node's time DOWN
		return step
	case words.ReplacementOpen, words.ReplacementRequested, words.WaitForEviction, words.WaitForReplacement:
		member := cmp.Or(a.fate().Member, a.Self.Name())
		since = a.replacedSince(member)
		f["member"], f["pod"], f["node"] = member, member, member
	}
	f["report"] = cmp.Or(f["report"], a.c.Name)
	age := time.Duration(0)
	if !since.IsZero() && !a.c.TakenAt.IsZero() {
		age = a.c.TakenAt.Sub(since)
	}
	return replace.Waited(step, age, f)
}

// replacedSince returns since when a label of a replacement is on the member's Service, or a later
// time; zero if unknown.
func (s *asker) replacedSince(member string) time.Time {
	m := s.c.Member(member)
	if m == nil || m.Service == nil {
		return time.Time{}
	}
	for _, label := range []string{api.LabelReplacingNodeHostID, api.LabelReplace} {
		if owner := cluster.LastOwner(m.Service.ManagedFields, "labels", label); owner != nil {
			return owner.Time.Time
		}
	}
	return time.Time{}
}
