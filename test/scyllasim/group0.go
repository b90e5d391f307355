// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// group0 replicates one value, the whole topology, among the members. It is Raft with a log of length one: leaders are elected
// by a majority of the voters that the last accepted value names, a leader first proposes again what it has accepted, and a value is
// committed once a majority of the voters has stored it. A minority can neither elect nor commit, and two leaders cannot both commit.
type group0 struct {
	n *Node

	// Wall-clock intervals; bounded below so that a fast clock does not turn scheduling noise into elections. The patience is
	// election doubled by each failure: on a machine too slow for election no leader would last.
	beat, election time.Duration
	stretch        uint
	stretched      time.Time

	propMu sync.Mutex // one proposal at a time

	mu        sync.Mutex
	p         g0Persisted
	journal   journal
	com       atomic.Pointer[topology] // that of p.Com; read without the lock, so that applied may look at it
	leader    string
	leading   bool
	ready     bool // leader only: the value accepted at election is committed
	lastHeard time.Time
	match     map[string]g0ID
	acked     map[string]time.Time
	peers     map[string]chan struct{} // leader's loops, by host ID; a send wakes them
	leadCtx   context.Context
	leadStop  context.CancelFunc
	changed   chan struct{} // closed and replaced at every change worth waiting for
	ctx       context.Context
	wg        sync.WaitGroup
}

var errNotLeader = errors.New("not a leader")

func newGroup0(dir string, n *Node) *group0 {
	return &group0{
		n: n, journal: journal{dir: dir, prefix: "group0", suffix: ".jsonl"},
		beat:     max(n.clock.Real(500*time.Millisecond), 100*time.Millisecond),
		election: max(n.clock.Real(2*time.Second), 700*time.Millisecond),
		changed:  make(chan struct{}),
	}
}

// create makes a new group with this value and this node as the only voter.
func (g *group0) create(t *topology) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g0Entry{g0ID{1, 1}, t}
	g.p = g0Persisted{Term: 1, Acc: e, Com: e, Peers: g.p.Peers}
	g.com.Store(t)
	g.persistLocked()
}

// start runs elections until ctx ends.
func (g *group0) start(ctx context.Context) {
	g.mu.Lock()
	g.ctx = ctx
	g.lastHeard = time.Now()
	sole := slices.Equal(g.votersLocked(), []string{g.n.hostID})
	g.mu.Unlock()
	g.wg.Go(func() {
		if sole {
			g.elect()
		}
		for {
			g.mu.Lock()
			patience := g.patienceLocked()
			g.mu.Unlock()
			wait := patience + rand.N(patience)
			select {
			case <-ctx.Done():
				return
			case <-time.After(g.election/4 + rand.N(g.election/4)):
			}
			g.mu.Lock()
			voters := g.votersLocked()
			idle := time.Since(g.lastHeard)
			leading := g.leading
			if leading && !rules.Quorum(voters, func(id string) bool { return id == g.n.hostID || time.Since(g.acked[id]) < 2*patience }) {
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
			if !leading && slices.Contains(voters, g.n.hostID) && idle > wait {
				g.elect()
			}
		}
	})
}

func (g *group0) notifyLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// state returns the committed topology, nil before the node belongs to a group. It must not be changed.
func (g *group0) state() *topology { return g.com.Load() }

// index is that of the committed state.
func (g *group0) index() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.p.Com.Index
}

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
	defer g.mu.Unlock()
	if !g.leading || !g.ready || g.p.Com.g0ID != g.p.Acc.g0ID {
		return errNotLeader
	}
	next := g.p.Acc.Value.clone()
	if err := change(next); errors.Is(err, errNoChange) {
		return nil
	} else if err != nil {
		return err
	}
	e := g0Entry{g0ID{g.p.Term, g.p.Acc.Index + 1}, next}
	g.p.Acc = e
	g.persistLocked()
	g.syncPeersLocked()
	g.tryCommitLocked()
	for {
		if g.p.Com.Term == e.Term && g.p.Com.Index >= e.Index {
			return nil
		}
		if !g.leading || g.p.Term != e.Term {
			return errNotLeader
		}
		ch, err := g.changed, error(nil)
		g.mu.Unlock()
		select {
		case <-ch:
		case <-ctx.Done():
			err = ctx.Err()
		}
		g.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// g0ID tells one value from all others.
type g0ID struct {
	Term  int64 `json:"term"`
	Index int64 `json:"index"`
}

func (a g0ID) newer(b g0ID) bool { return a.Term > b.Term || a.Term == b.Term && a.Index > b.Index }

// g0Entry is a value, which nothing changes any more.
type g0Entry struct {
	g0ID
	Value *topology `json:"value,omitempty"`
}

type g0Persisted struct {
	Term  int64   `json:"term"`
	Voted string  `json:"voted"`
	Acc   g0Entry `json:"accepted"`
	Com   g0Entry `json:"committed"`
	// Peers are the addresses in system.peers, by host ID.
	Peers map[string]string `json:"peers,omitempty"`
}

// load reads what an earlier process stored. It returns false when this node never belonged to a group 0.
func (g *group0) load() (bool, error) {
	err := g.journal.load(&g.p)
	g.com.Store(g.p.Com.Value)
	return g.p.Com.Value != nil, err
}

// votersLocked are those of the accepted value.
func (g *group0) votersLocked() []string {
	if g.p.Acc.Value == nil {
		return nil
	}
	return g.p.Acc.Value.Voters
}

// persistLocked stores the state. It must return before a vote or an acceptance is sent.
func (g *group0) persistLocked() {
	if err := g.journal.append(g.p); err != nil {
		g.n.log.error("raft", "cannot store group 0 state: %v", err)
	}
}
