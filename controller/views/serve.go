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

// Written sets the view that was read back from a cluster's report. Only that view is served: a new
// leader must never have an older view than a served one. If a view comes back with fewer fields,
// because the installed CRD is older, neither it nor any earlier view is served. report is the UID
// of its report.
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

// confirm resets the served view's age if v, the latest view, has the same content. Otherwise the
// age grows until the next view is written.
func (s *state) confirm(v *api.StatusReportView, now time.Time) {
	if s.offered != nil && view.Same(v, s.offered) {
		s.held = now
	}
}

// measure returns the state of the served view for metrics.
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

// Served returns the view in a cluster's report, and the time since its content was last verified,
// by this process's clock. Its lists never change. Errors: viewwire.ErrNotLeading,
// viewwire.ErrUnknown, viewwire.ErrNone.
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
	return &viewwire.View{StatusReportView: *s.offered, ReportUID: s.report,
		AgeMillis: t.o.Clock.Now().Sub(s.held).Milliseconds()}, nil
}
