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

// earlier is the last judgement of the whole cluster that waits for a permit.
type earlier struct {
	at      time.Time // zero: none
	verdict bootstrap.Verdict
}

// again returns the last verdict if at most the cluster report has changed since, and its view
// advances and still has no permit of this member: only a permit can open. Only the report is read
// then. Each minute everything is read, because a watch may be broken.
func (g *Gate) again(changed cluster.Kinds) (bootstrap.Verdict, bool) {
	v, now := g.last.verdict, g.reads.Now()
	if changed&^cluster.KindStatusReport != 0 || g.last.at.IsZero() || now.Sub(g.last.at) >= repeat {
		return v, false
	}
	r, trouble := g.reads.Report()
	if trouble != nil || !g.adopt(r, g.seen.Name) || !g.tooOld(now).IsZero() {
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
