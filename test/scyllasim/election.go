// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

type g0VoteRequest struct {
	Term      int64
	Acc       g0ID
	Candidate string
	Pre       bool
}

type g0VoteReply struct {
	Term    int64
	Granted bool
}

const maxStretch = 4

func (g *group0) patienceLocked() time.Duration { return g.election << g.stretch }

func (g *group0) stretchLocked() {
	g.stretch, g.stretched = min(g.stretch+1, maxStretch), time.Now()
}

func (g *group0) elect() { _ = g.campaign(true) && g.campaign(false) }

func (g *group0) campaign(pre bool) bool {
	g.mu.Lock()
	if g.leading || g.p.Acc.Value == nil {
		g.mu.Unlock()
		return false
	}
	req := g0VoteRequest{Term: g.p.Term + 1, Acc: g.p.Acc.g0ID, Candidate: g.n.hostID, Pre: pre}
	if !pre {
		g.p.Term, g.p.Voted = req.Term, g.n.hostID
		g.persistLocked()
	}
	voters, patience := g.votersLocked(), g.patienceLocked()
	g.mu.Unlock()

	won := g.askForVotes(voters, req, patience)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !won:
		g.stretchLocked()
	case !pre && g.p.Term == req.Term && !g.leading:
		g.leadLocked()
	}
	return won
}

// askForVotes is true as soon as a majority of the voters, this node included, grants the vote.
func (g *group0) askForVotes(voters []string, req g0VoteRequest, patience time.Duration) bool {
	type answer struct {
		id string
		g0VoteReply
	}
	answers := make(chan answer, len(voters))
	cctx, cancel := context.WithTimeout(g.ctx, patience)
	defer cancel()
	granted, left := map[string]bool{g.n.hostID: true}, 0
	for _, id := range voters {
		if id == g.n.hostID {
			continue
		}
		left++
		g.wg.Go(func() {
			var rep g0VoteReply
			if g.n.sendTo(cctx, id, "g0.vote", req, &rep) != nil {
				rep = g0VoteReply{}
			}
			answers <- answer{id, rep}
		})
	}
	for {
		if rules.Leads(voters, g.n.hostID, func(id string) bool { return granted[id] }) {
			return true
		}
		if left == 0 {
			return false
		}
		left--
		select {
		case rep := <-answers:
			if granted[rep.id] = rep.Granted; !rep.Granted {
				g.mu.Lock()
				g.adoptLocked(rep.Term)
				g.mu.Unlock()
			}
		case <-cctx.Done():
			return false
		}
	}
}

func (g *group0) adoptLocked(term int64) {
	if term <= g.p.Term {
		return
	}
	g.p.Term, g.p.Voted = term, ""
	g.persistLocked()
	if g.leading {
		g.stepDownLocked("a newer term")
	}
}

func (g *group0) leadLocked() {
	g.leading, g.ready, g.leader = true, false, g.n.hostID
	g.match, g.acked, g.peers = map[string]g0ID{}, map[string]time.Time{}, map[string]chan struct{}{}
	now := time.Now()
	for _, id := range g.votersLocked() {
		g.acked[id] = now
	}
	g.leadCtx, g.leadStop = context.WithCancel(g.ctx)
	g.n.log.info("raft_group0", "became the group 0 leader in term %d", g.p.Term)
	// A value is safe to commit only under the leader's own term: propose the accepted one again.
	g.p.Acc.Term, g.p.Acc.Index = g.p.Term, g.p.Acc.Index+1
	g.persistLocked()
	g.syncPeersLocked()
	g.tryCommitLocked()
	g.notifyLocked()
}

func (g *group0) stepDownLocked(why string) {
	g.n.log.info("raft_group0", "no longer the group 0 leader: %s", why)
	g.leading, g.ready = false, false
	if g.leader == g.n.hostID {
		g.leader = ""
	}
	g.lastHeard = time.Now()
	g.leadStop()
	g.notifyLocked()
}

func (g *group0) handleVote(req g0VoteRequest) g0VoteReply {
	g.mu.Lock()
	defer g.mu.Unlock()
	upToDate := !g.p.Acc.newer(req.Acc)
	if req.Pre {
		// A node that hears a leader grants no pre-vote, so that one slow node cannot unseat the leader.
		hears := g.leading || (g.leader != "" && time.Since(g.lastHeard) < g.patienceLocked())
		return g0VoteReply{Term: g.p.Term, Granted: upToDate && req.Term > g.p.Term && !hears}
	}
	g.adoptLocked(req.Term)
	ok := req.Term == g.p.Term && upToDate && (g.p.Voted == "" || g.p.Voted == req.Candidate)
	if ok {
		g.p.Voted = req.Candidate
		g.persistLocked()
		g.lastHeard = time.Now()
	}
	return g0VoteReply{Term: g.p.Term, Granted: ok}
}

type g0Append struct {
	Term   int64
	Leader string
	Entry  *g0Entry `json:",omitempty"`
	Com    g0ID
}

type g0AppendReply struct {
	Term int64
	Acc  g0ID
	OK   bool
}

// syncPeersLocked runs one loop for each member that receives the state.
func (g *group0) syncPeersLocked() {
	for _, n := range g.p.Acc.Value.sorted() {
		if n.InGroup0 && n.HostID != g.n.hostID && g.peers[n.HostID] == nil {
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
		if n := g.p.Acc.Value.node(id); n == nil || !n.InGroup0 {
			// Removed from group 0. The removed node does not get the value that says so.
			delete(g.peers, id)
			g.mu.Unlock()
			return
		}
		msg := g0Append{Term: g.p.Term, Leader: g.n.hostID, Com: g.p.Com.g0ID}
		if g.match[id] != g.p.Acc.g0ID {
			e := g.p.Acc
			msg.Entry = &e
		}
		cctx, cancel := context.WithTimeout(ctx, 2*g.patienceLocked())
		g.mu.Unlock()

		var rep g0AppendReply
		sent := time.Now()
		err := g.n.sendTo(cctx, id, "g0.append", msg, &rep)
		cancel()

		again := false
		g.mu.Lock()
		if err == nil && g.leading && ctx.Err() == nil {
			g.adoptLocked(rep.Term)
			if rep.OK {
				g.acked[id], g.match[id] = sent, rep.Acc
				g.tryCommitLocked()
				again = rep.Acc != g.p.Acc.g0ID
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
	voters, there := g.votersLocked(), func(id string) bool { return id == g.n.hostID || g.match[id] == g.p.Acc.g0ID }
	if !g.leading || g.p.Com.g0ID == g.p.Acc.g0ID || !rules.Quorum(voters, there) {
		return
	}
	g.ready = true
	g.commitLocked()
	g.syncPeersLocked()
	if !slices.Contains(voters, g.n.hostID) {
		g.stepDownLocked("not a voter any more")
	}
}

func (g *group0) commitLocked() {
	old := g.com.Load()
	g.p.Com = g.p.Acc
	g.com.Store(g.p.Com.Value)
	g.persistLocked()
	g.notifyLocked()
	g.n.applied(old, g.p.Com.Value)
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
	if m.Entry != nil && m.Entry.newer(g.p.Acc.g0ID) {
		g.p.Acc = *m.Entry
		g.persistLocked()
	}
	if m.Com == g.p.Acc.g0ID && m.Com != g.p.Com.g0ID {
		g.commitLocked()
	}
	return g0AppendReply{Term: g.p.Term, Acc: g.p.Acc.g0ID, OK: true}
}
