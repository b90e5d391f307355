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
	// modeStarting lasts until a node has the coordinator's attention; restarting members pass through it too.
	modeStarting       = "STARTING"
	modeDecommissioned = "DECOMMISSIONED"
	// topologyDone is the answer of a cluster whose topology is managed by Raft.
	topologyDone = "done"
	// rounds bounds how often a picture that does not fit together is read again.
	rounds = 3
	// maxOperations bounds the operations of one row: finished ones stay in the task manager for its user_task_ttl.
	maxOperations = 32
)

// ReadRow reads once a node's view of all others, without a memory of earlier reads. See Reader.Read.
func ReadRow(ctx context.Context, c *Client) api.NodeStatusReport {
	return NewReader(c).Read(ctx)
}

// Reader reads rows of one node and remembers which members it has seen: up to 2025.2 ScyllaDB's list of members is a map by address
// and silently loses one of two members behind the same address. Not safe for concurrent use.
type Reader struct {
	// Supervisor is the supervisord of ScyllaDB's container, queried for a row that could not be made; nil is not queried.
	Supervisor *Client

	c *Client
	// seen maps the host IDs of the last row to their canonical address, empty when it is not known.
	seen map[string]string
	// failures are the error texts of failed tasks by task ID; a task that has failed does not change any more.
	failures map[string]string
	// entities are the nodes that tasks named while they were open, by task ID: from 2026.1 to 2026.3 a task that has ended names none.
	entities map[string]string
	// byRaft is set once the node has answered that topology is managed by Raft: that never changes back.
	byRaft bool
	// repair are the repair-based operations by the node's configuration, read once for each process that serves: the setting at the time of the join counts.
	repair      []string
	repairAsked bool
	// gaps of the last row, and why it has no observations.
	gaps []error
	err  error
}

// NewReader reads rows through c.
func NewReader(c *Client) *Reader {
	return &Reader{c: c, seen: map[string]string{}, failures: map[string]string{}, entities: map[string]string{}}
}

// Remember takes the members of an earlier row, which a restarted reader has from the annotation.
func (r *Reader) Remember(row api.NodeStatusReport) {
	for _, o := range row.ObservedNodes {
		if o.HostID != "" {
			r.seen[string(o.HostID)] = ""
		}
	}
}

// Read reads one row. It never fails: a failed request is in Error, and the row then has no observations; HostID, OperationMode, ScyllaVersion and Operations are set as far as
// ScyllaDB returned them. Observations are joined by host ID: an address alone never makes a node UP where gossip has the host ID behind it. Since is not set. The result is sorted
// by host ID; the same answers give the same row.
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
	// Each of these appears at its own stage of starting; its absence is no error of the row. When no answer comes at all, the other requests would get none either.
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
	if !IsMissing(err) { // before 6.2 there is no such list
		r.gap(err)
	}
	tasks = r.named(tasks)
	row.Operations = r.operations(ctx, tasks)

	row.LegacyTopology = r.legacy(ctx, &row)
	row.Coordinator = r.coordinator(ctx, &row)
	row.RepairBased = r.repairBased(ctx, &row)

	p, err := r.picture(ctx)
	if err == nil {
		err = r.observe(ctx, &row, p, tasks)
	}
	if err != nil {
		row.OwnsTokens = r.ownsNothing(ctx, &row)
		return r.failed(row, err)
	}
	if row.OwnsTokens == nil && len(row.ObservedNodes) == 0 {
		// Before 2025.2 gossip that has not started yet answers with an empty list.
		row.OwnsTokens = r.ownsNothing(ctx, &row)
	}
	return row
}

// ownsNothing is false for a node without observations that answers that it owns no tokens, else nil.
//
// A decommissioned node has none left. A starting node that knows a ring without any token is no member of any cluster: a first node waits for its seeds in that state, and if it
// could not be distinguished from a member, the seed would wait for its row for ever. A restarting member has its ring on its disk, but may not have read it yet: the controller
// must not withdraw its recorded membership because of this.
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

// picture is one reading of members and gossip.
type picture struct {
	members    []Member
	live, down []string
	endpoints  []Endpoint

	// Derived, by canonical address and host ID.
	isLive, isDown map[string]bool
	addresses      map[string][]string   // host ID -> its addresses among the members
	behind         map[string][]string   // address -> host IDs of members
	at             map[string][]Endpoint // address -> the nodes that gossip from it, by gossip's memory
	byID           map[string]Endpoint
	anonymous      []string // addresses of members that have no host ID
}

// picture reads until the parts are consistent, or the same twice: then an inconsistency is real, and no mixture of two moments.
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

// newer orders two entries of gossip about one host: the later process, and of one process the worse news.
func newer(a, b Endpoint) bool {
	if a.Generation != b.Generation {
		return a.Generation > b.Generation
	}
	return !a.Alive && b.Alive
}

