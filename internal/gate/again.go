// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// earlier is the last judgement of the whole cluster, if no view without a permit can change it.
type earlier struct {
	at      time.Time
	verdict bootstrap.Verdict
	report  *api.ScyllaDBStatusReport // with the rows and the view that it used; nil: read everything
}

// remember keeps a verdict that a view without a permit of this member cannot change. The rows must
// be those in the cluster report, because again reads no others.
func (g *Gate) remember(v bootstrap.Verdict, known *cluster.Cluster) {
	g.last = earlier{}
	if v.Satisfied || v.Decision == bootstrap.DecisionRefuse || !g.ByPermits() || !ours(known) ||
		!known.ByClusterReport() || waitsFor(v, noView...) ||
		!withoutPermit(known.StatusReport, g.Member) {
		return
	}
	g.last = earlier{at: g.reads.Now(), verdict: v, report: known.StatusReport}
}

func withoutPermit(r *api.ScyllaDBStatusReport, member string) bool {
	return r != nil && r.Status.View != nil && !slices.ContainsFunc(r.Status.View.Permits,
		func(p api.StatusReportViewPermit) bool { return p.Member == member })
}

// again returns the last verdict if only the controller's view has changed and still has no permit
// of this member. A view is written every few seconds while any permit is open, and wakes every
// barrier. It reads the cluster report, with all rows, and the Lease. Otherwise, and after a while,
// the caller reads everything: only that can open.
func (g *Gate) again(changed cluster.Kinds) (bootstrap.Verdict, bool) {
	l, now := &g.last, g.reads.Now()
	limit, pending := reevaluate, onlyPending(l.verdict)
	if pending {
		limit = repeat
	}
	if l.report == nil || changed&^cluster.KindStatusReport != 0 || now.Sub(l.at) >= limit {
		return bootstrap.Verdict{}, false
	}
	r, trouble := g.reads.Report()
	if trouble != nil || !sameButView(r, l.report) || !withoutPermit(r, g.Member) ||
		view.StampOf(g.permits.views.Latest()).Newer(view.StampOf(r.Status.View)) {
		return bootstrap.Verdict{}, false
	}
	if silent, _ := g.silent(now); !silent.IsZero() || !g.adopt(r, r.Name) {
		return bootstrap.Verdict{}, false
	}
	g.permits.heard = now
	v := l.verdict
	v.Blockers = slices.Clone(v.Blockers)
	if !pending {
		return v, true
	}
	if r.Status.View.Hold != "" {
		return bootstrap.Verdict{}, false // a rollout, which ends the stabilisation time
	}
	p := bootstrap.Permission{View: r.Status.View}
	return wait(v, p.Blockers(v.Self, "", nil)...), true
}

func onlyPending(v bootstrap.Verdict) bool {
	for i := range v.Blockers {
		if v.Blockers[i].Reason != words.PermitPending {
			return false
		}
	}
	return true
}

// sameButView reports whether two readings of a report differ in the controller's view at most.
func sameButView(a, b *api.ScyllaDBStatusReport) bool {
	x, y := a.Status, b.Status
	x.View, y.View = nil, nil
	return a.UID == b.UID && equality.Semantic.DeepEqual(a.Datacenters, b.Datacenters) &&
		equality.Semantic.DeepEqual(x, y)
}

// pause is the time until the next judgement without a change.
func (g *Gate) pause(v bootstrap.Verdict) time.Duration {
	switch {
	case ServiceMissing(v):
		return missingService
	case waitsFor(v, words.ControllerSilent) && !g.ByPermits():
		// A running controller renews its Lease every two seconds.
		return shortest
	case waitsFor(v, words.PermitForOther, words.ViewHeld, words.Isolated) || waitsFor(v, noView...) && g.ByPermits():
		// the next view, or a relayed one, may remove them; a change of the view wakes at once
		return g.policy.PeerCheck.Duration
	case v.Pause != 0:
		return max(shortest, v.Pause)
	}
	return reevaluate
}
