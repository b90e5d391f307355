// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
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
	// By the last reading, why the controller seems not to run, zero if it runs; and the holder, if
	// it renews the Lease and lists the cluster as unprotected.
	why         words.Message
	since       time.Time
	unprotected string
}

// readLease reads the Lease for in. Under policy permits it blocks nothing: only a view that
// advances has a permit. It then explains why no permit comes.
func (g *Gate) readLease(in *bootstrap.Input, known *cluster.Cluster) {
	w := &g.lease
	w.why, w.since, w.unprotected = words.Message{}, time.Time{}, ""
	if !ours(known) {
		return
	}
	w.key = known.KeptAs()
	w.why, w.since = g.silent(g.reads.Now())
	in.Unprotected = w.unprotected
	if !g.ByPermits() {
		in.ControllerSilent, in.ControllerSilentSince = w.why, w.since
	}
}

// explainSilence names a controller that does not run as the reason why no permit comes.
func (g *Gate) explainSilence(v bootstrap.Verdict) bootstrap.Verdict {
	w := &g.lease
	if w.why.IsZero() || v.Decision != bootstrap.DecisionWait || g.tooOld(g.reads.Now()).IsZero() {
		return v
	}
	list := slices.DeleteFunc(slices.Clone(v.Blockers), func(x matrix.Blocker) bool {
		return x.Reason == words.PermitPending || x.Reason == words.ControllerSilent
	})
	return wait(v, append(list, matrix.Blocker{Reason: words.ControllerSilent, Cause: w.why, Since: w.since})...)
}

// silent reads the Lease. The result is zero if the controller is running, else the controller that
// is not responding, or why its state is unknown.
func (g *Gate) silent(now time.Time) (silent words.Message, since time.Time) {
	w := &g.lease
	if w.first.IsZero() {
		w.first = now
	}
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
