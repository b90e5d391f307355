// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Gossip application states, by ScyllaDB's numbers.
const (
	appStatus   = 0
	appSchema   = 2
	appDC       = 3
	appRack     = 4
	appHostID   = 12
	appFeatures = 14
)

const gossipInterval = time.Second

// endpointState is what a node reports about itself; all nodes pass it on. Gen grows with each start, Ver with each change and heartbeat.
type endpointState struct {
	HostID string         `json:"hostID"`
	IP     string         `json:"ip"`
	Gen    int64          `json:"gen"`
	Ver    int64          `json:"ver"`
	App    map[int]string `json:"app"`

	changed int64 // Ver at the last change of IP or App
}

// line is the state as text: host ID, generation, version and version of the last change, and with full the address and application states, tabs between
// them. No value has a tab or a newline.
func (e *endpointState) line(full bool) string {
	text := strings.Join([]string{e.HostID, itoa(e.Gen), itoa(e.Ver), itoa(e.changed)}, "\t")
	if full {
		text += "\t" + e.IP
		for app, value := range e.App {
			text += "\t" + strconv.Itoa(app) + "=" + value
		}
	}
	return text
}

// readLine is a state from its text, and whether it is whole.
func readLine(text string) (e *endpointState, full bool, err error) {
	fields := strings.Split(text, "\t")
	if len(fields) < 4 {
		return nil, false, fmt.Errorf("read state %q: it has %d fields", text, len(fields))
	}
	e = &endpointState{HostID: fields[0]}
	for i, to := range []*int64{&e.Gen, &e.Ver, &e.changed} {
		if *to, err = strconv.ParseInt(fields[i+1], 10, 64); err != nil {
			return nil, false, fmt.Errorf("read state %q: %w", text, err)
		}
	}
	if len(fields) == 4 {
		return e, false, nil
	}
	e.IP, e.App = fields[4], map[int]string{}
	for _, field := range fields[5:] {
		number, value, _ := strings.Cut(field, "=")
		app, err := strconv.Atoi(number)
		if err != nil {
			return nil, false, fmt.Errorf("read state %q: %w", text, err)
		}
		e.App[app] = value
	}
	return e, true, nil
}

func (e *endpointState) newer(o *endpointState) bool {
	return e.Gen > o.Gen || (e.Gen == o.Gen && e.Ver > o.Ver)
}

func (e *endpointState) status() string {
	if v, ok := e.App[appStatus]; ok {
		status, _, _ := strings.Cut(v, ",")
		return status
	}
	return "UNKNOWN"
}

// gossipStates are all endpoints that a node knows of, by their versions: whole are only those that the other node does not have as they are. What it
// lacks itself is wanted, and sent with a further exchange.
type gossipStates struct {
	Group0 string   `json:"group0"`
	States []string `json:"states"`
	Wanted []string `json:"wanted,omitempty"`
}

type peerView struct {
	st        *endpointState
	alive     bool
	firstSeen time.Time // when this generation was first seen here
	echoing   bool
}

type gossiper struct {
	n *Node

	mu          sync.Mutex
	enabled     bool
	me          *endpointState
	peers       map[string]*peerView
	liveChanged chan struct{}
	wg          sync.WaitGroup
	ctx         context.Context
	seeds       []string // the last addresses of the seeds
}

func (g *gossiper) isEnabled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.enabled
}

// addSaved loads a peer known from before a restart. It is DOWN until it has answered.
func (g *gossiper) addSaved(hostID, ip, dc, rack string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if hostID == g.n.hostID || g.peers[hostID] != nil {
		return
	}
	now := g.n.clock.Now()
	g.peers[hostID] = &peerView{
		st:        &endpointState{HostID: hostID, IP: ip, App: map[int]string{appHostID: hostID, appDC: dc, appRack: rack}},
		firstSeen: now,
	}
}

func (g *gossiper) start(ctx context.Context, me *endpointState) {
	g.mu.Lock()
	g.ctx, g.me, g.enabled = ctx, me, true
	g.mu.Unlock()
	g.wg.Go(func() { g.rounds(ctx) })
	g.wg.Go(func() { g.detect(ctx) })
}

// set changes one application state of this node.
func (g *gossiper) set(app int, value string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.me == nil || g.me.App[app] == value {
		return
	}
	c := g.beatLocked()
	c.App, c.changed = maps.Clone(c.App), c.Ver
	c.App[app] = value
}

