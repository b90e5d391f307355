// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"context"
	"slices"
)

// lost returns members of the last row that are missing from the list but possibly still exist:
// their address now lists another member, and no finished replacement explains that.
func (r *Reader) lost(ctx context.Context, p *picture, tasks []Task) map[string][]string {
	out := map[string][]string{}
	for id, a := range r.seen {
		if _, listed := p.addresses[id]; listed {
			continue
		}
		if a == "" {
			// Without an address (from an annotation), only an open replacement can hide the
			// member.
			if e, ok := p.byID[id]; ok && len(p.behind[e.Address]) > 0 {
				a = e.Address
			} else if slices.ContainsFunc(tasks,
				func(t Task) bool { return t.Open() && (t.Type == "replace" || t.Type == "") }) {
				out[id] = nil
				continue
			}
		}
		if a == "" || len(p.behind[a]) == 0 {
			continue
		}
		if h, ok := p.holder(a); ok && h.HostID != id && finished(tasks, h.HostID) {
			continue
		}
		// If the current node at the address is listed and owns tokens, it replaced the member.
		tokens, err := r.c.Tokens(ctx, a)
		if h, ok := p.holder(a); err == nil && len(tokens) > 0 && ok && slices.Contains(p.behind[a], h.HostID) {
			continue
		}
		out[id] = []string{a}
	}
	return out
}

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
