// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// with calls serve with the decoded body.
func with[In, Out any](body json.RawMessage, serve func(In) (Out, error)) (any, error) {
	var in In
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("decode the request: %w", err)
	}
	return serve(in)
}

// handle serves a call of another node.
func (n *Node) handle(ctx context.Context, r *rpcRequest) (any, error) {
	switch r.Method {
	case "gossip.echo":
		if !n.gossip.isEnabled() {
			return nil, errors.New("gossiper is not enabled")
		}
		return nil, nil
	case "gossip.syn":
		return with(r.Body, func(s gossipStates) (gossipStates, error) { return n.gossip.handleSyn(s), nil })
	case "gossip.shutdown":
		return with(r.Body, func(s endpointState) (any, error) {
			if s.HostID != r.From {
				return nil, errors.New("not the sender's own state")
			}
			n.gossip.handleShutdown(&s)
			return nil, nil
		})
	case "discover":
		return with(r.Body, func(d discoverRequest) (discoverReply, error) { return n.handleDiscover(d), nil })
	case "g0.vote":
		return with(r.Body, func(v g0VoteRequest) (g0VoteReply, error) { return n.g0.handleVote(v), nil })
	case "g0.append":
		return with(r.Body, func(a g0Append) (g0AppendReply, error) { return n.g0.handleAppend(a), nil })
	case "join.response":
		return with(r.Body, func(j joinResponse) (any, error) { return nil, n.handleJoinResponse(ctx, j) })
	case "barrier":
		return with(r.Body, func(b barrierRequest) (any, error) { return nil, n.handleBarrier(ctx, b) })
	case "stream.ranges":
		return nil, n.handleStream(ctx)
	case "topo.left":
		n.handleLeft()
		return nil, nil
	case "topo.join":
		return with(r.Body, func(j joinRequest) (joinReply, error) { return n.handleJoin(ctx, j) })
	case "topo.request":
		return with(r.Body, func(t topologyRequest) (topologyRequestReply, error) { return n.placeRequest(ctx, t) })
	case "topo.cql":
		return with(r.Body, func(c cqlChange) (cqlReply, error) { return n.changeCQL(ctx, c) })
	}
	return nil, fmt.Errorf("unknown method %s", r.Method)
}
