// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
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
func (b *barrier) remember(v bootstrap.Verdict, known *cluster.Cluster, svc *corev1.Service) {
	b.last = earlier{}
	if svc == nil || v.Satisfied || v.Decision == bootstrap.DecisionRefuse || !b.byPermits() || !ours(known) ||
		!known.ByClusterReport() || slices.ContainsFunc(v.Blockers, isNoViewBlocker) ||
		!withoutPermit(known.StatusReport, b.Service) {
		return
	}
	b.last = earlier{at: b.Clock.Now(), verdict: v, report: known.StatusReport}
}

func withoutPermit(r *api.ScyllaDBStatusReport, member string) bool {
	return r != nil && r.Status.View != nil && !slices.ContainsFunc(r.Status.View.Permits,
		func(p api.StatusReportViewPermit) bool { return p.Member == member })
}

// again returns the last verdict if only the controller's view has changed and still has no permit
// of this member. A view is written every few seconds while any permit is open, and wakes every
// barrier. It reads the cluster report, with all rows, and the Lease. Otherwise, and after a while,
// the caller reads everything: only that can open.
func (b *barrier) again(ctx context.Context, key cluster.Key) (bootstrap.Verdict, bool) {
	changed, l, now := cluster.Kinds(b.changed.Swap(0)), &b.last, b.Clock.Now()
	pending := !slices.ContainsFunc(l.verdict.Blockers,
		func(x matrix.Blocker) bool { return x.Reason != words.PermitPending })
	limit := reevaluate
	if pending {
		limit = repeat
	}
	if l.report == nil || changed&^cluster.KindStatusReport != 0 || now.Sub(l.at) >= limit {
		return bootstrap.Verdict{}, false
	}
	r := &api.ScyllaDBStatusReport{}
	if err := b.client.Get(ctx, types.NamespacedName(key), r); err != nil || !sameButView(r, l.report) ||
		!withoutPermit(r, b.Service) || view.StampOf(b.permits.views.Latest()).Newer(view.StampOf(r.Status.View)) {
		return bootstrap.Verdict{}, false
	}
	if silent, _ := b.lease.look(ctx, b.client, now); !silent.IsZero() || !b.adopt(r, key.Name) {
		return bootstrap.Verdict{}, false
	}
	b.permits.heard = now
	v := l.verdict
	v.Blockers = slices.Clone(v.Blockers)
	if !pending {
		return v, true
	}
	if r.Status.View.Hold != "" {
		return bootstrap.Verdict{}, false // a rollout, which ends the stabilisation time
	}
	p := bootstrap.Permission{View: r.Status.View}
	return b.waitVerdict(v, p.Blockers(v.Self, "", nil)...), true
}

// sameButView reports whether two readings of a report differ in the controller's view at most.
func sameButView(a, b *api.ScyllaDBStatusReport) bool {
	x, y := a.Status, b.Status
	x.View, y.View = nil, nil
	return a.UID == b.UID && equality.Semantic.DeepEqual(a.Datacenters, b.Datacenters) &&
		equality.Semantic.DeepEqual(x, y)
}

// pause is the time until the next judgement without a change.
func (b *barrier) pause(v bootstrap.Verdict) time.Duration {
	switch {
	case serviceMissing(v):
		return missingService
	case slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason == words.ControllerSilent }):
		// A running controller renews its Lease every two seconds.
		return shortest
	case slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool {
		return slices.Contains(aboutPermits, x.Reason) || isNoViewBlocker(x) && b.byPermits()
	}):
		// reporters are polled as often; a change of the view wakes wait at once
		return b.policy.PeerCheck.Duration
	case v.Pause != 0:
		return max(shortest, v.Pause)
	}
	return reevaluate
}

func serviceMissing(v bootstrap.Verdict) bool {
	missing := func(x matrix.Blocker) bool { return x.Reason == words.MemberServiceMissing }
	return slices.ContainsFunc(v.Blockers, missing)
}
