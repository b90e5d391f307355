// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"github.com/google/uuid"
)

func (n *Node) apiLeader(apiCall) (any, error) {
	if !n.v.RaftTopology() {
		return nil, &apiError{404, "Not found"}
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

func (n *Node) apiKeyspaceFlush(c apiCall) (any, error) {
	if err := n.knownKeyspace(c.param); err != nil {
		return nil, err
	}
	if c.param == "system" {
		return void{}, n.flushSystem(splitList(c.FormValue("cf"))...)
	}
	return void{}, nil
}
