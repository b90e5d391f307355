// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Logs are the diagnoses of replacements from the logs of ScyllaDB containers, by member; nil when no logs were read.
type Logs map[string]*replacement.Diagnosis

// judge asks package replacement about members. It reads the snapshot for that purpose once, and only when there is something to ask.
type judge struct {
	s       *cluster.Cluster
	now     time.Time
	logs    Logs
	reading *replacement.Reading
	// newcomer is the new node's host ID of the replacement that was judged last, empty while it has none.
	newcomer hostid.ID
	// known is what has been found out, for the diagnosis.
	known diagnosis.Known
}

func (j *judge) learn(hostID hostid.ID, step words.Message) {
	if hostID == "" || step.IsZero() {
		return
	}
	j.known.Steps[hostID] = step
}

// newJudge judges at the time of the snapshot, so that an archive gives the same verdict later; now is for snapshots without a time.
func newJudge(s *cluster.Cluster, now time.Time, logs Logs) *judge {
	if !s.TakenAt.IsZero() {
		now = s.TakenAt
	}
	known := diagnosis.Known{Failed: map[hostid.ID]words.Message{}, Newcomers: map[hostid.ID]hostid.ID{}, Steps: map[hostid.ID]words.Message{}}
	return &judge{s: s, now: now, logs: logs, known: known}
}

// record is what a member's Service says of a replacement; open is false when there is nothing to judge.
func record(m cluster.Member) (rec replacement.Record, open bool) {
	rec = replacement.RecordOf(&m)
	return rec, rec.Requested || rec.Open() || rec.Request != ""
}

func (j *judge) read() *replacement.Reading {
	if j.reading == nil {
		j.reading = replacement.Read(j.s)
	}
	return j.reading
}

// step is the state of the member's replacement, nil where the objects needed were not read.
func (j *judge) step(m cluster.Member, rec replacement.Record) *replacement.Step {
	if len(j.s.Pods) == 0 {
		return nil // not read, which is not the same as gone
	}
	in := j.read().Input(m.Member, j.now, "")
	if in == nil {
		return nil
	}
	j.newcomer = in.Self.Says().HostID
	in.Log = j.logs[m.Member]
	s := replacement.State(*in).Allowed(j.s)
	if !in.Operator && len(j.s.PVCs) == 0 && (len(rec.PVCUIDs) > 0 || rec.Accepted == "") {
		// Claims that were not read look like claims that are gone.
		switch s.Phase() {
		case replacement.PhaseJoin, replacement.PhaseFailed, replacement.PhaseReady, replacement.PhaseOldGone, replacement.PhaseDone:
		default:
			return nil
		}
	}
	return &s
}

// replacementOf is the open replacement of a member, nil when there is none.
func (j *judge) replacementOf(m cluster.Member, podState string) *Replacement {
	rec, open := record(m)
	if !open {
		return nil
	}
	r := newReplacement(m, rec, podState)
	s := j.step(m, rec)
	if s == nil {
		return &r
	}
	r.Phase, r.Attempt, r.Waiting, r.Cure, r.cure, r.Failure = s.Phase(), s.Attempt, words.Texts(s.Waiting), words.Text(s.Cure), s.Cure, newFailure(s.Diagnosis)
	message := words.Text(s.Message)
	r.Held = s.Held()
	what := short(r.Original)
	if what == "" {
		what = "its node"
	}
	switch {
	case r.Failure != nil:
		r.Summary = fmt.Sprintf("the attempt to replace %s failed: %s", what, r.Failure.Text)
	case r.Held:
		r.Summary = fmt.Sprintf("the replacement of %s is held up: %s", what, message)
	case r.Cure != "" && len(r.Waiting) > 0:
		r.Summary = message + ": " + strings.Join(r.Waiting, "; ")
	case r.Cure != "":
		r.Summary = message
	}
	old := cmp.Or(r.Original, m.HostID)
	if j.newcomer != "" && j.newcomer != old {
		j.known.Newcomers[j.newcomer] = old
	}
	switch {
	case r.Failure != nil:
		if r.Original != "" {
			j.known.Failed[r.Original] = words.New(words.ReplacementFailure, "text", r.Failure.Text)
		}
		j.learn(old, words.New(words.ResumeReplacement, "cure", s.Cure))
		j.learn(j.newcomer, j.known.Steps[old])
	case r.Cure != "" && (!r.Held || s.Refused != nil): // what else holds it up are checks, and replace status shows them all
		j.learn(old, words.New(words.ReplacementWaits, "cure", s.Cure))
	}
	return &r
}

