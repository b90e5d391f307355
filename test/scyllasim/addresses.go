// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

func (n *Node) sendTo(ctx context.Context, hostID, method string, in, out any) error {
	ip, ok := n.addressOf(hostID)
	if !ok {
		return fmt.Errorf("no address for host %s", hostID)
	}
	err := n.tr.call(ctx, hostID, ip, method, in, out)
	if errors.Is(err, io.EOF) {
		n.dropped.Store(true)
	}
	return err
}

// addressOf returns a host's address: the one that gossip knows, else the one in the topology; false when neither has one.
func (n *Node) addressOf(hostID string) (string, bool) {
	if ip := n.gossip.state(hostID).IP; ip != "" {
		return ip, true
	}
	n.mu.Lock()
	taken := n.taken[hostID]
	n.mu.Unlock()
	if t := n.g0.state().node(hostID); t != nil && t.IP != "" && !taken {
		return t.IP, true
	}
	return "", false
}

// indexed returns the index of members by address that 6.2 keeps: a member that takes another member's address stays at its former one
// there ("node endpoint already mapped to"), and a replaced node keeps its address until it has left. Empty for other versions.
func (n *Node) indexed() map[string]string {
	if !n.v.IndexesAddresses() {
		return nil
	}
	members := n.g0.state().sorted()
	// After a start the later process has the address.
	slices.SortStableFunc(members, func(a, b *topoNode) int {
		return cmp.Compare(n.gossip.state(b.HostID).Gen, n.gossip.state(a.HostID).Gen)
	})
	n.mu.Lock()
	index := n.index
	n.mu.Unlock()
	next := map[string]string{}
	for ip, id := range index {
		if t := n.g0.state().node(id); t != nil && t.visible() {
			next[ip] = id
		}
	}
	for _, t := range members {
		ip, ok := n.addressOf(t.HostID)
		if !ok || !t.visible() || next[ip] != "" {
			continue
		}
		maps.DeleteFunc(next, func(_, id string) bool { return id == t.HostID })
		next[ip] = t.HostID
	}
	n.mu.Lock()
	n.index = next
	n.mu.Unlock()
	return next
}

// savePeers stores the addresses that gossip knows, for the next start.
func (n *Node) savePeers() {
	// system.peers has one row for an address: the later process.
	m, last := map[string]string{}, map[string]endpointView{}
	for _, e := range n.gossip.view() {
		if old, ok := last[e.IP]; e.HostID == n.hostID || ok && old.Gen > e.Gen {
			continue
		}
		delete(m, last[e.IP].HostID)
		m[e.HostID], last[e.IP] = e.IP, e
	}
	n.g0.mu.Lock()
	defer n.g0.mu.Unlock()
	n.g0.p.Peers = m
	n.g0.persistLocked()
}
