// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

func (n *Node) apiLeader(c apiCall) (any, error) {
	if !n.v.raftTopology() {
		return nil, &apiError{404, "Not found"}
	}
	if id := c.FormValue("group_id"); id != "" && !strings.EqualFold(id, n.groupID()) {
		return nil, &startupError{fmt.Sprintf("service::raft_group_not_found (Raft group %s not found)", id)}
	}
	if id := n.g0.leaderID(); id != "" {
		return id, nil
	}
	return uuid.Nil.String(), nil
}

func (n *Node) apiReadBarrier(c apiCall) (any, error) {
	if !n.v.readBarrierAPI() {
		return nil, &apiError{404, "Not found"}
	}
	timeout := 60 * time.Second
	if s := c.FormValue("timeout"); s != "" {
		sec, err := strconv.ParseInt(s, 10, 64)
		if err != nil || sec <= 0 {
			return nil, badParam("Timeout must be a positive number.")
		}
		timeout = time.Duration(sec) * time.Second
	}
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout(timeout))
	defer cancel()
	for {
		// A leader that has committed in its term has a majority; a follower asks it.
		if n.g0.leadership() != nil {
			return void{}, nil
		}
		if id := n.g0.leaderID(); id != "" && n.sendTo(ctx, id, "barrier", barrierRequest{Know: n.hostID}, nil) == nil {
			return void{}, nil
		}
		select {
		case <-ctx.Done():
			return nil, &startupError{"seastar::timed_out_error (timedout)"}
		case <-n.clock.After(200 * time.Millisecond):
		}
	}
}

func (n *Node) apiSchema(apiCall) (any, error) {
	if s := n.g0.state(); s != nil {
		return s.Schema, nil
	}
	return emptySchema, nil
}

func (n *Node) apiRemoveNode(c apiCall) (any, error) {
	id, err := c.required("host_id")
	if err != nil {
		return nil, err
	}
	if _, err := uuid.Parse(id); err != nil {
		return nil, badParam("Cannot parse host ID %s", id)
	}
	return void{}, n.removeNode(n.ctx, id, splitList(c.FormValue("ignore_nodes")))
}

func (n *Node) apiExcludeNode(c apiCall) (any, error) {
	if !n.v.excludeNode() {
		return nil, &apiError{404, "Not found"}
	}
	hosts, err := c.required("hosts")
	if err != nil {
		return nil, err
	}
	err = n.ask(n.ctx, "topo.request", topologyRequest{Kind: "exclude", HostIDs: splitList(hosts)}, nil)
	var re *remoteError
	if err != nil && (errors.As(err, &re) || n.g0.leadership() != nil) {
		return nil, badParam("%v", err)
	}
	return void{}, err
}

func (n *Node) apiKeyspaceFlush(c apiCall) (any, error) {
	if err := n.knownKeyspace(c.param); err != nil {
		return nil, err
	}
	if c.param == "system" {
		return void{}, n.flushSystem(splitList(c.FormValue("cf"))...)
	}
	return void{}, nil
}
