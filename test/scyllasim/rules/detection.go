// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"time"
)

// Times of gossip and of the coordinator.
const (
	// EchoInterval is between two echoes to a peer that is UP. G:951; since 4.6.
	EchoInterval = 2 * time.Second
	// FailureDetectorTimeout is failure_detector_timeout_in_ms. db/config.cc; since 4.6.
	FailureDetectorTimeout = 20 * time.Second
	// FirstDown is the shortest time from the last good echo to DOWN, and LastDown the longest:
	// echoes that fail at once come every EchoInterval. G:968.
	FirstDown = EchoInterval + FailureDetectorTimeout
	LastDown  = FirstDown + EchoInterval
	// LastDownOfTwo is the longest for the second of two that die at once: when the first is DOWN
	// the detector of every other peer begins anew. G:985.
	LastDownOfTwo = 2 * LastDown
	// AliveWait is how long an accepted node waits for the others to be UP. It ends with
	// "Failed to mark node as alive in 30000 ms". G:2255, SS:6712; since 6.0.
	AliveWait = 30 * time.Second
	// OrphanInterval is how often the coordinator looks for orphans. TC:874-931; since 6.1.
	OrphanInterval = 10 * time.Second
	orphanAge      = 60 * time.Second
)

// Detector decides by the results of echoes whether one peer is DOWN.
type Detector struct {
	Last    time.Time // of a good echo; at first of the detector's beginning
	Timeout time.Duration
}

// Most is how long echoes may fail.
func (d *Detector) Most() time.Duration { return EchoInterval + d.Timeout }

// Observe takes one echo's result and reports whether the peer is to be marked DOWN. G:945-990;
// since 4.6.
func (d *Detector) Observe(ok bool, now time.Time) bool {
	if ok {
		d.Last = now
		return false
	}
	return now.Sub(d.Last) > d.Most()
}

// Announces is true where a process that stops tells its peers, which then have it DOWN at once.
// Every other one is DOWN only when its peers miss it. G is_silent_shutdown_state. leaving: the
// version lets a decommissioning node announce it as well, up to 2026.1 (PR #29445).
func Announces(s State, leaving bool) bool {
	return s == Normal || leaving && s == Decommissioning
}

// Orphan is true for a host that gossip remembers and that never became part of the topology: the
// coordinator makes it Left, which bans it. age is since its process started. TC:894; since 6.1.
func Orphan(s State, alive bool, age time.Duration) bool {
	return s == Absent && !alive && age > orphanAge
}

// Quorum is true where a majority of group 0's voters is there. Fewer elect no leader, keep none and
// store no request. raft/fsm.cc:248, :510, :618.
func Quorum(voters []string, there func(id string) bool) bool {
	n := 0
	for _, v := range voters {
		if there(v) {
			n++
		}
	}
	return 2*n > len(voters)
}

// Leads is true for a node that can lead group 0, and coordinate the topology: a voter that reaches
// a majority of them, itself included. raft/fsm.cc:248.
func Leads(voters []string, id string, reaches func(id string) bool) bool {
	return slices.Contains(voters, id) && Quorum(voters, func(v string) bool { return v == id || reaches(v) })
}

// Voter of group 0: ignored nodes lose their vote when the request is stored that names them.
// 6.0 SS:6466, 2025.1 SS:7074. Assumed: every other normal node has one, in all versions; since
// 2025.2 service/raft/group0_voter_handler.cc gives it to five at most.
func Voter(t Topology, hostID string) bool {
	return t.State(hostID) == Normal && !t.Ignored(hostID)
}
