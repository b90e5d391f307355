// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

const (
	modeNormal = "NORMAL"
	// modeStarting lasts until the coordinator handles the node, also at a restart.
	modeStarting       = "STARTING"
	modeDecommissioned = "DECOMMISSIONED"
	// topologyDone is the answer of a cluster with Raft-managed topology.
	topologyDone = "done"
	// rounds limits the reads of an inconsistent picture.
	rounds = 3
	// maxOperations limits the operations of one row: the task manager keeps ended ones for a time.
	maxOperations = 32
)

// Reader reads rows of one node. It records the members, because up to 2025.2 ScyllaDB's list, a
// map by address, loses one of two members at the same address. Not safe for concurrent use.
type Reader struct {
	// Supervisor is the supervisord of ScyllaDB's container, queried after a failed row if set.
	Supervisor *Client

	c *Client
	// seen are the members of the last row by host ID.
	seen map[string]listing
	// failures are the error texts of failed tasks by task ID; a failed task no longer changes.
	failures map[string]string
	// entities are the nodes that tasks named while open, by task ID: 2026.1 to 2026.3 drop them.
	entities map[string]string
	// byRaft is set once the node reports Raft-managed topology, which never reverts.
	byRaft bool
	// whole is the last picture that listed each owner of tokens, for so many more reads.
	whole      *picture
	wholeReads int
	// repair is read from the configuration once per process, in mode NORMAL.
	repair      []string
	repairAsked bool
	// gaps and err belong to the last row.
	gaps []error
	err  error
}

// NewReader returns a Reader that uses c.
func NewReader(c *Client) *Reader {
	return &Reader{c: c, seen: map[string]listing{}, failures: map[string]string{}, entities: map[string]string{}}
}

// Remember restores the members of an earlier row, such as the annotation's after a restart.
func (r *Reader) Remember(row api.NodeStatusReport) {
	nodes := row.ObservedNodes
	if len(nodes) == 0 && row.LastRow != nil {
		nodes = row.LastRow.ObservedNodes
	}
	for _, o := range nodes {
		if _, read := r.seen[string(o.HostID)]; o.HostID != "" && !read {
			r.seen[string(o.HostID)] = listing{normal: normal(o.State), status: o.Status}
		}
	}
}

// Read reads one row. If a request fails, Error is set and the row has no observations; the other
// fields have the values that ScyllaDB returned. Observations are joined by host ID: if gossip has
// the host ID, an address alone never makes a node UP. Since is not set. The result is sorted by
// host ID; equal responses give equal rows.
func (r *Reader) Read(ctx context.Context) api.NodeStatusReport {
	row := r.read(ctx)
	if row.Error != nil && r.Supervisor != nil {
		row.Process = endedProcess(ctx, r.Supervisor)
	}
	return row
}

func (r *Reader) read(ctx context.Context) api.NodeStatusReport {
	var row api.NodeStatusReport
	r.gaps, r.err = nil, nil
	// Each appears at its own stage of the start. Without any response, the other requests also
	// fail.
	own, err := r.c.LocalHostID(ctx)
	if IsUnreachable(err) {
		return r.failed(row, err)
	}
	r.gap(err)
	if row.HostID, err = hostid.Optional(own); err != nil {
		return r.failed(row, fmt.Errorf("host ID of this node: %w", err))
	}
	row.OperationMode, err = r.mode(ctx)
	r.gap(err)
	row.ScyllaVersion, err = r.c.ReleaseVersion(ctx)
	r.gap(err)
	tasks, err := r.c.NodeOperations(ctx)
	if !IsMissing(err) { // the path exists since 6.2
		r.gap(err)
	}
	tasks = r.named(tasks)
	row.Operations = r.operations(ctx, tasks)

	row.LegacyTopology = r.legacy(ctx, &row)
	row.Coordinator = r.coordinator(ctx, &row)
	row.RepairBased = r.repairBased(ctx, &row)
	row.VnodeKeyspaces = r.vnodes(ctx, &row)

	p, err := r.picture(ctx)
	if err == nil {
		err = r.observe(ctx, &row, p, tasks)
	}
	if err != nil {
		row.OwnsTokens = r.ownsNothing(ctx, &row)
		return r.failed(row, err)
	}
	if row.OwnsTokens == nil && len(row.ObservedNodes) == 0 {
		// Before 2025.2, gossip that has not started returns an empty list.
		row.OwnsTokens = r.ownsNothing(ctx, &row)
	}
	return row
}

// ownsNothing returns false for a node without observations that reports that it owns no tokens,
// else nil. A decommissioned node has no tokens left.
//
// A starting node with an empty ring is not yet a member: a first node waits for its seeds in that
// state. If it counted as a member, its seed's barrier would wait for its row indefinitely. A
// restarting member possibly has not loaded its ring yet: the controller must not remove its
// recorded membership because of this value.
func (r *Reader) ownsNothing(ctx context.Context, row *api.NodeStatusReport) *bool {
	owns := false
	switch {
	case row.HostID == "":
		return nil
	case row.OperationMode == modeDecommissioned:
		return &owns
	case row.OperationMode != modeStarting:
		return nil
	}
	tokens, err := r.c.RingTokens(ctx)
	if err != nil || len(tokens) > 0 {
		return nil
	}
	return &owns
}

