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

// Stamp orders views. The zero Stamp means no view.
type Stamp struct {
	Epoch, Seq int64
}

// StampOf returns the stamp of a view, zero for nil.
func StampOf(v *api.StatusReportView) Stamp {
	if v == nil {
		return Stamp{}
	}
	return Stamp{Epoch: v.Epoch, Seq: v.Seq}
}

// Compare is negative if s is older than o.
func (s Stamp) Compare(o Stamp) int {
	return cmp.Or(cmp.Compare(s.Epoch, o.Epoch), cmp.Compare(s.Seq, o.Seq))
}

// String returns "epoch.seq".
func (s Stamp) String() string { return fmt.Sprintf("%d.%d", s.Epoch, s.Seq) }

// Newer reports whether s is newer than o. Equal is not newer.
func (s Stamp) Newer(o Stamp) bool { return s.Compare(o) > 0 }

// Receiver merges views as they arrive: possibly twice, in another order, or not at all. The zero
// value has none.
type Receiver struct {
	report  types.UID   // UID of the views' report; views of one report have one order
	former  []types.UID // of deleted reports, the latest ones
	created time.Time   // the report's creation, by the API server; zero if unknown
	latest  *api.StatusReportView
	// when a newer view followed an older one, or the latest was confirmed; zero before
	advanced time.Time
	looked   time.Time // the last call of Adopt
}

// mostFormer is how many deleted reports are kept: no view is in transit for longer.
const mostFormer = 16

// Of sets the cluster report of the next views, by its UID and its creation time by the API
// server's clock (zero if unknown). A recreated report starts a new order, however low its stamps:
// the known view is dropped, and no view has an age until it is seen to advance.
//
// Of returns false for a report that another one has followed, and for one created before the
// latest one. An API server that is behind may still return it, and no late view of it may be used.
// UIDs have no order: without the creation times, a receiver that reads such an answer second would
// treat the deleted report as the new one.
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

// Report returns the UID of the views' report; empty before the first call of Of.
func (r *Receiver) Report() types.UID { return r.report }

// Adopt takes a view that is newer than the latest one, and returns whether it was. now is of the
// receiver's own clock.
func (r *Receiver) Adopt(v *api.StatusReportView, now time.Time) bool {
	// After a long pause, for example while cut off from the API server, the view may have been
	// created at any time during the pause. The latest one was the newest when it was last read,
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
	// The first view may be old: only a view that is seen to advance has an age.
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

// Confirm records that the controller has just confirmed the latest view. A confirmation of any
// other view is ignored.
func (r *Receiver) Confirm(of Stamp, now time.Time) {
	if r.latest != nil && of == StampOf(r.latest) {
		r.advanced = now
	}
}

// Handed takes a view with its age by its relay's clock, counted from the time asked of the
// request: it need not be seen to advance. It returns whether the view was newer than the latest
// one. The latest view itself may get a lower age; an older view is ignored at any age.
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

// Latest returns the newest view that was adopted; nil if there is none.
func (r *Receiver) Latest() *api.StatusReportView { return r.latest }

// Age returns the time since the latest view was last known to be the newest, by the receiver's own
// clock. False if it never was: the view then counts as infinitely old.
func (r *Receiver) Age(now time.Time) (time.Duration, bool) {
	if r.latest == nil || r.advanced.IsZero() {
		return 0, false
	}
	return max(0, now.Sub(r.advanced)), true
}
