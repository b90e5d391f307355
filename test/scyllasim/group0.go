// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// group0 replicates one value, the whole topology, among the members. It is Raft with a log of length one: leaders are elected
// by a majority of the voters that the last accepted value names, a leader first proposes again what it has accepted, and a value is
// committed once a majority of the voters has stored it. A minority can neither elect nor commit, and two leaders cannot both commit.
type group0 struct {
	self    string
	clock   Clock
	log     *logger
	gate    *gate
	send    func(ctx context.Context, hostID, method string, in, out any) error
	onApply func(old, cur *topology)

	// Wall-clock intervals; bounded below so that a fast clock does not turn scheduling noise into elections. What is used is patience():
	// election stretched by each failure, since on a machine too slow for it nobody would ever lead for long.
	beat, election time.Duration
	stretch        uint
	stretched      time.Time

	propMu sync.Mutex // one proposal at a time

	mu        sync.Mutex
	p         g0Persisted
	stored    g0Persisted // what the journal has
	journal   journal
	acc       *topology                // decoded p.Acc
	com       atomic.Pointer[topology] // decoded p.Com; read without the lock, so that onApply may look at it
	leader    string
	leading   bool
	ready     bool // leader only: the value accepted at election is committed
	lastHeard time.Time
	match     map[string][2]int64
	acked     map[string]time.Time
	peers     map[string]chan struct{} // leader's loops, by host ID; a send wakes them
	leadCtx   context.Context
	leadStop  context.CancelFunc
	changed   chan struct{} // closed and replaced at every change worth waiting for
	ctx       context.Context
	wg        sync.WaitGroup
}

type g0Entry struct {
	Term  int64           `json:"term"`
	Index int64           `json:"index"`
	Value json.RawMessage `json:"value"`
}

type g0Persisted struct {
	Term  int64   `json:"term"`
	Voted string  `json:"voted"`
	Acc   g0Entry `json:"accepted"`
	Com   g0Entry `json:"committed"`
}

type g0VoteRequest struct {
	Term, AccTerm, AccIndex int64
	Candidate               string
	Pre                     bool
}

type g0VoteReply struct {
	Term    int64
	Granted bool
}

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

var errNotLeader = errors.New("not a leader")

func newGroup0(dir, self string, clock Clock, log *logger, g *gate) *group0 {
	return &group0{
		journal: journal{dir: dir, prefix: "group0", limit: 4 << 20}, self: self, clock: clock, log: log, gate: g,
		beat:     max(clock.Real(500*time.Millisecond), 100*time.Millisecond),
		election: max(clock.Real(2*time.Second), 700*time.Millisecond),
		changed:  make(chan struct{}),
	}
}

// g0Record is one line of the journal: what has changed.
type g0Record struct {
	Term  int64    `json:"term"`
	Voted string   `json:"voted,omitempty"`
	Acc   *g0Entry `json:"accepted,omitempty"`
	// Com is the committed value; ComIsAcc says that it is the accepted one, to keep it from being written twice.
	Com      *g0Entry `json:"committed,omitempty"`
	ComIsAcc bool     `json:"commit,omitempty"`
}

func (e *g0Entry) same(o *g0Entry) bool { return e.Term == o.Term && e.Index == o.Index }

