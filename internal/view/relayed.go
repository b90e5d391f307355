// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Relayed is the newest view that relays have served. A view has no signature, so one that does not
// come from the API server may block a start, and never permits one. Only Against uses it, and only
// if it is newer than the API server's view. The zero value has none.
type Relayed struct{ newest Receiver }

// Of sets the present cluster report, by UID: views of another report are dropped.
func (r *Relayed) Of(report types.UID) {
	if report != r.newest.report {
		r.newest = Receiver{report: report}
	}
}

// Report returns the UID of the last call of Of.
func (r *Relayed) Report() types.UID { return r.newest.report }

// Adopt takes a view that is newer than every relayed view before. age is the age that its relay
// reports, counted from the time asked of the request. It returns whether it took the view. It
// ignores an older or equal view, even if its relay reports a lower age: a view that its controller
// does not renew gets older, however often it is relayed.
func (r *Relayed) Adopt(v *api.StatusReportView, age time.Duration, asked time.Time) bool {
	if v == nil || !StampOf(v).Newer(StampOf(r.newest.Latest())) {
		return false
	}
	return r.newest.Handed(v, age, asked)
}

// Against returns the relayed view if it may block a start: it is newer than the API server's view,
// and not older than limit. An older one has also reached the API server, unless the API server
// lost its state, or the controller and the API server are both not responding. Nil otherwise.
func (r *Relayed) Against(direct *api.StatusReportView, now time.Time, limit time.Duration) *api.StatusReportView {
	v := r.newest.Latest()
	age, known := r.newest.Age(now)
	if !known || age > limit || !StampOf(v).Newer(StampOf(direct)) {
		return nil
	}
	return v
}

// Newest returns the newest relayed view, and its age; nil if there is none.
func (r *Relayed) Newest(now time.Time) (*api.StatusReportView, time.Duration) {
	age, _ := r.newest.Age(now)
	return r.newest.Latest(), age
}
