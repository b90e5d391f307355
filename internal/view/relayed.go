// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

// Relayed is the newest view that others have handed on. Nothing signs a view, so that one that comes from anybody but the API server may hold back who wants to start,
// and never let anybody start: Against alone tells of it, and only of a view that is newer than what the API server has. The zero value has none.
type Relayed struct{ newest Receiver }

// Of says which cluster report the API server has now, by its UID: what was handed on of another one speaks against nobody.
func (r *Relayed) Of(report types.UID) {
	if report != r.newest.report {
		r.newest = Receiver{report: report}
	}
}

// Report is the UID that was said last.
func (r *Relayed) Report() types.UID { return r.newest.report }

// Adopt takes a view that is newer than every one that was handed on before, with the age that its relay says, counted from the moment at which it was asked for. It says
// whether it was. One that is older or equal is not taken, also where its relay says that it is younger: a view that nobody makes anew grows old, whoever repeats it.
func (r *Relayed) Adopt(v *api.StatusReportView, age time.Duration, asked time.Time) bool {
	if v == nil || !StampOf(v).Newer(StampOf(r.newest.Latest())) {
		return false
	}
	return r.newest.Handed(v, age, asked)
}

// Against is the view that was handed on, where it may speak against a start: it is newer than the one that the API server has, and not older than bootstrap.ViewLimit.
// Beyond that the API server has had it as well, and has one that counts from the beginning again, or is as silent as the controller. Nil otherwise.
func (r *Relayed) Against(direct *api.StatusReportView, now time.Time) *api.StatusReportView {
	v := r.newest.Latest()
	age, known := r.newest.Age(now)
	if !known || age > bootstrap.ViewLimit || !StampOf(v).Newer(StampOf(direct)) {
		return nil
	}
	return v
}

// Newest is the newest view that was handed on, and its age; nil where there is none.
func (r *Relayed) Newest(now time.Time) (*api.StatusReportView, time.Duration) {
	age, _ := r.newest.Age(now)
	return r.newest.Latest(), age
}