// load reads what an earlier process stored. It returns false when this node never belonged to a group 0.
func (g *group0) load() (bool, error) {
	err := g.journal.load(func(line []byte) error {
		var r g0Record
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		g.p.Term, g.p.Voted = r.Term, r.Voted
		if r.Acc != nil {
			g.p.Acc = *r.Acc
		}
		if r.Com != nil {
			g.p.Com = *r.Com
		}
		if r.ComIsAcc {
			g.p.Com = g.p.Acc
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	g.acc = decodeTopology(g.p.Acc.Value)
	g.com.Store(decodeTopology(g.p.Com.Value))
	return g.com.Load() != nil, nil
}

func decodeTopology(b json.RawMessage) *topology {
	if len(b) == 0 {
		return nil
	}
	var t topology
	if json.Unmarshal(b, &t) != nil {
		return nil
	}
	return &t
}

// persistLocked must return before anything is promised to another node.
func (g *group0) persistLocked() {
	r := g0Record{Term: g.p.Term, Voted: g.p.Voted}
	if !g.p.Acc.same(&g.stored.Acc) {
		r.Acc = &g.p.Acc
	}
	if !g.p.Com.same(&g.stored.Com) {
		if r.ComIsAcc = g.p.Com.same(&g.p.Acc); !r.ComIsAcc {
			r.Com = &g.p.Com
		}
	}
	err := g.journal.append(r, func() any {
		return g0Record{Term: g.p.Term, Voted: g.p.Voted, Acc: &g.p.Acc, Com: &g.p.Com}
	})
	if err != nil {
		g.log.error("raft", "cannot store group 0 state: %v", err)
		return
	}
	g.stored = g.p
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

// create makes a new group with this value and this node as the only voter.
func (g *group0) create(t *topology) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g0Entry{Term: 1, Index: 1, Value: b}
	g.p = g0Persisted{Term: 1, Acc: e, Com: e}
	g.acc = decodeTopology(b)
	g.com.Store(decodeTopology(b))
	g.persistLocked()
	return nil
}

// start runs elections until ctx ends.
func (g *group0) start(ctx context.Context) {
	g.mu.Lock()
	g.ctx = ctx
	g.lastHeard = time.Now()
	sole := g.acc != nil && len(g.acc.Voters) == 1 && g.acc.Voters[0] == g.self
	g.mu.Unlock()
	g.wg.Go(func() {
		if sole {
			g.elect()
		}
		for {
			patience := g.patience()
			wait := patience + rand.N(patience)
			select {
			case <-ctx.Done():
				g.stepDown()
				return
			case <-time.After(g.election/4 + rand.N(g.election/4)):
			}
			if g.gate.wait(ctx) != nil {
				continue
			}
			g.mu.Lock()
			voter := g.acc != nil && slices.Contains(g.acc.Voters, g.self)
			idle := time.Since(g.lastHeard)
			leading := g.leading
			if leading && !g.majorityLocked(func(id string) bool { return time.Since(g.acked[id]) < 2*patience }) {
				g.stepDownLocked("no contact with a majority of voters")
				g.stretchLocked()
			}
			if g.stretch > 0 && time.Since(g.stretched) > 20*patience {
				g.stretch, g.stretched = g.stretch-1, time.Now()
			}
			if !leading && idle > 2*patience && g.leader != "" {
				g.leader = ""
				g.notifyLocked()
			}
			g.mu.Unlock()
			if !leading && voter && idle > wait {
				g.elect()
			}
		}
	})
}

func (g *group0) notifyLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *group0) majorityLocked(has func(id string) bool) bool {
	if g.acc == nil {
		return false
	}
	n := 0
	for _, id := range g.acc.Voters {
		if id == g.self || has(id) {
			n++
		}
	}
	return 2*n > len(g.acc.Voters)
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

	type answer struct {
		id  string
		rep g0VoteReply
	}
	answers := make(chan answer, len(voters))
	cctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, id := range voters {
		if id == g.self {
			continue
		}
		g.wg.Go(func() {
			var rep g0VoteReply
			if g.send(cctx, id, "g0.vote", req, &rep) != nil {
				rep = g0VoteReply{}
			}
			answers <- answer{id, rep}
		})
	}
	granted := 0
	if slices.Contains(voters, g.self) {
		granted = 1
	}
	for left := len(voters) - granted; 2*granted <= len(voters) && left > 0; left-- {
		select {
		case a := <-answers:
			if a.rep.Granted {
				granted++
			}
			g.mu.Lock()
			if a.rep.Term > g.p.Term && !a.rep.Granted {
				g.adoptLocked(a.rep.Term)
			}
			g.mu.Unlock()
		case <-cctx.Done():
			left = 0
		}
	}
	if 2*granted <= len(voters) {
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
		if g.gate.wait(ctx) != nil {
			return
		}
		g.mu.Lock()
		if !g.leading || ctx.Err() != nil {
			g.mu.Unlock()
			return
		}
		if n := g.acc.node(id); n == nil || !n.InGroup0 {
			// Removed: the value that says so was sent with the step before; nothing more to tell.
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
	if !g.majorityLocked(func(id string) bool { return g.match[id] == cur }) {
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

func (g *group0) handleVote(req g0VoteRequest) g0VoteReply {
	g.mu.Lock()
	defer g.mu.Unlock()
	upToDate := req.AccTerm > g.p.Acc.Term || (req.AccTerm == g.p.Acc.Term && req.AccIndex >= g.p.Acc.Index)
	if req.Pre {
		// Nobody who hears a leader helps to unseat it.
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

// state returns the committed topology, nil before the node belongs to a group. It must not be changed.
func (g *group0) state() *topology { return g.com.Load() }

func (g *group0) leaderID() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leader
}

// waitChange returns a channel that is closed when the state or the leader changes.
func (g *group0) waitChange() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

// leadership returns a context that lives as long as this node leads and has committed in its term, or nil.
func (g *group0) leadership() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.leading || !g.ready {
		return nil
	}
	return g.leadCtx
}

var errNoChange = errors.New("no change")

// propose applies change to a copy of the state and returns when the result is committed. Only the leader can. An error other than
// change's own means that it is not known whether the value will be committed.
func (g *group0) propose(ctx context.Context, change func(t *topology) error) error {
	g.propMu.Lock()
	defer g.propMu.Unlock()
	g.mu.Lock()
	if !g.leading || !g.ready || g.p.Com.Term != g.p.Acc.Term || g.p.Com.Index != g.p.Acc.Index {
		g.mu.Unlock()
		return errNotLeader
	}
	next := g.acc.clone()
	if err := change(next); err != nil {
		g.mu.Unlock()
		if errors.Is(err, errNoChange) {
			return nil
		}
		return err
	}
	b, err := json.Marshal(next)
	if err != nil {
		g.mu.Unlock()
		return err
	}
	e := g0Entry{Term: g.p.Term, Index: g.p.Acc.Index + 1, Value: b}
	g.p.Acc, g.acc = e, next
	g.persistLocked()
	g.syncPeersLocked()
	g.tryCommitLocked()
	for {
		if g.p.Com.Term == e.Term && g.p.Com.Index >= e.Index {
			g.mu.Unlock()
			return nil
		}
		if !g.leading || g.p.Term != e.Term {
			g.mu.Unlock()
			return errNotLeader
		}
		ch := g.changed
		g.mu.Unlock()
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
		g.mu.Lock()
	}
}
