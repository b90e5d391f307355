// SPDX-License-Identifier: Apache-2.0

// Package heartbeats polls the members' reporters: whether they still poll their ScyllaDB and have
// the rows of their Pods' annotations. It keeps the responses with their times, by its own clock;
// internal/view judges them. No caller waits for it: a slow, unresponsive or hostile member affects
// only its own state.
package heartbeats

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

const (
	// timeout limits one poll of a member. It is shorter than the pause between two polls.
	timeout = 1500 * time.Millisecond
	// together is how many members are polled at the same time. Members that missed the last poll
	// have a separate pool of that size, so that they never delay the others.
	together = 64
)

// Target is a member to poll.
type Target struct {
	Pod     types.NamespacedName
	Cluster string // name of the cluster in the Pod's namespace
	// Address is host and port, Fingerprint identifies its certificate, Digest the annotation that
	// the response must confirm.
	Address, Fingerprint, Digest string
	// Limit is how long the counter may be unchanged; default view.ContactLimit.
	Limit time.Duration
	// UID of the Pod.
	UID types.UID
	// Idle is true for a member that is not polled now; its state is kept.
	Idle bool
}

// SameReporter is false for another address, certificate or Pod: then earlier responses do not
// count.
func (t *Target) SameReporter(o *Target) bool {
	return t.Address == o.Address && t.Fingerprint == o.Fingerprint && t.UID == o.UID
}

// Why is the reason for a missed poll.
type Why string

// Values of Why.
const (
	Certificate Why = "Certificate" // another server responded
	OtherRow    Why = "OtherRow"    // its row differs from the annotation
	Refused     Why = "Refused"     // it reports that it has no row
	Garbled     Why = "Garbled"     // not a response of a reporter
	WentBack    Why = "WentBack"    // the counter is lower than before
	Stopped     Why = "Stopped"     // the counter is unchanged for longer than Target.Limit
	TimedOut    Why = "TimedOut"
	Unreachable Why = "Unreachable"
)

// Options of a Poller.
type Options struct {
	Clock clock.PassiveClock
	Log   *slog.Logger
	// Missed is called for each missed poll; nil calls nothing. It must not block.
	Missed func(t Target, why Why)
	// Timeout of one poll; default: the constant.
	Timeout time.Duration
}

// Poller polls members. It is safe for concurrent use.
type Poller struct {
	o Options
	// slots for members that responded to the last poll, or were not polled yet
	well    chan struct{}
	sick    chan struct{} // slots for all other members
	running sync.WaitGroup

	mu      sync.Mutex
	members map[types.NamespacedName]*member
}

// member is the state of one member.
type member struct {
	target Target
	client *http.Client
	asking bool

	missed int // consecutive missed polls
	pulse  view.HeartbeatCounter
}

// New returns a Poller without any state of members.
func New(o Options) *Poller {
	if o.Timeout == 0 {
		o.Timeout = timeout
	}
	return &Poller{o: o, well: make(chan struct{}, together), sick: make(chan struct{}, together),
		members: map[types.NamespacedName]*member{}}
}

// Ask starts a poll of each target without a pending poll, and forgets all other members. It
// returns at once.
func (p *Poller) Ask(ctx context.Context, all []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := make(map[types.NamespacedName]bool, len(all))
	for _, t := range all {
		wanted[t.Pod] = true
		m := p.members[t.Pod]
		if m == nil || !m.target.SameReporter(&t) {
			if m != nil {
				m.client.CloseIdleConnections()
			}
			m = &member{client: pinned.NewClient(t.Fingerprint)}
			p.members[t.Pod] = m
		}
		m.target = t
		if m.asking || t.Idle {
			continue
		}
		m.asking = true
		lane := p.well
		if m.missed > 0 {
			lane = p.sick
		}
		p.running.Go(func() { p.look(ctx, lane, m, t) })
	}
	for pod, m := range p.members {
		if !wanted[pod] {
			m.client.CloseIdleConnections()
			delete(p.members, pod)
		}
	}
}

// Heard returns a member's current heartbeat.
func (p *Poller) Heard(pod types.NamespacedName) view.Heartbeat {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[pod]; m != nil {
		return m.pulse.Heartbeat()
	}
	return view.Heartbeat{}
}

// Wait returns when no request is in progress. Unless Ask is called again, it returns within the
// timeout of a poll.
func (p *Poller) Wait() { p.running.Wait() }

// look polls one member when a slot is free.
func (p *Poller) look(ctx context.Context, lane chan struct{}, m *member, t Target) {
	select {
	case lane <- struct{}{}:
		defer func() { <-lane }()
	case <-ctx.Done():
		p.ended(m)
		return
	}
	// The time of the request, not of the response: the content may be as old as the request.
	asked := p.o.Clock.Now()
	one, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	answer, err := heartbeat.Ask(one, m.client, t.Address, t.Digest)
	if ctx.Err() != nil {
		p.ended(m)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m.asking = false
	why := m.judge(answer, err, t.Digest, asked)
	if why == "" {
		if m.missed >= view.MissedLimit {
			p.o.Log.Info("heartbeat restored", "namespace", t.Pod.Namespace, "pod", t.Pod.Name, "missed", m.missed)
		}
		m.missed = 0
		return
	}
	m.missed++
	if p.o.Missed != nil {
		p.o.Missed(t, why)
	}
	if m.missed == view.MissedLimit {
		p.o.Log.Warn("heartbeat missing", "namespace", t.Pod.Namespace, "pod", t.Pod.Name, "address", t.Address, "why",
			string(why), "error", err)
	}
}

func (p *Poller) ended(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.asking = false
}

// judge records a response, and returns why it does not count, else "".
func (m *member) judge(answer heartbeat.Answer, err error, digest string, asked time.Time) Why {
	if err != nil {
		m.pulse.Miss()
		return whyNot(err)
	}
	switch m.pulse.Record(answer.Number, digest, asked, m.target.Limit) {
	case view.BeatWentBack:
		return WentBack
	case view.BeatStoodStill:
		return Stopped
	default:
		m.pulse.SetLog(answer.Log)
		return ""
	}
}

// whyNot returns why there is no valid response.
func whyNot(err error) Why {
	switch {
	case errors.Is(err, pinned.ErrOther):
		return Certificate
	case errors.Is(err, heartbeat.ErrOtherRow):
		return OtherRow
	case errors.Is(err, heartbeat.ErrRefused):
		return Refused
	case errors.Is(err, heartbeat.ErrGarbled):
		return Garbled
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return Unreachable
	}
}
