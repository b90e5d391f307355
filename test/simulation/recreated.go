// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// A deleted cluster report is created anew under another UID, while barriers and reporters hold views of the one before. Views have one order for each report.

// recreates is true in a world in which that happens.
func (w *world) recreates() bool { return w.permits() && w.Seed%6 == 4 && !w.yearly() }

// reportFaults deletes the cluster report once or twice in the half hour of a seed.
func (w *world) reportFaults() {
	if !w.recreates() || w.Hole || w.Lag {
		return
	}
	for range 1 + w.extra.IntN(2) {
		w.after(time.Minute+time.Duration(w.extra.Int64N(int64(healAt-4*time.Minute))), func() {
			if w.status == nil {
				return
			}
			w.result.Faults++
			w.result.Recreated++
			w.tracef("FAULT somebody deletes the cluster report")
			w.control.way.reports++
			w.status = nil
			w.wrote()
		})
	}
}

// dropReports deletes all reports. Nothing that is held back can bring one back: it is for an object that is gone.
func (w *world) dropReports() {
	w.control.way.reports++
	w.reports, w.status = nil, nil
	w.wrote()
}

// order is the invariant's own: of each report the stamps never go back, and after a view of a report comes none of a report that was made before it.
type order struct {
	report types.UID
	stamp  view.Stamp
}

// madeAs is the how manyth of all reports one is; 0 for none.
func madeAs(report types.UID) int {
	_, number, _ := strings.Cut(string(report), "-")
	n, _ := strconv.Atoi(number)
	return n
}

// goes takes the next view, and is false where it goes back.
func (o *order) goes(report types.UID, s view.Stamp) bool {
	if is, was := madeAs(report), madeAs(o.report); is < was || is == was && o.stamp.Newer(s) {
		return false
	}
	o.report, o.stamp = report, s
	return true
}
