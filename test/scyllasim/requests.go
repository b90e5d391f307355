// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// rejection is the reason for which a join request is refused; the joiner gets its text.
type rejection struct{ reason string }

func (e *rejection) Error() string { return e.reason }

// topologyRequest asks for a change of a member.
type topologyRequest struct {
	Kind    rules.Kind // rules.Leave, rules.Remove, "upgrade" or "abort"
	HostIDs []string
	Ignore  []string
}

type topologyRequestReply struct{ TaskID string }

// ask sends a request to the leader and decodes the answer into out. It waits for a leader as long as ctx allows.
func (n *Node) ask(ctx context.Context, method string, in, out any) error {
	for {
		if n.g0.leadership() != nil {
			b, err := json.Marshal(in)
			if err != nil {
				return err
			}
			res, err := n.handle(ctx, &rpcRequest{Method: method, Body: b})
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

// handleJoin stores a join request. A member that is not the leader passes it on.
func (n *Node) handleJoin(ctx context.Context, r joinRequest) (rep joinReply, err error) {
	err = n.placeJoin(ctx, r)
	var rej *rejection
	switch {
	case errors.Is(err, errNotLeader) && !r.Forwarded:
		r.Forwarded = true
		ctx, cancel := context.WithTimeout(ctx, n.timeout(20*time.Second))
		defer cancel()
		return rep, n.ask(ctx, "topo.join", r, &rep)
	case errors.As(err, &rej):
		n.log.info("raft_topology", "rejected join request from %s: %s", r.HostID, rej.reason)
		return joinReply{Rejected: rej.reason}, nil
	}
	return rep, err
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
			if x.State != rules.Left && x.Nonce == r.Nonce {
				return errNoChange // the same process, asking again after a lost answer
			}
			return &rejection{rules.AskedBefore(x.State)}
		}
		kind := rules.Join
		if r.Replaces != "" {
			kind = rules.Replace
			q := rules.Replacement{
				Target: r.Replaces, Ignore: r.Ignore, New: rules.Place{DC: r.DC, Rack: r.Rack, ZeroToken: r.ZeroToken}, OtherDown: n.v.OtherDown(),
			}
			if old := t.node(r.Replaces); old != nil {
				q.Old = rules.Place{DC: old.DC, Rack: old.Rack, ZeroToken: old.ZeroToken}
			}
			if why := q.Refused(t, n.gossip.alive); why != "" {
				return &rejection{why}
			}
			t.IgnoredNodes = addUnique(t.IgnoredNodes, rules.Bans(r.Replaces, r.Ignore)...)
		}
		id := newTaskID()
		t.Nodes[r.HostID] = &topoNode{
			HostID: r.HostID, IP: r.IP, DC: r.DC, Rack: r.Rack, State: rules.None, Request: kind, RequestID: id,
			Replaces: r.Replaces, Ignore: r.Ignore, Nonce: r.Nonce, Features: r.Features, ZeroToken: r.ZeroToken,
		}
		t.addTask(&topoTask{ID: id, Type: kind, HostID: r.HostID, Replaces: r.Replaces, State: "running", Start: time.Now().UTC()})
		return nil
	})
}

// placeRequest stores a decommission or removenode request.
func (n *Node) placeRequest(ctx context.Context, r topologyRequest) (topologyRequestReply, error) {
	id := newTaskID()
	if len(r.HostIDs) == 0 {
		return topologyRequestReply{}, errors.New("no host ID given")
	}
	if r.Kind == "abort" {
		return topologyRequestReply{TaskID: r.HostIDs[0]}, n.abort(ctx, r.HostIDs[0])
	}
	err := n.g0.propose(ctx, func(t *topology) error {
		switch r.Kind {
		case "upgrade":
			return t.beginUpgrade()
		}
		h := r.HostIDs[0]
		x := t.node(h)
		switch {
		case x == nil || x.State == rules.Left:
			return fmt.Errorf("%s: host id %s is not found in the cluster", verb(r.Kind), h)
		case x.State != rules.Normal || x.Request != "":
			return fmt.Errorf("%s: node %s is in '%s' state. Wait for it to be in 'normal' state", verb(r.Kind), h, x.State)
		}
		switch r.Kind {
		case rules.Remove:
			q := rules.Removal{Target: h, Ignore: r.Ignore, LastOwner: !t.otherOwner(h), OtherDown: n.v.OtherDown()}
			if why := q.Refused(t, n.gossip.alive); why != "" {
				return errors.New(why)
			}
			t.IgnoredNodes = addUnique(t.IgnoredNodes, rules.Bans(h, r.Ignore)...)
		case rules.Leave:
			if len(t.wantedVoters()) <= 1 {
				return errors.New("Cannot decommission last node in the cluster") //nolint:staticcheck // ScyllaDB's text
			}
			if !t.otherOwner(h) {
				return errors.New("Cannot decommission the last token-owning node in the cluster") //nolint:staticcheck // ScyllaDB's text
			}
		}
		x.Request, x.RequestID, x.Ignore = r.Kind, id, r.Ignore
		t.addTask(&topoTask{ID: id, Type: r.Kind, HostID: h, State: "running", Start: time.Now().UTC()})
		return nil
	})
	return topologyRequestReply{TaskID: id}, err
}