// picture is one read of members and gossip.
type picture struct {
	members    []Member
	live, down []string
	endpoints  []Endpoint

	// Derived, by canonical address and host ID.
	isLive, isDown map[string]bool
	addresses      map[string][]string   // host ID -> addresses in the list of members
	behind         map[string][]string   // address -> host IDs of members
	at             map[string][]Endpoint // address -> nodes in gossip at that address
	byID           map[string]Endpoint
	anonymous      []string // addresses of members without host ID
}

// picture reads until the parts are consistent, or equal twice: then the inconsistency is real.
func (r *Reader) picture(ctx context.Context) (*picture, error) {
	p, err := r.readOnce(ctx)
	for n := 1; err == nil && n < rounds && p.odd(); n++ {
		var next *picture
		if next, err = r.readOnce(ctx); err != nil || next.same(p) {
			break
		}
		p = next
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (r *Reader) readOnce(ctx context.Context) (*picture, error) {
	p := &picture{}
	var err error
	if p.members, err = r.c.Members(ctx); err != nil {
		return nil, err
	}
	if p.live, err = r.c.Live(ctx); err != nil {
		return nil, err
	}
	// Members in neither list are unknown, so a missing list only makes members unknown.
	if p.down, err = r.c.Down(ctx); err != nil && !IsMissing(err) {
		return nil, err
	}
	r.gap(err)
	if p.endpoints, err = r.c.Endpoints(ctx); err != nil && !IsMissing(err) {
		return nil, err
	}
	r.gap(err)
	p.derive()
	return p, nil
}

func (p *picture) derive() {
	p.isLive, p.isDown = addressSet(p.live), addressSet(p.down)
	p.addresses, p.behind = map[string][]string{}, map[string][]string{}
	p.at, p.byID = map[string][]Endpoint{}, map[string]Endpoint{}
	for _, e := range p.endpoints {
		e.Address = canonicalAddress(e.Address)
		p.at[e.Address] = append(p.at[e.Address], e)
		if e.HostID == "" {
			continue
		}
		if old, ok := p.byID[e.HostID]; !ok || newer(e, old) {
			p.byID[e.HostID] = e
		}
	}
	for _, m := range p.members {
		a, id := canonicalAddress(m.Address), m.HostID
		if id == "" {
			// ScyllaDB has no host ID for this member; gossip may.
			if e, ok := p.holder(a); ok {
				id = e.HostID
			} else {
				p.anonymous = append(p.anonymous, m.Address)
				continue
			}
		}
		if !slices.Contains(p.addresses[id], a) {
			p.addresses[id] = append(p.addresses[id], a)
			p.behind[a] = append(p.behind[a], id)
		}
	}
}

// newer orders two entries of one host in gossip: the later process, else the dead one.
func newer(a, b Endpoint) bool {
	if a.Generation != b.Generation {
		return a.Generation > b.Generation
	}
	return !a.Alive && b.Alive
}

// holder returns the node that gossips from an address, by the latest start. False if gossip has no
// host ID, or two of one generation.
func (p *picture) holder(address string) (Endpoint, bool) {
	var best Endpoint
	found, tie := false, false
	for _, e := range p.at[address] {
		switch {
		case e.HostID == "":
		case !found || e.Generation > best.Generation:
			best, found, tie = e, true, false
		case e.Generation == best.Generation && e.HostID != best.HostID:
			if e.Alive == best.Alive {
				tie = true
			} else if e.Alive {
				best, tie = e, false
			}
		}
	}
	return best, found && !tie
}

// named reports whether gossip has any host ID.
func (p *picture) named() bool { return len(p.byID) > 0 }

// status returns a member's status by host ID. UP requires that gossip's live list has the address,
// without evidence of another node there.
func (p *picture) status(id string, addresses []string, replacing map[string]bool) api.NodeStatus {
	if e, ok := p.byID[id]; ok {
		return p.statusByGossip(e)
	}
	statuses := map[api.NodeStatus]bool{}
	for _, a := range addresses {
		statuses[p.statusByAddress(id, a, replacing)] = true
	}
	// The addresses of this host have different statuses; the current address is unknown.
	if len(statuses) != 1 {
		return api.NodeStatusUnknown
	}
	for s := range statuses {
		return s
	}
	return api.NodeStatusUnknown
}

func (p *picture) statusByGossip(e Endpoint) api.NodeStatus {
	a := e.Address
	live, down := p.isLive[a], p.isDown[a]
	h, held := p.holder(a)
	if held && h.HostID != e.HostID {
		// The address now belongs to another node.
		if h.Alive || down {
			return api.NodeStatusDown
		}
		return api.NodeStatusUnknown
	}
	switch {
	case e.Alive && held && live && (!down || p.othersAt(a, e.HostID)):
		return api.NodeStatusUp
	case down && !live, down && !e.Alive:
		return api.NodeStatusDown
	}
	return api.NodeStatusUnknown
}

// othersAt reports whether another host ID is or was at the address, which explains a dead address.
func (p *picture) othersAt(address, id string) bool {
	return slices.ContainsFunc(p.at[address], func(e Endpoint) bool { return e.HostID != id && !e.Alive }) ||
		slices.ContainsFunc(p.behind[address], func(other string) bool { return other != id })
}

// statusByAddress returns the status of a member whose host ID gossip does not have.
func (p *picture) statusByAddress(id, a string, replacing map[string]bool) api.NodeStatus {
	live, down := p.isLive[a], p.isDown[a]
	if h, ok := p.holder(a); ok && h.HostID != id {
		if h.Alive || down {
			return api.NodeStatusDown
		}
		return api.NodeStatusUnknown
	}
	switch {
	case down && !live:
		return api.NodeStatusDown
	case !live || down:
		return api.NodeStatusUnknown
	case p.named() && len(p.at[a]) == 0:
		// Alive without any state in gossip: the two responses contradict each other.
		return api.NodeStatusUnknown
	case len(p.behind[a]) < 2:
		return api.NodeStatusUp
	case replacing[id]:
		return api.NodeStatusUp
	case slices.ContainsFunc(p.behind[a], func(other string) bool { return replacing[other] }):
		// A node that replaces another at its address found that address free.
		return api.NodeStatusDown
	}
	return api.NodeStatusUnknown
}

// odd reports whether the parts may come from different moments.
func (p *picture) odd() bool {
	if len(p.anonymous) > 0 {
		return true
	}
	for id, addresses := range p.addresses {
		if s := p.status(id, addresses, nil); s == api.NodeStatusUnknown {
			return true
		}
	}
	for _, list := range []map[string]bool{p.isLive, p.isDown} {
		for a := range list {
			if len(p.behind[a]) == 0 {
				return true
			}
		}
	}
	return false
}

// places returns the locations, from gossip, of the nodes that are not UP.
func (p *picture) places(nodes []api.ObservedNodeStatusReport) []api.NodePlace {
	var out []api.NodePlace
	for _, n := range nodes {
		if e := p.byID[string(n.HostID)]; n.Status != api.NodeStatusUp && e.Datacenter != "" && e.Rack != "" {
			out = append(out, api.NodePlace{HostID: n.HostID, Datacenter: e.Datacenter, Rack: e.Rack})
		}
	}
	if len(out) > api.MaxPlaces {
		return nil
	}
	return out
}

func (p *picture) same(q *picture) bool {
	return slices.Equal(p.members, q.members) && slices.Equal(p.live, q.live) && slices.Equal(p.down, q.down) &&
		slices.Equal(p.endpoints, q.endpoints)
}

func (r *Reader) observe(ctx context.Context, row *api.NodeStatusReport, p *picture, tasks []Task) error {
	if err := p.checkHostIDs(); err != nil {
		return err
	}
	version, _ := release.Parse(row.ScyllaVersion)
	open := map[string]map[string]bool{}
	for _, t := range tasks {
		if t.Open() && t.HostID != "" {
			if open[t.Type] == nil {
				open[t.Type] = map[string]bool{}
			}
			open[t.Type][t.HostID] = true
		}
	}
	if version.ReplaceTaskNamesReplaced() == release.Yes {
		open[replaced], open["replace"] = open["replace"], p.replacers(open["replace"])
	}
	replacing := open["replace"]

	var hidden map[string][]string
	if version.ListsSharedAddresses() != release.Yes {
		row.Complete = r.complete(ctx, p)
		hidden = r.lost(ctx, p, tasks, version)
		for id, addresses := range hidden {
			p.addresses[id] = addresses
			for _, a := range addresses {
				p.behind[a] = append(p.behind[a], id)
			}
		}
	}
	if takers := r.takers(ctx, p, tasks); len(takers) > 0 {
		if open["replace"] == nil {
			open["replace"] = map[string]bool{}
		}
		maps.Copy(open["replace"], takers)
		replacing = open["replace"]
	}
	states, err := r.states(ctx, row, p, open)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(p.addresses)) {
		status := p.status(id, p.addresses[id], replacing)
		if len(p.addresses[id]) == 0 && status == api.NodeStatusUnknown && r.seen[id].status == api.NodeStatusDown {
			status = api.NodeStatusDown // gossip has not named it since
		}
		row.ObservedNodes = append(row.ObservedNodes,
			api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: status, State: states[id]})
	}
	if _, listed := p.addresses[string(row.HostID)]; row.HostID != "" && !listed && row.OperationMode == modeNormal {
		// The node is NORMAL and not in its own list of members: its picture is incomplete.
		row.ObservedNodes = append(row.ObservedNodes,
			api.ObservedNodeStatusReport{HostID: row.HostID, Status: api.NodeStatusUnknown})
		slices.SortFunc(row.ObservedNodes,
			func(a, b api.ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) })
	}
	row.Places = p.places(row.ObservedNodes)
	row.OwnsTokens = r.ownsTokens(ctx, string(row.HostID), p)

	r.remember(row, p, hidden, tasks)
	return nil
}

func addressSet(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, a := range list {
		out[canonicalAddress(a)] = true
	}
	return out
}