// beatLocked is a new version of this node's own state.
func (g *gossiper) beatLocked() *endpointState {
	c := *g.me
	c.Ver++
	g.me = &c
	return g.me
}

// stop ends gossip. With announce it tells the peers first, which then mark this node DOWN at once.
func (g *gossiper) stop(announce bool) {
	if announce {
		g.set(appStatus, "shutdown,true")
		g.n.log.info("gossip", "Announcing shutdown")
	}
	g.mu.Lock()
	g.enabled = false
	me := g.me
	var wg sync.WaitGroup
	for _, p := range g.peers {
		if to := p.st; announce && p.alive {
			wg.Go(func() {
				g.n.log.info("gossip", "Sending a GossipShutdown to %s with generation %d", to.IP, me.Gen)
				_ = g.call(g.n.ctx, 5*time.Second, to, "gossip.shutdown", me, nil)
			})
		}
	}
	g.mu.Unlock()
	wg.Wait()
}

// call takes as long as this of the node's time, or a second.
func (g *gossiper) call(ctx context.Context, limit time.Duration, to *endpointState, method string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, max(g.n.clock.Real(limit), time.Second))
	defer cancel()
	return g.n.tr.call(ctx, to.HostID, to.IP, method, in, out)
}

func (g *gossiper) rounds(ctx context.Context) {
	for {
		g.mu.Lock()
		if !g.enabled {
			g.mu.Unlock()
			return
		}
		g.beatLocked()
		var live, down []*endpointState
		known := map[string]bool{g.me.IP: true}
		for _, p := range g.peers {
			if p.alive {
				live = append(live, p.st)
				known[p.st.IP] = true
			} else if p.st.status() != "shutdown" || rand.IntN(3) == 0 {
				down = append(down, p.st)
			}
		}
		g.mu.Unlock()
		rand.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
		rand.Shuffle(len(down), func(i, j int) { down[i], down[j] = down[j], down[i] })
		// One live node in ten each round, and one that is DOWN: in a small cluster a change reaches every node after a few rounds.
		to := slices.Concat(live[:(len(live)+9)/10], down[:min(len(down), 1)])
		if len(live) == 0 || rand.IntN(len(live)+len(down)+1) == 0 {
			// Names are looked up again: pods change their addresses.
			if seeds, err := g.n.resolveSeeds(); err == nil {
				g.seeds = seeds
			}
			for _, ip := range g.seeds {
				if !known[ip] && !g.n.isMe(ip) {
					to = append(to, &endpointState{IP: ip})
				}
			}
		}
		for _, t := range to {
			g.wg.Go(func() { g.exchange(ctx, t) })
		}
		if g.n.clock.sleep(ctx, gossipInterval) != nil {
			return
		}
	}
}

// exchange sends a peer the versions of all states that are known here, merges those of its answer, and sends the states that it wants.
func (g *gossiper) exchange(ctx context.Context, with *endpointState) {
	mine := g.states(func(*endpointState) bool { return false })
	for range 2 {
		var theirs gossipStates
		if len(mine.States) == 0 || g.call(ctx, 4*time.Second, with, "gossip.syn", mine, &theirs) != nil {
			return
		}
		g.merge(theirs.States)
		if len(theirs.Wanted) == 0 {
			return
		}
		mine = g.states(func(e *endpointState) bool { return slices.Contains(theirs.Wanted, e.HostID) })
	}
}

// states are empty while gossip is off. Those for which full is true are whole.
func (g *gossiper) states(full func(*endpointState) bool) gossipStates {
	out := gossipStates{Group0: g.n.groupID()}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.enabled {
		return out
	}
	out.States = append(out.States, g.me.line(full(g.me)))
	for _, p := range g.peers {
		if p.st.Gen > 0 {
			out.States = append(out.States, p.st.line(full(p.st)))
		}
	}
	return out
}

func (g *gossiper) handleSyn(s gossipStates) gossipStates {
	if own := g.n.groupID(); s.Group0 != "" && own != "" && s.Group0 != own {
		return gossipStates{}
	}
	has, wanted := g.merge(s.States)
	mine := g.states(func(e *endpointState) bool {
		o := has[e.HostID]
		return o == nil || o.Gen < e.Gen || o.Gen == e.Gen && o.changed < e.changed
	})
	mine.Wanted = wanted
	return mine
}

