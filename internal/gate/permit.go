// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// permits is what the gate has read of the controller's views.
type permits struct {
	views view.Receiver
	// behind is since when the API server has returned older views than the newest one seen; zero
	// if it does not.
	behind time.Time
	// heard is when the API server was last read, by the gate's clock.
	heard time.Time
	// otherwise is the policy if Self.Policy is empty, from the last Service read; empty before.
	otherwise api.Policy
}

// unpermitted returns why the controller's view does not let the member start; nil if it does, or
// if no permit is required. final also queries the relays.
func (g *Gate) unpermitted(v bootstrap.Verdict, known *cluster.Cluster, final bool) []matrix.Blocker {
	if !g.ByPermits() {
		return nil
	}
	p := bootstrap.Permission{Claim: g.ClaimOf(known)}
	p.From(known.StatusReport, known.Name)
	if p.View != nil {
		now := g.reads.Now()
		if g.adopt(known.StatusReport, known.Name) {
			p.Back = g.wentBack(p.View, now)
			// This reading may be older than an earlier one: the newest view counts.
			p.View = g.permits.views.Latest()
			if p.Old, p.OldSince = g.tooOld(now); g.Launcher && byOlder(known) {
				p.Old, p.OldSince = g.lease.why, g.lease.since
			}
		} else {
			// the report was deleted: its views never advance
			p.Old = words.New(words.ViewNotSeenToAdvance)
		}
	}
	var dead []hostid.ID
	if m := known.Member(g.Member); m != nil {
		dead = m.MustBeDown()
	}
	blockersOf := func(p *bootstrap.Permission) []matrix.Blocker {
		return p.Blockers(v.Self, v.Decision.Permit(), dead)
	}
	if blockers := blockersOf(&p); len(blockers) > 0 {
		return blockers
	}
	// Only a member with a permit needs its PVC's UID.
	uid, deleting, trouble := g.reads.Claim(p.Claim)
	switch {
	case trouble != nil:
		return []matrix.Blocker{*trouble}
	case deleting:
		// Kubernetes keeps it only for this Pod, so no permit is for it.
		return []matrix.Blocker{{Reason: words.PermitForOther, Observed: v.Self,
			Cause: words.New(words.ClaimIsBeingDeleted, "claim", p.Claim, "pod", g.Pod)}}
	}
	p.ClaimUID, p.ClaimKnown = uid, true
	if p.PodUID, trouble = g.reads.PodUID(); trouble != nil {
		return []matrix.Blocker{*trouble}
	}
	if blockers := blockersOf(&p); len(blockers) > 0 || !final {
		return blockers
	}
	return g.turned(known, p, blockersOf)
}

// ClaimOf returns the name of the member's PVC in this reading; nil is allowed.
func (g *Gate) ClaimOf(known *cluster.Cluster) string {
	if g.Claim != "" {
		return g.Claim
	}
	if known != nil {
		if name := known.ClaimName(g.Member); name != "" {
			return name
		}
	}
	return "data-" + g.Member
}

// adopt takes the view of the cluster's report, if it is newer. False for a report that was deleted
// since, or that is another cluster's.
func (g *Gate) adopt(r *api.ScyllaDBStatusReport, cluster string) bool {
	if r == nil || r.Name != cluster || r.Status.View == nil ||
		!g.permits.views.Of(r.UID, r.CreationTimestamp.Time) {
		return false
	}
	g.permits.views.Adopt(r.Status.View, g.reads.Now())
	return true
}

// Latest returns the newest view that the gate has read from the API server, with the UID of its
// report; nil before.
func (g *Gate) Latest() (report types.UID, v *api.StatusReportView) {
	return g.permits.views.Report(), g.permits.views.Latest()
}

// tooOld returns why the newest view may be out of date, and since when it has not advanced. Only a
// view that this gate has seen advance, by its own clock, counts.
func (g *Gate) tooOld(now time.Time) (why words.Message, since time.Time) {
	age, seen := g.permits.views.Age(now)
	switch {
	case !seen:
		return words.New(words.ViewNotSeenToAdvance), time.Time{}
	case age > g.policy.ViewLimit.Duration:
		return words.New(words.ViewTooOld, "limit", g.policy.ViewLimit.Duration.String()), now.Add(-age)
	}
	return words.Message{}, time.Time{}
}

// byOlder reports whether a controller of an earlier release, which labels its report, writes the
// views. It renews none for a launcher: the Lease counts instead. Removed in the next release.
func byOlder(c *cluster.Cluster) bool {
	return ours(c) && c.StatusReport.Labels[api.LabelCluster] != ""
}

// wentBack is set if the API server has returned older views for longer than any delay. After an
// etcd restore, views count from the backup's stamp. An outdated API server looks the same, even if
// its views advance. The gate therefore stays closed and reports the state; a person decides.
func (g *Gate) wentBack(shown *api.StatusReportView, now time.Time) words.Message {
	p, seen := &g.permits, view.StampOf(g.permits.views.Latest())
	switch is := view.StampOf(shown); {
	case !seen.Newer(is):
		p.behind = time.Time{}
	case p.behind.IsZero():
		p.behind = now
	case now.Sub(p.behind) > g.policy.ViewLimit.Duration:
		return words.New(words.ViewWentBack, "shown", is.String(), "seen", seen.String(), "limit",
			g.policy.ViewLimit.Duration.String())
	}
	return words.Message{}
}

// permitted reads the view again after the final check, and asks the relays: a newer view blocks at
// once.
func (g *Gate) permitted(v bootstrap.Verdict, known *cluster.Cluster) []matrix.Blocker {
	if !g.ByPermits() || v.Decision.Permit() == "" {
		return nil
	}
	r, trouble := g.reads.Report()
	if trouble != nil {
		return []matrix.Blocker{*trouble}
	}
	return g.unpermitted(v, known.WithReport(r), true)
}
