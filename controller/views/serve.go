// SPDX-License-Identifier: Apache-2.0

package views

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// Written sets the view that a cluster's report has now, as it was read back. Only that view is served: a controller that takes over must not know less than was served. A view
// that came back with fewer fields, because the installed kind is an older one, is not served, nor is any before it. report is the UID of its report.
func (t *Tracker) Written(key types.NamespacedName, report types.UID, stored *api.StatusReportView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.clusters[key]
	if s == nil || !s.leads || s.shown == nil || view.StampOf(stored) != view.StampOf(s.shown) {
		return
	}
	s.written = view.StampOf(stored)
	switch {
	case view.Same(stored, s.shown):
		s.offered, s.report, s.held = s.shown, report, s.read
	default:
		s.offered = nil
	}
}

// confirm sets the served view's age to zero while v, the last look's, has the same content. Otherwise it grows old until the next one is written.
func (s *state) confirm(v *api.StatusReportView, now time.Time) {
	if s.offered != nil && view.Same(v, s.offered) {
		s.held = now
	}
}

// measure is the state of the served view for metrics.
func (s *state) measure(now time.Time) metrics.View {
	if s.offered == nil || !s.leads {
		return metrics.View{}
	}
	out := metrics.View{Served: true, Epoch: s.offered.Epoch, Age: now.Sub(s.held), Members: map[metrics.Place]int{}}
	for i := range s.offered.Members {
		m := &s.offered.Members[i]
		out.Members[metrics.Place{Datacenter: m.Datacenter, State: string(m.State)}]++
	}
	return out
}

// Served is the view of a cluster that is in its report, the caller's own copy, and the time since its content was last found to be true, by this process's clock. Errors:
// viewwire.ErrNotLeading, viewwire.ErrUnknown, viewwire.ErrNone.
func (t *Tracker) Served(key types.NamespacedName) (*viewwire.View, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.clusters[key]
	switch {
	case s == nil:
		return nil, viewwire.ErrUnknown
	case s.offered == nil:
		return nil, viewwire.ErrNone
	case !s.leads:
		return nil, viewwire.ErrNotLeading
	}
	now := t.o.Clock.Now()
	v := &viewwire.View{StatusReportView: *s.offered.DeepCopy(), ReportUID: s.report, AgeMillis: now.Sub(s.held).Milliseconds()}
	heard := t.heard(key.Namespace)
	for i := range s.evidence {
		e := &s.evidence[i]
		if h := heard(e.Ref.Member); e.Heartbeat() != nil && !h.Advanced.IsZero() {
			if v.HeartbeatAgeMillis == nil {
				v.HeartbeatAgeMillis = map[string]int64{}
			}
			v.HeartbeatAgeMillis[e.Ref.Member] = now.Sub(h.Advanced).Milliseconds()
		}
	}
	return v, nil
}
