// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis/evidence"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// newcomerID returns the host ID of the member's new node: from the Pod's row, else from the
// Service if that differs from original; empty if unknown.
func newcomerID(in *Input, original hostid.ID) hostid.ID {
	for _, id := range []hostid.ID{in.Self.Says().HostID, in.Self.RecordedID()} {
		if id != "" && id != original {
			return id
		}
	}
	return ""
}

// join waits until the new node has joined, its Pod is Ready and no row lists the original.
func (m *machine) join() Step {
	in, p := m.in, m.in.Self.Pod
	id := newcomerID(in, m.original)
	v := newOpinions(in, m.original, id, m.rec.IgnoreDead)
	if waiting := v.notJoined(id); len(waiting) > 0 {
		s, others := m.joining(id, waiting), (&verifier{rowEvidence: v}).checkOthersUp()
		if s.Cure.Code == words.CureVolumeLost && others.evidence.Code == words.PlaceAway {
			s.Cure = others.cure // another attempt would be refused for it
		}
		return s
	}
	joined := Event{Reason: EventJoined, Note: words.New(words.NewcomerJoined, "node", id, "pod", p.Name, "original",
		m.original, "request", m.request())}
	if !in.Self.Ready() {
		return Step{
			Action: ActionWaitReady, NewHostID: id, Message: words.New(words.WaitReady, "node", id, "pod", p.Name),
			Waiting: standstill(in), Events: []Event{joined},
		}
	}
	if m.original != "" {
		if t := v.of(m.original); t.Listing() > 0 {
			return Step{
				Action: ActionWaitOldGone, NewHostID: id, Message: words.New(words.WaitOldGone, "node", id, "original",
					m.original),
				Waiting: []words.Message{words.New(words.OldStillListed, "by", v.labels(t.Listers()), "original",
					m.original)}, Events: []Event{joined},
			}
		}
	}
	last := Last{
		Request: m.request(), Outcome: OutcomeReplaced, HostID: m.original, NewHostID: id,
		StartedAt: m.rec.StartedAt, FinishedAt: in.Now.UTC().Truncate(time.Second), Attempts: m.rec.Attempt,
	}
	return Step{Action: ActionFinish, NewHostID: id, Patch: endPatch(last), Message: last.Said(), Last: &last,
		Events: []Event{last.event()}}
}

// joining is the step while the new node has not joined, or after it has failed to.
func (m *machine) joining(id hostid.ID, waiting []words.Message) Step {
	in, p := m.in, m.in.Self.Pod
	s := Step{Action: ActionWaitJoin, NewHostID: id, Waiting: waiting}
	if d := diagnose(in, m.original, id); d != nil {
		if cure := m.removedSince(id); evidence.VolumeOf(d.Code) == evidence.Lost && !cure.IsZero() {
			d.Cure = cure // another attempt is refused: the original is not a member any more
		}
		s.Action, s.Diagnosis, s.Message, s.Cure = ActionFail, d, d.Text, d.Cure
		s.Events = []Event{{Warning: true, Reason: EventFailed,
			Note: words.New(words.ReplaceFailed, "original", m.original, "pod", p.Name, "text", d.Text, "cure",
				d.Cure)}}
		return s
	}
	stands := standstill(in)
	if id == "" {
		s.Message = words.New(words.WaitStart, "pod", p.Name)
		if len(stands) > 0 {
			s.Waiting = stands
		}
		if s.Cure = withoutTheOther(in, m.original); s.Cure.IsZero() {
			if s.Cure = unrecorded(in, m.original); !s.Cure.IsZero() {
				s.NewHostID = in.Unrecorded
			}
		}
		if s.Cure.IsZero() {
			s.Cure = unscheduled(in)
		}
		return s
	}
	if in.Self.ScyllaDB().State.Running == nil {
		s.Waiting = append(stands, waiting...)
	}
	if how := in.Self.Joining(); !how.IsZero() {
		s.Waiting = append(slices.Clip(s.Waiting), how)
	}
	s.Message, s.Cure = words.New(words.WaitJoin, "node", id, "pod", p.Name), unscheduled(in)
	lost := s.Cure.Code == words.CureVolumeLost
	switch {
	case s.Cure.IsZero() && len(in.Barrier) == 0 && in.Self.Scheduled():
		s.Cure = m.unheard(id)
	case lost && newcomerIsMember(in, m.original, id) && in.Self.RecordedID() == id:
		// Another attempt at the original would find nothing to replace.
		s.Cure = in.unlessLater(id, words.Message{Code: words.CureNewcomerLost, Params: s.Cure.Params}.Do(
			words.Scylla(in.Namespace, "replace", string(id))))
	case len(in.Barrier) > 0 && in.Self.EmptyVolume() && Superseded(*in) == id && deadIn(in, id):
		s.Cure = in.unlessLater(id,
			words.New(words.ReplaceFormerNode).Do(words.Scylla(in.Namespace, "replace", string(id))))
	case m.attemptJoined() && (lost || s.Cure.IsZero()):
		// The new node has joined, so another attempt never starts.
		s.Cure = m.removedSince(id)
	}
	return s
}

