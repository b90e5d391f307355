// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// leaseWatch is whether the controller that writes the reports is running. Only renewals that the
// gate has observed count: a report with all UP is worthless if its writer stopped an hour ago, and
// the clocks of two Kubernetes nodes are not comparable.
type leaseWatch struct {
	key      cluster.Key // whose reports the controller must write
	monitor  cluster.LeaseMonitor
	first    time.Time // first reading, by this clock
	renewed  time.Time // the Lease's renewTime at the last reading
	looked   bool
	advanced bool // a renewal by a holder was observed
	// the holder, if it renews the Lease and lists the cluster as unprotected at the last reading
	unprotected string
}

// silent reads the Lease. The result is zero if the controller is running, else the controller that
// is not responding, or why its state is unknown.
func (g *Gate) silent(now time.Time) (silent words.Message, since time.Time) {
	w := &g.lease
	if w.first.IsZero() {
		w.first = now
	}
	w.unprotected = ""
	name := g.reads.LeaseName()
	l, unread := g.reads.Lease()
	switch {
	case !unread.IsZero():
		return unread, w.first
	case l == nil:
		w.monitor.Observe(nil, now)
		return words.New(words.NoLease, "lease", name), w.first
	}
	holder := ""
	if l.Spec.HolderIdentity != nil {
		holder = *l.Spec.HolderIdentity
	}
	var renewed time.Time
	if l.Spec.RenewTime != nil {
		renewed = l.Spec.RenewTime.Time
	}
	w.monitor.Observe(l, now)
	if w.looked && !renewed.Equal(w.renewed) {
		w.advanced = true
	}
	w.looked, w.renewed = true, renewed
	switch who, since, gone := w.monitor.Silent(now); {
	case holder == "": // a holder that stops renews the Lease once more without a holder
		w.advanced = false
		return words.New(words.LeaseWithoutHolder, "lease", name), w.first
	case gone:
		w.advanced = false
		if who == "" {
			who = holder
		}
		return words.New(words.LeaseNotRenewed, "controller", who, "lease", name), since
	case !w.advanced:
		return words.New(words.LeaseNotSeenRenewed, "controller", holder, "lease", name), w.first
	case cluster.Unprotects(l, w.key):
		w.unprotected = holder
		return words.Message{}, time.Time{}
	// The Lease is renewed, but its holder may be unable to write this cluster's reports.
	case !cluster.Keeps(l, w.key):
		return words.New(words.ReportsNotKept, "controller", holder, "lease", name), time.Time{}
	}
	return words.Message{}, time.Time{}
}
