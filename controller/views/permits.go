// SPDX-License-Identifier: Apache-2.0

package views

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// permits is the state of the members that want to join. Given permits are not part of it: those are in the API server.
type permits struct {
	granter view.Granter
	scene   view.Scene
	from    *api.StatusReportView // as it was read last
	open    bool                  // a member may start by a permit and has not
	made    time.Time             // the last view
}

// MaxPermits is how many may join at once.
func (t *Tracker) MaxPermits() int { return max(1, t.o.MaxPermits) }

// Window is how long all conditions must hold without interruption before a permit is given, where a cluster's health policy does not set it.
func (t *Tracker) Window() time.Duration { return t.o.Window }

// policy takes over the health policy of a report; a report without one changes nothing.
func (s *state) policy(r *api.ScyllaDBStatusReport) {
	if r != nil && r.Status.HealthPolicy != nil {
		s.health = healthpolicy.Of(r)
		s.window, s.well = s.health.Stabilisation.Duration, healthpolicy.First(r)
	}
}

// Scene sets the scene of a cluster that was just assembled; the next view is made from it.
func (t *Tracker) Scene(key types.NamespacedName, stored *api.StatusReportView, s view.Scene) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state(key, stored).permits.scene = s
}

// make is the view as it would be written now, without its seq. The caller holds mu.
func (t *Tracker) make(s *state, now time.Time) *api.StatusReportView {
	v := s.summary(now)
	p := s.permits.granter.Next(&s.permits.scene, view.Standing{
		Members: v.Members, Old: now.Sub(s.read) > s.health.Contact.Duration, Stored: s.permits.from, Most: t.o.MaxPermits, Log: s.log, Window: s.window, Now: now,
	})
	v.Policy, v.Permits, v.Queue, v.Waiting, v.Founder = api.PolicyPermits, p.Permits, p.Queue, p.Waiting, p.Founder
	if s.permits.open = p.Open; p.Open {
		// The view's hold must not block a permitted member: it holds the others, and is the reason in their queue.
		v.Hold = ""
	}
	return v
}

// renew is true where a view must be written without a change, because a member may start by it whose barrier has to see it advance.
func (s *state) renew(v *api.StatusReportView, now time.Time) bool {
	return s.permits.open && s.shown != nil && len(v.Permits) > 0 && now.Sub(s.permits.made) >= s.health.PeerCheck.Duration
}
