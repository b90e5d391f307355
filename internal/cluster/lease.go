// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// leaseDefault is the duration for a Lease without one, or whose holder released it and so
// shortened it to 1 s.
const leaseDefault = 15 * time.Second

// mostAhead is how far the clock of a Lease's holder may be ahead. A renewal beyond it is ignored:
// it would count until that time, even after the holder's end.
const mostAhead = 24 * time.Hour

// longestLease is the maximum duration that counts. With a longer one, a Lease that was written
// once would show a running controller for years.
const longestLease = 5 * time.Minute

// LeaseState is the controller's state by one reading of its Lease. It compares the Lease's clock
// with this machine's clock.
type LeaseState struct {
	Holder string
	Age    time.Duration // now - renewTime; negative if the clocks disagree
	Silent bool          // not renewed for more than twice the Lease's duration
	Since  time.Time     // the last renewal, if Silent
	// NotKept is true if the Lease is renewed but does not record that its holder maintains the
	// reports of this cluster. Then Silent is also true.
	NotKept bool
}

// Keeps reports whether a Lease records that its holder maintains the reports of a cluster. It does
// not check whether the Lease is renewed.
func Keeps(l *coordinationv1.Lease, key Key) bool {
	return lists(l, api.AnnotationKeeps, key)
}

// lists reports whether an annotation of a Lease has the mark of a cluster.
func lists(l *coordinationv1.Lease, annotation string, key Key) bool {
	return slices.Contains(strings.Fields(l.Annotations[annotation]), api.KeepMark(key.Namespace, key.Name))
}

// Unprotects reports whether a Lease records that feature gate BootstrapSynchronisation is off for
// a cluster. It does not check whether the Lease is renewed.
func Unprotects(l *coordinationv1.Lease, key Key) bool {
	return lists(l, api.AnnotationUnprotected, key)
}

// UnprotectedBy returns the controller that renews its Lease and for which feature gate
// BootstrapSynchronisation is off; empty if it is on or unknown.
func (c *Cluster) UnprotectedBy() string {
	if c.Lease == nil || c.TakenAt.IsZero() || !Unprotects(c.Lease, c.Key) {
		return ""
	}
	if st := LeaseAt(c.Lease, c.TakenAt); !st.Silent {
		return st.Holder
	}
	return ""
}

// KeptAs returns the cluster whose reports the controller must maintain: this cluster, or the one
// whose report judges this cluster if our controller writes it.
func (c *Cluster) KeptAs() Key {
	if r := c.StatusReport; c.OverrideRef != "" && r != nil && r.Labels[api.LabelManagedBy] == api.ManagedByUs {
		return Key{Namespace: c.Namespace, Name: r.Name}
	}
	return c.Key
}

// LeaseState returns the state of the Lease that was read with this cluster, and whether its holder
// maintains the reports that judge this cluster.
func (c *Cluster) LeaseState() LeaseState {
	st := LeaseAt(c.Lease, c.TakenAt)
	switch {
	case c.Lease == nil || st.Silent:
		return st
	case st.Holder == "":
		// A controller released it that stops: no barrier opens by it from then on.
		st.Silent, st.Since = true, c.Lease.Spec.RenewTime.Time
		return st
	case Keeps(c.Lease, c.KeptAs()), Unprotects(c.Lease, c.Key):
		return st
	}
	st.Silent, st.NotKept = true, true
	return st
}

// LeaseAt returns the state of a Lease by one reading; nil means no Lease. A command cannot watch
// the Lease advance, so a clock that is off by more than the limit gives a wrong result.
func LeaseAt(l *coordinationv1.Lease, now time.Time) LeaseState {
	if l == nil {
		return LeaseState{Silent: true}
	}
	st := LeaseState{Holder: holder(l)}
	if l.Spec.RenewTime == nil {
		st.Silent = true
		return st
	}
	st.Age = now.Sub(l.Spec.RenewTime.Time)
	if st.Age < -mostAhead {
		st.Silent = true // start unknown
		return st
	}
	if st.Age > leaseLimit(l) {
		st.Silent, st.Since = true, l.Spec.RenewTime.Time
	}
	return st
}

func holder(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

// leaseLimit returns the maximum time without a renewal: twice the Lease's duration, up to
// longestLease.
func leaseLimit(l *coordinationv1.Lease) time.Duration {
	d := leaseDefault
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 && holder(l) != "" {
		d = min(time.Duration(*s)*time.Second, longestLease)
	}
	return 2 * d
}

// LeaseMonitor checks whether a controller responds by watching its Lease advance. It uses only the
// observer's clock. The zero value is ready; not safe for concurrent use.
type LeaseMonitor struct {
	seen    bool // at least one reading was taken
	present bool
	who     string
	renewed time.Time // the Lease's own time; compared only with itself
	limit   time.Duration
	since   time.Time // observer's time of the last change, or of the first reading
	// advanced is true if a renewal by a holder was observed, and no end of the renewals since.
	advanced bool
}

// Observe takes a reading of the Lease at the time now (monotonic clock); nil means no Lease. The
// first reading counts as a renewal, so that an observer that has just started does not report the
// controller as not responding.
func (m *LeaseMonitor) Observe(l *coordinationv1.Lease, now time.Time) {
	first := !m.seen
	m.seen = true
	if l == nil {
		if first || m.present {
			m.since = now
		}
		m.present, m.advanced, m.limit = false, false, 2*leaseDefault
		return
	}
	var renewed time.Time
	if l.Spec.RenewTime != nil {
		renewed = l.Spec.RenewTime.Time
	}
	// A new holder's renewal may be earlier than the old holder's if their clocks differ; any
	// change counts.
	renews := m.present && !renewed.Equal(m.renewed)
	m.advanced = holder(l) != "" && (renews || m.advanced && now.Sub(m.since) <= m.limit)
	if first || !m.present || !renewed.Equal(m.renewed) || m.who != holder(l) && holder(l) != "" {
		m.since = now
	}
	m.present, m.renewed, m.limit = true, renewed, leaseLimit(l)
	if h := holder(l); h != "" {
		m.who = h
	}
}

// Advances reports whether a renewal by the holder was observed.
func (m *LeaseMonitor) Advances() bool { return m.advanced }

// Silent reports whether no renewal was observed for more than twice the Lease's duration. It
// returns the last known holder (may be empty) and the start by the observer's clock. It is false
// before the first Observe.
func (m *LeaseMonitor) Silent(now time.Time) (who string, since time.Time, silent bool) {
	if !m.seen || now.Sub(m.since) <= m.limit {
		return "", time.Time{}, false
	}
	return m.who, m.since, true
}
