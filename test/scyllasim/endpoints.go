// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// alive reports whether this node sees the host UP.
func (g *gossiper) alive(hostID string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if hostID == g.self {
		return true
	}
	p := g.peers[hostID]
	return p != nil && p.alive
}

// state returns what is known of a host, nil for nothing. It is never changed.
func (g *gossiper) state(hostID string) *endpointState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if hostID == g.self {
		return g.me
	}
	if p := g.peers[hostID]; p != nil {
		return p.st
	}
	return nil
}

func (g *gossiper) addressOf(hostID string) (string, bool) {
	if st := g.state(hostID); st != nil {
		return st.IP, true
	}
	return "", false
}

// app returns one application state of a host, empty when it is not known.
func (g *gossiper) app(hostID string, app int) string {
	if st := g.state(hostID); st != nil {
		return st.App[app].Value
	}
	return ""
}

// generationOf returns the generation of a host's last known process, 0 when it is not known.
func (g *gossiper) generationOf(hostID string) int64 {
	if st := g.state(hostID); st != nil {
		return st.Gen
	}
	return 0
}

// endpointView is one endpoint as the failure detector API prints it.
type endpointView struct {
	endpointState
	Alive     bool
	FirstSeen time.Time
	Updated   time.Time
}

// view returns every endpoint, this node included, in order of address and host ID.
func (g *gossiper) view() []endpointView {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []endpointView
	if g.me != nil {
		out = append(out, endpointView{endpointState: *g.me, Alive: g.me.status() != "shutdown", Updated: time.Now()})
	}
	for _, p := range g.peers {
		out = append(out, endpointView{endpointState: *p.st, Alive: p.alive, FirstSeen: p.firstSeen, Updated: p.updated})
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