func verb(kind rules.Kind) rules.Kind {
	if kind == rules.Remove {
		return "removenode"
	}
	return kind
}

// decommission leaves the cluster. It returns when the node has left, however long that takes.
func (n *Node) decommission(ctx context.Context) error {
	n.mu.Lock()
	mode := n.mode
	busy := n.opRunning
	if mode == rules.ModeNormal && !busy {
		n.opRunning = true
	}
	n.mu.Unlock()
	if busy {
		return runtimeErrorf("Operation decommission is in progress, try again")
	}
	if mode != rules.ModeNormal {
		return runtimeErrorf("Node in %s state; wait for status to become normal or restart", mode)
	}
	defer func() {
		n.mu.Lock()
		n.opRunning = false
		n.mu.Unlock()
	}()
	n.log.info("api", "decommission")
	var rep topologyRequestReply
	if err := n.ask(ctx, "topo.request", topologyRequest{Kind: rules.Leave, HostIDs: []string{n.hostID}}, &rep); err != nil {
		return runtimeErrorf("%v", err)
	}
	n.setMode(rules.ModeLeaving)
	text, err := n.awaitDecommission(ctx, rep.TaskID)
	if err != nil {
		return err
	}
	if text != "" {
		n.setMode(rules.ModeNormal)
		return runtimeErrorf("Decommission failed. See earlier errors (%s)", text)
	}
	return nil
}

// awaitDecommission waits until the coordinator has called topo.left (handleLeft) or the request has failed; it returns the request's error.
func (n *Node) awaitDecommission(ctx context.Context, task string) (text string, err error) {
	err = n.await(ctx, func() bool {
		t := n.g0.state().task(task)
		failed := n.Mode() != rules.ModeDecommissioned && t != nil && t.State == "failed"
		if failed {
			text = t.Error
		}
		return failed || n.Mode() == rules.ModeDecommissioned
	})
	return text, err
}

// await returns when something holds: it looks at each change of group 0, and every now and then.
func (n *Node) await(ctx context.Context, holds func() bool) error {
	for {
		ch := n.g0.waitChange()
		if holds() {
			return nil
		}
		select {
		case <-ch:
		case <-n.clock.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// handleLeft is called by the coordinator once this node is out of the ring. The process goes on with gossip and CQL closed.
func (n *Node) handleLeft() {
	if n.g0.state().State(n.hostID) != rules.Decommissioning || n.Mode() == rules.ModeDecommissioned {
		return
	}
	n.stopCQL()
	if err := n.local.set(map[string]string{"bootstrapped": "DECOMMISSIONED"}); err != nil {
		n.log.error("storage_service", "save system.local: %v", err)
	}
	n.gossip.stop(n.ctx, false)
	n.log.info("storage_service", "DECOMMISSIONING: done")
	n.setMode(rules.ModeDecommissioned)
}

func (n *Node) removeNode(ctx context.Context, hostID string, ignore []string) error {
	if hostID == n.hostID {
		return runtimeErrorf("removenode: host id %s is the local node; use decommission instead", hostID)
	}
	var rep topologyRequestReply
	if err := n.ask(ctx, "topo.request", topologyRequest{Kind: rules.Remove, HostIDs: []string{hostID}, Ignore: ignore}, &rep); err != nil {
		return runtimeErrorf("%v", err)
	}
	text, err := n.awaitTask(ctx, rep.TaskID)
	if err != nil {
		return err
	}
	if text != "" {
		return runtimeErrorf("Removenode failed. See earlier errors (%s)", text)
	}
	return nil
}

// drainNode is `nodetool drain`: CQL and gossip end, system.local is flushed, the process goes on.
func (n *Node) drainNode() error {
	switch m := n.Mode(); m {
	case rules.ModeNormal:
	case modeDrained, modeDraining:
		return nil
	default:
		return runtimeErrorf("Node in %s state; wait for status to become normal or restart", m)
	}
	n.setMode(modeDraining)
	n.drain()
	n.setMode(modeDrained)
	return nil
}

func splitList(s string) []string {
	var out []string
	for p := range strings.SplitSeq(s, ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func (n *Node) uptime() time.Duration { return time.Since(n.started) }
