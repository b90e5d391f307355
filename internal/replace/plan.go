// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Plan is the effect of a replacement, shown before it is requested.
type Plan struct {
	// Original is the host ID that would be replaced, with this Procedure and Address.
	Original  hostid.ID
	Procedure Procedure
	Address   string
	// Resume is set for another attempt at an open replacement.
	Resume bool
	Checks []Check
	// Blocked is set if a check blocks the replacement.
	Blocked bool
	// Streams lists the nodes from which the new node may stream: those that have a replica of its
	// data if StreamsKnown, else all that no row has DOWN.
	Streams []string
	// StreamsKnown is set if a live node reported the location of the data.
	StreamsKnown bool
	// Banned are the host IDs that ScyllaDB permanently bans at the request, even if it fails: the
	// original and the ignored ones.
	Banned []hostid.ID
}

// MakePlan runs the checks of the controller on the labels and annotations in the input. Apply
// RequestPatch or ResumePatch first.
func MakePlan(in Input) Plan {
	rec := RecordOf(in.Self)
	target := in.Self.RecordedID()
	if rec.HasOriginal {
		target = rec.Original
	}
	v := verify(&in, rec, target, rec.Open())
	p := Plan{
		Original: target, Procedure: v.procedure, Address: v.address, Resume: rec.Open(), Checks: v.checks,
		Blocked:      v.blocked(),
		StreamsKnown: in.Data != nil && in.Data.Known,
	}
	seen := newOpinions(&in, target, "", rec.IgnoreDead)
	for _, id := range seen.expected() {
		if len(seen.of(id).Down) == 0 && in.sharesData(target, id) {
			p.Streams = append(p.Streams, seen.name(id))
		}
	}
	slices.Sort(p.Streams)
	if target != "" {
		p.Banned = append(p.Banned, target)
	}
	for _, id := range rec.IgnoreDead {
		if id, err := hostid.Parse(id); err == nil {
			p.Banned = append(p.Banned, id)
		}
	}
	return p
}

// Blockers returns the checks that block the replacement.
func (p Plan) Blockers() []Check { return blockers(p.Checks) }

// OpenAlready returns why a new replacement of the member cannot be requested; zero if it can.
func OpenAlready(in Input) words.Message {
	rec := RecordOf(in.Self)
	if !rec.Open() || Superseded(in) != "" {
		return words.Message{}
	}
	if left := LeftLabel(in.Self); !left.IsZero() {
		return left
	}
	since := ""
	if !rec.StartedAt.IsZero() {
		since = stamp(rec.StartedAt)
	}
	return words.New(words.ReplaceIsOpen, "original", rec.target(), "member", in.Self.Member, "since", since)
}

// Phase is a step for display; a replacement passes the phases in this order.
type Phase string

const (
	PhaseVerify  Phase = "Verify"
	PhaseDelete  Phase = "DeleteVolume"
	PhaseEvict   Phase = "EvictPod"
	PhaseNewPod  Phase = "NewPod"
	PhaseJoin    Phase = "Join"
	PhaseReady   Phase = "Ready"
	PhaseOldGone Phase = "OldNodeGone"
	PhaseDone    Phase = "Done"
	PhaseFailed  Phase = "Failed"
	PhaseCancel  Phase = "Cancelled"
	PhaseNone    Phase = "None"
)

// Phase returns the phase of a step.
func (s Step) Phase() Phase {
	switch s.Action {
	case ActionRefuse, ActionRecord, ActionKeepPVC, ActionCancel, ActionAdopt:
		if s.Action == ActionRefuse && s.Attempt > 0 {
			return PhaseDelete
		}
		return PhaseVerify
	case ActionDeletePVC:
		return PhaseDelete
	case ActionEvictPod, ActionHoldEviction, ActionWaitPodGone:
		return PhaseEvict
	case ActionWaitRefused:
		if s.Claim != nil {
			return PhaseDelete
		}
		return PhaseEvict
	case ActionWaitNewPod, ActionCancelRefused:
		return PhaseNewPod
	case ActionWaitJoin:
		return PhaseJoin
	case ActionWaitReady:
		return PhaseReady
	case ActionWaitOldGone:
		return PhaseOldGone
	case ActionFinish:
		return PhaseDone
	case ActionFail:
		return PhaseFailed
	}
	return PhaseNone
}

// Title returns the title of a phase, in the present tense.
func (p Phase) Title() words.Message { return words.Message{Code: titles[p]} }
