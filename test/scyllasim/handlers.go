// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// rpcHandler serves one method that other nodes call.
type rpcHandler func(n *Node, ctx context.Context, from hello, body json.RawMessage) (any, error)

// with makes a handler of a function that takes the decoded body.
func with[T any](serve func(n *Node, ctx context.Context, from hello, in T) (any, error)) rpcHandler {
	return func(n *Node, ctx context.Context, from hello, body json.RawMessage) (any, error) {
		var in T
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fmt.Errorf("decode the request: %w", err)
		}
		return serve(n, ctx, from, in)
	}
}

type none = struct{}

var rpcHandlers = map[string]rpcHandler{
	"gossip.echo": with(func(n *Node, _ context.Context, _ hello, _ none) (any, error) {
		if !n.gossip.isEnabled() {
			return nil, errors.New("gossiper is not enabled")
		}
		return none{}, nil
	}),
	"gossip.syn":      with(func(n *Node, _ context.Context, _ hello, s gossipSyn) (any, error) { return n.gossip.handleSyn(s), nil }),
	"gossip.ack2":     with(mergeStates),
	"gossip.notifyup": with(mergeStates),
	"gossip.shutdown": with(func(n *Node, _ context.Context, from hello, s endpointState) (any, error) {
		if s.HostID != from.From {
			return nil, errors.New("not the sender's own state")
		}
		n.gossip.handleShutdown(&s)
		return none{}, nil
	}),
	"gossip.shadow": with(func(n *Node, _ context.Context, _ hello, _ none) (any, error) { return n.handleShadow(), nil }),
	"discover": with(func(n *Node, _ context.Context, _ hello, r discoverRequest) (any, error) {
		return n.handleDiscover(r), nil
	}),
	"g0.vote": with(func(n *Node, _ context.Context, _ hello, r g0VoteRequest) (any, error) {
		return n.g0.handleVote(r), nil
	}),
	"g0.append": with(func(n *Node, _ context.Context, _ hello, r g0Append) (any, error) { return n.g0.handleAppend(r), nil }),
	"join.response": with(func(n *Node, ctx context.Context, _ hello, r joinResponse) (any, error) {
		return none{}, n.handleJoinResponse(ctx, r)
	}),
	"barrier": with(func(n *Node, ctx context.Context, _ hello, r barrierRequest) (any, error) {
		return none{}, n.handleBarrier(ctx, r)
	}),
	"stream.ranges": with(func(n *Node, ctx context.Context, _ hello, _ none) (any, error) { return none{}, n.handleStream(ctx) }),
	"topo.left": with(func(n *Node, _ context.Context, _ hello, _ none) (any, error) {
		n.handleLeft()
		return none{}, nil
	}),
}

func mergeStates(n *Node, _ context.Context, _ hello, states []*endpointState) (any, error) {
	n.gossip.merge(states)
	return none{}, nil
}

// handle serves a call of another node.
func (n *Node) handle(ctx context.Context, from hello, method string, body json.RawMessage) (any, error) {
	if strings.HasPrefix(method, "topo.") && rpcHandlers[method] == nil {
		return n.handleTopo(ctx, method, body)
	}
	serve := rpcHandlers[method]
	if serve == nil {
		return nil, fmt.Errorf("unknown method %s", method)
	}
	return serve(n, ctx, from, body)
}
