// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// kept is the last verdict, if the next judgement may return it again. It is of the reading that
// Seen returns: its steps hold for the objects of that reading, not for later ones.
type kept struct {
	verdict bootstrap.Verdict
	until   time.Time     // zero: judge
	ends    cluster.Kinds // a change of these ends it earlier
}

// keep keeps a verdict. A refusal of the final check counts until the next one, or until a Service
// changes: that may be a force. A verdict of the whole cluster that waits for a permit counts for a
// minute, because a watch may be broken, or until more than the cluster report changes.
func (g *Gate) keep(v bootstrap.Verdict, known *cluster.Cluster) {
	switch now := g.reads.Now(); {
	case g.stability.refused > 0:
		g.kept = kept{v, now.Add(v.Pause), cluster.KindServices}
	case v.Decision == bootstrap.DecisionWait && g.ByPermits() && ours(known) && !unanswered(v):
		g.kept = kept{v, now.Add(repeat), ^cluster.KindStatusReport}
	default:
		g.kept = kept{}
	}
}

// again returns the kept verdict. One without a permit needs a report whose view advances and still
// has no permit of this member: only a permit can open. Only the report is read for it.
func (g *Gate) again(changed cluster.Kinds) (bootstrap.Verdict, bool) {
	v, now := g.kept.verdict, g.reads.Now()
	if !now.Before(g.kept.until) || changed&g.kept.ends != 0 {
		return v, false
	}
	if g.stability.refused > 0 {
		v.Pause = g.kept.until.Sub(now)
		return v, true
	}
	r, trouble := g.reads.Report()
	if trouble != nil || !g.adopt(r, g.seen.Name) {
		return v, false
	}
	if old, _ := g.tooOld(now); !old.IsZero() {
		return v, false
	}
	p := bootstrap.Permission{View: g.permits.views.Latest()}
	if p.View.Hold != "" || slices.ContainsFunc(p.View.Permits,
		func(x api.StatusReportViewPermit) bool { return x.Member == g.Member }) {
		return v, false
	}
	g.permits.heard, v.Blockers = now, slices.Clone(v.Blockers)
	if onlyPending(v) {
		v = wait(v, p.Blockers(v.Self, "", nil)...)
	}
	return v, true
}

// unanswered reports whether the API server or the controller does not respond.
func unanswered(v bootstrap.Verdict) bool {
	return waitsFor(v, words.APIUnreachable, words.ControllerSilent)
}

func onlyPending(v bootstrap.Verdict) bool {
	return !slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason != words.PermitPending })
}

// pause is the time until the next judgement without a change.
func (g *Gate) pause(v bootstrap.Verdict) time.Duration {
	switch {
	case ServiceMissing(v), waitsFor(v, words.ControllerSilent) && !g.ByPermits():
		return soon
	case waitsFor(v, words.PermitForOther, words.ViewHeld, words.Isolated) || unanswered(v) && g.ByPermits():
		// the next view, or a relayed one, may remove them; a change of the view wakes at once
		return g.policy.PeerCheck.Duration
	case v.Pause != 0:
		return max(shortest, v.Pause)
	}
	return reevaluate
}
