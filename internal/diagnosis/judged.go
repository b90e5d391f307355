// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Judged is one cluster with the verdicts about it. Every document shows these, and decides
// nothing.
type Judged struct {
	Cluster *cluster.Cluster
	// Made is when the documents are created. Now is when the cluster was read, so that an archive
	// gives the same verdict later; Made for saved objects without a time.
	Made, Now  time.Time
	Health     bootstrap.Health
	Findings   []Finding
	Afterwards []Afterwards
	// Replacing are the members with a replacement that is requested, open or recorded, by name.
	Replacing map[string]Replacing
	// Ghosts are the host IDs that the cluster lists and no member has (orphaned).
	Ghosts []replace.Ghost
	// Starts are the verdicts of new members, and of the members named in the call of Judge, by
	// name.
	Starts map[string]start
}

// Replacing is the replacement of a member.
type Replacing struct {
	Requested bool
	// Original is the replaced host ID, if recorded.
	Original hostid.ID
	// Step is its state; nil if the required objects were not read.
	Step *replace.Step
}

// start is the verdict of a member's barrier, with its steps and the causes of its blockers, the
// decisive one first. Err is why it could not be judged.
type start struct {
	Verdict bootstrap.Verdict
	Causes  []Cause
	Err     error
}

// Judge judges a cluster, the starts of its new members, and the starts of the named members. made
// is when the documents are created.
func Judge(c *cluster.Cluster, made time.Time, names ...string) *Judged {
	j := &Judged{Cluster: c, Made: made, Now: made, Replacing: map[string]Replacing{}, Starts: map[string]start{}}
	if !c.TakenAt.IsZero() {
		j.Now = c.TakenAt
	}
	known := Known{Failed: map[hostid.ID]words.Message{}, Newcomers: map[hostid.ID]hostid.ID{},
		Steps: map[hostid.ID]words.Message{}}
	var reading *replace.Reading
	read := func() *replace.Reading { // once, and only if needed
		if reading == nil {
			reading = replace.Read(c)
		}
		return reading
	}
	members, strangers := c.Members(), false
	names = slices.Clone(names) // the caller's list is not changed
	for i := range members {
		m := &members[i]
		strangers = strangers || m.Service == nil && m.Pod == nil && m.HostID != ""
		rec := replace.RecordOf(m)
		if !rec.Requested && !rec.Open() && rec.Request == "" || m.LeftReplacing != "" {
			if m.State == cluster.MemberNewcomer && m.Service != nil {
				names = append(names, m.Ref.Member)
			}
			continue
		}
		// the label may have been removed
		r := Replacing{Requested: rec.Requested, Original: cmp.Or(m.Replacing, rec.Original)}
		var newcomer hostid.ID
		if len(c.Pods) > 0 { // not read does not mean absent
			r.Step, newcomer = stateOf(read(), m, j.Now, &rec)
		}
		if r.Step != nil {
			known.learn(m, &r, newcomer)
		}
		j.Replacing[m.Ref.Member] = r
	}
	if strangers {
		j.Ghosts = read().Ghosts(j.Now)
		known.ghosts(c, j.Ghosts)
	}
	j.Health = bootstrap.HealthOf(c)
	j.Findings = From(c, j.Health, known)
	j.Afterwards = After(c, j.Now)
	slices.Sort(names)
	steps := stepsOf(c, j.Health.Blockers, j.Findings)
	for _, name := range slices.Compact(names) {
		v, err := bootstrap.VerdictOf(c, name)
		var causes []Cause
		if err == nil {
			causes = advise(c, &v, Asks{Self: c.Member(name).ByService(), Known: known}, steps)
		}
		j.Starts[name] = start{Verdict: v, Causes: causes, Err: err}
	}
	return j
}

// stateOf returns the state of a member's replacement, nil if the required objects were not read,
// and the host ID of its new node.
func stateOf(r *replace.Reading, m *cluster.Member, now time.Time, rec *replace.Record) (*replace.Step, hostid.ID) {
	c, in := r.Cluster, r.Input(m.Ref.Member, now, "")
	if in == nil {
		return nil, ""
	}
	s := replace.State(*in)
	if phase := s.Phase(); phase == replace.PhaseJoin || phase == replace.PhaseFailed { // else it is the old node's log
		if in.Log = replace.FailureOf(m.Ref.Member, c.Logged[m.Ref.Member]); in.Log != nil {
			s = replace.State(*in)
		}
	}
	s = s.Allowed(c)
	if !in.Operator && len(c.PVCs) == 0 && (len(rec.PVCUIDs) > 0 || rec.Accepted == "") {
		// PVCs that were not read look like deleted PVCs.
		switch s.Phase() {
		case replace.PhaseJoin, replace.PhaseFailed, replace.PhaseReady, replace.PhaseOldGone, replace.PhaseDone:
		default:
			return nil, ""
		}
	}
	return &s, cmp.Or(in.Self.Says().HostID, s.NewHostID)
}

// learn adds what a replacement shows about its nodes.
func (k *Known) learn(m *cluster.Member, r *Replacing, newcomer hostid.ID) {
	s, old := r.Step, cmp.Or(r.Original, m.HostID)
	if newcomer != "" && newcomer != old {
		k.Newcomers[newcomer] = old
	}
	switch {
	case s.Diagnosis != nil:
		if r.Original != "" {
			k.Failed[r.Original] = s.Diagnosis.Text
		}
		k.step(old, words.New(words.ResumeReplacement, "cure", s.Cure))
		k.step(newcomer, k.Steps[old])
	// other blockers are checks, and replace status shows them all
	case !s.Cure.IsZero() && (!s.Held() || s.Refused != nil || s.Cure.Code == words.StartOperatorAgain ||
		s.Cure.Code == words.StartOperatorToRecord):
		k.step(old, words.New(words.ReplacementWaits, "cure", s.Cure))
		k.step(newcomer, k.Steps[old])
	}
}

func (k *Known) ghosts(c *cluster.Cluster, all []replace.Ghost) {
	for _, g := range all {
		switch {
		case k.Newcomers[g.HostID] != "": // its member's replacement knows more
		case len(g.Command) > 0:
			k.step(g.HostID, words.New(words.RemoveGhost, "first", g.Why).Do(g.Command))
		default:
			k.step(g.HostID, keep(c, g.Why))
		}
	}
}

// keep returns the step for a host ID that must not be removed because of why.
func keep(c *cluster.Cluster, why words.Message) words.Message {
	if why.Code == words.StrangerLeftVolume {
		return replace.KeepLeftVolume(c, why)
	}
	return words.New(words.GhostCannotGo, "why", why)
}

func (k *Known) step(hostID hostid.ID, step words.Message) {
	if hostID != "" && !step.IsZero() {
		k.Steps[hostID] = step
	}
}
