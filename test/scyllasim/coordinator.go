// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

const coordinatorInterval = 500 * time.Millisecond

// runCoordinator watches for this node's leadership and coordinates topology changes while it lasts.
func (n *Node) runCoordinator() {
	n.wg.Go(func() {
		for n.ctx.Err() == nil {
			ch := n.g0.waitChange()
			if ctx := n.g0.leadership(); ctx != nil {
				n.log.info("raft_topology", "start topology coordinator fiber")
				n.coordinate(ctx)
				continue
			}
			select {
			case <-ch:
			case <-n.ctx.Done():
				return
			}
		}
	})
}

func (n *Node) coordinate(ctx context.Context) {
	lastOrphans := n.clock.Now()
	for ctx.Err() == nil {
		worked, err := n.coordinateOnce(ctx)
		if err != nil && ctx.Err() == nil {
			n.log.warn("raft_topology", "topology change coordinator fiber got error %v", err)
		}
		if n.v.OrphanRemover() && n.clock.Now().Sub(lastOrphans) >= rules.OrphanInterval {
			lastOrphans = n.clock.Now()
			if err := n.removeOrphans(ctx); err != nil && ctx.Err() == nil {
				n.log.warn("raft_topology", "gossiper orphan remover: %v", err)
			}
		}
		if worked && err == nil {
			continue
		}
		_ = n.clock.sleep(ctx, coordinatorInterval)
	}
}

// coordinateOnce does one step: voters and addresses, then the node in transition, else the next request, else features. It reports whether there was any.
func (n *Node) coordinateOnce(ctx context.Context) (bool, error) {
	st := n.g0.state()
	if voters, changed := st.nextVoters(); changed {
		return true, n.g0.propose(ctx, func(t *topology) error { t.Voters = voters; return nil })
	}
	if changed, err := n.updateAddresses(ctx, st); changed || err != nil {
		return changed, err
	}
	requests := slices.DeleteFunc(st.sorted(), func(t *topoNode) bool { return t.Request == "" && t.Stage == "" })
	if i := slices.IndexFunc(requests, func(t *topoNode) bool { return t.Stage != "" }); i >= 0 {
		return true, n.drive(ctx, requests[i])
	}
	if len(requests) == 0 {
		return n.updateFeatures(ctx, st)
	}
	slices.SortFunc(requests, func(a, b *topoNode) int { return strings.Compare(a.RequestID, b.RequestID) })
	dead := rules.Dead(st, n.gossip.alive)
	next := rules.Next(st, requests, func(r *topoNode) rules.Kind { return r.Request }, dead)
	if next < 0 {
		// None can proceed.
		n.log.info("raft_topology", "cancel all topology requests. Dead nodes: %s", idSet(dead))
		_, err := n.end(ctx, func(*topoNode) bool { return true }, "Canceled. Dead nodes: "+idSet(dead), rules.RequestCancelled)
		return true, err
	}
	r := requests[next]
	if why := rules.TurnedAway(st, r.Request, r.Replaces, r.Features, st.Features); why != "" {
		n.log.warn("raft_topology", "node %s is rejected: %s", r.HostID, why)
		_, err := n.end(ctx, func(x *topoNode) bool { return x.HostID == r.HostID }, "Join is rejected during validation", why)
		return true, err
	}
	return true, n.begin(ctx, r)
}

func (n *Node) updateAddresses(ctx context.Context, st *topology) (bool, error) {
	moved := map[string]string{}
	for _, t := range st.sorted() {
		if ip := n.gossip.state(t.HostID).IP; ip != "" && t.State != rules.Left && ip != t.IP {
			moved[t.HostID] = ip
		}
	}
	if len(moved) == 0 {
		return false, nil
	}
	return true, n.g0.propose(ctx, func(t *topology) error {
		for id, ip := range moved {
			t.Nodes[id].IP = ip
		}
		return nil
	})
}

