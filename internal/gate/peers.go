// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// peersPause is the time between two queries of the members.
const peersPause = 5 * time.Second

// peering is the state of the gate while it decides by the members' own rows.
type peering struct {
	// since when the Lease has shown no controller; zero while it shows one
	silent time.Time
	// since when each member's row is fresh and lets the member join, continuously; else zero
	since time.Time
	next  time.Time         // time of the next query
	said  bootstrap.Verdict // result of the last query
	heard map[string]pulse  // by member name
}

// pulse is the state of one reporter's heartbeat, of one address and certificate.
type pulse struct {
	view.HeartbeatCounter
	address, fingerprint string
}

// byPeers replaces a verdict that waits only for a controller that is not responding, if an
// administrator chose that. It is for plain joins: it creates no cluster and replaces no node.
// Every listed node must have a row that its reporter confirms by an advancing heartbeat. All rows
// must have all nodes UP for the stabilisation time. The final check follows.
func (g *Gate) byPeers(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	p, now := &g.peers, g.reads.Now()
	onlySilent := !v.Satisfied && len(v.Blockers) > 0 &&
		!slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason != words.ControllerSilent })
	if !g.ByPermits() || known == nil || healthpolicy.Silent(g.WhenSilent, known.StatusReport) != api.WhenSilentPeers ||
		!onlySilent || !g.lease.gone {
		*p = peering{} // the conditions must hold continuously
		return v
	}
	if p.silent.IsZero() {
		p.silent = now
	}
	// A fresh view still counts as the controller's, and a change of leader takes time.
	if limit := g.policy.ViewLimit.Duration; now.Sub(p.silent) <= limit ||
		now.Sub(g.lastSign(words.ControllerSilent, now)) <= limit {
		return v
	}
	if now.Before(p.next) {
		return p.said
	}
	p.next = now.Add(peersPause)
	p.said = g.askPeers(v, known)
	return p.said
}

// askPeers queries the members once.
func (g *Gate) askPeers(v bootstrap.Verdict, known *cluster.Cluster) bootstrap.Verdict {
	p := &g.peers
	closed := func(blockers ...matrix.Blocker) bootstrap.Verdict {
		p.since = time.Time{}
		return wait(v, slices.Concat(v.Blockers, blockers)...)
	}
	objects, digests, trouble := g.reads.Pods(known)
	if trouble != nil {
		return closed(*trouble)
	}
	carried := cluster.New(objects, cluster.SourceAnnotation, g.reads.Now())
	in, err := g.Input(carried)
	if err != nil {
		return closed()
	}
	by := bootstrap.Decide(in)
	if by.Decision != bootstrap.DecisionAllUp {
		return closed(by.Blockers...)
	}
	if unconfirmed := g.unconfirmed(carried, digests); len(unconfirmed) > 0 {
		return closed(unconfirmed...)
	}
	now := g.reads.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if left := g.window - now.Sub(p.since); left > 0 {
		return wait(v,
			append(slices.Clone(v.Blockers), bootstrap.Stabilising(g.window, (g.window-left).Truncate(repeat)))...)
	}
	looked := g.lastLook(by, known)
	if !looked.Satisfied {
		return closed(looked.Blockers...)
	}
	looked.Notes = append(slices.Clone(looked.Notes), words.New(words.DecidedByPeers))
	return looked
}

// unconfirmed queries each node's reporter and returns a blocker for each unconfirmed row.
func (g *Gate) unconfirmed(carried *cluster.Cluster, digests map[string]string) []matrix.Blocker {
	p, asked := &g.peers, g.reads.Now()
	if p.heard == nil {
		p.heard = map[string]pulse{}
	}
	evidence := view.Of(carried)
	var of []*view.Sighting
	for i := range evidence {
		e := &evidence[i]
		e.Digest = digests[e.Ref.Member]
		if e.HeartbeatAt() != "" && e.Ref.Member != "" {
			of = append(of, e)
		}
	}
	now := make(map[*view.Sighting]view.Heartbeat, len(of))
	for i, beat := range g.reads.Heartbeats(of) {
		e := of[i]
		h := p.heard[e.Ref.Member]
		if address, fingerprint := e.HeartbeatAt(), e.Heartbeat().Fingerprint; h.address != address ||
			h.fingerprint != fingerprint {
			h = pulse{address: address, fingerprint: fingerprint}
		}
		if beat.Failed {
			h.Miss()
		} else {
			h.Record(beat.Number, e.Digest, asked, e.Limit) // Sighting.Seen judges the result
		}
		p.heard[e.Ref.Member], now[e] = h, h.Heartbeat()
	}
	var blockers []matrix.Blocker
	for i := range evidence {
		e := &evidence[i]
		if e.Heartbeat() == nil || e.Seen(now[e], g.reads.Now()) != view.Heard {
			blockers = append(blockers, noAnswer(e.Ref, Unconfirmed(words.New(words.ReporterUnconfirmed))))
		}
	}
	return blockers
}
