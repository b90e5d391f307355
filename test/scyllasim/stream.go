// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// streamSession holds the gossip generations of the peers of one streaming request. A new generation shows that a peer has restarted,
// also when it was never seen DOWN.
type streamSession struct {
	request     string
	generations map[string]int64
}

// checkStreamPeers returns an error when a node that data come from, or go to, is down or is no longer the process that it was when
// the request began to stream.
func (n *Node) checkStreamPeers() error {
	s := n.g0.state()
	me := s.node(n.hostID)
	if me == nil {
		return fmt.Errorf("std::runtime_error (node %s is not in the topology)", n.hostID)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.streaming.request != me.RequestID {
		n.streaming = streamSession{request: me.RequestID, generations: map[string]int64{}}
	}
	for _, t := range s.sorted() {
		if t.State != rules.Normal || t.HostID == n.hostID || len(rules.InTheWay(s, me.Request, t.HostID)) == 0 {
			continue
		}
		if !n.gossip.alive(t.HostID) {
			return fmt.Errorf("std::runtime_error (node %s is down)", t.HostID)
		}
		gen := n.gossip.state(t.HostID).Gen
		if first, ok := n.streaming.generations[t.HostID]; ok && gen != first {
			return fmt.Errorf("std::runtime_error (node %s has restarted)", t.HostID)
		}
		n.streaming.generations[t.HostID] = gen
	}
	return nil
}

// streamTo lets the node in transition move its data and returns its error. A removed node is dead: this node waits in its place. A
// zero-token node has no data.
func (n *Node) streamTo(ctx context.Context, x *topoNode) error {
	if x.ZeroToken {
		return nil
	}
	if x.State == rules.Removing || x.HostID == n.hostID {
		return n.clock.sleep(ctx, n.o.StreamTime)
	}
	cctx, cancel := n.whileUp(ctx, x.HostID)
	defer cancel()
	err := n.sendTo(cctx, x.HostID, "stream.ranges", struct{}{}, nil)
	return cmp.Or(ctx.Err(), err)
}

func (n *Node) handleStream(ctx context.Context) error {
	st := n.g0.state().State(n.hostID)
	if st == rules.Bootstrapping || st == rules.Replacing {
		n.setMode(rules.ReadOld.Mode())
		n.log.info("storage_service", "Starting to %s", map[rules.State]string{rules.Bootstrapping: "bootstrap...", rules.Replacing: "replace..."}[st])
	}
	end := n.clock.After(n.o.StreamTime)
	for {
		if err := n.checkStreamPeers(); err != nil {
			return err
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
