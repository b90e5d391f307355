// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// drive takes the node in transition through its current stage.
func (n *Node) drive(ctx context.Context, t *topoNode) error {
	switch t.Stage {
	case rules.Accept:
		return n.accept(ctx, t)
	case rules.ReadOld:
		if err := n.barrier(ctx, t); err != nil {
			return n.rollback(ctx, t, "Rolled back: "+err.Error())
		}
		if err := n.streamTo(ctx, t); err != nil {
			return n.rollback(ctx, t, rules.StreamFailed(err.Error()))
		}
		return n.advance(ctx, t)
	case rules.ReadNew:
		if err := n.barrier(ctx, t); err != nil {
			n.log.error("raft_topology", "transition_state::write_both_read_new, global_token_metadata_barrier failed, error %v", err)
			if err := n.clock.sleep(ctx, rules.RingDelay); err != nil {
				return err
			}
		}
		return n.advance(ctx, t)
	case rules.LeftRing:
		return n.farewell(ctx, t)
	case rules.Rollback:
		return n.leave(ctx, t)
	}
	return fmt.Errorf("node %s is in unknown stage %q", t.HostID, t.Stage)
}

// change proposes a change of a node, unless that is no longer as the coordinator saw it.
func (n *Node) change(ctx context.Context, x *topoNode, do func(t *topology, y *topoNode)) error {
	return n.g0.propose(ctx, func(t *topology) error {
		y := t.node(x.HostID)
		if y == nil || y.Stage != x.Stage || y.Request != x.Request {
			return errNoChange
		}
		do(t, y)
		return nil
	})
}

// advance goes on to the next stage, or ends the request.
func (n *Node) advance(ctx context.Context, x *topoNode) error {
	return n.change(ctx, x, func(t *topology, y *topoNode) {
		if y.Stage = y.Request.After(y.Stage, y.ZeroToken); y.Stage != rules.Done {
			t.take(y)
			return
		}
		if old := t.node(y.Replaces); old != nil && y.Request == rules.Replace {
			old.State, old.Tokens, old.InGroup0, old.Request = rules.Left, nil, false, ""
		}
		y.State, y.Request = y.Request.Ends(), ""
		t.finishTask(y.RequestID, "", time.Now().UTC())
	})
}

// take gives an accepted node its state and its tokens.
func (t *topology) take(y *topoNode) {
	y.State = y.Request.Begins()
	switch old := t.node(y.Replaces); {
	case y.Stage != rules.ReadOld || y.Request == rules.Replace && old == nil:
	case y.Request == rules.Replace:
		y.Tokens = slices.Clone(old.Tokens)
	case y.Request == rules.Join:
		y.Tokens = randomTokens(tokensPerNode)
	}
}

// accept tells the joiner that it is accepted, waits until the joiner sees all normal nodes UP, and chooses its tokens.
func (n *Node) accept(ctx context.Context, x *topoNode) error {
	cctx, cancel := context.WithTimeout(ctx, n.timeout(45*time.Second))
	defer cancel()
	up, stop := n.whileUp(cctx, x.HostID)
	err := n.tr.call(up, x.HostID, x.IP, "join.response", joinResponse{Accept: true, Alive: n.g0.state().wantedVoters()}, nil)
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return n.rollback(ctx, x, fmt.Sprintf("Rolled back: Failed to respond to the joining node %s: %v", x.HostID, err))
	}
	return n.advance(ctx, x)
}

// whileUp ends when gossip marks the node DOWN.
func (n *Node) whileUp(ctx context.Context, id string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	n.wg.Go(func() {
		for was, is := false, n.gossip.alive(id); ctx.Err() == nil && (is || !was); was, is = is, n.gossip.alive(id) {
			_ = n.clock.sleep(ctx, 500*time.Millisecond)
		}
		cancel()
	})
	return ctx, cancel
}

type barrierRequest struct {
	Index int64
	// Know is the host ID whose address the receiver must know before it answers; empty if no node is added.
	Know string
}

// barrier returns when every node that takes part has applied the current state.
func (n *Node) barrier(ctx context.Context, x *topoNode) error {
	index, st := n.g0.index(), n.g0.state()
	know := x.HostID
	if x.State == rules.Removing {
		know = ""
	}
	cctx, cancel := context.WithTimeout(ctx, n.timeout(30*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []string
	for _, t := range st.sorted() {
		if !t.InGroup0 || t.HostID == n.hostID || len(rules.InTheWay(st, x.Request, t.HostID)) == 0 {
			continue
		}
		wg.Go(func() {
			up, stop := n.whileUp(cctx, t.HostID)
			defer stop()
			if err := n.sendTo(up, t.HostID, "barrier", barrierRequest{Index: index, Know: know}, nil); err != nil {
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
	if n.await(cctx, func() bool {
		_, known := n.addressOf(r.Know)
		return n.g0.index() >= r.Index && (known || r.Know == "")
	}) != nil {
		return fmt.Errorf("timed out waiting for state %d and the address of %s", r.Index, r.Know)
	}
	return nil
}

// farewell tells a leaving node that it is out of the ring, then takes it out of group 0.
func (n *Node) farewell(ctx context.Context, x *topoNode) error {
	if x.State == rules.Decommissioning {
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

// leave makes the node left and finishes its request.
func (n *Node) leave(ctx context.Context, x *topoNode) error {
	return n.change(ctx, x, func(t *topology, y *topoNode) {
		y.State, y.Stage, y.Request, y.Tokens, y.InGroup0 = rules.Left, "", "", nil, false
		t.Voters = slices.DeleteFunc(t.Voters, func(id string) bool { return id == x.HostID })
		t.finishTask(y.RequestID, "", time.Now().UTC())
	})
}

// rollback undoes a transition that failed: a joining or replacing node goes on to left, any other returns to normal.
func (n *Node) rollback(ctx context.Context, x *topoNode, why string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.log.error("raft_topology", "rolling back %s of %s: %s", x.Request, x.HostID, why)
	err := n.change(ctx, x, func(t *topology, y *topoNode) {
		t.finishTask(y.RequestID, why, time.Now().UTC())
		if y.Stage = y.Request.Failed(y.Stage); y.Stage == rules.Done {
			y.State, y.Request = y.Request.RolledBack(), ""
		}
	})
	if err == nil && x.Request.RolledBack() == rules.Left {
		// The joiner reads the reason in the replicated state before its connections are dropped.
		cctx, cancel := context.WithTimeout(ctx, n.timeout(5*time.Second))
		defer cancel()
		up, stop := n.whileUp(cctx, x.HostID)
		defer stop()
		_ = n.sendTo(up, x.HostID, "barrier", barrierRequest{Index: n.g0.index(), Know: x.HostID}, nil)
	}
	return err
}