// removedSince is the remedy for a new node that had joined and was then removed, as by nodetool
// removenode. Fresh rows of all nodes list neither it nor the original. Zero if a row is missing,
// but for those of dead nodes that cannot come back: they wait for the end of this replacement.
func (m *machine) removedSince(id hostid.ID) words.Message {
	_, dead := othersDown(m.in, m.original, id)
	v := &verifier{rowEvidence: newOpinions(m.in, m.original, id, slices.Concat(m.rec.IgnoreDead, hostid.Texts(dead))),
		rec: m.rec, resume: true}
	if v.checkRows().result != OK || v.of(id).Listing() > 0 || v.of(m.original).Listing() > 0 {
		return words.Message{}
	}
	return v.nothingToReplace()
}

// modeStarting is ScyllaDB's operation mode before its topology request is accepted.
const modeStarting = "STARTING"

// unheard is the remedy for a new node that no row lists after startingTime. Its seed addresses may
// belong to deleted Pods, as after a rollout. A new Pod gets the present addresses. That helps only
// while the log shows the shadow round: once discovery has begun, its peers are on disk, and
// ScyllaDB ignores the seeds (raft_group0.cc:531, persistent_discovery::make). Otherwise the remedy
// shows the log. Zero while the task manager, which lists an operation for a stored request, was
// not read, and while another node is not UP.
func (m *machine) unheard(id hostid.ID) words.Message {
	in, p := m.in, m.in.Self.Pod
	v := &verifier{rowEvidence: newOpinions(in, m.original, id, m.rec.IgnoreDead)}
	switch started := in.Self.StartedAt(); {
	case in.Self.Says().OperationMode != modeStarting || started.IsZero() || in.Now.Sub(started) < startingTime,
		in.Self.RowFrozen(),
		!in.OperationsKnown || len(maintenance.Open(in.Operations)) > 0,
		v.of(id).Listing() > 0 || v.checkRows().result != OK || v.checkOthersUp().result != OK:
		return words.Message{}
	}
	if in.Log != nil && in.Log.Code == words.ShadowRound {
		return words.New(words.CureNewSeeds, "node", id).Do(words.Kubectl(in.Namespace, "delete", "pod", p.Name))
	}
	return words.New(words.CureUnheard, "node", id).Do(
		logOf(in),
		words.Scylla(in.Namespace, "describe", in.Self.Member))
}

// unscheduled is the remedy for a new Pod without a Kubernetes node: another attempt if its new
// volume is gone, because only that deletes its PVC. Otherwise the volume may be intact, whatever
// the scheduler reports (no room, a cordon, a Kubernetes node that is not Ready), and the step
// deletes nothing. Zero while a recent Pod is still being scheduled.
func unscheduled(in *Input) words.Message {
	created := in.Self.Pod.CreationTimestamp.Time
	switch {
	case in.Self.Scheduled() || created.IsZero() || in.Now.Sub(created) <= overdue,
		slices.ContainsFunc(in.Claims, goes):
		return words.Message{}
	case in.VolumeGone.IsZero():
		return in.Unscheduled
	}
	return words.New(words.CureVolumeLost, "why", in.VolumeGone).Do(replaceCommand(in, nil))
}

