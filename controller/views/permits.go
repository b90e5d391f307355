// SPDX-License-Identifier: Apache-2.0

package views

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// permits is the state of the members that wait to join. Granted permits are not part of it: they
// are in the API server.
type permits struct {
	granter view.Granter
	scene   view.JoinCandidates
	from    *api.StatusReportView // as last read
	open    bool                  // a permitted member has not started yet
	made    time.Time             // time of the last view
}

// MaxPermits returns how many nodes may join in parallel.
func (t *Tracker) MaxPermits() int { return max(1, t.o.MaxPermits) }

// Window returns how long all conditions must hold continuously before a permit is granted, unless
// a cluster's health policy sets it.
func (t *Tracker) Window() time.Duration { return t.o.Window }

// policy copies the health policy of a report; a report without one changes nothing.
func (s *state) policy(r *api.ScyllaDBStatusReport) {
	if r != nil && r.Status.HealthPolicy != nil {
		s.health = healthpolicy.Of(r)
		s.window, s.well = s.health.Stabilisation.Duration, healthpolicy.First(r)
	}
}

// Scene sets the waiting members of a cluster after an assembly, for the next view.
func (t *Tracker) Scene(key types.NamespacedName, stored *api.StatusReportView, s view.JoinCandidates) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state(key, stored).permits.scene = s
}

// Status puts the fields of a cluster report into want that do not come from rows: the view, and
// the initialisation and the ID of group 0, which are never unset.
func (t *Tracker) Status(ctx context.Context, key types.NamespacedName, judged *cluster.Cluster,
	stored *api.ScyllaDBStatusReportStatus, scene view.JoinCandidates, want *api.ScyllaDBStatusReportStatus,
) view.Initialisation {
	want.Initialized, want.Initialization = stored.Initialized, stored.Initialization
	t.Scene(key, stored.View, scene)
	want.View = t.View(ctx, key, judged, stored.View)
	init := t.Initialisation(key, judged, stored)
	if init.Now != nil {
		want.Initialized, want.Initialization = true, init.Now
	}
	want.Group0ID = cmp.Or(stored.Group0ID, init.Group0)
	return init
}

// make returns the view to write now, without seq. The caller holds mu.
func (t *Tracker) make(s *state, now time.Time) *api.StatusReportView {
	v := s.summary(now)
	p := s.permits.granter.Next(&s.permits.scene, view.GrantInput{
		Members: v.Members, Old: now.Sub(s.read) > s.health.Contact.Duration, Stored: s.permits.from,
		Most: t.o.MaxPermits, Log: s.log, Window: s.window, Now: now,
	})
	v.Credential = s.permits.scene.Credential
	v.Policy, v.Permits, v.Queue, v.Waiting, v.Founder = api.PolicyPermits, p.Permits, p.Queue, p.Waiting, p.Founder
	if s.permits.open = p.Open; p.Open {
		// The view's hold must not block a permitted member. It blocks the others, as the reason in
		// their queue.
		v.Hold = ""
	}
	return v
}

// renew reports whether a view must be written without a change, because the barrier of a permitted
// member must see it advance.
func (s *state) renew(v *api.StatusReportView, now time.Time) bool {
	return s.permits.open && s.shown != nil && len(v.Permits) > 0 &&
		now.Sub(s.permits.made) >= s.health.PeerCheck.Duration
}
