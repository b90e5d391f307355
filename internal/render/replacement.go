// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/observe"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replacement"
)

// Logs is what the logs of ScyllaDB containers say of replacements, by member; nil when nobody has read them.
type Logs map[string]*replacement.Diagnosis

// judge asks package replacement about members. It reads the snapshot for that purpose once, and only when there is something to ask.
type judge struct {
	s       *kube.Snapshot
	now     time.Time
	logs    Logs
	cluster *observe.Cluster
	// newcomer is the new node's host ID of the replacement that was judged last, empty while it has none.
	newcomer string
	// steps are the exact next steps of nodes, by host ID.
	steps map[string]string
}

// know gives a matrix what was found out. The blockers stay as they are, their next steps become exact.
func (j *judge) know(m *matrix.Matrix) *matrix.Matrix {
	if len(j.steps) == 0 {
		return m
	}
	opts := m.Options()
	fates := make(map[string]matrix.Fate, len(opts.Fates)+len(j.steps))
	maps.Copy(fates, opts.Fates)
	for id, step := range j.steps {
		fate := fates[id]
		fate.Step = step
		fates[id] = fate
	}
	opts.Fates = fates
	return m.Judge(opts)
}

func (j *judge) learn(hostID, step string) {
	if hostID == "" || step == "" {
		return
	}
	if j.steps == nil {
		j.steps = map[string]string{}
	}
	j.steps[hostID] = step
}

// newJudge judges as of the moment at which the snapshot was taken, however long it lay in an archive; now is for those that do not say it.
func newJudge(s *kube.Snapshot, now time.Time, logs Logs) *judge {
	if !s.TakenAt.IsZero() {
		now = s.TakenAt
	}
	return &judge{s: s, now: now, logs: logs}
}

// record is what a member's Service says of a replacement; open is false when there is nothing to judge.
func record(m kube.Member) (rec replacement.Record, open bool) {
	if m.Service == nil {
		return rec, false
	}
	rec = replacement.ReadRecord(m.Service.Labels, m.Service.Annotations)
	return rec, rec.Requested || rec.Open() || rec.Request != ""
}

func (j *judge) observed() *observe.Cluster {
	if j.cluster == nil {
		// Observing chooses among the sources anew; the caller's snapshot keeps the one that it was read with.
		s := *j.s
		j.cluster = observe.New(&s, s.PVCs)
	}
	return j.cluster
}

// step is the state of the member's replacement, nil where the objects that were read do not tell it.
func (j *judge) step(m kube.Member, rec replacement.Record) *replacement.Step {
	if len(j.s.Pods) == 0 {
		return nil // not read, which is not the same as gone
	}
	in := j.observed().Input(m.Member, j.now, "")
	if in == nil {
		return nil
	}
	j.newcomer = ""
	if in.Pod != nil && in.Pod.HostID != "" {
		j.newcomer = in.Pod.HostID
	}
	in.Log = j.logs[m.Member]
	s := replacement.State(*in)
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
func (j *judge) replacementOf(m kube.Member, podState string) *Replacement {
	rec, open := record(m)
	if !open {
		return nil
	}
	r := newReplacement(m, rec, podState)
	s := j.step(m, rec)
	if s == nil {
		return &r
	}
	r.Phase, r.Attempt, r.Waiting, r.Cure, r.Failure = s.Phase(), s.Attempt, s.Waiting, s.Cure, s.Diagnosis
	r.Held = s.Held()
	what := short(r.Original)
	if what == "" {
		what = "its node"
	}
	switch {
	case r.Failure != nil:
		r.Summary = fmt.Sprintf("the attempt to replace %s failed: %s", what, r.Failure.Text)
	case r.Held:
		r.Summary = fmt.Sprintf("the replacement of %s is held up: %s", what, s.Message)
	case r.Cure != "" && len(r.Waiting) > 0:
		r.Summary = s.Message + ": " + strings.Join(r.Waiting, "; ")
	case r.Cure != "":
		r.Summary = s.Message
	}
	old := cmp.Or(r.Original, m.HostID)
	switch {
	case r.Failure != nil:
		j.learn(old, "the replacement failed: "+r.Cure)
		j.learn(j.newcomer, j.steps[old])
	case r.Cure != "" && (!r.Held || s.Refused != nil): // what else holds it up are checks, and replace --status shows them all
		j.learn(old, "the replacement waits: "+r.Cure)
	}
	return &r
}

// stranger is true for a host ID that nobody in Kubernetes has: without one there is no ghost to ask about.
func stranger(m kube.Member) bool { return m.Service == nil && m.Pod == nil && m.HostID != "" }

// leftovers are the ghosts of the cluster, with how each is removed.
func (j *judge) leftovers() []replacement.Ghost {
	ghosts := j.observed().Ghosts(j.now)
	for _, g := range ghosts {
		if g.Command != "" {
			j.learn(g.HostID, "no member has it; remove it: "+g.Command)
		} else {
			j.learn(g.HostID, "no member has it, and it cannot be removed yet: "+g.Why)
		}
	}
	return ghosts
}

func newReplacement(m kube.Member, rec replacement.Record, podState string) Replacement {
	r := Replacement{Ref: m.Ref, Requested: rec.Requested, Original: m.Replacing}
	if r.Original == "" {
		r.Original = rec.Original // the label was removed, or the procedure is by address
	}
	switch {
	case r.Original == "":
		r.Summary = "requested, the host ID to replace is not recorded yet"
	case m.HostID == r.Original || m.HostID == "":
		r.Summary = fmt.Sprintf("%s is being replaced, the new node has no host ID yet (Pod %s)", short(r.Original), podState)
	case m.State == kube.MemberJoined:
		r.Summary = fmt.Sprintf("%s was replaced by %s, which has joined; the labels are still there", short(r.Original), short(m.HostID))
	default:
		r.Summary = fmt.Sprintf("%s is being replaced by %s, which has not joined yet (Pod %s)", short(r.Original), short(m.HostID), podState)
	}
	return r
}

// lines are the lines of a replacement on a screen: what is so, then the cure.
func (r *Replacement) lines(o Options, lead string) []string {
	g := o.glyphs()
	lines := wrap(lead+Clean(r.Name()+": "+r.Summary), o.Width, lead+"  ")
	return append(lines, r.cureLines(o, g, lead+"  ")...)
}

func (r *Replacement) cureLines(o Options, g glyphs, lead string) []string {
	if r.Cure == "" {
		return nil
	}
	return wrap(lead+g.arrow+" "+Clean(r.Cure), o.Width, lead+"  ")
}

// commandLines breaks a command so that it can be copied: a broken line ends in a backslash.
func commandLines(command string, o Options, lead string) []string {
	width := o.Width
	if width > 0 {
		width = max(1, width-2)
	}
	lines := wrap(lead+o.glyphs().arrow+" "+Clean(command), width, lead+"    ")
	for i := range len(lines) - 1 {
		lines[i] += ` \`
	}
	return lines
}