// merge takes the states that another node has sent, and returns them by host ID, and which of them it lacks.
func (g *gossiper) merge(lines []string) (has map[string]*endpointState, wanted []string) {
	moved := false
	has = map[string]*endpointState{}
	for _, line := range lines {
		st, full, err := readLine(line)
		if err != nil {
			g.n.log.info("gossip", "%v", err)
			continue
		}
		has[st.HostID] = st
		if st.HostID == g.n.hostID || rules.Banned(g.n.g0.state(), st.HostID) {
			continue
		}
		if !full && !g.known(st) {
			wanted = append(wanted, st.HostID)
			continue
		}
		if g.take(st) {
			moved = true
		}
	}
	if moved {
		g.n.savePeers()
	}
	return has, wanted
}

// known completes a state of which only the versions were sent. It is false where this node has not all of it.
func (g *gossiper) known(st *endpointState) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.peers[st.HostID]
	if p == nil || p.st.Gen < st.Gen || p.st.Gen == st.Gen && p.st.changed < st.changed {
		return false
	}
	st.IP, st.App = p.st.IP, p.st.App // not taken where this node has a newer one
	return true
}

// take merges one state, and reports whether it is that of a new peer, or of a peer with a new address.
func (g *gossiper) take(st *endpointState) (moved bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.peers[st.HostID]
	if !g.enabled || p != nil && !st.newer(p.st) {
		return false
	}
	// Before 2025.2 endpoints are keyed by address, and the later process has it.
	for id, o := range g.peers {
		switch {
		case g.n.v.GossipByHostID() || id == st.HostID || o.st.IP != st.IP:
		case o.st.Gen > st.Gen && p == nil:
			return false // a peer that has not heard of the newer node yet still speaks of the older one
		case o.st.Gen <= st.Gen && !o.alive:
			delete(g.peers, id)
		}
	}
	if p == nil {
		p = &peerView{st: &endpointState{}}
		g.peers[st.HostID] = p
	}
	if st.Gen > p.st.Gen {
		p.firstSeen = g.n.clock.Now()
	}
	moved, p.st = st.IP != p.st.IP, st
	g.considerLocked(p)
	return moved
}

func (g *gossiper) handleShutdown(st *endpointState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.peers[st.HostID]
	if p == nil || st.Gen < p.st.Gen {
		return
	}
	c := *st
	c.Ver, c.changed = math.MaxInt32, math.MaxInt32 // nothing of this generation comes after
	p.st = &c
	if p.alive {
		g.markDownLocked(p)
	}
}

func (g *gossiper) remove(hostID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.peers[hostID]; p != nil {
		delete(g.peers, hostID)
		if p.alive {
			g.bumpLocked()
		}
		g.n.log.info("gossip", "Removed endpoint %s/%s", hostID, p.st.IP)
	}
}

// alive reports whether this node sees the host UP.
func (g *gossiper) alive(hostID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if hostID == g.n.hostID {
		return true
	}
	p := g.peers[hostID]
	return p != nil && p.alive
}

// state returns what is known of a host; the zero value for nothing.
func (g *gossiper) state(hostID string) endpointState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.peers[hostID]; p != nil {
		return *p.st
	}
	if hostID == g.n.hostID && g.me != nil {
		return *g.me
	}
	return endpointState{}
}

// endpointView is one endpoint as the failure detector API prints it.
type endpointView struct {
	endpointState
	Alive     bool
	FirstSeen time.Time
}

// view returns every endpoint, this node included, in order of address and host ID.
func (g *gossiper) view() []endpointView {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []endpointView
	if g.me != nil {
		out = append(out, endpointView{endpointState: *g.me, Alive: g.me.status() != "shutdown"})
	}
	for _, p := range g.peers {
		out = append(out, endpointView{endpointState: *p.st, Alive: p.alive, FirstSeen: p.firstSeen})
	}
	slices.SortFunc(out, func(a, b endpointView) int {
		return cmp.Or(compareIP(a.IP, b.IP), cmp.Compare(a.HostID, b.HostID))
	})
	return out
}

// compareIP orders addresses by number, as a std::set of them does.
func compareIP(a, b string) int {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	if err1 != nil || err2 != nil {
		return cmp.Compare(a, b)
	}
	return x.Compare(y)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
