// SPDX-License-Identifier: Apache-2.0

package view

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Look is the result of one look at a member. The zero value is a look without an answer.
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
	trailed       int  // looks in a row at which it was too far behind
	trailing      bool // it became UNKNOWN because it trails; false again when it is UP or DOWN, or is not heard
	downSince     time.Time
}

// Restored is the state that a controller that takes over reads from the stored view: that the member was DOWN, and since when. UP is not taken over: it has to be heard again.
func Restored(m api.StatusReportViewMember) Debounced {
	d := Debounced{down: m.State == api.NodeStatusDown}
	if d.down && m.DownSince != nil {
		d.downSince = m.DownSince.Time
	}
	return d
}

// Next is the state after one more look; limit is after how many unheard looks in a row the member is UNKNOWN.
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
		// This look does not count as heard: a member that is silent at one look and trails at the next becomes UNKNOWN too.
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

// State is UP, DOWN or UNKNOWN.
func (d Debounced) State() api.NodeStatus {
	switch {
	case d.down:
		return api.NodeStatusDown
	case d.up:
		return api.NodeStatusUp
	}
	return api.NodeStatusUnknown
}

// Trailing is true for a member that is UNKNOWN because it is too far behind in the log of group 0.
func (d Debounced) Trailing() bool { return d.trailing }

// DownSince is when the member went DOWN; zero when it is not, or when that is not known.
func (d Debounced) DownSince() time.Time { return d.downSince }
