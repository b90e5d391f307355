// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// considerLocked sends an echo to a peer that is not UP and marks it UP when the answer comes. A peer that announced its shutdown is marked DOWN.
func (g *gossiper) considerLocked(p *peerView) {
	if p.st.status() == "shutdown" {
		if p.alive {
			g.markDownLocked(p)
		}
		return
	}
	if p.alive || p.echoing {
		return
	}
	p.echoing = true
	st := p.st
	g.wg.Go(func() {
		err := g.call(g.ctx, 15*time.Second, st, "gossip.echo", struct{}{}, nil)
		g.mu.Lock()
		defer g.mu.Unlock()
		p.echoing = false
		if err != nil || !g.enabled || p.alive || g.peers[st.HostID] != p || p.st.Gen != st.Gen || p.st.status() == "shutdown" {
			return
		}
		p.alive = true
		g.bumpLocked()
		g.n.log.info("gossip", "InetAddress %s/%s is now UP, status = %s", st.HostID, p.st.IP, p.st.status())
	})
}

func (g *gossiper) markDownLocked(p *peerView) {
	p.alive = false
	g.bumpLocked()
	g.n.log.info("gossip", "InetAddress %s/%s is now DOWN, status = %s", p.st.HostID, p.st.IP, p.st.status())
}

func (g *gossiper) bumpLocked() {
	close(g.liveChanged)
	g.liveChanged = make(chan struct{})
}

// detect runs one echo loop for each live peer, and all of them anew whenever the set of live peers changes.
func (g *gossiper) detect(ctx context.Context) {
	for ctx.Err() == nil {
		lctx, cancel := context.WithCancel(ctx)
		g.mu.Lock()
		changed := g.liveChanged
		var wg sync.WaitGroup
		for id, p := range g.peers {
			if p.alive {
				wg.Go(func() { g.detectPeer(lctx, id) })
			}
		}
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		cancel()
		wg.Wait()
	}
}

func (g *gossiper) detectPeer(ctx context.Context, id string) {
	d := rules.Detector{Last: g.n.clock.Now(), Timeout: rules.FailureDetectorTimeout}
	for {
		g.mu.Lock()
		p := g.peers[id]
		if p == nil || !p.alive || !g.enabled {
			g.mu.Unlock()
			return
		}
		st := p.st
		g.mu.Unlock()
		err := g.call(ctx, d.Most(), st, "gossip.echo", struct{}{}, nil)
		if ctx.Err() != nil {
			return
		}
		if d.Observe(err == nil, g.n.clock.Now()) {
			g.mu.Lock()
			if g.peers[id] == p && p.alive && g.enabled {
				g.n.log.info("gossip", "failure_detector_loop: Mark node %s/%s as DOWN", id, p.st.IP)
				g.markDownLocked(p)
			}
			g.mu.Unlock()
			return
		}
		if g.n.clock.sleep(ctx, rules.EchoInterval) != nil {
			return
		}
	}
}
