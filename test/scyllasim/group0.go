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

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// group0 replicates one value, the whole topology, among the members. It is Raft with a log of length one: leaders are elected
// by a majority of the voters that the last accepted value names, a leader first proposes again what it has accepted, and a value is
// committed once a majority of the voters has stored it. A minority can neither elect nor commit, and two leaders cannot both commit.
type group0 struct {
	n *Node

	// Wall-clock intervals; bounded below so that a fast clock does not turn scheduling noise into elections. patience() is
	// election doubled by each failure: on a machine too slow for election no leader would last.
	beat, election time.Duration
	stretch        uint
	stretched      time.Time

	propMu sync.Mutex // one proposal at a time

	mu        sync.Mutex
	p         g0Persisted
	journal   journal
	acc       *topology                // decoded p.Acc
	com       atomic.Pointer[topology] // decoded p.Com; read without the lock, so that applied may look at it
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
func (g *group0) create(t *topology) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g0Entry{Term: 1, Index: 1, Value: b}
	g.p = g0Persisted{Term: 1, Acc: e, Com: e, Peers: g.p.Peers}
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
	sole := g.acc != nil && len(g.acc.Voters) == 1 && g.acc.Voters[0] == g.n.hostID
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
			g.mu.Lock()
			voter := g.acc != nil && slices.Contains(g.acc.Voters, g.n.hostID)
			idle := time.Since(g.lastHeard)
			leading := g.leading
			if leading && !rules.Quorum(g.acc.Voters, func(id string) bool { return id == g.n.hostID || time.Since(g.acked[id]) < 2*patience }) {
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

type g0Entry struct {
	Term  int64           `json:"term"`
	Index int64           `json:"index"`
	Value json.RawMessage `json:"value,omitempty"`
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
	if err := g.journal.load(&g.p); err != nil {
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

// persistLocked stores the state. It must return before a vote or an acceptance is sent.
func (g *group0) persistLocked() {
	if err := g.journal.append(g.p); err != nil {
		g.n.log.error("raft", "cannot store group 0 state: %v", err)
	}
}
