// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// --when-controller-silent=Peers: while no controller leads, a barrier goes by the members' own rows, as package barrier has it.

// peersPause is how long it takes until the members are looked at again.
const peersPause = 5 * time.Second

// peers is true in a world whose barriers have that flag. Its reporters have heartbeats, or the flag would do nothing.
func (w *world) peers() bool {
	return (w.Rule == Permits || w.Rule == LooksOnce || w.Rule == PeersBelieved) && w.Seed%13 == 0 && w.Seed%7 != 0
}

// peering is what a barrier remembers while the members are what it goes by.
type peering struct {
	silent, since, next time.Time
	said                bootstrap.Verdict
	heard               map[string]*peerBeat
	asks                bool // the decision is about the members alone
	opened              bool
}

type peerBeat struct {
	address, fingerprint string
	number               int64
	asked                bool
	is                   view.Heartbeat
}

// absentControllers lets no controller lead for longer than a barrier of this flag waits, twice in a seed, and scales the cluster up meanwhile. It draws from a source of its own.
func (w *world) absentControllers() {
	if !w.peers() || w.Hole {
		return
	}
	rng := rand.New(rand.NewPCG(w.Seed, 0x9ee5))
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(rng.Int64N(int64(high-low))) }
	for i := range 2 {
		at := time.Duration(3+13*i)*time.Minute + between(0, 5*time.Minute)
		lasts := between(3*time.Minute, 7*time.Minute)
		set := rng.IntN(3)
		w.after(at, func() {
			w.result.Faults++
			w.tracef("FAULT no controller leads for %s", lasts.Round(time.Second))
			w.endController(lasts)
		})
		w.after(at+between(20*time.Second, 90*time.Second), func() { w.scaleUpSet(w.sets[set%len(w.sets)]) })
	}
}

// byPeers turns a verdict that waits for a silent controller alone into the one that the members' own rows give.
func (w *world) byPeers(p *pod, v bootstrap.Verdict) bootstrap.Verdict {
	b := p.barrier
	s := &b.peers
	only := !v.Satisfied && len(v.Blockers) > 0 && !slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return !isControllerSilent(x) })
	if !w.peers() || !only || !b.gone {
		*s = peering{}
		return v
	}
	if s.silent.IsZero() {
		s.silent = w.now
	}
	sign := b.began
	if age, seen := b.leave.views.Age(w.now); seen {
		sign = w.now.Add(-age)
	}
	if limit := w.limits.ViewLimit.Duration; w.now.Sub(s.silent) <= limit || w.now.Sub(sign) <= limit {
		return v
	}
	if w.now.Before(s.next) {
		return s.said
	}
	s.next, s.asks = w.now.Add(peersPause), true
	s.said = w.askPeers(p, v)
	s.asks = false
	return s.said
}

// askPeers looks at the members once.
func (w *world) askPeers(p *pod, v bootstrap.Verdict) bootstrap.Verdict {
	s := &p.barrier.peers
	closed := func(blockers ...matrix.Blocker) bootstrap.Verdict {
		s.since = time.Time{}
		return wait(v, slices.Concat(v.Blockers, blockers)...)
	}
	carried := cluster.New(w.objects(everything), cluster.SourceAnnotation, p.clock(w))
	in, err := bootstrap.Of(carried, p.name)
	if err != nil {
		return closed()
	}
	by := bootstrap.Decide(w.input(p, in))
	if by.Decision != bootstrap.DecisionAllUp {
		return closed(by.Blockers...)
	}
	if unconfirmed := w.unconfirmed(s, carried); len(unconfirmed) > 0 {
		return closed(unconfirmed...)
	}
	if s.since.IsZero() {
		s.since = w.now
	}
	if w.now.Sub(s.since) < stabilisation {
		return wait(v, append(slices.Clone(v.Blockers), bootstrap.Stabilising(stabilisation, 0))...)
	}
	looked := w.lastLook(p, by)
	if !looked.Satisfied {
		return closed(looked.Blockers...)
	}
	s.opened = true
	return looked
}

// unconfirmed are the nodes whose reporter does not confirm their row by a number that has been seen to advance.
func (w *world) unconfirmed(s *peering, carried *cluster.Cluster) []matrix.Blocker {
	if w.Rule == PeersBelieved {
		return nil // a planted bug
	}
	known := s.heard
	s.heard = map[string]*peerBeat{}
	var blockers []matrix.Blocker
	evidence := view.Of(carried)
	for i := range evidence {
		e := &evidence[i]
		silent := bootstrap.ReporterSilent(e.Ref, "no heartbeat confirms its status report")
		said, address := e.Heartbeat(), e.HeartbeatAt()
		if address == "" || e.Ref.Member == "" {
			blockers = append(blockers, silent)
			continue
		}
		e.Digest = e.Row().Digest()
		h := known[e.Ref.Member]
		if h == nil || h.address != address || h.fingerprint != said.Fingerprint {
			h = &peerBeat{address: address, fingerprint: said.Fingerprint}
		}
		s.heard[e.Ref.Member] = h
		h.is.Digest = ""
		if !w.net.chance(0.02) { // else it is lost on the way
			number, ok := w.says(&heartbeats.Target{
				Pod: types.NamespacedName{Namespace: namespace, Name: e.Ref.Member}, Address: address, Fingerprint: h.fingerprint, Digest: e.Digest,
			})
			if ok {
				h.take(number, e.Digest, w.now)
			}
		}
		if e.Seen(h.is, w.now) != view.Heard {
			blockers = append(blockers, silent)
		}
	}
	return blockers
}

// take counts an answer. The first number says nothing: a reporter that hangs serves one, too.
func (h *peerBeat) take(number int64, digest string, now time.Time) {
	switch {
	case !h.asked:
		h.asked, h.number = true, number
	case number < h.number:
		h.is, h.number = view.Heartbeat{}, number
		return
	case number > h.number:
		h.number, h.is.Advanced = number, now
	}
	h.is.Digest = digest
}
