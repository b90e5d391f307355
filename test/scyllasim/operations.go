// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

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
func (n *Node) awaitDecommission(ctx context.Context, task string) (string, error) {
	for {
		n.mu.Lock()
		mode, ch := n.mode, n.modeCh
		n.mu.Unlock()
		if mode == rules.ModeDecommissioned {
			return "", nil
		}
		changed := n.g0.waitChange()
		if t := n.g0.state().task(task); t != nil && t.State == "failed" {
			return t.Error, nil
		}
		select {
		case <-ch:
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
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
