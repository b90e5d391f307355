// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// leaseDefault is the duration of a Lease that says none, and of one that its holder gave back (which shortens it to a second).
const leaseDefault = 15 * time.Second

// LeaseState is what a Lease says of the controller at one look, by comparing the Lease's clock with this machine's.
type LeaseState struct {
	Holder string        `json:"holder,omitempty"`
	Age    time.Duration `json:"age"`            // now - renewTime; negative when the clocks disagree
	Silent bool          `json:"silent"`         // not renewed for longer than twice the lease's duration
	Since  time.Time     `json:"since,omitzero"` // the last renewal, when Silent
	Text   string        `json:"text"`           // one sentence, which says that two clocks were compared
}

// LeaseAt judges a Lease at one look; nil says that there is none. A command line cannot watch the Lease advance, so a clock that is
// off by more than the limit misleads it: Text says whose clocks were compared.
func LeaseAt(l *coordinationv1.Lease, now time.Time) LeaseState {
	if l == nil {
		return LeaseState{Silent: true, Text: "no controller has ever held the leader Lease"}
	}
	st := LeaseState{Holder: holder(l)}
	if l.Spec.RenewTime == nil {
		st.Silent = true
		st.Text = fmt.Sprintf("Lease %s/%s was never renewed", l.Namespace, l.Name)
		return st
	}
	st.Age = now.Sub(l.Spec.RenewTime.Time)
	switch limit := leaseLimit(l); {
	case st.Holder == "":
		if st.Silent = st.Age > limit; st.Silent {
			st.Since = l.Spec.RenewTime.Time
		}
		st.Text = fmt.Sprintf("no controller has led for %s by this machine's clock", max(0, st.Age).Round(time.Second))
	case st.Age > limit:
		st.Silent, st.Since = true, l.Spec.RenewTime.Time
		st.Text = fmt.Sprintf("controller %s has been silent for %s by this machine's clock (more than %s)", st.Holder, st.Age.Round(time.Second), limit)
	case st.Age < -limit:
		st.Text = fmt.Sprintf("controller %s: its clock is %s ahead of this machine's, so its silence cannot be told", st.Holder, (-st.Age).Round(time.Second))
	default:
		st.Text = fmt.Sprintf("controller %s was heard %s ago by this machine's clock", st.Holder, max(0, st.Age).Round(time.Second))
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
	seen    bool // any look was taken
	present bool
	who     string
	renewed time.Time // the Lease's own word; only ever compared with itself
	limit   time.Duration
	since   time.Time // observer's time of the last sign of life, or of the first look
}

// Observe takes a look at the Lease at the time now (monotonic clock); nil means that there is none. The first look counts as a sign
// of life, so that an observer that has just started does not call anybody silent.
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

// Silent says whether no renewal has been seen for longer than twice the lease's duration, who is silent (the last holder known, may be
// empty), and since when by the observer's clock. Before the first Observe nobody is silent.
func (m *LeaseMonitor) Silent(now time.Time) (who string, since time.Time, silent bool) {
	if !m.seen || now.Sub(m.since) <= m.limit {
		return "", time.Time{}, false
	}
	return m.who, m.since, true
}
