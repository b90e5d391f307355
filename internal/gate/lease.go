// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
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
	monitor cluster.LeaseMonitor
	first   time.Time // first reading, by this clock
	// By the last reading, why the controller seems not to run, zero if it runs.
	why   words.Message
	since time.Time
}

// readLease reads the Lease for in. Under policy permits it blocks nothing: only a view that
// advances has a permit. It then explains why no permit comes.
func (g *Gate) readLease(in *bootstrap.Input, known *cluster.Cluster) {
	w := &g.lease
	if w.why, w.since = (words.Message{}), (time.Time{}); !ours(known) {
		return
	}
	if w.why, w.since, in.Unprotected = g.silent(g.reads.Now(), known.KeptAs()); !g.ByPermits() {
		in.ControllerSilent, in.ControllerSilentSince = w.why, w.since
	}
}

// explainSilence names a controller that does not run as the reason why no permit comes.
func (g *Gate) explainSilence(v bootstrap.Verdict) bootstrap.Verdict {
	w := &g.lease
	if old, _ := g.tooOld(g.reads.Now()); w.why.IsZero() || v.Decision != bootstrap.DecisionWait || old.IsZero() {
		return v
	}
	list := slices.DeleteFunc(slices.Clone(v.Blockers), func(x matrix.Blocker) bool {
		return x.Reason == words.PermitPending || x.Reason == words.ControllerSilent
	})
	return wait(v, append(list, matrix.Blocker{Reason: words.ControllerSilent, Cause: w.why, Since: w.since})...)
}

// silent reads the Lease. The result is zero if the controller is running and writes the reports of
// that cluster, else the controller that is not responding, or why its state is unknown.
// unprotected is a running controller that lists the cluster as unprotected.
func (g *Gate) silent(now time.Time, of cluster.Key) (silent words.Message, since time.Time, unprotected string) {
	w, name := &g.lease, g.reads.LeaseName()
	w.first = cmp.Or(w.first, now)
	l, unread := g.reads.Lease()
	if !unread.IsZero() {
		return unread, w.first, ""
	}
	w.monitor.Observe(l, now)
	st := cluster.LeaseAt(l, now)
	who, since, gone := w.monitor.Silent(now)
	switch {
	case l == nil:
		return words.New(words.NoLease, "lease", name), w.first, ""
	case st.Holder == "": // a holder that stops renews the Lease once more without a holder
		return words.New(words.LeaseWithoutHolder, "lease", name), w.first, ""
	case gone:
		return words.New(words.LeaseNotRenewed, "controller", cmp.Or(who, st.Holder), "lease", name), since, ""
	case !w.monitor.Advances():
		return words.New(words.LeaseNotSeenRenewed, "controller", st.Holder, "lease", name), w.first, ""
	case cluster.Unprotects(l, of):
		return words.Message{}, time.Time{}, st.Holder
	// The Lease is renewed, but its holder may be unable to write this cluster's reports, while it
	// writes those of others. TestEachProtectionIsNeeded has the schedule: LeaseKeepsNone.
	case !cluster.Keeps(l, of):
		return words.New(words.ReportsNotKept, "controller", st.Holder, "lease", name), time.Time{}, ""
	}
	return words.Message{}, time.Time{}, ""
}
