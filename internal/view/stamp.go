// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// Stamp orders views. The zero Stamp is of no view.
type Stamp struct {
	Epoch, Seq int64
}

// StampOf is the stamp of a view, zero for nil.
func StampOf(v *api.StatusReportView) Stamp {
	if v == nil {
		return Stamp{}
	}
	return Stamp{Epoch: v.Epoch, Seq: v.Seq}
}

// Compare is negative when s is older than o.
func (s Stamp) Compare(o Stamp) int {
	return cmp.Or(cmp.Compare(s.Epoch, o.Epoch), cmp.Compare(s.Seq, o.Seq))
}

// String is epoch and seq, as people read them.
func (s Stamp) String() string { return fmt.Sprintf("%d.%d", s.Epoch, s.Seq) }

// Newer is true when s is newer than o. Equal is not newer.
func (s Stamp) Newer(o Stamp) bool { return s.Compare(o) > 0 }

// Receiver merges views as they arrive, which may be twice, in another order, or not at all. The zero value has none.
type Receiver struct {
	report   types.UID   // of the report that the views are of; views of one report have one order
	former   []types.UID // of reports that were deleted, the latest ones
	created  time.Time   // the report's creation, by the API server; zero where it is not known
	latest   *api.StatusReportView
	advanced time.Time // when a newer view was seen after an older one, or the latest one was confirmed; zero before
	looked   time.Time // the last look by Adopt
}

// mostFormer is how many deleted reports are remembered: no view is under way for longer.
const mostFormer = 16

// Of names the cluster report of the views that come next, by its UID and its creation by the API server's clock, zero where that is not known. A report that was deleted
// and made anew begins a new order, however low it counts: the known view is forgotten, and no view has an age until it is seen to advance. Of returns false for a report
// that another one has followed, and for one that was created before the latest one: an API server that is behind may still answer with it, and no late view of it may be
// taken. UIDs have no order: without the creations, a receiver that first reads such an answer second would take the deleted report for the new one.
func (r *Receiver) Of(report types.UID, created time.Time) bool {
	switch {
	case report == r.report:
		if r.created.IsZero() {
			r.created = created
		}
		return true
	case slices.Contains(r.former, report), !created.IsZero() && created.Before(r.created):
		return false
	}
	if r.report != "" || r.latest != nil {
		r.former = append(slices.Clone(r.former), r.report)
		r.former = r.former[max(0, len(r.former)-mostFormer):]
	}
	r.report, r.created, r.latest, r.advanced = report, created, nil, time.Time{}
	return true
}

// Report is the UID of the report of the views; empty before the first call of Of.
func (r *Receiver) Report() types.UID { return r.report }

// Adopt takes a view that is newer than the latest one, and returns whether it was. now is of the receiver's own clock.
func (r *Receiver) Adopt(v *api.StatusReportView, now time.Time) bool {
	// After a long pause, such as while cut off from the API server, the view may have been made at any time within it. The latest one was the newest when it was last looked at,
	// seen to advance, or confirmed.
	last := r.looked
	if r.advanced.After(last) {
		last = r.advanced
	}
	away := last.IsZero() || now.Sub(last) > healthpolicy.ViewLimit
	r.looked = now
	if v == nil || !StampOf(v).Newer(StampOf(r.latest)) {
		return false
	}
	// The first view may have been made long ago: only a view that is seen to advance has an age.
	switch {
	case r.latest == nil:
	case away:
		r.advanced = time.Time{}
	default:
		r.advanced = now
	}
	r.latest = v
	return true
}

// Confirm records that the view's maker has just confirmed the latest view. A confirmation of any other view is ignored.
func (r *Receiver) Confirm(of Stamp, now time.Time) {
	if r.latest != nil && of == StampOf(r.latest) {
		r.advanced = now
	}
}

// Handed takes a view with its age by its relay's clock, counted from the moment at which it was asked for: it need not be seen to advance. It returns whether the view was newer
// than the latest one. The latest view itself may get a lower age; an older view is ignored, whatever its age.
func (r *Receiver) Handed(v *api.StatusReportView, age time.Duration, asked time.Time) bool {
	if v == nil || age < 0 || StampOf(r.latest).Newer(StampOf(v)) {
		return false
	}
	newer, at := StampOf(v).Newer(StampOf(r.latest)), asked.Add(-age)
	if newer {
		r.latest, r.advanced = v, at
	} else if r.advanced.IsZero() || at.After(r.advanced) {
		r.advanced = at
	}
	return newer
}

// Latest is the newest view that was adopted; nil when there is none.
func (r *Receiver) Latest() *api.StatusReportView { return r.latest }

// Age is the time since the latest view was last known to be the newest, by the receiver's own clock. False while it never was: the view then counts as infinitely old.
func (r *Receiver) Age(now time.Time) (time.Duration, bool) {
	if r.latest == nil || r.advanced.IsZero() {
		return 0, false
	}
	return max(0, now.Sub(r.advanced)), true
}
