// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// leaseDefault is the duration of a Lease without one, and of one that its holder released (which shortens it to a second).
const leaseDefault = 15 * time.Second

// mostAhead is how far the clock of a Lease's holder may be ahead. A renewal beyond it is no sign of life: it would count until then, even after the holder's death.
const mostAhead = 24 * time.Hour

// LeaseState is the controller's state by one reading of its Lease, by comparing the Lease's clock with this machine's.
type LeaseState struct {
	Holder string
	Age    time.Duration // now - renewTime; negative when the clocks disagree
	Silent bool          // not renewed for longer than twice the lease's duration
	Since  time.Time     // the last renewal, when Silent
	// NotKept is true when the Lease is renewed and does not record that its holder keeps the reports of this cluster; then Silent is true as well.
	NotKept bool
}

// Keeps is true when a Lease records that its holder keeps the reports of a cluster. Whether the Lease is renewed is not checked.
func Keeps(l *coordinationv1.Lease, key Key) bool {
	return slices.Contains(strings.Fields(l.Annotations[api.AnnotationKeeps]), api.KeepMark(key.Namespace, key.Name))
}

// KeptAs is the cluster whose reports the controller has to keep: this one, or the one of our controller's report that judges this one in its place.
func (c *Cluster) KeptAs() Key {
	if r := c.StatusReport; c.OverrideRef != "" && r != nil && r.Labels[api.LabelManagedBy] == api.ManagedByUs {
		return Key{Namespace: c.Namespace, Name: r.Name}
	}
	return c.Key
}

// LeaseState judges the Lease that was read with this cluster, and whether its holder keeps the reports that this cluster is judged by.
func (c *Cluster) LeaseState() LeaseState {
	st := LeaseAt(c.Lease, c.TakenAt)
	switch {
	case c.Lease == nil || st.Silent:
		return st
	case st.Holder == "":
		// It was released, by a controller that stops or that cannot write: no barrier opens on it from then on.
		st.Silent, st.Since = true, c.Lease.Spec.RenewTime.Time
		return st
	case Keeps(c.Lease, c.KeptAs()):
		return st
	}
	st.Silent, st.NotKept = true, true
	return st
}

// LeaseAt judges a Lease by one reading; nil means that there is none. A command line cannot watch the Lease advance, so a clock that is off by more than the limit misleads it.
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
		st.Silent = true // since when is not known
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

// leaseLimit is the silence that counts: twice the lease's duration.
func leaseLimit(l *coordinationv1.Lease) time.Duration {
	d := leaseDefault
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s > 0 && holder(l) != "" {
		d = time.Duration(*s) * time.Second
	}
	return 2 * d
}

// LeaseMonitor judges whether a controller is alive by watching its Lease advance, on one clock only: the observer's own. The zero
// value is ready. Not safe for concurrent use.
type LeaseMonitor struct {
	seen    bool // at least one reading was taken
	present bool
	who     string
	renewed time.Time // the Lease's own time; only ever compared with itself
	limit   time.Duration
	since   time.Time // observer's time of the last sign of life, or of the first look
}

// Observe takes a reading of the Lease at the time now (monotonic clock); nil means that there is none. The first reading counts as a sign of life, so that an observer that has
// just started calls no controller silent.
func (m *LeaseMonitor) Observe(l *coordinationv1.Lease, now time.Time) {
	first := !m.seen
	m.seen = true
	if l == nil {
		if first || m.present {
			m.since = now
		}
		m.present, m.limit = false, 2*leaseDefault
		return
	}
	var renewed time.Time
	if l.Spec.RenewTime != nil {
		renewed = l.Spec.RenewTime.Time
	}
	// A new holder's renewal may lie before the old one's where their clocks differ; any change is a sign of life.
	if first || !m.present || !renewed.Equal(m.renewed) || m.who != holder(l) && holder(l) != "" {
		m.since = now
	}
	m.present, m.renewed, m.limit = true, renewed, leaseLimit(l)
	if h := holder(l); h != "" {
		m.who = h
	}
}

// Silent returns whether no renewal has been seen for longer than twice the lease's duration, the silent controller (the last holder known, may be empty), and since when by the
// observer's clock. Before the first Observe it is false.
func (m *LeaseMonitor) Silent(now time.Time) (who string, since time.Time, silent bool) {
	if !m.seen || now.Sub(m.since) <= m.limit {
		return "", time.Time{}, false
	}
	return m.who, m.since, true
}
