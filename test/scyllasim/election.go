// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

type g0VoteRequest struct {
	Term, AccTerm, AccIndex int64
	Candidate               string
	Pre                     bool
}

type g0VoteReply struct {
	Term    int64
	Granted bool
}

const maxStretch = 4

func (g *group0) patienceLocked() time.Duration { return g.election << g.stretch }

func (g *group0) patience() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.patienceLocked()
}

func (g *group0) stretchLocked() {
	g.stretch, g.stretched = min(g.stretch+1, maxStretch), time.Now()
}

func (g *group0) elect() {
	if !g.campaign(true) {
		return
	}
	g.campaign(false)
}

func (g *group0) campaign(pre bool) bool {
	g.mu.Lock()
	if g.leading || g.acc == nil {
		g.mu.Unlock()
		return false
	}
	req := g0VoteRequest{Term: g.p.Term + 1, AccTerm: g.p.Acc.Term, AccIndex: g.p.Acc.Index, Candidate: g.self, Pre: pre}
	if !pre {
		g.p.Term, g.p.Voted = req.Term, g.self
		g.persistLocked()
	}
	voters := slices.Clone(g.acc.Voters)
	ctx, patience := g.ctx, g.patienceLocked()
	g.mu.Unlock()

	if !g.askForVotes(ctx, voters, req, patience) {
		g.mu.Lock()
		g.stretchLocked()
		g.mu.Unlock()
		return false
	}
	if pre {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.p.Term != req.Term || g.leading {
		return false
	}
	g.leadLocked()
	return true
}

// askForVotes is true as soon as a majority of the voters, this node included, grants the vote.
func (g *group0) askForVotes(ctx context.Context, voters []string, req g0VoteRequest, patience time.Duration) bool {
	type answer struct {
		id string
		g0VoteReply
	}
	answers := make(chan answer, len(voters))
	cctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	granted, left := map[string]bool{g.self: true}, 0
	for _, id := range voters {
		if id == g.self {
			continue
		}
		left++
		g.wg.Go(func() {
			var rep g0VoteReply
			if g.send(cctx, id, "g0.vote", req, &rep) != nil {
				rep = g0VoteReply{}
			}
			answers <- answer{id, rep}
		})
	}
	for {
		if rules.Leads(voters, g.self, func(id string) bool { return granted[id] }) {
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
	g.leading, g.ready, g.leader = true, false, g.self
	g.match, g.acked, g.peers = map[string][2]int64{}, map[string]time.Time{}, map[string]chan struct{}{}
	now := time.Now()
	for _, id := range g.acc.Voters {
		g.acked[id] = now
	}
	g.leadCtx, g.leadStop = context.WithCancel(g.ctx)
	g.log.info("raft_group0", "became the group 0 leader in term %d", g.p.Term)
	// A value is safe to commit only under the leader's own term: propose the accepted one again.
	g.p.Acc.Term, g.p.Acc.Index = g.p.Term, g.p.Acc.Index+1
	g.persistLocked()
	g.syncPeersLocked()
	g.tryCommitLocked()
	g.notifyLocked()
}

func (g *group0) stepDown() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leading {
		g.stepDownLocked("stopping")
	}
}

func (g *group0) stepDownLocked(why string) {
	g.log.info("raft_group0", "no longer the group 0 leader: %s", why)
	g.leading, g.ready = false, false
	if g.leader == g.self {
		g.leader = ""
	}
	g.lastHeard = time.Now()
	g.leadStop()
	g.notifyLocked()
}

func (g *group0) handleVote(req g0VoteRequest) g0VoteReply {
	g.mu.Lock()
	defer g.mu.Unlock()
	upToDate := req.AccTerm > g.p.Acc.Term || (req.AccTerm == g.p.Acc.Term && req.AccIndex >= g.p.Acc.Index)
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
