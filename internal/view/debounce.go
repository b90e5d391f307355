// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Look is the result of one poll of a member. The zero value is a poll without an answer.
type Look uint8

const (
	Missed   Look = iota // no fresh row of its own, or a fresh row with neither UP nor DOWN
	Heard                // its own row is fresh, and every fresh row has it UP
	SaidDown             // a fresh row has it DOWN
	Trails               // Heard, and too far behind in the log of group 0
)

// Debounced is a member's state. The zero value is UNKNOWN.
type Debounced struct {
	up, down      bool
	missed, heard int
	trailed       int // consecutive polls at which it was too far behind
	// it is UNKNOWN because it trails; false again when it is UP, DOWN, or missed limit polls
	trailing  bool
	downSince time.Time
}

// Restored returns the state that a new leader reads from the stored view: that the member was
// DOWN, and since when. UP is not taken over: it must be observed again.
func Restored(m api.StatusReportViewMember) Debounced {
	d := Debounced{down: m.State == api.NodeStatusDown}
	if d.down && m.DownSince != nil {
		d.downSince = m.DownSince.Time
	}
	return d
}

// Next returns the state after one more poll. limit is the number of consecutive missed polls after
// which the member is UNKNOWN.
func (d Debounced) Next(l Look, now time.Time, limit int) Debounced {
	if l != Trails {
		d.trailed = 0
	}
	switch l {
	case SaidDown:
		if !d.down {
			d.downSince = now
		}
		d.up, d.down, d.missed, d.heard, d.trailing = false, true, 0, 0, false
	case Heard:
		d.missed, d.heard = 0, min(d.heard+1, RecoveryLimit)
		if d.heard == RecoveryLimit {
			d.up, d.down, d.trailing, d.downSince = true, false, false, time.Time{}
		}
	case Trails:
		// This poll does not count as heard: a member that misses polls and then trails also
		// becomes UNKNOWN.
		d.heard, d.missed, d.trailed = 0, min(d.missed+1, limit), min(d.trailed+1, TrailingLimit)
		if d.trailed == TrailingLimit || d.missed == limit {
			d.up, d.down, d.trailing, d.downSince = false, false, true, time.Time{}
		}
	default:
		d.heard, d.missed = 0, min(d.missed+1, limit)
		if d.missed == limit {
			d.up, d.down, d.trailing, d.downSince = false, false, false, time.Time{}
		}
	}
	return d
}

// State returns UP, DOWN or UNKNOWN.
func (d Debounced) State() api.NodeStatus {
	switch {
	case d.down:
		return api.NodeStatusDown
	case d.up:
		return api.NodeStatusUp
	}
	return api.NodeStatusUnknown
}

// Trailing reports whether the member is UNKNOWN because it is too far behind in the log of group
// 0.
func (d Debounced) Trailing() bool { return d.trailing }

// DownSince returns when the member went DOWN; zero if it is not DOWN, or the time is unknown.
func (d Debounced) DownSince() time.Time { return d.downSince }
