// SPDX-License-Identifier: Apache-2.0

// Package adopt records the state of a ScyllaDB cluster that runs without our controller, before
// any Pod is rolled. It needs each member's host ID, and a data directory that shows the node as
// bootstrapped. Without both, the first rolled Pod looks like a new node. Its Service records
// nothing, no peer has a status report, and ScyllaDB has possibly not flushed system.local since
// its join.
//
// Decide is pure; Run executes the plan through a World. The package must not use a client, and
// refuses instead of guessing.
package adopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Identity is the record of one member.
type Identity struct {
	Member string
	HostID hostid.ID
}

// plan is the work to do, or the reasons for a refusal.
type plan struct {
	// Flush are the members whose ScyllaDB must write system.local to disk: all members, because no
	// API shows which have done so.
	Flush []string
	// Record are the members whose Service does not record their node yet.
	Record []Identity
	// Blockers are the reasons for a refusal; then Flush and Record are empty.
	Blockers []words.Message
}

// decide returns the plan.
func decide(members []*cluster.Member) plan {
	if len(members) == 0 {
		return plan{Blockers: []words.Message{words.New(words.AdoptNoNodes)}}
	}
	var p plan
	block := func(c words.Code, namesAndValues ...any) {
		p.Blockers = append(p.Blockers, words.New(c, namesAndValues...))
	}
	owner := map[hostid.ID]string{}
	for _, m := range members {
		said := m.Answer()
		switch {
		case said == nil:
			block(words.AdoptNotAsked, "member", m.Member, "why", m.PodState)
			continue
		case said.Error != nil:
			block(words.AdoptNotAsked, "member", m.Member, "why", *said.Error)
			continue
		}
		id, recorded := said.HostID, m.RecordedID()
		if id == "" {
			block(words.AdoptNoHostID, "member", m.Member)
			continue
		}
		if joined := cluster.SaysJoined(said); joined == nil || !*joined {
			block(words.AdoptNotJoined, "member", m.Member, "mode", said.OperationMode)
		}
		if other, twice := owner[id]; twice {
			block(words.AdoptSameHostID, "members", []string{other, m.Member}, "hostID", id)
		}
		owner[id] = m.Member
		if recorded != "" && recorded != id {
			block(words.AdoptOtherHostID, "member", m.Member, "hostID", id, "recorded", recorded)
		}
		p.Flush = append(p.Flush, m.Member)
		if recorded != id || !m.HasJoined() {
			p.Record = append(p.Record, Identity{m.Member, id})
		}
	}
	p.Blockers = append(p.Blockers, unwell(members, owner)...)
	if len(p.Blockers) > 0 {
		p.Flush, p.Record = nil, nil
	}
	return p
}

// unwell returns a message for each node that another node does not see UP, and for each open
// operation: a rollout would make either worse.
func unwell(members []*cluster.Member, owner map[hostid.ID]string) []words.Message {
	var out []words.Message
	by := map[string][]string{}
	var open []string
	for _, m := range members {
		said := m.Answer()
		if said == nil || said.Error != nil {
			continue
		}
		up := map[hostid.ID]bool{}
		for _, o := range said.ObservedNodes {
			up[o.HostID] = o.Status == api.NodeStatusUp
			if o.Status != api.NodeStatusUp && owner[o.HostID] == "" {
				by["host ID "+string(o.HostID)] = append(by["host ID "+string(o.HostID)], m.Member)
			}
		}
		for id, member := range owner {
			if !up[id] {
				by[member] = append(by[member], m.Member)
			}
		}
		for _, op := range said.Operations {
			if text := strings.TrimSpace(op.Type + " " + string(op.HostID)); cluster.OperationOpen(op) &&
				!slices.Contains(open, text) {
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
	// Members returns the members with a Pod, each with a new response of its ScyllaDB.
	Members(ctx context.Context) ([]*cluster.Member, error)
	// Flush makes a member's ScyllaDB write system.local to disk.
	Flush(ctx context.Context, member string) error
	// Record writes to the member's Service, which it creates if missing, that the node has joined.
	Record(ctx context.Context, id Identity) error
}

// Refusal has the reasons why no Pod may be rolled.
type Refusal struct{ Blockers []words.Message }

func (r *Refusal) Error() string {
	return "not ready for a rolling restart: " + strings.Join(words.Texts(r.Blockers), "; ")
}

// Run records every member's host ID, flushes its system.local, and returns the host IDs. After an
// error, such as a *Refusal, no Pod may be rolled; the completed steps are harmless, and Run may be
// repeated.
func Run(ctx context.Context, w World) ([]Identity, error) {
	members, err := w.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("query the host IDs of the nodes: %w", err)
	}
	plan := decide(members)
	if len(plan.Blockers) > 0 {
		return nil, &Refusal{plan.Blockers}
	}
	var errs []error
	for _, member := range plan.Flush {
		if err := w.Flush(ctx, member); err != nil {
			errs = append(errs, fmt.Errorf("flush system.local of %s: %w", member, err))
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
	return verify(ctx, w, members)
}

// verify reads the members again: the records must exist, and the host IDs must be unchanged.
func verify(ctx context.Context, w World, before []*cluster.Member) ([]Identity, error) {
	after, err := w.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("query the host IDs of the nodes again: %w", err)
	}
	plan := decide(after)
	for _, id := range plan.Record {
		plan.Blockers = append(plan.Blockers, words.New(words.AdoptNotRecorded, "member", id.Member, "hostID",
			id.HostID))
	}
	var out []Identity
	for _, m := range before {
		id := Identity{m.Member, m.Answer().HostID}
		still := func(m *cluster.Member) bool { return m.Member == id.Member && m.Answer().HostID == id.HostID }
		if len(plan.Blockers) == 0 && !slices.ContainsFunc(after, still) {
			plan.Blockers = append(plan.Blockers, words.New(words.AdoptSaysElsewhere, "member", id.Member, "hostID",
				id.HostID))
		}
		out = append(out, id)
	}
	if len(plan.Blockers) > 0 {
		return nil, &Refusal{plan.Blockers}
	}
	return out, nil
}