// holder is the node that gossips from an address: the one that started last. False when gossip has no host ID, or two of one generation.
func (p *picture) holder(address string) (Endpoint, bool) {
	var best Endpoint
	found, tie := false, false
	for _, e := range p.at[address] {
		switch {
		case e.HostID == "":
		case !found || e.Generation > best.Generation:
			best, found, tie = e, true, false
		case e.Generation == best.Generation && e.HostID != best.HostID:
			// With equal generations only liveness decides: both alive, or both dead, is a tie.
			if e.Alive == best.Alive {
				tie = true
			} else if e.Alive {
				best, tie = e, false
			}
		}
	}
	return best, found && !tie
}

// named is true when gossip has the host ID of any node.
func (p *picture) named() bool { return len(p.byID) > 0 }

// status of a member by its host ID. UP only when gossip's list of the living has its address and there is no evidence that another node is behind it.
func (p *picture) status(id string, addresses []string, replacing map[string]bool) api.NodeStatus {
	if e, ok := p.byID[id]; ok {
		return p.statusByGossip(e)
	}
	statuses := map[api.NodeStatus]bool{}
	for _, a := range addresses {
		statuses[p.statusByAddress(id, a, replacing)] = true
	}
	// Two addresses of one host have different statuses, and it is not known which one is present.
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
		// The address is now another node's.
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

// othersAt is true when another host ID is or was behind the address: its death explains why the address is among the dead too.
func (p *picture) othersAt(address, id string) bool {
	return slices.ContainsFunc(p.at[address], func(e Endpoint) bool { return e.HostID != id && !e.Alive }) ||
		slices.ContainsFunc(p.behind[address], func(other string) bool { return other != id })
}

// statusByAddress is for members whose host ID gossip does not have.
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
		// Alive without any state in gossip: the two answers contradict each other.
		return api.NodeStatusUnknown
	case len(p.behind[a]) < 2:
		return api.NodeStatusUp
	case replacing[id]:
		return api.NodeStatusUp
	case slices.ContainsFunc(p.behind[a], func(other string) bool { return replacing[other] }):
		// A node that replaces another at the other's address has found that address free.
		return api.NodeStatusDown
	}
	return api.NodeStatusUnknown
}

// odd is true when the parts may come from different moments.
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

// places are the locations, by gossip, of the nodes that are not UP.
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
	return slices.Equal(p.members, q.members) && slices.Equal(p.live, q.live) && slices.Equal(p.down, q.down) && slices.Equal(p.endpoints, q.endpoints)
}

// observe fills in the observations.
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

	if version.ListsSharedAddresses() != release.Yes {
		for id, addresses := range r.lost(ctx, p, tasks) {
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
		row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{
			HostID: hostid.ID(id), Status: p.status(id, p.addresses[id], replacing), State: states[id],
		})
	}
	if _, listed := p.addresses[string(row.HostID)]; row.HostID != "" && !listed && row.OperationMode == modeNormal {
		// It serves, and does not find itself among the members: its picture of the cluster is incomplete, for any reason.
		row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: row.HostID, Status: api.NodeStatusUnknown})
		slices.SortFunc(row.ObservedNodes, func(a, b api.ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) })
	}
	row.Places = p.places(row.ObservedNodes)
	row.OwnsTokens = r.ownsTokens(ctx, string(row.HostID), p)

	r.seen = map[string]string{}
	for id, a := range p.addresses {
		r.seen[id] = ""
		if len(a) > 0 {
			r.seen[id] = a[0]
		}
	}
	return nil
}

// lost are the members of the last row that are missing from the list although they need not be gone: their address is listed for another member, and no finished replacement
// explains that.
func (r *Reader) lost(ctx context.Context, p *picture, tasks []Task) map[string][]string {
	out := map[string][]string{}
	for id, a := range r.seen {
		if _, listed := p.addresses[id]; listed {
			continue
		}
		if a == "" {
			// Read from an annotation, without its address. Only an open replacement can hide it.
			if e, ok := p.byID[id]; ok && len(p.behind[e.Address]) > 0 {
				a = e.Address
			} else if slices.ContainsFunc(tasks, func(t Task) bool { return t.Open() && (t.Type == "replace" || t.Type == "") }) {
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
		// ScyllaDB answers for the present holder of the address; a listed member with tokens there has taken the place over.
		tokens, err := r.c.Tokens(ctx, a)
		if h, ok := p.holder(a); err == nil && len(tokens) > 0 && ok && slices.Contains(p.behind[a], h.HostID) {
			continue
		}
		out[id] = []string{a}
	}
	return out
}

// ownsTokens is nil when it is not known: the node is not in the list, or its address may be another's.
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

func addressSet(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, a := range list {
		out[canonicalAddress(a)] = true
	}
	return out
}
