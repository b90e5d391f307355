// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// start verifies and records a new replacement of target, or another attempt at it.
func (m *machine) start(target hostid.ID, resume bool) Step {
	in, rec := m.in, m.rec
	seen := newOpinions(in, target, "", rec.IgnoreDead)
	// Who has been replaced or removed since the request is not in the cluster that ScyllaDB knows.
	rec.IgnoreDead = slices.DeleteFunc(slices.Clone(rec.IgnoreDead), func(text string) bool {
		id, err := hostid.Parse(text)
		return err == nil && seen.noMember(id)
	})
	v := verify(in, rec, target, resume)
	m.procedure = v.procedure
	request, started, attempt := rec.Request, in.Now, 1
	if resume {
		request, attempt = rec.Resume, max(rec.Attempt, 1)+1
		if !rec.StartedAt.IsZero() {
			started = rec.StartedAt
		}
	}
	if v.blocked() {
		s := m.refuse(v)
		s.Request = request
		return s
	}
	request = cmp.Or(request, in.NewID)
	patch := m.recordPatch(request, attempt)
	patch.SetAnnotations[api.AnnotationReplaceStartedAt] = stamp(started)
	patch.choices(rec.IgnoreDead, rec.SkipChecks)
	if !resume || rec.Accepted == "" {
		patch.SetAnnotations[api.AnnotationReplaceOriginalHostID] = string(target)
	}
	s := Step{Action: ActionRecord, Request: request, Checks: v.checks, Patch: patch, Address: v.address,
		Message: words.New(words.ReplaceRecord, "hostID", target)}
	switch v.procedure {
	case byHostID:
		patch.SetLabels[api.LabelReplacingNodeHostID] = string(target)
	case ByAddress:
		patch.SetLabels[api.LabelReplace] = v.address
		patch.SetAnnotations[api.AnnotationReplaceAddress] = v.address
		s.Events = append(s.Events, m.deprecated(v.address))
	}
	skipped := skippedNames(v.checks)
	if resume {
		s.Events = append(s.Events, Event{Reason: EventResumed, Note: words.New(words.ReplaceResumed,
			"hostID", target, "address", v.address, "attempt", attempt, "request", request, "skipped", skipped)})
	} else {
		s.Events = append(s.Events, Event{Reason: EventStarted, Note: words.New(words.ReplaceStarted,
			"hostID", target, "address", v.address, "request", request, "skipped", skipped)})
	}
	return s
}

// recordPatch records what this attempt will delete.
func (m *machine) recordPatch(request string, attempt int) *Patch {
	var uids []string
	for _, c := range m.in.Claims {
		uids = append(uids, string(c.UID))
	}
	slices.Sort(uids)
	pod := api.ReplaceNone
	if m.in.Self.Pod != nil {
		pod = string(m.in.Self.Pod.UID)
	}
	return &Patch{SetLabels: map[string]string{}, SetAnnotations: map[string]string{
		api.AnnotationReplaceRequest:  request,
		api.AnnotationReplaceAccepted: request,
		api.AnnotationReplacePVCUIDs:  listOrNone(uids),
		api.AnnotationReplacePodUID:   pod,
		api.AnnotationReplaceAttempt:  strconv.Itoa(attempt),
	}}
}

func skippedNames(checks []Check) []string {
	var out []string
	for _, c := range checks {
		if c.Skipped {
			out = append(out, c.Name)
		}
	}
	return out
}

func (m *machine) refuse(v verification) Step {
	held := blockers(v.checks)
	s := Step{Action: ActionRefuse, Checks: v.checks, Address: v.address, Cure: held[0].Cure}
	for _, b := range held {
		s.Waiting = append(s.Waiting, words.New(words.CheckHolds, "check", b.Name, "evidence", b.Evidence))
	}
	s.Message = words.New(words.ReplaceHeld, "checks", s.Waiting)
	s.Events = []Event{
		{Warning: true, Reason: EventRefused, Note: words.New(words.ReplaceHeldUp, "member", m.in.Self.Member, "checks",
			s.Waiting)}}
	return s
}
