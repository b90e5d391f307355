// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Next returns the state of the member's replacement and the next action. It depends on its input
// alone.
func Next(in Input) Step {
	rec := RecordOf(in.Self)
	m := &machine{in: &in, rec: rec}
	s := m.next()
	s.Procedure = m.procedure
	s.Original, s.Attempt, s.StartedAt = m.original, rec.Attempt, rec.StartedAt
	if s.Request == "" {
		s.Request = m.request()
	}
	if s.Address == "" && m.procedure == ByAddress {
		s.Address, _ = rec.Address()
	}
	if s.Last == nil {
		s.Last = rec.Last
	}
	return s
}

type machine struct {
	in        *Input
	rec       Record
	procedure Procedure
	original  hostid.ID
}

// attemptJoined reports whether the new node has joined, by its own row or, without one, by its
// Service. Another attempt that was requested before, as while the Pod's Kubernetes node was away,
// has nothing left to replace: the present attempt continues to its end.
func (m *machine) attemptJoined() bool {
	id := newcomerID(m.in, m.original)
	return id != "" && m.original != "" && m.in.Self.JoinedAs(id)
}

func (m *machine) request() string {
	if m.rec.Accepted != "" {
		return m.rec.Accepted
	}
	return m.rec.Request
}

func (m *machine) next() Step {
	in, rec := m.in, m.rec
	m.procedure = rec.Procedure()
	m.original = rec.Original
	if in.Operator {
		return Step{Action: ActionNone, Message: words.New(words.OperatorManages)}
	}
	switch {
	case !rec.Requested && !rec.Open() && rec.Request == "":
		return m.idle()
	case !rec.Requested:
		return m.withdrawn()
	case rec.LabelLost && rec.OriginalError.IsZero():
		return m.restoreLabel()
	case rec.Resume != "" && rec.Resume != rec.Accepted && rec.Open() && !m.attemptJoined():
		return m.start(rec.Original, true)
	case rec.Accepted == "" && rec.HasOriginal:
		return m.begunElsewhere()
	case rec.Accepted == "":
		if addr, ok := rec.Address(); ok && m.begunByAddress(addr) {
			return m.adopt(addr)
		}
		m.original = in.Self.RecordedID()
		return m.start(m.original, false)
	}
	return m.accepted()
}

func (m *machine) idle() Step {
	s := Step{Action: ActionNone, Message: words.New(words.ReplaceNone)}
	if last := m.rec.Last; last != nil {
		s.Request = last.Request
		s.Message = last.Said()
		// The Event is repeated for a while: a controller that was killed after the last write has
		// not written it.
		if age := m.in.Now.Sub(last.FinishedAt); age >= 0 && age < lastSaid {
			s.Events = []Event{last.event()}
		}
	}
	return s
}

// lastSaid is the time after its end during which the outcome is published as an Event.
const lastSaid = 10 * time.Minute

// event returns the Event of the outcome, the same on every call.
func (l Last) event() Event {
	reason := EventFinished
	if l.Outcome == OutcomeCancelled {
		reason = EventCancelled
	}
	return Event{Reason: reason, Note: words.New(words.ReplaceEnded, "outcome", l.Said(), "request", l.Request)}
}

// Said returns the outcome as a message.
func (l Last) Said() words.Message {
	if l.Outcome == OutcomeCancelled {
		return words.New(words.ReplaceCancelled, "hostID", cmp.Or(l.HostID, "this node"))
	}
	took := ""
	if !l.StartedAt.IsZero() && l.FinishedAt.After(l.StartedAt) {
		took = l.FinishedAt.Sub(l.StartedAt).String()
	}
	if l.HostID == "" { // a procedure by address that another controller began
		return words.New(words.ReplacedUnknown, "newHostID", l.NewHostID, "took", took)
	}
	return words.New(words.Replaced, "hostID", l.HostID, "newHostID", l.NewHostID, "took", took)
}

