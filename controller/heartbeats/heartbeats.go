// SPDX-License-Identifier: Apache-2.0

// Package heartbeats asks the members' reporters whether they still poll their ScyllaDBs and still have the rows of their Pods' annotations. It keeps the answers and their times,
// by its own clock; internal/view judges them. No caller waits for it: a member that is slow, silent or hostile costs only its own state.
package heartbeats

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

const (
	// Timeout bounds one look at a member, with everything that belongs to it. It is shorter than the pause between two.
	Timeout = 1500 * time.Millisecond
	// together is how many members are asked at the same time. Those that missed the last look have as many places of their own, so that they never keep the
	// others waiting.
	together = 64
)

// Target is a member that is to be asked.
type Target struct {
	Pod     types.NamespacedName
	Cluster string // its name, in the Pod's namespace
	// Address is host and port, Fingerprint that of the certificate there, Digest that of the annotation which the answer has to confirm.
	Address, Fingerprint, Digest string
	// Limit is how long its number may stand still; view.ContactLimit when zero.
	Limit time.Duration
	// Lease is true where its number is on a Lease of its Pod, which has this UID, and no reporter is asked.
	Lease bool
	UID   types.UID
	// Idle is true for a member that is not to be asked now; what is known of it is kept.
	Idle bool
}

// Why a look was missed.
type Why string

// Values of Why.
const (
	Certificate Why = "Certificate" // another server answers
	OtherRow    Why = "OtherRow"    // its row is not the annotation's
	Refused     Why = "Refused"     // it answers that it has no row
	Garbled     Why = "Garbled"     // no answer of a reporter
	OtherPod    Why = "OtherPod"    // its Lease is of another Pod of that name
	NoLease     Why = "NoLease"     // it has no Lease
	WentBack    Why = "WentBack"    // the number is lower than before
	Stopped     Why = "Stopped"     // the number has not advanced for longer than Target.Limit
	TimedOut    Why = "TimedOut"
	Unreachable Why = "Unreachable"
)

// Whys are all of them, for metrics.
var Whys = []Why{Certificate, OtherRow, Refused, Garbled, OtherPod, NoLease, WentBack, Stopped, TimedOut, Unreachable}

// Options of a Poller.
type Options struct {
	Clock clock.PassiveClock
	Log   *slog.Logger
	// Leases reads the Leases of members whose numbers are there; nil where there are none.
	Leases client.Reader
	// Missed is called for every missed look; nil calls nothing. It must not wait.
	Missed func(t Target, why Why)
	// Timeout of one look; the constant when zero.
	Timeout time.Duration
}

// Poller asks members. It is safe for concurrent use.
type Poller struct {
	o       Options
	well    chan struct{} // places of members that answered the last time, or were not asked yet
	sick    chan struct{} // of the others
	running sync.WaitGroup

	mu      sync.Mutex
	members map[types.NamespacedName]*member
}

// member is the state of one member.
type member struct {
	target Target
	client *http.Client
	asking bool

	missed int // looks in a row
	pulse  view.Pulse
}

// New returns a Poller that has heard no member.
func New(o Options) *Poller {
	if o.Timeout == 0 {
		o.Timeout = Timeout
	}
	return &Poller{o: o, well: make(chan struct{}, together), sick: make(chan struct{}, together), members: map[types.NamespacedName]*member{}}
}

// Ask begins to ask all of them but those that have not answered yet, and forgets every other one. It returns at once.
func (p *Poller) Ask(ctx context.Context, all []Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := make(map[types.NamespacedName]bool, len(all))
	for _, t := range all {
		wanted[t.Pod] = true
		m := p.members[t.Pod]
		// Another address or certificate is another reporter: earlier answers are not its own.
		if m == nil || m.target.Address != t.Address || m.target.Fingerprint != t.Fingerprint || m.target.Lease != t.Lease || m.target.UID != t.UID {
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

// Heard is a member's heartbeat as known now.
func (p *Poller) Heard(pod types.NamespacedName) view.Heartbeat {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[pod]; m != nil {
		return m.pulse.Heartbeat()
	}
	return view.Heartbeat{}
}

// Wait returns when no request is under way. Unless Ask is called again, that is within the timeout of a look.
func (p *Poller) Wait() { p.running.Wait() }

// look asks one member when a place is free.
func (p *Poller) look(ctx context.Context, lane chan struct{}, m *member, t Target) {
	select {
	case lane <- struct{}{}:
		defer func() { <-lane }()
	case <-ctx.Done():
		p.ended(m)
		return
	}
	// The time of asking, not of the answer: its content may be no younger than that.
	asked := p.o.Clock.Now()
	one, cancel := context.WithTimeout(ctx, p.o.Timeout)
	defer cancel()
	answer, err := p.answer(one, m.client, t)
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
		p.o.Log.Warn("heartbeat missing", "namespace", t.Pod.Namespace, "pod", t.Pod.Name, "address", t.Address, "why", string(why), "error", err)
	}
}

// answer asks the reporter, or reads its Lease. The content may be older than the moment of reading: the limit of a number that stands still covers that, too.
func (p *Poller) answer(ctx context.Context, c *http.Client, t Target) (heartbeat.Answer, error) {
	if !t.Lease || p.o.Leases == nil {
		return heartbeat.Ask(ctx, c, t.Address, t.Digest)
	}
	var l coordinationv1.Lease
	if err := p.o.Leases.Get(ctx, types.NamespacedName{Namespace: t.Pod.Namespace, Name: heartbeat.LeaseName(t.Pod.Name)}, &l); err != nil {
		return heartbeat.Answer{}, err
	}
	return heartbeat.Read(&l, t.UID, t.Digest)
}

func (p *Poller) ended(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.asking = false
}

// judge takes an answer, and returns why it does not count; empty when it does.
func (m *member) judge(answer heartbeat.Answer, err error, digest string, asked time.Time) Why {
	if err != nil {
		m.pulse.Miss()
		return whyNot(err)
	}
	switch m.pulse.Hear(answer.Number, digest, asked, m.target.Limit) {
	case view.BeatWentBack:
		return WentBack
	case view.BeatStoodStill:
		return Stopped
	default:
		m.pulse.Tell(answer.Log)
		return ""
	}
}

// whyNot is why there was no answer that counts.
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
	case errors.Is(err, heartbeat.ErrOtherPod):
		return OtherPod
	case apierrors.IsNotFound(err):
		return NoLease
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	default:
		return Unreachable
	}
}
