// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

func (n *Node) apiLeader(c apiCall) (any, error) {
	if !n.v.RaftTopology() {
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
	if !n.v.ExcludeNode() {
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
