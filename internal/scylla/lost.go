// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"slices"
	"sync"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// listing is what the Reader has of a member since the last row in which ScyllaDB listed it.
type listing struct {
	// address is canonical, empty if unknown: the member was read from an annotation.
	address string
	status  api.NodeStatus
	// normal: it was not joining or replacing.
	normal bool
	// owned: tokens of no listed member were in the ring while ScyllaDB did not list it.
	owned bool
	// ended are the finished tasks of that time, nil if unknown.
	ended map[string]bool
}

// lost returns members of the last row that are missing from the list but possibly still exist,
// with their address if known. Up to 2025.2 the list has one host ID per address, so a member that
// takes the address of another one hides it, or is hidden by it. A member that has its address
// alone is always listed.
func (r *Reader) lost(ctx context.Context, p *picture, tasks []Task, v release.Version) map[string][]string {
	out := map[string][]string{}
	spare := sync.OnceValues(func() (bool, error) { return r.spareTokens(ctx, p) })
	for id, m := range r.seen {
		if _, listed := p.addresses[id]; listed {
			continue
		}
		e, gossips := p.byID[id]
		if gossips = gossips && len(p.behind[e.Address]) > 0; gossips {
			m.address = e.Address
		}
		if m.address != "" && len(p.behind[m.address]) == 0 {
			continue
		}
		if h, ok := p.holder(m.address); ok && h.HostID != id && finished(tasks, h.HostID) {
			continue
		}
		if !gossips {
			more, err := spare()
			m.owned = m.owned || err == nil && more
			r.seen[id] = m
			if r.left(ctx, p, id, tasks, v, spare) {
				continue
			}
		}
		out[id] = nil
		if m.address != "" {
			out[id] = []string{m.address}
		}
	}
	return out
}

// left reports whether there is evidence that a missing member, which gossip does not name, has
// left the cluster. A holder of its address that was a member with it has moved and replaced no
// node.
func (r *Reader) left(ctx context.Context, p *picture, id string, tasks []Task, v release.Version,
	spare func() (bool, error)) bool {
	m := r.seen[id]
	more, err := spare()
	replacing := slices.ContainsFunc(tasks,
		func(t Task) bool { return t.Open() && (t.Type == "replace" || t.Type == "") })
	switch {
	case !m.normal && !replacing:
		return true // it never became a member
	case err == nil && more:
		return false
	case r.newOwner(ctx, p, m.address):
		return true
	case replacing:
		return false
	case v.GossipsByHostID() == release.Yes && p.named():
		return true
	case err != nil:
		return m.ended != nil && removed(tasks, id, m.ended)
	}
	// It owned no tokens, or owns none any more. Each member owns some before 6.2, which has no
	// tasks either.
	return m.owned || v.SupportsNodeOperations() == release.No || removed(tasks, id, m.ended) ||
		m.ended == nil && m.status == api.NodeStatusUp
}

// newOwner reports whether a listed node that was not a member before has the address and owns
// tokens: it replaced the member that had them.
func (r *Reader) newOwner(ctx context.Context, p *picture, address string) bool {
	h, held := p.holder(address)
	if !held || r.seen[h.HostID].normal || !slices.Contains(p.behind[address], h.HostID) {
		return false
	}
	tokens, err := r.c.Tokens(ctx, address)
	return err == nil && len(tokens) > 0
}

// removed reports whether a task that is not in before has removed or replaced id, or possibly id:
// up to 2025.4 no task names its node.
func removed(tasks []Task, id string, before map[string]bool) bool {
	return slices.ContainsFunc(tasks, func(t Task) bool {
		return t.State == "done" && !before[t.ID] && (t.HostID == "" || t.HostID == id) &&
			(t.Type == "replace" || t.Type == "remove node" || t.Type == "decommission")
	})
}

// spareTokens reports whether the ring has tokens that none of the listed addresses owns: a hidden
// member owns them.
func (r *Reader) spareTokens(ctx context.Context, p *picture) (bool, error) {
	ring, err := r.c.RingTokens(ctx)
	if err != nil {
		return false, err
	}
	owned := map[string]bool{}
	for a := range p.behind {
		tokens, err := r.c.Tokens(ctx, a)
		if err != nil {
			return false, err
		}
		for _, t := range tokens {
			owned[t] = true
		}
	}
	return slices.ContainsFunc(ring, func(t string) bool { return !owned[t] }), nil
}

// provenReads is how many reads an unchanged picture counts as complete: 1 min. The proof requires
// one request per node.
const provenReads = 12

// complete reports whether the list has each member that owns tokens: the ring has no other token,
// and gossip has no other node at an address. Without Raft-managed topology, ScyllaDB itself keeps
// one node per address.
func (r *Reader) complete(ctx context.Context, p *picture) bool {
	if r.wholeReads--; r.wholeReads > 0 && r.whole.same(p) {
		return true
	}
	r.wholeReads = 0
	if !r.byRaft || len(p.anonymous) > 0 {
		return false
	}
	for a, ids := range p.behind {
		if len(ids) != 1 || len(p.at[a]) == 0 ||
			slices.ContainsFunc(p.at[a], func(e Endpoint) bool { return e.HostID != ids[0] }) {
			return false
		}
	}
	if more, err := r.spareTokens(ctx, p); err != nil || more {
		return false
	}
	r.whole, r.wholeReads = p, provenReads
	return true
}

// remember keeps what the row shows of each member for the next row.
func (r *Reader) remember(row *api.NodeStatusReport, p *picture, hidden map[string][]string, tasks []Task) {
	ended := map[string]bool{}
	for _, t := range tasks {
		if t.State == "done" {
			ended[t.ID] = true
		}
	}
	next := make(map[string]listing, len(row.ObservedNodes))
	for _, o := range row.ObservedNodes {
		id := string(o.HostID)
		m := listing{normal: normal(o.State), ended: ended}
		if _, ok := hidden[id]; ok {
			m = r.seen[id]
		}
		m.status = o.Status
		if a := p.addresses[id]; len(a) > 0 {
			m.address = a[0]
		}
		next[id] = m
	}
	r.seen = next
}

// normal reports whether a node in this state has joined.
func normal(s api.NodeState) bool { return s != api.NodeStateJoining && s != api.NodeStateReplacing }

// ownsTokens returns nil if unknown: the node is not listed, or its address may be another node's.
func (r *Reader) ownsTokens(ctx context.Context, id string, p *picture) *bool {
	addresses := p.addresses[id]
	if id == "" || len(addresses) != 1 {
		return nil
	}
	a := addresses[0]
	if h, ok := p.holder(a); (ok && h.HostID != id) || (!ok && len(p.behind[a]) > 1) {
		return nil
	}
	tokens, err := r.c.Tokens(ctx, a)
	if err != nil {
		r.gap(err)
		return nil
	}
	owns := len(tokens) > 0
	return &owns
}
