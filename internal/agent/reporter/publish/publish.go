// SPDX-License-Identifier: Apache-2.0

// Package publish decides what a reporter does about its Pod's annotation: since when each node is
// not UP, when the row is written, and when the annotation is read back. The reporter executes it,
// and the simulation runs it. It has no clock, client or log.
package publish

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

const (
	// MaxBackoff bounds the pause between writes while the API server refuses or does not answer.
	// It is short because the annotation is out of date until then.
	MaxBackoff = 15 * time.Second
	// MaxUnwritten is how long a change may stay unwritten before the reporter is not Ready.
	MaxUnwritten = time.Minute
	// CheckEvery is the least interval of reading the annotation back. At 1,000 nodes these are
	// about 9 requests/s in all.
	CheckEvery = 95 * time.Second
	// RequestTimeout bounds one API request.
	RequestTimeout = 10 * time.Second
	// Late bounds the arrival of a failed write: an API server aborts a request after a minute.
	Late = time.Minute + RequestTimeout
)

// Action is what the reporter does next.
type Action int

// Values of Action.
const (
	Rest     Action = iota // nothing until the next poll
	Check                  // read the annotation back: it may have been lost
	ReadBack               // read the annotation back: a failed write may still arrive
	Write                  // write the row
)

// sighting is since when a node has had a status other than UP.
type sighting struct {
	status api.NodeStatus
	since  metav1.Time
}

// State is what one process knows of its Pod's annotation. The zero value knows nothing.
type State struct {
	restored  bool   // the annotation was read once
	value     string // the annotation's last known value
	doubtful  time.Time
	nextCheck time.Time
	nextTry   time.Time
	tries     int
	unwritten time.Time // since when the annotation lacks the row of the last poll; zero if it has it
	since     map[hostid.ID]sighting
	last      *api.LastRow // the last complete row, kept with an error
}

// Value returns the annotation's last known value.
func (s *State) Value() string { return s.value }

// Tries returns how many requests have failed in a row.
func (s *State) Tries() int { return s.tries }

// Unwritten returns since when the annotation lacks the row of the last poll; zero if it has it.
func (s *State) Unwritten() time.Time { return s.unwritten }

// Restored reports whether the annotation was read once.
func (s *State) Restored() bool { return s.restored }

// Restore takes over the annotation, once: a restarted reporter keeps its times and does not write
// the row again. It returns the row in the annotation, nil without a valid one.
func (s *State) Restore() *api.NodeStatusReport {
	s.restored = true
	if s.value == "" {
		return nil
	}
	old, err := api.DecodeNodeStatusReport(s.value)
	if err != nil {
		return nil
	}
	s.last, s.since = old.KeepLast(old.LastRow), map[hostid.ID]sighting{}
	for _, o := range old.ObservedNodes {
		if o.Since != nil && o.Status != api.NodeStatusUp {
			s.since[o.HostID] = sighting{o.Status, metav1.NewTime(o.Since.UTC())}
		}
	}
	return old
}

// Stamp sets since when each node is not UP, also across polls without an answer.
func (s *State) Stamp(row *api.NodeStatusReport, now time.Time) {
	if row.Error != nil {
		return
	}
	next := make(map[hostid.ID]sighting, len(s.since))
	for i, o := range row.ObservedNodes {
		if o.Status == api.NodeStatusUp {
			continue
		}
		seen, ok := s.since[o.HostID]
		if !ok || seen.status != o.Status {
			seen = sighting{o.Status, metav1.NewTime(now.UTC().Truncate(time.Second))}
		}
		next[o.HostID] = seen
		row.ObservedNodes[i].Since = &seen.since
	}
	s.since = next
}

// Keep keeps the last complete row with a row that is an error.
func (s *State) Keep(row *api.NodeStatusReport) { s.last = row.KeepLast(s.last) }

// Due reports whether the API server may be asked now. If not, the row stays unwritten.
func (s *State) Due(now time.Time) bool {
	if now.Before(s.nextTry) {
		s.pending(now)
		return false
	}
	return true
}

// Next returns what to do about the row that was just polled. After Check and ReadBack, write it if
// Has is false.
func (s *State) Next(row string, now time.Time) Action {
	doubt := now.Before(s.doubtful)
	switch {
	case row == s.value && !doubt && now.Before(s.nextCheck):
		s.settled()
		return Rest
	case row == s.value && !doubt:
		s.settled()
		return Check
	case !s.Due(now):
		return Rest
	case doubt:
		return ReadBack
	}
	return Write
}

// Has reports whether the annotation that was read back has the row.
func (s *State) Has(row string) bool {
	if row == s.value {
		s.settled()
	}
	return row == s.value
}

// Read records the value of the annotation, and when to check it again if it does not change.
func (s *State) Read(value string, nextCheck time.Time) { s.value, s.nextCheck = value, nextCheck }

// Unchecked records a failed check. It is repeated soon, and is no unwritten change: a reporter
// stays Ready without the API server.
func (s *State) Unchecked(now time.Time) { s.nextCheck = now.Add(MaxBackoff) }

// Doubt records a write without a known result: it may still arrive, so the annotation is read back
// for a while.
func (s *State) Doubt(now time.Time) { s.doubtful = now.Add(Late) }

// Wrote records that the annotation has the row.
func (s *State) Wrote(row string) {
	s.value = row
	s.settled()
}

// Failed records a failed request: the next one waits.
func (s *State) Failed(now time.Time) {
	s.tries++
	s.nextTry = now.Add(Backoff(s.tries, MaxBackoff))
	s.pending(now)
}

// Hurry lets the next request be made at once.
func (s *State) Hurry() { s.nextTry = time.Time{} }

func (s *State) pending(now time.Time) {
	if s.unwritten.IsZero() {
		s.unwritten = now
	}
}

func (s *State) settled() { s.tries, s.nextTry, s.unwritten = 0, time.Time{}, time.Time{} }

// Backoff is the pause after that many failed tries, at most limit.
func Backoff(tries int, limit time.Duration) time.Duration {
	return min(limit, time.Second<<min(tries-1, 6))
}

// Ready reports whether ScyllaDB is polled at each interval, and no change is unwritten for long.
func Ready(polled, unwritten, now time.Time, interval time.Duration) bool {
	limit := 3 * interval
	return !polled.IsZero() && now.Sub(polled) <= limit &&
		(unwritten.IsZero() || now.Sub(unwritten) <= max(limit, MaxUnwritten))
}
