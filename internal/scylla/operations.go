// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// named sets the node of ended tasks that named it while they were open.
func (r *Reader) named(tasks []Task) []Task {
	known := map[string]string{}
	for i := range tasks {
		t := &tasks[i]
		if t.HostID == "" {
			t.HostID = r.entities[t.ID]
		}
		if t.HostID != "" && t.ID != "" {
			known[t.ID] = t.HostID
		}
	}
	r.entities = known
	return tasks
}

// operations returns the open and failed operations, failed ones with their error texts.
func (r *Reader) operations(ctx context.Context, tasks []Task) []api.NodeOperation {
	var relevant []Task
	for _, t := range tasks {
		if t.Open() || t.State == "failed" {
			relevant = append(relevant, t)
		}
	}
	// Open operations first, then the latest failures.
	slices.SortStableFunc(relevant, func(a, b Task) int {
		if a.Open() != b.Open() {
			if a.Open() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Ended, a.Ended), cmp.Compare(b.ID, a.ID))
	})
	if len(relevant) > maxOperations {
		relevant = relevant[:maxOperations]
	}
	failures := map[string]string{}
	var out []api.NodeOperation
	for _, t := range relevant {
		op := api.NodeOperation{Type: t.Type, State: t.State, HostID: hostid.Known(t.HostID)}
		if t.State == "failed" {
			text, known := r.failures[t.ID]
			if !known {
				var err error
				text, err = r.c.TaskError(ctx, t.ID)
				known = err == nil
			}
			if known {
				failures[t.ID] = text
			}
			op.Error = text
		}
		out = append(out, op)
	}
	r.failures = failures
	slices.SortFunc(out, func(a, b api.NodeOperation) int {
		return cmp.Or(cmp.Compare(a.HostID, b.HostID), cmp.Compare(a.Type, b.Type), cmp.Compare(a.State, b.State),
			cmp.Compare(a.Error, b.Error))
	})
	return slices.Compact(out)
}

func finished(tasks []Task, id string) bool {
	return slices.ContainsFunc(tasks, func(t Task) bool {
		return t.HostID == id && t.Type == "replace" &&
			t.State == "done"
	})
}

// replaced is the key of open replacements whose task names the replaced node.
const replaced = "replaced"

// replacers returns the members at the address of a replaced node. It does not find a replacing
// node at another address.
func (p *picture) replacers(targets map[string]bool) map[string]bool {
	out := map[string]bool{}
	for id := range targets {
		for _, a := range p.addresses[id] {
			for _, other := range p.behind[a] {
				if !targets[other] {
					out[other] = true
				}
			}
		}
	}
	return out
}

// takers returns the new nodes that have the address of a member and own no tokens yet: the state
// of a replacement at the same address. It applies only while an operation is open whose task does
// not name its node: a replacement or, while it is pending, one without type (up to 2025.4).
// [derived]
func (r *Reader) takers(ctx context.Context, p *picture, tasks []Task) map[string]bool {
	if !slices.ContainsFunc(tasks, func(t Task) bool {
		return t.Open() && (t.Type == "replace" || t.Type == "") && t.HostID == ""
	}) {
		return nil
	}
	out := map[string]bool{}
	for a, ids := range p.behind {
		h, ok := p.holder(a)
		if !ok || r.seen[h.HostID].normal || !slices.ContainsFunc(ids, func(id string) bool { return id != h.HostID }) {
			continue
		}
		// ScyllaDB answers for the current node at the address; if it owns tokens, it replaces no
		// node.
		if tokens, err := r.c.Tokens(ctx, a); err == nil && len(tokens) == 0 {
			out[h.HostID] = true
		}
	}
	return out
}

// states returns the states of members that are not NORMAL, each reported by ScyllaDB.
func (r *Reader) states(ctx context.Context, row *api.NodeStatusReport, p *picture, open map[string]map[string]bool) (
	map[string]api.NodeState, error) {
	out := map[string]api.NodeState{}
	byAddress := func(list func(context.Context) ([]string, error), state api.NodeState) error {
		found, err := list(ctx)
		if err != nil && !IsMissing(err) {
			return err
		}
		r.gap(err)
		for _, a := range found {
			// If two members share an address, the list does not identify the joining or leaving
			// one.
			if ids := p.behind[canonicalAddress(a)]; len(ids) == 1 {
				out[ids[0]] = state
			}
		}
		return nil
	}
	if err := errors.Join(byAddress(r.c.Joining, api.NodeStateJoining),
		byAddress(r.c.Leaving, api.NodeStateLeaving)); err != nil {
		return nil, err
	}
	for kind, state := range map[string]api.NodeState{
		"bootstrap": api.NodeStateJoining, "decommission": api.NodeStateLeaving, "remove node": api.NodeStateLeaving,
	} {
		for id := range open[kind] {
			out[id] = state
		}
	}
	for id := range open["replace"] {
		out[id] = api.NodeStateReplacing
	}
	for id := range open[replaced] {
		out[id] = api.NodeStateBeingReplaced
	}
	for id := range open["replace"] {
		// A node that replaces another at the same address gossips from there before it is listed.
		theirs := p.addresses[id]
		if e, ok := p.byID[id]; ok && len(theirs) == 0 {
			theirs = []string{e.Address}
		}
		for _, a := range theirs {
			for _, other := range p.behind[a] {
				if other != id && !open["replace"][other] {
					out[other] = api.NodeStateBeingReplaced
				}
			}
		}
		// A new node's configuration has the host ID to replace, whatever the addresses.
		if id == string(row.HostID) && row.OperationMode != modeNormal {
			if target, err := r.c.ReplaceTarget(ctx); err == nil && target != "" && target != id {
				out[target] = api.NodeStateBeingReplaced
			}
		}
	}
	return out, nil
}