// Failure is why an attempt failed.
type Failure struct {
	// Code is stable, CamelCase; Text is the fact, Cure what to do.
	Code string `json:"code"`
	Text string `json:"text"`
	Cure string `json:"cure"`
	cure words.Message
}

func newFailure(d *replacement.Diagnosis) *Failure {
	if d == nil {
		return nil
	}
	return &Failure{Code: string(d.Code), Text: words.Text(d.Text), Cure: words.Text(d.Cure), cure: d.Cure}
}

// Leftover is a host ID that the cluster lists and no member has.
type Leftover struct {
	HostID hostid.ID `json:"hostID"`
	// Evidence says which nodes list it, and in which state.
	Evidence string `json:"evidence"`
	// Command removes it; empty while it must not be removed, with Why saying why. Beside a command Why is what has to be done first.
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"`

	first   words.Message
	command words.Command
}

func newLeftovers(ghosts []replacement.Ghost) []Leftover {
	var out []Leftover
	for _, g := range ghosts {
		out = append(out, Leftover{HostID: g.HostID, Evidence: words.Text(g.Evidence), Command: words.Shell(g.Command), Why: words.Text(g.Why), first: g.Why, command: g.Command})
	}
	return out
}

// stranger is true for a host ID that no Kubernetes object has. Without a host ID there is no ghost to ask about.
func stranger(m cluster.Member) bool { return m.Service == nil && m.Pod == nil && m.HostID != "" }

// leftovers are the ghosts of the cluster, with how each is removed.
func (j *judge) leftovers() []Leftover {
	found := j.read().Ghosts(j.now)
	for _, g := range found {
		switch {
		case len(g.Command) > 0 && !g.Why.IsZero():
			j.learn(g.HostID, words.New(words.ExcludeThenRemove, "first", g.Why).Do(g.Command))
		case len(g.Command) > 0:
			j.learn(g.HostID, words.New(words.RemoveGhost).Do(g.Command))
		default:
			j.learn(g.HostID, words.New(words.GhostCannotGo, "why", g.Why))
		}
	}
	return newLeftovers(found)
}

func newReplacement(m cluster.Member, rec replacement.Record, podState string) Replacement {
	r := Replacement{Ref: m.Ref, Requested: rec.Requested, Original: m.Replacing}
	if r.Original == "" {
		r.Original = rec.Original // the label was removed, or the procedure is by address
	}
	switch {
	case r.Original == "":
		r.Summary = "requested, the host ID to replace is not recorded yet"
	case m.HostID == r.Original || m.HostID == "":
		r.Summary = fmt.Sprintf("%s is being replaced, the new node has no host ID yet (Pod %s)", short(r.Original), podState)
	case m.State == cluster.MemberJoined:
		r.Summary = fmt.Sprintf("%s was replaced by %s, which has joined; the labels are still there", short(r.Original), short(m.HostID))
	default:
		r.Summary = fmt.Sprintf("%s is being replaced by %s, which has not joined yet (Pod %s)", short(r.Original), short(m.HostID), podState)
	}
	return r
}

// lines are the lines of a replacement on a screen: its state, then the cure.
func (r *Replacement) lines(o Options, lead string) []string {
	g := o.glyphs()
	lines := wrap(lead+Clean(r.Name()+": "+r.Summary), o.Width, lead+"  ")
	return append(lines, r.cureLines(o, g, lead+"  ")...)
}

func (r *Replacement) cureLines(o Options, g glyphs, lead string) []string {
	if r.Cure == "" {
		return nil
	}
	if !r.cure.IsZero() {
		return stepLinesAt(lead, r.cure, o)
	}
	return wrap(lead+g.arrow+" "+Clean(r.Cure), o.Width, lead+"  ")
}

// commandLines is a command on a line of its own, however long: so it can be copied whole.
func commandLines(c words.Command, o Options, lead string) []string {
	return []string{lead + o.glyphs().arrow + " " + Clean(o.Words.Shell(c))}
}