// unrecorded is the remedy for a new node that joined and was lost before the controller recorded
// its host ID. Its Pod and volume are gone, and the present Pod waits at its barrier on an empty
// volume, or cannot be scheduled. Another attempt at the original would find nothing to replace.
func unrecorded(in *Input, original hostid.ID) words.Message {
	if in.Unrecorded == "" || in.Self.Pod == nil || !newcomerIsMember(in, original, in.Unrecorded) ||
		!deadIn(in, in.Unrecorded) {
		return words.Message{}
	}
	record := words.Kubectl(in.Namespace, "annotate", "--overwrite", "service", in.Self.Member, api.AnnotationHostID+
		"="+string(in.Unrecorded))
	replace := words.Scylla(in.Namespace, "replace", string(in.Unrecorded))
	if unscheduled(in).Code == words.CureVolumeLost {
		return in.unlessLater(in.Unrecorded, words.New(words.CureUnrecordedLost, "node", in.Unrecorded, "member",
			in.Self.Member, "why", in.VolumeGone).Do(record, replace))
	}
	if len(in.Barrier) == 0 {
		return words.Message{}
	}
	return in.unlessLater(in.Unrecorded, words.New(words.CureRecordNewcomer, "node", in.Unrecorded, "member",
		in.Self.Member).Do(record, replace))
}

// withoutTheOther is the remedy for a new node whose barrier waits for other dead nodes, if
// something shows of each that it cannot come back.
func withoutTheOther(in *Input, original hostid.ID) words.Message {
	names, ignore := othersDown(in, original, "")
	if len(in.Barrier) == 0 || len(ignore) == 0 {
		return words.Message{}
	}
	return words.New(words.CureIgnoreOther, "nodes", names).Do(replaceCommand(in, ignore))
}

// standstill returns why ScyllaDB does not run on the new Pod, or why the Pod is not Ready.
func standstill(in *Input) []words.Message {
	m := in.Self
	if m.Waiting.IsZero() {
		return nil
	}
	out := []words.Message{words.New(words.PodWaits, "pod", m.Pod.Name, "waits", m.Waiting)}
	if e := m.LastExit(); e != nil && e.ExitCode == ExitLaunchRetry && m.ScyllaDB().State.Running == nil {
		out = append(out, words.New(words.LauncherRetries, "code", ExitLaunchRetry))
	}
	for _, b := range in.Barrier {
		out = append(out, words.New(words.BarrierWaits, "blocker", b))
	}
	for _, c := range in.Claims {
		if c.Spec.VolumeName == "" && !m.Scheduled() {
			out = append(out, words.New(words.ClaimUnbound, "claim", c.Name))
		}
	}
	return out
}

// notJoined returns what is missing until the new node has joined; empty if it has. Its own row
// must show that (or the member Service, for rows that are not ours). Every other node that is not
// dead must have it UP and normal in a fresh row.
func (v *rowEvidence) notJoined(id hostid.ID) []words.Message {
	if id == "" {
		return []words.Message{words.New(words.NewcomerHasNoHostID)}
	}
	in, name := v.in, short(id)
	var out []words.Message
	if !in.Self.JoinedAs(id) {
		out = append(out, words.New(words.NewcomerOwnsNoTokens, "node", name, "mode", in.Self.Says().OperationMode))
	}
	expected, t := v.expected(), v.of(id)
	normal := t.States[matrix.StateNormal]
	var silent []string
	var notNormal []int
	for _, observer := range expected {
		// Ignore a node that failed meanwhile: its own replacement waits for the end of this one.
		if !v.silence(observer).IsZero() && !v.of(observer).MajorityDown() {
			silent = append(silent, v.name(observer))
		}
	}
	for _, i := range t.Up {
		if !slices.Contains(normal, i) {
			notNormal = append(notNormal, i)
		}
	}
	if notUp := v.labels(t.Down, t.Unknown, t.NotListed); len(notUp) > 0 {
		out = append(out, words.New(words.NewcomerNotUp, "by", notUp, "node", name))
	}
	if len(notNormal) > 0 {
		out = append(out, words.New(words.NewcomerNotNormal, "by", v.labels(notNormal), "node", name))
	}
	if len(silent) > 0 {
		out = append(out, words.New(words.NodesWithoutFreshRow, "nodes", silent))
	}
	if len(expected) == 0 || !v.heard() {
		out = append(out, words.New(words.NobodySaysWhomItSees))
	}
	return out
}
