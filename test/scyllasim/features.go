// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Answers of raft_topology/upgrade.
const (
	notUpgraded = "not_upgraded"
	upgrading   = "build_coordinator_state"
	upgradeDone = "done"
)

// updateFeatures records what each member supports, by gossip, and enables what all normal nodes support. It also ends the upgrade to the
// raft topology, which needs every node to support it.
func (n *Node) updateFeatures(ctx context.Context, st *topology) (bool, error) {
	learned, normal := map[string]string{}, []string(nil)
	for _, x := range st.sorted() {
		have := x.Features
		if f := n.gossip.app(x.HostID, appFeatures); f != "" && f != have && x.State != rules.Left {
			learned[x.HostID], have = f, f
		}
		if x.State == rules.Normal {
			normal = append(normal, have)
		}
	}
	dead := rules.Dead(st, n.gossip.alive)
	enabled := rules.Enabled(st.Features, normal, dead)
	finish := st.Upgrade == upgrading && len(dead) == 0
	if len(learned) == 0 && enabled == st.Features && !finish {
		return false, nil
	}
	return true, n.g0.propose(ctx, func(t *topology) error {
		for id, f := range learned {
			if x := t.node(id); x != nil {
				x.Features = f
			}
		}
		t.Features = enabled
		if finish {
			t.Upgrade = upgradeDone
		}
		return nil
	})
}

// turnAway ends a join. Its request was stored, so the node becomes left and stays banned.
func (n *Node) turnAway(ctx context.Context, x *topoNode, reason string) error {
	n.log.warn("raft_topology", "node %s is rejected: %s", x.HostID, reason)
	err := n.g0.propose(ctx, func(t *topology) error {
		y := t.node(x.HostID)
		if y == nil || y.Request == "" || y.Stage != "" {
			return errNoChange
		}
		t.finishTask(y.RequestID, "Join is rejected during validation", time.Now().UTC())
		y.State, y.Request = y.Request.Cancelled(), ""
		return nil
	})
	if err == nil {
		n.wg.Go(func() { n.respond(*x, reason) })
	}
	return err
}

func (s *topology) upgrade() string {
	if s == nil {
		return upgradeDone
	}
	return cmp.Or(s.Upgrade, upgradeDone)
}

func (n *Node) apiUpgradeState(apiCall) (any, error) {
	switch {
	case !n.v.RaftTopology():
		return nil, &apiError{404, "Not found"}
	case n.v.UpgradeAlwaysDone():
		return upgradeDone, nil
	}
	return n.g0.state().upgrade(), nil
}

// apiUpgradeStart starts the upgrade and does not wait for its end.
func (n *Node) apiUpgradeStart(apiCall) (any, error) {
	if !n.v.RaftTopology() || n.v.UpgradeAlwaysDone() {
		return nil, &apiError{404, "Not found"}
	}
	if n.g0.state().upgrade() != notUpgraded {
		return void{}, nil
	}
	return void{}, n.ask(n.ctx, "topo.request", topologyRequest{Kind: "upgrade", HostIDs: []string{n.hostID}}, nil)
}

// beginUpgrade starts the upgrade to raft topology. It fails while a normal node is older than 6.0.
func (t *topology) beginUpgrade() error {
	for _, x := range t.sorted() {
		if x.State == rules.Normal && !rules.Supports(x.Features, rules.RaftTopologyFeatures) {
			return fmt.Errorf("cannot upgrade to raft topology: node %s does not support it yet", x.HostID)
		}
	}
	if t.upgrade() == notUpgraded {
		t.Upgrade = upgrading
	}
	return nil
}
