// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Sighting is the result of one poll of a member.
type Sighting struct {
	*cluster.Member
	Look Look
	// Digest of its Row. Of omits it, because it requires reading the whole row: a caller that
	// keeps sightings sets it once.
	Digest string
	// Limit is how old the heartbeat may be, by the cluster's health policy and the reporter's
	// interval; ContactLimit if zero.
	Limit time.Duration
}

// Row returns the report that its Pod carries; zero if there is no Pod here.
func (e *Sighting) Row() api.RowText {
	if e.Pod == nil {
		return api.RowText{}
	}
	row, _ := api.RowOf(e.Pod.Annotations)
	return row
}

// Heartbeat is the receiver's knowledge of a member's heartbeat. The zero value confirms nothing.
type Heartbeat struct {
	// Digest of the report that the last answer confirmed; empty if the last poll of the heartbeat
	// was missed, for any cause.
	Digest string
	// Advanced is when the counter was last seen to advance, by the receiver's own clock; zero if
	// it has not.
	Advanced time.Time
	// Log is the state of the log of group 0 in the last answer; empty if that poll was missed.
	Log raftlog.State
}

// HeartbeatCounter is the history of one reporter's counter. Another certificate, address or Pod
// has its own Pulse. The zero value has received nothing.
type HeartbeatCounter struct {
	number int64     // the highest received
	since  time.Time // when it was first received; zero before
	is     Heartbeat
}

// Beat is the result for an answer's counter.
type Beat int

// Values of Beat.
const (
	// it is the first, has advanced, or is unchanged for no longer than the limit
	BeatCounts     Beat = iota
	BeatWentBack        // a higher counter was received before
	BeatStoodStill      // it has not advanced for longer than the limit
)

// Record records the counter of an answer that confirms the report with that digest. asked is the
// time of the request: the answer is possibly no younger. The first counter value confirms nothing,
// because a reporter that hangs also serves one. A limit of zero is ContactLimit.
func (p *HeartbeatCounter) Record(number int64, digest string, asked time.Time, limit time.Duration) Beat {
	p.Miss()
	switch {
	case p.since.IsZero():
		p.number, p.since = number, asked
	case number < p.number:
		return BeatWentBack
	case number > p.number:
		p.number, p.since, p.is.Advanced = number, asked, asked
	case asked.Sub(p.since) > cmp.Or(limit, ContactLimit):
		return BeatStoodStill
	}
	p.is.Digest = digest
	return BeatCounts
}

// Miss records a poll without an answer, or with an answer about another report.
func (p *HeartbeatCounter) Miss() { p.is.Digest, p.is.Log = "", raftlog.State{} }

// SetLog records the state of the log of group 0 in an answer that counts.
func (p *HeartbeatCounter) SetLog(log raftlog.State) { p.is.Log = log }

// Heartbeat returns the present state of the heartbeat.
func (p *HeartbeatCounter) Heartbeat() Heartbeat { return p.is }

// Seen returns the result of a poll of the member by its row and its heartbeat. DOWN in a row
// counts without a heartbeat, which is the safe direction. UP needs a heartbeat if the reporter has
// one.
func (e *Sighting) Seen(h Heartbeat, now time.Time) Look {
	if e.Look == Heard && e.Heartbeat() != nil && !e.Beats(h, now) {
		return Missed
	}
	return e.Look
}

// Beats reports whether a heartbeat confirms the member's row: the last answer was about this row,
// and the counter has advanced within its Limit.
func (e *Sighting) Beats(h Heartbeat, now time.Time) bool {
	return h.Digest != "" && h.Digest == e.Digest && !h.Advanced.IsZero() &&
		now.Sub(h.Advanced) <= cmp.Or(e.Limit, ContactLimit)
}

// Contact returns the evidence that a member's row is true.
func (e *Sighting) Contact() api.ViewContact {
	if e.Heartbeat() != nil {
		return api.ContactHeartbeat
	}
	return api.ContactRow
}

// Key identifies a member: the host ID, or the name while there is none.
func (e *Sighting) Key() string { return key(e.HostID, e.Ref.Member) }

func key(hostID hostid.ID, name string) string {
	if hostID != "" {
		return string(hostID)
	}
	return "/" + name
}

// Of returns the sighting of each member that has joined, in the order of the cluster's matrix.
func Of(c *cluster.Cluster) []Sighting {
	limit := c.HealthPolicy().Contact.Duration
	nodes := c.Matrix().Nodes()
	out := make([]Sighting, 0, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if !n.Joined || n.Removed {
			continue
		}
		e := Sighting{Member: c.MemberOf(n), Look: look(n), Limit: limit}
		if h := e.Heartbeat(); h != nil {
			e.Limit = healthpolicy.ContactOf(limit, time.Duration(h.IntervalSeconds)*time.Second)
		}
		out = append(out, e)
	}
	return out
}

// look never treats an unknown state as UP: every fresh row must have UP, including the member's
// own.
func look(n *matrix.Node) Look {
	switch {
	case n.SeenDown > 0:
		return SaidDown
	case n.Reports && n.SeenUp > 0 && n.SeenUnknown+n.NotSeen == 0:
		return Heard
	}
	return Missed
}

// Hold returns the reason, other than single members' states, that blocks all new nodes; empty if
// there is none.
func Hold(c *cluster.Cluster) string {
	all := append(bootstrap.RolloutBlockers(c), c.Matrix().Blockers()...)
	for _, reason := range []words.Code{words.RolloutInProgress, words.PodsNotReady, words.DatacenterNotVerified} {
		if slices.ContainsFunc(all, func(b matrix.Blocker) bool { return b.Reason == reason }) {
			return string(reason)
		}
	}
	return ""
}

// Same reports whether two views of one epoch have the same content; their times do not count.
func Same(a, b *api.StatusReportView) bool {
	if a == nil || b == nil || a.Epoch != b.Epoch || a.Hold != b.Hold || !samePermits(a, b) ||
		!equality.Semantic.DeepEqual(a.Credential, b.Credential) {
		return false
	}
	return slices.EqualFunc(a.Members, b.Members, func(x, y api.StatusReportViewMember) bool {
		since := x.DownSince.Equal(y.DownSince)
		x.DownSince, y.DownSince = nil, nil
		return since && x == y
	})
}
