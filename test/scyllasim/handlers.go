// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

type handler func(ctx context.Context, n *Node, body json.RawMessage) (any, error)

// with is a handler that gets the decoded body.
func with[In any](serve func(ctx context.Context, n *Node, in In) (any, error)) handler {
	return func(ctx context.Context, n *Node, body json.RawMessage) (any, error) {
		var in In
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fmt.Errorf("decode the request: %w", err)
		}
		return serve(ctx, n, in)
	}
}

// handlers serve the calls of other nodes, by method.
var handlers = map[string]handler{
	"gossip.echo": func(_ context.Context, n *Node, _ json.RawMessage) (any, error) {
		if !n.gossip.isEnabled() {
			return nil, errors.New("gossiper is not enabled")
		}
		return nil, nil
	},
	"gossip.syn": with(func(_ context.Context, n *Node, s gossipStates) (any, error) { return n.gossip.handleSyn(s), nil }),
	"gossip.shutdown": with(func(_ context.Context, n *Node, s endpointState) (any, error) {
		n.gossip.handleShutdown(&s)
		return nil, nil
	}),
	"discover":  with(func(_ context.Context, n *Node, r discoverRequest) (any, error) { return n.handleDiscover(r), nil }),
	"g0.vote":   with(func(_ context.Context, n *Node, r g0VoteRequest) (any, error) { return n.g0.handleVote(r), nil }),
	"g0.append": with(func(_ context.Context, n *Node, r g0Append) (any, error) { return n.g0.handleAppend(r), nil }),
	"join.response": with(func(ctx context.Context, n *Node, r joinResponse) (any, error) {
		return nil, n.handleJoinResponse(ctx, r)
	}),
	"barrier":       with(func(ctx context.Context, n *Node, r barrierRequest) (any, error) { return nil, n.handleBarrier(ctx, r) }),
	"stream.ranges": func(ctx context.Context, n *Node, _ json.RawMessage) (any, error) { return nil, n.handleStream(ctx) },
	"topo.left":     func(_ context.Context, n *Node, _ json.RawMessage) (any, error) { n.handleLeft(); return nil, nil },
	"topo.join":     with(func(ctx context.Context, n *Node, r joinRequest) (any, error) { return n.handleJoin(ctx, r) }),
	"topo.request":  with(func(ctx context.Context, n *Node, r topologyRequest) (any, error) { return n.placeRequest(ctx, r) }),
	"topo.cql":      with(func(ctx context.Context, n *Node, r cqlChange) (any, error) { return n.changeCQL(ctx, r) }),
}
