// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

type g0Append struct {
	Term              int64
	Leader            string
	Entry             *g0Entry `json:",omitempty"`
	ComTerm, ComIndex int64
}

type g0AppendReply struct {
	Term, AccTerm, AccIndex int64
	OK                      bool
}

// syncPeersLocked runs one loop for each member that receives the state.
func (g *group0) syncPeersLocked() {
	for _, n := range g.acc.sorted() {
		if n.InGroup0 && n.HostID != g.self && g.peers[n.HostID] == nil {
			kick := make(chan struct{}, 1)
			g.peers[n.HostID] = kick
			g.wg.Go(func() { g.replicate(g.leadCtx, n.HostID, kick) })
		}
	}
	for _, kick := range g.peers {
		select {
		case kick <- struct{}{}:
		default:
		}
	}
}

func (g *group0) replicate(ctx context.Context, id string, kick <-chan struct{}) {
	for {
		g.mu.Lock()
		if !g.leading || ctx.Err() != nil {
			g.mu.Unlock()
			return
		}
		if n := g.acc.node(id); n == nil || !n.InGroup0 {
			// Removed from group 0. The removed node does not get the value that says so.
			delete(g.peers, id)
			g.mu.Unlock()
			return
		}
		msg := g0Append{Term: g.p.Term, Leader: g.self, ComTerm: g.p.Com.Term, ComIndex: g.p.Com.Index}
		if g.match[id] != [2]int64{g.p.Acc.Term, g.p.Acc.Index} {
			e := g.p.Acc
			msg.Entry = &e
		}
		g.mu.Unlock()

		var rep g0AppendReply
		cctx, cancel := context.WithTimeout(ctx, 2*g.patience())
		sent := time.Now()
		err := g.send(cctx, id, "g0.append", msg, &rep)
		cancel()

		again := false
		g.mu.Lock()
		if err == nil && g.leading && ctx.Err() == nil {
			if rep.Term > g.p.Term {
				g.adoptLocked(rep.Term)
				g.mu.Unlock()
				return
			}
			if rep.OK {
				g.acked[id] = sent
				g.match[id] = [2]int64{rep.AccTerm, rep.AccIndex}
				g.tryCommitLocked()
				again = g.match[id] != [2]int64{g.p.Acc.Term, g.p.Acc.Index}
			}
		}
		g.mu.Unlock()
		if again {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-kick:
		case <-time.After(g.beat):
		}
	}
}

func (g *group0) tryCommitLocked() {
	cur := [2]int64{g.p.Acc.Term, g.p.Acc.Index}
	if !g.leading || [2]int64{g.p.Com.Term, g.p.Com.Index} == cur {
		return
	}
	if !rules.Quorum(g.acc.Voters, func(id string) bool { return id == g.self || g.match[id] == cur }) {
		return
	}
	g.ready = true
	g.commitLocked()
	g.syncPeersLocked()
	if !slices.Contains(g.acc.Voters, g.self) {
		g.stepDownLocked("not a voter any more")
	}
}

func (g *group0) commitLocked() {
	old := g.com.Load()
	g.p.Com = g.p.Acc
	g.com.Store(g.acc)
	g.persistLocked()
	g.notifyLocked()
	if g.onApply != nil {
		g.onApply(old, g.acc)
	}
}

func (g *group0) handleAppend(m g0Append) g0AppendReply {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.Term < g.p.Term {
		return g0AppendReply{Term: g.p.Term}
	}
	g.adoptLocked(m.Term)
	g.lastHeard = time.Now()
	if g.leader != m.Leader {
		g.leader = m.Leader
		g.notifyLocked()
	}
	if m.Entry != nil && (m.Entry.Term > g.p.Acc.Term || (m.Entry.Term == g.p.Acc.Term && m.Entry.Index > g.p.Acc.Index)) {
		g.p.Acc = *m.Entry
		g.acc = decodeTopology(m.Entry.Value)
		g.persistLocked()
	}
	if m.ComTerm == g.p.Acc.Term && m.ComIndex == g.p.Acc.Index && (g.p.Com.Term != m.ComTerm || g.p.Com.Index != m.ComIndex) {
		g.commitLocked()
	}
	return g0AppendReply{Term: g.p.Term, AccTerm: g.p.Acc.Term, AccIndex: g.p.Acc.Index, OK: true}
}