// withdrawn handles a request whose label is removed but whose record is not.
func (m *machine) withdrawn() Step {
	in, rec := m.in, m.rec
	if rec.cancelable(m.claim) {
		for _, uid := range rec.PVCUIDs {
			if c := m.claim(uid); rec.Accepted != "" && c.Annotations[api.AnnotationReplaceKept] != rec.Accepted {
				return Step{Action: ActionKeepPVC, Claim: c,
					Message: words.New(words.ReplaceClaimKept, "claim", c.Name)}
			}
		}
		last := Last{
			Request: m.request(), Outcome: OutcomeCancelled, HostID: rec.Original,
			StartedAt: rec.StartedAt, FinishedAt: in.Now.UTC().Truncate(time.Second), Attempts: rec.Attempt,
		}
		return Step{
			Action: ActionCancel, Patch: endPatch(last),
			Message: words.New(words.ReplaceWithdrawn),
			Events:  []Event{last.event()},
		}
	}
	value := ""
	if m.procedure == ByAddress {
		value, _ = rec.Address()
	}
	msg := words.New(words.ReplaceTooLate, "label", api.LabelReplace, "member", in.Self.Member)
	return Step{
		Action: ActionCancelRefused, Message: msg,
		Patch:  &Patch{SetLabels: map[string]string{api.LabelReplace: value}},
		Events: []Event{{Warning: true, Reason: EventCancelRefused, Note: msg}},
	}
}

// cancelable reports whether a replacement can still be cancelled.
func cancelable(in Input) bool {
	m := &machine{in: &in, rec: RecordOf(in.Self)}
	return m.rec.cancelable(m.claim)
}

func (m *machine) claim(uid string) *corev1.PersistentVolumeClaim {
	for _, c := range m.in.Claims {
		if string(c.UID) == uid {
			return c
		}
	}
	return nil
}

// restoreLabel restores the label with the original host ID: the launcher of the new Pod reads it.
func (m *machine) restoreLabel() Step {
	msg := words.New(words.ReplaceLabelRestored, "label", api.LabelReplacingNodeHostID, "member", m.in.Self.Member)
	return Step{
		Action: ActionRecord, Message: msg,
		Patch:  &Patch{SetLabels: map[string]string{api.LabelReplacingNodeHostID: string(m.rec.Original)}},
		Events: []Event{{Warning: true, Reason: EventLabelRestored, Note: msg}},
	}
}

// begunByAddress distinguishes a procedure by address that another controller began from a request
// to replace by address. There the Service was recreated with the dead node's address in its label.
// The member then has no host ID, or one that never joined, or the new node's, with another
// address.
func (m *machine) begunByAddress(addr string) bool {
	in := m.in
	id := in.Self.RecordedID()
	if id == "" || in.Self.Joined != nil && !*in.Self.Joined {
		return true
	}
	ip, _ := netip.ParseAddr(addr) // Record.Address returns only valid addresses
	return len(newOpinions(in, id, "", nil).of(id).Up) > 0 && !slices.Contains(in.Self.Addresses(), ip)
}

// adopt records a procedure by address that another controller has begun. There is nothing to
// delete.
func (m *machine) adopt(addr string) Step {
	in := m.in
	request := m.rec.Request
	if request == "" {
		request = in.NewID
	}
	m.procedure = ByAddress
	return Step{
		Action: ActionAdopt, Request: request, Address: addr,
		Message: words.New(words.ReplaceAdopted, "address", addr),
		Patch: &Patch{SetAnnotations: map[string]string{
			api.AnnotationReplaceAccepted:  request,
			api.AnnotationReplacePVCUIDs:   api.ReplaceNone,
			api.AnnotationReplacePodUID:    api.ReplaceNone,
			api.AnnotationReplaceStartedAt: stamp(in.Now),
			api.AnnotationReplaceAddress:   addr,
			// The first attempt was not ours and has deleted the volume.
			api.AnnotationReplaceAttempt: "2",
		}},
		Events: []Event{
			{Reason: EventAdopted, Note: words.New(words.ReplaceAdopted, "address", addr)},
			m.deprecated(addr),
		},
	}
}

func (m *machine) deprecated(addr string) Event {
	return Event{Warning: true, Reason: EventAddressDeprecated, Note: words.New(words.ReplaceByAddressDeprecated,
		"version", cmp.Or(m.in.Version, "of unknown version"), "member", m.in.Self.Member, "address", addr)}
}
