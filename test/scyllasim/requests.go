// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// topologyRequest asks for a change of a member.
type topologyRequest struct {
	Kind   rules.Kind // rules.Leave, rules.Remove, "upgrade" or "abort"
	ID     string     // of the member, or of the task
	Ignore []string
}

// ask sends a request to the leader, which may be this node, and decodes the answer into out. It waits for a leader as long as ctx allows.
func (n *Node) ask(ctx context.Context, method string, in, out any) error {
	for {
		if id := n.g0.leaderID(); id != "" {
			cctx, cancel := context.WithTimeout(ctx, n.timeout(20*time.Second))
			err := n.sendTo(cctx, id, method, in, out)
			cancel()
			var re *remoteError
			if err == nil || (errors.As(err, &re) && re.msg != errNotLeader.Error()) {
				return err
			}
		}
		if err := n.clock.sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}

// handleJoin checks a join or replace request and stores it. A member that is not the leader passes it on.
func (n *Node) handleJoin(ctx context.Context, r joinRequest) (rejected string, err error) {
	err = n.g0.propose(ctx, func(t *topology) error {
		y := r.Node
		if x := t.node(y.HostID); x != nil {
			if x.State == rules.Left || x.Nonce != y.Nonce { // else the same process asks again after a lost answer
				rejected = rules.AskedBefore(x.State)
			}
			return errNoChange
		}
		y.State, y.Request, y.RequestID = rules.None, rules.Join, newTaskID()
		if y.Replaces != "" {
			y.Request = rules.Replace
			q := rules.Replacement{Target: y.Replaces, Ignore: y.Ignore, New: y.place(), OtherDown: n.v.OtherDown()}
			if old := t.node(y.Replaces); old != nil {
				q.Old = old.place()
			}
			if rejected = q.Refused(t, n.gossip.alive); rejected != "" {
				return errNoChange
			}
			t.IgnoredNodes = addUnique(t.IgnoredNodes, rules.Bans(y.Replaces, y.Ignore)...)
		}
		t.Nodes[y.HostID] = &y
		t.addTask(&y)
		return nil
	})
	switch {
	case errors.Is(err, errNotLeader) && !r.Forwarded:
		r.Forwarded = true
		ctx, cancel := context.WithTimeout(ctx, n.timeout(20*time.Second))
		defer cancel()
		err = n.ask(ctx, "topo.join", r, &rejected)
	case rejected != "":
		n.log.info("raft_topology", "rejected join request from %s: %s", r.Node.HostID, rejected)
	}
	return rejected, err
}

// placeRequest stores a decommission or removenode request and returns its task's ID; it serves the others.
func (n *Node) placeRequest(ctx context.Context, r topologyRequest) (string, error) {
	if r.Kind == "abort" {
		ended, err := n.end(ctx, func(x *topoNode) bool { return x.RequestID == r.ID }, "Aborted on user request", "request was aborted")
		if err == nil && ended == 0 {
			err = fmt.Errorf("task with id %s is not abortable", r.ID)
		}
		return "", err
	}
	id := newTaskID()
	err := n.g0.propose(ctx, func(t *topology) error {
		if r.Kind == "upgrade" {
			return t.upgrade()
		}
		why := ""
		switch {
		case r.Kind == rules.Remove:
			why = rules.Removal{Target: r.ID, Ignore: r.Ignore, LastOwner: !t.otherOwner(r.ID), OtherDown: n.v.OtherDown()}.Refused(t, n.gossip.alive)
		case t.State(r.ID) != rules.Normal:
			why = fmt.Sprintf("decommission: node %s is in '%s' state. Wait for it to be in 'normal' state", r.ID, t.State(r.ID))
		case len(t.wantedVoters()) <= 1:
			why = "Cannot decommission last node in the cluster"
		case !t.otherOwner(r.ID):
			why = "Cannot decommission the last token-owning node in the cluster"
		}
		x := t.node(r.ID)
		if why == "" && x.Request != "" {
			why = fmt.Sprintf("node %s has a request already", r.ID)
		}
		if why != "" {
			return errors.New(why)
		}
		if r.Kind == rules.Remove {
			t.IgnoredNodes = addUnique(t.IgnoredNodes, rules.Bans(r.ID, r.Ignore)...)
		}
		x.Request, x.RequestID, x.Ignore = r.Kind, id, r.Ignore
		t.addTask(x)
		return nil
	})
	return id, err
}

// decommission leaves the cluster. It returns when the node has left, however long that takes.
func (n *Node) decommission(ctx context.Context) error {
	if err := n.notNormal(); err != nil {
		return err
	}
	n.log.info("api", "decommission")
	return n.carryOut(ctx, topologyRequest{Kind: rules.Leave, ID: n.hostID}, "Decommission")
}

// carryOut places a request, and returns when it is done, or why it has failed.
func (n *Node) carryOut(ctx context.Context, r topologyRequest, what string) error {
	var id string
	if err := n.ask(ctx, "topo.request", r, &id); err != nil {
		return runtimeErrorf("%v", err)
	}
	leaves, text := r.Kind == rules.Leave, ""
	if leaves {
		n.setMode(rules.ModeLeaving)
	}
	err := n.await(ctx, func() bool {
		t := n.g0.state().task(id)
		if t != nil {
			text = t.Error
		}
		if leaves { // until the coordinator has called topo.left (handleLeft)
			return text != "" || n.Mode() == rules.ModeDecommissioned
		}
		return t != nil && t.State != "running"
	})
	if text == "" {
		return err
	}
	if leaves {
		n.setMode(rules.ModeNormal)
	}
	return runtimeErrorf("%s failed. See earlier errors (%s)", what, text)
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
			return context.Cause(ctx)
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
	n.gossip.stop(false)
	n.log.info("storage_service", "DECOMMISSIONING: done")
	n.setMode(rules.ModeDecommissioned)
}

func (n *Node) removeNode(ctx context.Context, hostID string, ignore []string) error {
	if hostID == n.hostID {
		return runtimeErrorf("removenode: host id %s is the local node; use decommission instead", hostID)
	}
	return n.carryOut(ctx, topologyRequest{Kind: rules.Remove, ID: hostID, Ignore: ignore}, "Removenode")
}

// notNormal refuses what only a node in mode NORMAL does.
func (n *Node) notNormal() error {
	if m := n.Mode(); m != rules.ModeNormal {
		return runtimeErrorf("Node in %s state; wait for status to become normal or restart", m)
	}
	return nil
}

// drainNode is `nodetool drain`: CQL and gossip end, system.local is flushed, the process goes on.
func (n *Node) drainNode() error {
	if m := n.Mode(); m == modeDrained || m == modeDraining {
		return nil
	}
	if err := n.notNormal(); err != nil {
		return err
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
