// SPDX-License-Identifier: Apache-2.0

// Package adopt records the facts that a ScyllaDB cluster which runs without our controller must have on record before anything of it is rolled: each
// member's host ID, and a data directory that shows the node as bootstrapped. Without both, the first Pod that is rolled cannot be told from a
// newcomer: its Service records nothing, no peer reports, and ScyllaDB may not have flushed system.local since it joined.
//
// Decide is pure; Run carries the plan out through a World. The package must not know a client, and it refuses rather than guesses.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Node is one member, with the present answers of its ScyllaDB.
type Node struct {
	// Member is the name of the Pod, and of the member Service.
	Member string
	// Recorded is the host ID on the member Service, Joined whether the Service records it as joined; empty and false without a Service.
	Recorded hostid.ID
	Joined   bool
	// Said is ScyllaDB's own answer, asked now and not read from a report; nil where ScyllaDB could not be asked, and Trouble is why.
	Said    *api.NodeStatusReport
	Trouble string
}

// Identity is the record of one member.
type Identity struct {
	Member string
	HostID hostid.ID
}

// Plan is the work to do, or the reasons why nothing may be done.
type Plan struct {
	// Flush are the members whose ScyllaDB has to write system.local to its disk: all of them, because there is no way to tell which have done so.
	Flush []string
	// Record are the members whose Service does not name their node yet.
	Record []Identity
	// Blockers are the reasons why nothing may be rolled; then Flush and Record are empty.
	Blockers []words.Message
}

// Decide makes the plan.
func Decide(nodes []Node) Plan {
	if len(nodes) == 0 {
		return Plan{Blockers: []words.Message{words.New(words.AdoptNoNodes)}}
	}
	var p Plan
	block := func(c words.Code, namesAndValues ...any) {
		p.Blockers = append(p.Blockers, words.New(c, namesAndValues...))
	}
	owner := map[hostid.ID]string{}
	for _, n := range nodes {
		switch {
		case n.Said == nil:
			block(words.AdoptNotAsked, "member", n.Member, "why", n.Trouble)
			continue
		case n.Said.Error != nil:
			block(words.AdoptNotAsked, "member", n.Member, "why", *n.Said.Error)
			continue
		}
		id := n.Said.HostID
		if id == "" {
			block(words.AdoptNoHostID, "member", n.Member)
			continue
		}
		if joined := cluster.SaysJoined(n.Said); joined == nil || !*joined {
			block(words.AdoptNotJoined, "member", n.Member, "mode", n.Said.OperationMode)
		}
		if other, twice := owner[id]; twice {
			block(words.AdoptSameHostID, "members", []string{other, n.Member}, "hostID", id)
		}
		owner[id] = n.Member
		if n.Recorded != "" && n.Recorded != id {
			block(words.AdoptOtherHostID, "member", n.Member, "hostID", id, "recorded", n.Recorded)
		}
		p.Flush = append(p.Flush, n.Member)
		if n.Recorded != id || !n.Joined {
			p.Record = append(p.Record, Identity{n.Member, id})
		}
	}
	p.Blockers = append(p.Blockers, unwell(nodes, owner)...)
	if len(p.Blockers) > 0 {
		p.Flush, p.Record = nil, nil
	}
	return p
}

// unwell returns a message for each node that another one does not see UP, and for each open operation: a rollout would make either worse.
func unwell(nodes []Node, owner map[hostid.ID]string) []words.Message {
	var out []words.Message
	by := map[string][]string{}
	var open []string
	for _, n := range nodes {
		if n.Said == nil || n.Said.Error != nil {
			continue
		}
		up := map[hostid.ID]bool{}
		for _, o := range n.Said.ObservedNodes {
			up[o.HostID] = o.Status == api.NodeStatusUp
			if o.Status != api.NodeStatusUp && owner[o.HostID] == "" {
				by["host ID "+string(o.HostID)] = append(by["host ID "+string(o.HostID)], n.Member)
			}
		}
		for id, member := range owner {
			if !up[id] {
				by[member] = append(by[member], n.Member)
			}
		}
		for _, op := range n.Said.Operations {
			if text := strings.TrimSpace(op.Type + " " + string(op.HostID)); cluster.OperationOpen(op) && !slices.Contains(open, text) {
				open = append(open, text)
			}
		}
	}
	names := make([]string, 0, len(by))
	for name := range by {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		slices.Sort(by[name])
		out = append(out, words.New(words.AdoptNotUp, "member", name, "by", by[name]))
	}
	slices.Sort(open)
	for _, op := range open {
		out = append(out, words.New(words.AdoptUnderWay, "operation", op))
	}
	return out
}

// World is the part of Kubernetes and ScyllaDB that Run needs.
type World interface {
	// Nodes lists the members, and asks each one's ScyllaDB now.
	Nodes(ctx context.Context) ([]Node, error)
	// Flush has a member's ScyllaDB write system.local to its disk.
	Flush(ctx context.Context, member string) error
	// Record writes on the member's Service, which it creates where there is none, that this node has joined there.
	Record(ctx context.Context, id Identity) error
}

// Refusal holds the reasons why nothing may be rolled.
type Refusal struct{ Blockers []words.Message }

func (r *Refusal) Error() string {
	return "nothing may be rolled yet: " + strings.Join(words.Texts(r.Blockers), "; ")
}

// Run records every member's host ID, flushes its system.local, and returns the host IDs. After an error, such as a *Refusal, nothing may be rolled;
// the steps done until then are harmless, and Run may be repeated.
func Run(ctx context.Context, w World) ([]Identity, error) {
	nodes, err := w.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the nodes of the cluster for their host IDs: %w", err)
	}
	plan := Decide(nodes)
	if len(plan.Blockers) > 0 {
		return nil, &Refusal{plan.Blockers}
	}
	var errs []error
	for _, member := range plan.Flush {
		if err := w.Flush(ctx, member); err != nil {
			errs = append(errs, fmt.Errorf("have %s flush system.local: %w", member, err))
		}
	}
	for _, id := range plan.Record {
		if err := w.Record(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("record host ID %s of %s on its Service: %w", id.HostID, id.Member, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return verify(ctx, w, nodes)
}

// verify asks again: the records must exist, and the answers must be unchanged.
func verify(ctx context.Context, w World, before []Node) ([]Identity, error) {
	after, err := w.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the nodes of the cluster once more for their host IDs: %w", err)
	}
	plan := Decide(after)
	for _, id := range plan.Record {
		plan.Blockers = append(plan.Blockers, words.New(words.AdoptNotRecorded, "member", id.Member, "hostID", id.HostID))
	}
	var out []Identity
	for _, n := range before {
		i := slices.IndexFunc(after, func(x Node) bool { return x.Member == n.Member && x.Said != nil && x.Said.HostID == n.Said.HostID })
		if i < 0 && len(plan.Blockers) == 0 {
			plan.Blockers = append(plan.Blockers, words.New(words.AdoptSaysElsewhere, "member", n.Member, "hostID", n.Said.HostID))
		}
		out = append(out, Identity{n.Member, n.Said.HostID})
	}
	if len(plan.Blockers) > 0 {
		return nil, &Refusal{plan.Blockers}
	}
	return out, nil
}
