// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// ParseWhenSilent parses "Wait", "Peers", or "" (the cluster's health policy decides). The error
// lists the values.
func ParseWhenSilent(text string) (api.WhenSilent, error) {
	switch w := api.WhenSilent(text); w {
	case "", api.WhenSilentWait, api.WhenSilentPeers:
		return w, nil
	}
	return "", fmt.Errorf("unknown value %q: use one of %s, %s", text, api.WhenSilentWait, api.WhenSilentPeers)
}

// peersPause is the time between two queries of the members.
const peersPause = 5 * time.Second

// peering is the state of the barrier while it decides by the members' own rows.
type peering struct {
	// since when the Lease has shown no controller; zero while it shows one
	silent time.Time
	// since when each member's row is fresh and lets the member join, continuously; else zero
	since time.Time
	next  time.Time         // time of the next query
	said  bootstrap.Verdict // result of the last query
	heard map[string]beat   // by member name
}

// beat is the state of one reporter's heartbeat.
type beat struct {
	pulse                view.HeartbeatCounter
	address, fingerprint string
	client               *http.Client
}

// byPeers replaces a verdict that waits only for a controller that is not responding, if an
// administrator chose that. It is for plain joins: it creates no cluster and replaces no node.
// Every listed node must have a row that its reporter confirms by an advancing heartbeat. All rows
// must have all nodes UP for the stabilisation time. The final check follows.
func (b *barrier) byPeers(ctx context.Context, key cluster.Key, v bootstrap.Verdict,
	known *cluster.Cluster) bootstrap.Verdict {
	p, now := &b.peers, b.Clock.Now()
	onlySilent := !v.Satisfied && len(v.Blockers) > 0 &&
		!slices.ContainsFunc(v.Blockers, func(x matrix.Blocker) bool { return x.Reason != words.ControllerSilent })
	if !b.byPermits() || known == nil || healthpolicy.Silent(b.WhenSilent, known.StatusReport) != api.WhenSilentPeers ||
		!onlySilent || !b.lease.gone {
		b.resetPeers()
		return v
	}
	if p.silent.IsZero() {
		p.silent = now
	}
	// A fresh view still counts as the controller's, and a change of leader takes time.
	if limit := b.policy.ViewLimit.Duration; now.Sub(p.silent) <= limit ||
		now.Sub(b.lastSign(words.ControllerSilent, now)) <= limit {
		return v
	}
	if now.Before(p.next) {
		return p.said
	}
	p.next = now.Add(peersPause)
	p.said = b.askPeers(ctx, key, v, known)
	return p.said
}

// askPeers queries the members once.
func (b *barrier) askPeers(ctx context.Context, key cluster.Key, v bootstrap.Verdict,
	known *cluster.Cluster) bootstrap.Verdict {
	p := &b.peers
	closed := func(blockers ...matrix.Blocker) bootstrap.Verdict {
		p.since = time.Time{}
		return b.waitVerdict(v, slices.Concat(v.Blockers, blockers)...)
	}
	digests, decoder := map[string]string{}, &cluster.Decoder{}
	pods, err := kube.Pods(ctx, b.client, key, condense(digests, decoder))
	if err != nil {
		return closed(b.unlisted(err))
	}
	objects := known.Objects
	objects.Pods, objects.Decoder = pods, decoder
	objects.Read |= cluster.KindPods
	carried := cluster.New(objects, cluster.SourceAnnotation, b.Clock.Now())
	in, err := b.input(carried)
	if err != nil {
		return closed()
	}
	by := bootstrap.Decide(in)
	if by.Decision != bootstrap.DecisionAllUp {
		return closed(by.Blockers...)
	}
	if unconfirmed := b.unconfirmed(ctx, carried, digests); len(unconfirmed) > 0 {
		return closed(unconfirmed...)
	}
	now := b.Clock.Now()
	if p.since.IsZero() {
		p.since = now
	}
	if left := b.window - now.Sub(p.since); left > 0 {
		return b.waitVerdict(v,
			append(slices.Clone(v.Blockers), bootstrap.Stabilising(b.window, (b.window-left).Truncate(repeat)))...)
	}
	by.Notes = append(by.Notes, b.notes...)
	looked := b.lastLook(ctx, key, by, known)
	if !looked.Satisfied {
		return closed(looked.Blockers...)
	}
	looked.Notes = append(slices.Clone(looked.Notes), words.New(words.DecidedByPeers))
	return looked
}

// unconfirmed queries each node's reporter and returns a blocker for each unconfirmed row.
func (b *barrier) unconfirmed(ctx context.Context, carried *cluster.Cluster,
	digests map[string]string) []matrix.Blocker {
	p, asked := &b.peers, b.Clock.Now()
	if p.heard == nil {
		p.heard = map[string]beat{}
	}
	evidence := view.Of(carried)
	beats := make([]beat, len(evidence))
	ctx, cancel := context.WithTimeout(ctx, askAll)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(askTogether)
	for i := range evidence {
		e := &evidence[i]
		e.Digest = digests[e.Ref.Member]
		said, address := e.Heartbeat(), e.HeartbeatAt()
		if address == "" || e.Ref.Member == "" {
			continue
		}
		h := p.heard[e.Ref.Member]
		if h.address != address || h.fingerprint != said.Fingerprint {
			if h.client != nil {
				h.client.CloseIdleConnections()
			}
			h = beat{address: address, fingerprint: said.Fingerprint, client: pinned.NewClient(said.Fingerprint)}
		}
		g.Go(func() error {
			beats[i] = b.heartbeatOf(ctx, e, h, asked)
			return nil
		})
	}
	_ = g.Wait() // each has its own error
	var blockers []matrix.Blocker
	now := b.Clock.Now()
	for i := range evidence {
		e := &evidence[i]
		if beats[i].client != nil {
			p.heard[e.Ref.Member] = beats[i]
		}
		if e.Heartbeat() == nil || e.Seen(beats[i].pulse.Heartbeat(), now) != view.Heard {
			blockers = append(blockers, b.noAnswer(e.Ref, lookError(words.New(words.ReporterUnconfirmed))))
		}
	}
	return blockers
}

// heartbeatOf queries one reporter.
func (b *barrier) heartbeatOf(ctx context.Context, e *view.Sighting, h beat, asked time.Time) beat {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	ask := b.AskHeartbeat
	if ask == nil {
		ask = func(ctx context.Context, _ string) (int64, error) {
			answer, err := heartbeat.Ask(ctx, h.client, h.address, e.Digest)
			return answer.Number, err
		}
	}
	number, err := ask(ctx, e.Ref.Member)
	if err != nil {
		h.pulse.Miss()
		return h
	}
	h.pulse.Record(number, e.Digest, asked, e.Limit) // Sighting.Seen judges the result
	return h
}

// resetPeers resets the state: the conditions must hold continuously.
func (b *barrier) resetPeers() {
	for _, h := range b.peers.heard {
		h.client.CloseIdleConnections()
	}
	b.peers = peering{}
}
