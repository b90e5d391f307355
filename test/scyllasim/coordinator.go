// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	coordinatorInterval = 500 * time.Millisecond
	orphanInterval      = 10 * time.Second
	orphanAge           = 60 * time.Second
)

// rejection is a refusal that goes back to the joiner as the reason.
type rejection struct{ reason string }

func (e *rejection) Error() string { return e.reason }

// runCoordinator watches for this node's leadership and coordinates topology changes while it lasts.
func (n *Node) runCoordinator() {
	n.wg.Go(func() {
		for {
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
		if n.gate.wait(ctx) != nil {
			return
		}
		worked, err := n.coordinateOnce(ctx)
		if err != nil && ctx.Err() == nil {
			n.log.warn("raft_topology", "topology change coordinator fiber got error %v", err)
		}
		if n.v.orphanRemover() && n.clock.Now().Sub(lastOrphans) >= orphanInterval {
			lastOrphans = n.clock.Now()
			if err := n.removeOrphans(ctx); err != nil && ctx.Err() == nil {
				n.log.warn("raft_topology", "gossiper orphan remover: %v", err)
			}
		}
		if worked && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-n.clock.After(coordinatorInterval):
		}
	}
}

// coordinateOnce does the next step: housekeeping of the voters, the node in transition, else the next request.
func (n *Node) coordinateOnce(ctx context.Context) (bool, error) {
	st := n.g0.state()
	if voters, changed := st.nextVoters(); changed {
		return true, n.g0.propose(ctx, func(t *topology) error { t.Voters = voters; return nil })
	}
	if changed, err := n.updateAddresses(ctx, st); changed || err != nil {
		return changed, err
	}
	if t := st.transition(); t != nil {
		return true, n.drive(ctx, t)
	}
	var requests []*topoNode
	for _, t := range st.sorted() {
		if t.Request != "" {
			requests = append(requests, t)
		}
	}
	if len(requests) == 0 {
		return false, nil
	}
	order := []string{requestReplace, requestJoin, requestRemove, requestLeave, requestRebuild}
	slices.SortStableFunc(requests, func(a, b *topoNode) int {
		if c := slices.Index(order, a.Request) - slices.Index(order, b.Request); c != 0 {
			return c
		}
		return strings.Compare(a.RequestID, b.RequestID)
	})
	dead := n.deadNodes(st)
	for _, r := range requests {
		if canProceed(st, r, dead) {
			return true, n.begin(ctx, r)
		}
	}
	return true, n.cancelAll(ctx, dead)
}

// deadNodes are the normal nodes that this node's own gossip does not see alive. Nobody else's view counts.
func (n *Node) deadNodes(st *topology) []string {
	var dead []string
	for _, t := range st.sorted() {
		if t.State == stateNormal && !n.gossip.alive(t.HostID) {
			dead = append(dead, t.HostID)
		}
	}
	return dead
}

// canProceed judges one request. Ignored nodes count for replace and removenode only; a join needs everybody.
func canProceed(st *topology, r *topoNode, dead []string) bool {
	for _, id := range dead {
		if (r.Request == requestReplace || r.Request == requestRemove) && slices.Contains(st.Ignored, id) {
			continue
		}
		return false
	}
	return true
}

func (n *Node) updateAddresses(ctx context.Context, st *topology) (bool, error) {
	moved := map[string]string{}
	for _, t := range st.sorted() {
		if ip, ok := n.gossip.addressOf(t.HostID); ok && t.State != stateLeft && ip != t.IP {
			moved[t.HostID] = ip
		}
	}
	if len(moved) == 0 {
		return false, nil
	}
	return true, n.g0.propose(ctx, func(t *topology) error {
		for id, ip := range moved {
			if x := t.node(id); x != nil {
				x.IP = ip
			}
		}
		return nil
	})
}

// cancelAll is what happens when no queued request can proceed: all of them fail at once, and joiners are out for ever.
func (n *Node) cancelAll(ctx context.Context, dead []string) error {
	n.log.info("raft_topology", "cancel all topology requests. Dead nodes: %s", idSet(dead))
	reason := "Canceled. Dead nodes: " + idSet(dead)
	var joiners []topoNode
	err := n.g0.propose(ctx, func(t *topology) error {
		joiners = nil
		now := time.Now().UTC()
		for _, x := range t.sorted() {
			if x.Request == "" {
				continue
			}
			t.finishTask(x.RequestID, reason, now)
			if x.Request == requestJoin || x.Request == requestReplace {
				joiners = append(joiners, *x)
				x.State = stateLeft
			}
			x.Request = ""
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, j := range joiners {
		n.wg.Go(func() { n.respond(j, "request canceled because some required nodes are dead") })
	}
	return nil
}

// respond tells a joiner that it was refused. It is banned by now, but it may still be called.
func (n *Node) respond(j topoNode, reason string) {
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout(10*time.Second))
	defer cancel()
	for ctx.Err() == nil {
		_, err := n.tr.call(ctx, "topo", j.HostID, j.IP, "join.response", joinResponse{Reason: reason}, nil)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-n.clock.After(time.Second):
		}
	}
}

// begin puts a request into transition.
func (n *Node) begin(ctx context.Context, r *topoNode) error {
	return n.g0.propose(ctx, func(t *topology) error {
		x := t.node(r.HostID)
		if x == nil || x.Request != r.Request || t.transition() != nil {
			return errNoChange
		}
		switch x.Request {
		case requestJoin, requestReplace:
			x.Stage, x.InGroup0 = stageAccept, true
		case requestLeave:
			x.State, x.Stage = stateDecommissioning, stageReadOld
		case requestRemove:
			x.State, x.Stage = stateRemoving, stageReadOld
		case requestRebuild:
			x.State, x.Stage = stateRebuilding, stageReadOld
		}
		return nil
	})
}

// drive takes the node in transition through its next stage.
func (n *Node) drive(ctx context.Context, t *topoNode) error {
	switch t.Stage {
	case stageAccept:
		return n.accept(ctx, t)
	case stageReadOld:
		if err := n.barrier(ctx, t); err != nil {
			return n.rollback(ctx, t, "Rolled back: "+err.Error())
		}
		if err := n.streamTo(ctx, t); err != nil {
			return n.rollback(ctx, t, "Rolled back: Failed stream ranges: "+err.Error())
		}
		return n.setStage(ctx, t, stageReadNew)
	case stageReadNew:
		// From here there is no way back: the barrier is tried until it passes.
		if err := n.barrier(ctx, t); err != nil {
			return err
		}
		return n.complete(ctx, t)
	case stageLeftRing:
		return n.farewell(ctx, t)
	case stageRollback:
		return n.leave(ctx, t)
	}
	return fmt.Errorf("node %s is in unknown stage %q", t.HostID, t.Stage)
}

func (n *Node) setStage(ctx context.Context, x *topoNode, stage string) error {
	return n.g0.propose(ctx, func(t *topology) error {
		if y := t.node(x.HostID); y != nil {
			y.Stage = stage
		}
		return nil
	})
}

// accept answers the joiner, which must see every node that has to be alive, and chooses its tokens.
func (n *Node) accept(ctx context.Context, x *topoNode) error {
	st := n.g0.state()
	var need []string
	for _, t := range st.sorted() {
		if t.State == stateNormal && !slices.Contains(st.Ignored, t.HostID) {
			need = append(need, t.HostID)
		}
	}
	cctx, cancel := context.WithTimeout(ctx, n.timeout(45*time.Second))
	defer cancel()
	stop := n.abandonWhenDown(cctx, cancel, x.HostID)
	_, err := n.tr.call(cctx, "topo", x.HostID, x.IP, "join.response", joinResponse{Accept: true, Alive: need}, nil)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return n.rollback(ctx, x, fmt.Sprintf("Rolled back: Failed to respond to the joining node %s: %v", x.HostID, err))
	}
	return n.g0.propose(ctx, func(t *topology) error {
		y := t.node(x.HostID)
		if y == nil || y.Stage != stageAccept {
			return errNoChange
		}
		y.Stage = stageReadOld
		if y.Request == requestReplace {
			y.State = stateReplacing
			if old := t.node(y.Replaces); old != nil {
				y.Tokens = slices.Clone(old.Tokens)
			}
			return nil
		}
		y.State, y.Tokens = stateBootstrapping, randomTokens(tokensPerNode)
		return nil
	})
}

// abandonWhenDown ends a call to a node that gossip declares dead meanwhile.
func (n *Node) abandonWhenDown(ctx context.Context, cancel context.CancelFunc, id string) func() {
	done := make(chan struct{})
	n.wg.Go(func() {
		seen := false
		for {
			alive := n.gossip.alive(id)
			seen = seen || alive
			if seen && !alive {
				cancel()
				return
			}
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-n.clock.After(500 * time.Millisecond):
			}
		}
	})
	return sync.OnceFunc(func() { close(done) })
}