// end fails the queued requests of these nodes: a joining or replacing node becomes left, stays banned and is told why. It returns how many there were.
func (n *Node) end(ctx context.Context, which func(x *topoNode) bool, reason, told string) (int, error) {
	var joiners []topoNode
	ended := 0
	err := n.g0.propose(ctx, func(t *topology) error {
		joiners, ended = nil, 0
		now := time.Now().UTC()
		for _, x := range t.sorted() {
			if x.Request == "" || x.Stage != "" || !which(x) {
				continue
			}
			ended++
			t.finishTask(x.RequestID, reason, now)
			if x.Request == rules.Join || x.Request == rules.Replace {
				joiners = append(joiners, *x)
			}
			x.State, x.Request = x.Request.Cancelled(), ""
		}
		if ended == 0 {
			return errNoChange
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, j := range joiners {
		n.wg.Go(func() { n.respond(j, told) })
	}
	return ended, nil
}

// respond tells a joiner why it was refused. The joiner is banned, which stops its own calls, not calls to it.
func (n *Node) respond(j topoNode, reason string) {
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout(10*time.Second))
	defer cancel()
	for ctx.Err() == nil {
		if n.tr.call(ctx, j.HostID, j.IP, "join.response", joinResponse{Reason: reason}, nil) == nil {
			return
		}
		_ = n.clock.sleep(ctx, time.Second)
	}
}

func (n *Node) begin(ctx context.Context, r *topoNode) error {
	return n.change(ctx, r, func(_ *topology, x *topoNode) {
		if x.Stage = x.Request.First(); x.Stage == rules.Accept {
			x.InGroup0 = true
		} else {
			x.State = x.Request.Begins()
		}
	})
}

// removeOrphans bans hosts that gossip remembers but that never became part of the topology.
func (n *Node) removeOrphans(ctx context.Context) error {
	st := n.g0.state()
	var orphans []endpointView
	for _, e := range n.gossip.view() {
		if e.HostID != n.hostID && rules.Orphan(st.State(e.HostID), e.Alive, n.clock.Now().Sub(e.FirstSeen)) {
			orphans = append(orphans, e)
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	n.log.info("raft_topology", "gossiper orphan remover: marking %d orphan node(s) as left", len(orphans))
	return n.g0.propose(ctx, func(t *topology) error {
		for _, e := range orphans {
			if t.node(e.HostID) == nil {
				t.Nodes[e.HostID] = &topoNode{HostID: e.HostID, IP: e.IP, State: rules.Left}
			}
		}
		return nil
	})
}

// updateFeatures records what each member supports, by gossip, and enables what all normal nodes support.
func (n *Node) updateFeatures(ctx context.Context, st *topology) (bool, error) {
	learned, normal := map[string]string{}, []string(nil)
	for _, x := range st.sorted() {
		have := x.Features
		if f := n.gossip.state(x.HostID).App[appFeatures]; f != "" && f != have && x.State != rules.Left {
			learned[x.HostID], have = f, f
		}
		if x.State == rules.Normal {
			normal = append(normal, have)
		}
	}
	dead := rules.Dead(st, n.gossip.alive)
	enabled := rules.Enabled(st.Features, normal, dead)
	if len(learned) == 0 && enabled == st.Features {
		return false, nil
	}
	return true, n.g0.propose(ctx, func(t *topology) error {
		for id, f := range learned {
			t.Nodes[id].Features = f
		}
		t.Features = enabled
		return nil
	})
}

func (n *Node) apiUpgradeState(apiCall) (any, error) {
	switch s := n.g0.state(); {
	case !n.v.RaftTopology():
		return nil, errNotFound
	case s != nil && s.Legacy && !n.v.UpgradeAlwaysDone():
		return "not_upgraded", nil
	}
	return "done", nil
}

func (n *Node) apiUpgradeStart(apiCall) (any, error) {
	if !n.v.RaftTopology() || n.v.UpgradeAlwaysDone() {
		return nil, errNotFound
	}
	return void{}, n.ask(n.ctx, "topo.request", topologyRequest{Kind: "upgrade"}, nil)
}

// upgrade ends the legacy topology. It fails while a normal node is older than 6.0.
func (t *topology) upgrade() error {
	for _, x := range t.sorted() {
		if x.State == rules.Normal && !rules.Supports(x.Features, rules.RaftTopologyFeatures) {
			return fmt.Errorf("cannot upgrade to raft topology: node %s does not support it yet", x.HostID)
		}
	}
	t.Legacy = false
	return nil
}