type barrierRequest struct {
	Index int64
	// Know is a host whose address the receiver must know before it answers.
	Know string
}

// barrier returns when every node that takes part has applied the current state.
func (n *Node) barrier(ctx context.Context, x *topoNode) error {
	n.g0.mu.Lock()
	index := n.g0.p.Com.Index
	n.g0.mu.Unlock()
	st := n.g0.state()
	cctx, cancel := context.WithTimeout(ctx, n.timeout(30*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []string
	for _, t := range st.sorted() {
		if !t.InGroup0 || t.HostID == n.hostID || t.State == stateRemoving || slices.Contains(st.Ignored, t.HostID) || slices.Contains(st.Excluded, t.HostID) {
			continue
		}
		wg.Go(func() {
			c2, cancel2 := context.WithCancel(cctx)
			defer cancel2()
			defer n.abandonWhenDown(c2, cancel2, t.HostID)()
			if err := n.sendTo(c2, t.HostID, "barrier", barrierRequest{Index: index, Know: x.HostID}, nil); err != nil {
				mu.Lock()
				failed = append(failed, fmt.Sprintf("%s: %v", t.HostID, err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return fmt.Errorf("raft_topology_cmd::command::barrier_and_drain failed on nodes %s", strings.Join(failed, ", "))
	}
	return nil
}

func (n *Node) handleBarrier(ctx context.Context, r barrierRequest) error {
	cctx, cancel := context.WithTimeout(ctx, n.timeout(30*time.Second))
	defer cancel()
	for {
		ch := n.g0.waitChange()
		n.g0.mu.Lock()
		ok := n.g0.p.Com.Index >= r.Index
		n.g0.mu.Unlock()
		if _, known := n.addressOf(r.Know); ok && known {
			return nil
		}
		select {
		case <-ch:
		case <-n.clock.After(200 * time.Millisecond):
		case <-cctx.Done():
			return fmt.Errorf("timed out waiting for state %d and the address of %s", r.Index, r.Know)
		}
	}
}

// streamTo has the node in transition move its data. A removed node is dead: the others do it.
func (n *Node) streamTo(ctx context.Context, x *topoNode) error {
	if x.State == stateRemoving || x.HostID == n.hostID {
		select {
		case <-n.clock.After(n.o.StreamTime):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	cctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer n.abandonWhenDown(cctx, cancel, x.HostID)()
	err := n.sendTo(cctx, x.HostID, "stream.ranges", struct{}{}, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (n *Node) handleStream(ctx context.Context) error {
	st := n.g0.state().state(n.hostID)
	if st == stateBootstrapping || st == stateReplacing {
		n.setMode(modeBootstrap)
		n.log.info("storage_service", "Starting to %s", map[string]string{stateBootstrapping: "bootstrap...", stateReplacing: "replace..."}[st])
	}
	end := n.clock.After(n.o.StreamTime)
	for {
		// Data comes from, or goes to, nodes that must stay there.
		s := n.g0.state()
		for _, t := range s.sorted() {
			if t.State == stateNormal && !slices.Contains(s.Ignored, t.HostID) && !n.gossip.alive(t.HostID) {
				return fmt.Errorf("std::runtime_error (node %s is down)", t.HostID)
			}
		}
		select {
		case <-end:
			return nil
		case <-n.clock.After(500 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// complete ends a transition that has moved its data.
func (n *Node) complete(ctx context.Context, x *topoNode) error {
	return n.g0.propose(ctx, func(t *topology) error {
		y := t.node(x.HostID)
		if y == nil || y.Stage != stageReadNew {
			return errNoChange
		}
		switch y.State {
		case stateBootstrapping, stateRebuilding:
			y.State, y.Stage, y.Request = stateNormal, "", ""
			t.finishTask(y.RequestID, "", time.Now().UTC())
		case stateReplacing:
			y.State, y.Stage, y.Request = stateNormal, "", ""
			if old := t.node(y.Replaces); old != nil {
				old.State, old.Tokens, old.InGroup0, old.Request = stateLeft, nil, false, ""
			}
			t.finishTask(y.RequestID, "", time.Now().UTC())
		case stateDecommissioning, stateRemoving:
			y.Stage = stageLeftRing
		}
		return nil
	})
}

// farewell gives a leaving node the news that it is out of the ring while it can still hear it, then takes it out of group 0.
func (n *Node) farewell(ctx context.Context, x *topoNode) error {
	if x.State == stateDecommissioning {
		if x.HostID == n.hostID {
			return nil // not a voter any more: leadership ends, and the next coordinator says farewell
		}
		cctx, cancel := context.WithTimeout(ctx, n.timeout(10*time.Second))
		defer cancel()
		_ = n.sendTo(cctx, x.HostID, "barrier", barrierRequest{Know: x.HostID}, nil)
		_ = n.sendTo(cctx, x.HostID, "topo.left", struct{}{}, nil)
	}
	return n.leave(ctx, x)
}

// leave is the last step of every node that goes.
func (n *Node) leave(ctx context.Context, x *topoNode) error {
	return n.g0.propose(ctx, func(t *topology) error {
		y := t.node(x.HostID)
		if y == nil || y.Stage == "" {
			return errNoChange
		}
		y.State, y.Stage, y.Request, y.Tokens, y.InGroup0 = stateLeft, "", "", nil, false
		t.Voters = slices.DeleteFunc(t.Voters, func(id string) bool { return id == x.HostID })
		t.finishTask(y.RequestID, "", time.Now().UTC())
		return nil
	})
}

// rollback undoes a transition that failed: a joiner goes out for ever, others return to normal.
func (n *Node) rollback(ctx context.Context, x *topoNode, why string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.log.error("raft_topology", "rolling back %s of %s: %s", x.Request, x.HostID, why)
	err := n.g0.propose(ctx, func(t *topology) error {
		y := t.node(x.HostID)
		if y == nil || y.Stage == "" {
			return errNoChange
		}
		t.finishTask(y.RequestID, why, time.Now().UTC())
		switch y.State {
		case stateDecommissioning, stateRemoving, stateRebuilding:
			y.State, y.Stage, y.Request = stateNormal, "", ""
		default:
			y.Stage = stageRollback
		}
		return nil
	})
	if err == nil && (x.State == stateNone || x.State == stateBootstrapping || x.State == stateReplacing) {
		// Let the joiner read why before it is cut off.
		cctx, cancel := context.WithTimeout(ctx, n.timeout(5*time.Second))
		defer cancel()
		defer n.abandonWhenDown(cctx, cancel, x.HostID)()
		n.g0.mu.Lock()
		index := n.g0.p.Com.Index
		n.g0.mu.Unlock()
		_ = n.sendTo(cctx, x.HostID, "barrier", barrierRequest{Index: index, Know: x.HostID}, nil)
	}
	return err
}

// removeOrphans bans hosts that gossip remembers but that never became part of the topology.
func (n *Node) removeOrphans(ctx context.Context) error {
	st := n.g0.state()
	var orphans []endpointView
	for _, e := range n.gossip.view() {
		if e.HostID != n.hostID && !e.Alive && st.node(e.HostID) == nil && n.clock.Now().Sub(e.FirstSeen) > orphanAge {
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
				t.Nodes[e.HostID] = &topoNode{HostID: e.HostID, IP: e.IP, State: stateLeft}
			}
		}
		return nil
	})
}

// topologyRequest asks for a change of a member.
type topologyRequest struct {
	Kind    string // requestLeave, requestRemove, requestRebuild or "exclude"
	HostIDs []string
	Ignore  []string
}

type topologyRequestReply struct{ TaskID string }

// ask sends a request to the leader and returns its task. It waits for a leader as long as ctx allows.
func (n *Node) ask(ctx context.Context, method string, in, out any) error {
	for {
		if n.g0.leadership() != nil {
			b, err := json.Marshal(in)
			if err != nil {
				return err
			}
			res, err := n.handleTopo(ctx, method, b)
			if !errors.Is(err, errNotLeader) {
				if err != nil || out == nil {
					return err
				}
				if b, err = json.Marshal(res); err != nil {
					return err
				}
				return json.Unmarshal(b, out)
			}
		} else if id := n.g0.leaderID(); id != "" && id != n.hostID {
			cctx, cancel := context.WithTimeout(ctx, n.timeout(20*time.Second))
			err := n.sendTo(cctx, id, method, in, out)
			cancel()
			var re *remoteError
			if err == nil || (errors.As(err, &re) && re.msg != errNotLeader.Error()) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-n.clock.After(200 * time.Millisecond):
		}
	}
}

// handleTopo serves what only the leader can do.
func (n *Node) handleTopo(ctx context.Context, method string, body json.RawMessage) (any, error) {
	switch method {
	case "topo.join":
		var r joinRequest
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
		if n.g0.leadership() == nil {
			if r.Forwarded {
				return nil, errNotLeader
			}
			r.Forwarded = true
			var rep joinReply
			cctx, cancel := context.WithTimeout(ctx, n.timeout(20*time.Second))
			defer cancel()
			if err := n.ask(cctx, method, r, &rep); err != nil {
				return nil, err
			}
			return rep, nil
		}
		err := n.placeJoin(ctx, r)
		var rej *rejection
		if errors.As(err, &rej) {
			n.log.info("raft_topology", "rejected join request from %s: %s", r.HostID, rej.reason)
			return joinReply{Rejected: rej.reason}, nil
		}
		return joinReply{}, err
	case "topo.request":
		var r topologyRequest
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
		if n.g0.leadership() == nil {
			return nil, errNotLeader
		}
		return n.placeRequest(ctx, r)
	}
	return nil, fmt.Errorf("unknown method %s", method)
}

// placeJoin checks a join or replace request and stores it.
func (n *Node) placeJoin(ctx context.Context, r joinRequest) error {
	reject := func(format string, args ...any) error { return &rejection{fmt.Sprintf(format, args...)} }
	return n.g0.propose(ctx, func(t *topology) error {
		if r.Cluster != t.ClusterName {
			return reject("Cluster name check failed. This node cannot join the cluster because it expected cluster name \"%s\" and not \"%s\"", r.Cluster, t.ClusterName)
		}
		if r.Snitch != t.Snitch {
			return reject("Snitch name check failed. This node cannot join the cluster because it uses \"%s\" and not \"%s\"", r.Snitch, t.Snitch)
		}
		if x := t.node(r.HostID); x != nil {
			switch {
			case x.State == stateLeft:
				return reject("The node has already been removed from the cluster")
			case x.Nonce == r.Nonce:
				return errNoChange // the same process, asking again after a lost answer
			default:
				return reject("The node requested to join before but didn't finish the procedure. Please clear the data directory and restart.")
			}
		}
		kind := requestJoin
		if r.Replaces != "" {
			kind = requestReplace
			if err := n.checkReplace(t, r, reject); err != nil {
				return err
			}
			t.Ignored = addUnique(t.Ignored, r.Replaces)
			t.Ignored = addUnique(t.Ignored, r.Ignore...)
		} else if !n.v.raftTopology() {
			// The old way of joining asks first and stores nothing.
			if dead := n.deadNodes(t); len(dead) > 0 {
				ip, _ := n.addressOf(dead[0])
				return reject("Node %s has gossip status=UNKNOWN. Try fixing it before adding new node to the cluster.", ip)
			}
		}
		id := newTaskID()
		t.Nodes[r.HostID] = &topoNode{
			HostID: r.HostID, IP: r.IP, DC: r.DC, Rack: r.Rack, State: stateNone, Request: kind, RequestID: id,
			Replaces: r.Replaces, Ignore: r.Ignore, Nonce: r.Nonce,
		}
		t.addTask(&topoTask{ID: id, Type: kind, Entity: r.HostID, State: "running", Start: time.Now().UTC()})
		return nil
	})
}

func (n *Node) checkReplace(t *topology, r joinRequest, reject func(string, ...any) error) error {
	old := t.node(r.Replaces)
	switch {
	case old == nil || old.State != stateNormal:
		return reject("Cannot replace node %s because it is not in the 'normal' state", r.Replaces)
	case n.gossip.alive(r.Replaces):
		return reject("tried to replace alive node %s", r.Replaces)
	case old.DC != r.DC || old.Rack != r.Rack:
		return reject("Cannot replace node %s with a node on a different data center or rack. Node being replaced: %s/%s, replacing node: %s/%s",
			r.Replaces, old.DC, old.Rack, r.DC, r.Rack)
	}
	for _, x := range t.sorted() {
		if x.Replaces == r.Replaces && x.State != stateLeft && x.State != stateNormal {
			return reject("Cannot replace node %s because it is already being replaced by %s", r.Replaces, x.HostID)
		}
	}
	if !n.v.refusesOtherDead() {
		return nil
	}
	for _, id := range r.Ignore {
		if n.gossip.alive(id) {
			return reject("Cannot replace node %s because ignored node %s is alive", r.Replaces, id)
		}
	}
	for _, id := range n.deadNodes(t) {
		if id != r.Replaces && !slices.Contains(r.Ignore, id) && !slices.Contains(t.Ignored, id) {
			return reject("Cannot replace node %s because node %s is down and not ignored; it must be up or listed in ignore_dead_nodes_for_replace", r.Replaces, id)
		}
	}
	return nil
}

// placeRequest stores a decommission, removenode, rebuild or exclude request.
func (n *Node) placeRequest(ctx context.Context, r topologyRequest) (topologyRequestReply, error) {
	id := newTaskID()
	if len(r.HostIDs) == 0 {
		return topologyRequestReply{}, errors.New("no host ID given")
	}
	if r.Kind == "abort" {
		return topologyRequestReply{TaskID: r.HostIDs[0]}, n.abort(ctx, r.HostIDs[0])
	}
	err := n.g0.propose(ctx, func(t *topology) error {
		if r.Kind == "exclude" {
			for _, h := range r.HostIDs {
				if t.node(h) == nil {
					return fmt.Errorf("Node %s does not exist", h)
				}
				if n.gossip.alive(h) {
					return fmt.Errorf("Cannot exclude node %s because it's considered alive", h) //nolint:staticcheck // ScyllaDB's text
				}
			}
			t.Excluded = addUnique(t.Excluded, r.HostIDs...)
			return nil
		}
		h := r.HostIDs[0]
		x := t.node(h)
		switch {
		case x == nil || x.State == stateLeft:
			return fmt.Errorf("%s: host id %s is not found in the cluster", verb(r.Kind), h)
		case x.State != stateNormal || x.Request != "":
			return fmt.Errorf("%s: node %s is in '%s' state. Wait for it to be in 'normal' state", verb(r.Kind), h, x.State)
		}
		switch r.Kind {
		case requestRemove:
			ip, _ := n.addressOf(h)
			if n.gossip.alive(h) {
				return fmt.Errorf("removenode: Rejected removenode operation for node %s ip %s the node being removed is alive, maybe you should use decommission instead?", h, ip)
			}
			for _, i := range r.Ignore {
				if t.node(i) == nil {
					return fmt.Errorf("removenode: ignored node %s is not found in the cluster", i)
				}
				if n.gossip.alive(i) {
					return fmt.Errorf("removenode: Rejected removenode operation for node %s ip %s because ignored node %s is alive", h, ip, i)
				}
			}
			if n.v.refusesOtherDead() {
				for _, d := range n.deadNodes(t) {
					if d != h && !slices.Contains(r.Ignore, d) && !slices.Contains(t.Ignored, d) {
						return fmt.Errorf("removenode: Rejected removenode operation for node %s ip %s because node %s is down and not ignored", h, ip, d)
					}
				}
			}
			t.Ignored = addUnique(t.Ignored, h)
			t.Ignored = addUnique(t.Ignored, r.Ignore...)
		case requestLeave:
			if len(t.wantedVoters()) <= 1 {
				return errors.New("Cannot decommission last node in the cluster") //nolint:staticcheck // ScyllaDB's text
			}
		}
		x.Request, x.RequestID, x.Ignore = r.Kind, id, r.Ignore
		t.addTask(&topoTask{ID: id, Type: r.Kind, Entity: h, State: "running", Start: time.Now().UTC()})
		return nil
	})
	return topologyRequestReply{TaskID: id}, err
}

// abort cancels a request that is still queued. An aborted joiner is out for ever.
func (n *Node) abort(ctx context.Context, task string) error {
	var joiner *topoNode
	err := n.g0.propose(ctx, func(t *topology) error {
		joiner = nil
		for _, x := range t.sorted() {
			if x.RequestID != task || x.Request == "" || x.Stage != "" {
				continue
			}
			if x.Request == requestJoin || x.Request == requestReplace {
				joiner = x
				x.State = stateLeft
			}
			x.Request = ""
			t.finishTask(task, "Aborted on user request", time.Now().UTC())
			return nil
		}
		return fmt.Errorf("task with id %s is not abortable", task)
	})
	if err == nil && joiner != nil {
		n.wg.Go(func() { n.respond(*joiner, "request was aborted") })
	}
	return err
}

func verb(kind string) string {
	if kind == requestRemove {
		return "removenode"
	}
	return kind
}

// awaitTask returns a finished task's error text.
func (n *Node) awaitTask(ctx context.Context, id string) (string, error) {
	for {
		ch := n.g0.waitChange()
		if t := n.g0.state().task(id); t != nil && t.State != "running" {
			return t.Error, nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// handle serves calls of other nodes.
func (n *Node) handle(ctx context.Context, from hello, method string, body json.RawMessage) (any, error) {
	parse := func(v any) error { return json.Unmarshal(body, v) }
	switch method {
	case "gossip.echo":
		if !n.gossip.isEnabled() {
			return nil, errors.New("gossiper is not enabled")
		}
		return struct{}{}, nil
	case "gossip.syn":
		var s gossipSyn
		if err := parse(&s); err != nil {
			return nil, err
		}
		return n.gossip.handleSyn(s), nil
	case "gossip.ack2", "gossip.notifyup":
		var s []*endpointState
		if err := parse(&s); err != nil {
			return nil, err
		}
		n.gossip.merge(s)
		return struct{}{}, nil
	case "gossip.shutdown":
		var s endpointState
		if err := parse(&s); err != nil {
			return nil, err
		}
		if s.HostID != from.From {
			return nil, errors.New("not the sender's own state")
		}
		n.gossip.handleShutdown(&s)
		return struct{}{}, nil
	case "gossip.shadow":
		return n.handleShadow(), nil
	case "discover":
		var r discoverRequest
		if err := parse(&r); err != nil {
			return nil, err
		}
		return n.handleDiscover(r), nil
	case "g0.vote":
		var r g0VoteRequest
		if err := parse(&r); err != nil {
			return nil, err
		}
		return n.g0.handleVote(r), nil
	case "g0.append":
		var r g0Append
		if err := parse(&r); err != nil {
			return nil, err
		}
		return n.g0.handleAppend(r), nil
	case "join.response":
		var r joinResponse
		if err := parse(&r); err != nil {
			return nil, err
		}
		return struct{}{}, n.handleJoinResponse(ctx, r)
	case "barrier":
		var r barrierRequest
		if err := parse(&r); err != nil {
			return nil, err
		}
		return struct{}{}, n.handleBarrier(ctx, r)
	case "stream.ranges":
		return struct{}{}, n.handleStream(ctx)
	case "topo.left":
		n.handleLeft()
		return struct{}{}, nil
	case "topo.join", "topo.request":
		return n.handleTopo(ctx, method, body)
	}
	return nil, fmt.Errorf("unknown method %s", method)
}

func (n *Node) handleShadow() shadowReply {
	rep := shadowReply{Group0: n.groupID()}
	for _, t := range n.g0.state().sorted() {
		if t.State == stateLeft || t.State == stateNone {
			continue
		}
		ip, _ := n.addressOf(t.HostID)
		rep.Members = append(rep.Members, shadowMember{HostID: t.HostID, IP: ip, DC: t.DC, Rack: t.Rack, State: t.State})
	}
	return rep
}
