// SPDX-License-Identifier: Apache-2.0

package scyllasim

import "github.com/google/uuid"

type apiRoute struct {
	stage int32
	serve func(n *Node, c apiCall) (any, error)
}

// apiRoutes are the paths by method; {} stands for the last segment.
var apiRoutes = map[string]apiRoute{
	"GET /system/uptime_ms":                  {1, func(n *Node, _ apiCall) (any, error) { return n.uptime().Milliseconds(), nil }},
	"GET /v2/config/{}":                      {1, (*Node).apiConfig},
	"GET /task_manager/list_module_tasks/{}": {1, (*Node).apiModuleTasks},
	"GET /task_manager/task_status/{}":       {1, (*Node).apiTaskStatus},
	"POST /task_manager/abort_task/{}":       {1, (*Node).apiAbortTask},

	"GET /storage_service/hostid/local":  {2, (*Node).apiLocalHostID},
	"GET /storage_service/host_id":       {2, (*Node).apiHostIDs},
	"GET /storage_service/tokens":        {2, (*Node).apiAllTokens},
	"GET /storage_service/tokens/{}":     {2, (*Node).apiTokens},
	"GET /storage_service/nodes/joining": {2, (*Node).apiJoining},
	"GET /storage_service/nodes/leaving": {2, (*Node).apiLeaving},
	"GET /gossiper/endpoint/live":        {2, func(n *Node, _ apiCall) (any, error) { return n.endpoints(true) }},
	"GET /gossiper/endpoint/down":        {2, func(n *Node, _ apiCall) (any, error) { return n.endpoints(false) }},
	"GET /failure_detector/endpoints":    {2, (*Node).apiFDEndpoints},

	"GET /raft/leader_host": {3, (*Node).apiLeader},

	"GET /storage_service/operation_mode":         {4, func(n *Node, _ apiCall) (any, error) { return n.Mode(), nil }},
	"GET /storage_service/scylla_release_version": {4, func(n *Node, _ apiCall) (any, error) { return n.v.Release(), nil }},
	"GET /storage_service/release_version":        {4, func(*Node, apiCall) (any, error) { return cassandraVersion, nil }},
	"GET /storage_service/schema_version":         {4, (*Node).apiSchema},
	"GET /storage_proxy/schema_versions":          {4, (*Node).apiSchemas},
	"GET /storage_service/load":                   {4, func(n *Node, _ apiCall) (any, error) { return n.load(), nil }},
	"GET /storage_service/generation_number":      {4, func(n *Node, _ apiCall) (any, error) { return n.gossip.generationOf(n.hostID), nil }},
	"GET /storage_service/keyspaces":              {4, (*Node).apiKeyspaces},
	"GET /storage_service/describe_ring/{}":       {4, (*Node).apiDescribeRing},
	"GET /column_family":                          {4, (*Node).apiTables},
	"GET /storage_service/raft_topology/upgrade":  {4, (*Node).apiUpgradeState},
	"POST /storage_service/raft_topology/upgrade": {4, (*Node).apiUpgradeStart},
	"POST /storage_service/decommission":          {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.decommission(n.ctx) }},
	"POST /storage_service/remove_node":           {4, (*Node).apiRemoveNode},
	"POST /storage_service/drain":                 {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.drainNode() }},
	"POST /storage_service/keyspace_flush/{}":     {4, (*Node).apiKeyspaceFlush},

	"GET /storage_service/native_transport": {6, func(n *Node, _ apiCall) (any, error) { return n.cqlOn.Load(), nil }},
	"POST /storage_service/native_transport": {6, func(n *Node, _ apiCall) (any, error) {
		if !n.cqlOn.Load() {
			n.startCQL()
		}
		return void{}, nil
	}},
	"DELETE /storage_service/native_transport": {6, func(n *Node, _ apiCall) (any, error) { n.stopCQL(); return void{}, nil }},
}

func (n *Node) apiConfig(c apiCall) (any, error) {
	if v, ok := n.authConfig(c.param); ok {
		return v, nil
	}
	switch c.param {
	case "failure_detector_timeout_in_ms":
		return n.o.FailureDetectorTimeout.Milliseconds(), nil
	case "replace_node_first_boot":
		if n.v.ReplaceByHostID() {
			return n.o.ReplaceNodeFirstBoot, nil
		}
	case "enable_repair_based_node_ops":
		return true, nil
	case "allowed_repair_based_node_ops":
		return "replace,removenode,rebuild,bootstrap,decommission", nil
	case "maintenance_mode":
		return false, nil
	case "rpc_address":
		return n.o.RPCAddress, nil
	case "native_transport_port":
		return n.o.CQLPort, nil
	}
	return nil, &apiError{404, "Not found"}
}

func (n *Node) endpoints(live bool) (any, error) {
	ips := []string{}
	for _, e := range n.gossip.view() {
		if e.Alive == live {
			if !live && e.HostID == n.hostID {
				continue // a node never is unreachable to itself
			}
			ips = addUnique(ips, e.IP)
		}
	}
	return ips, nil
}

func (n *Node) apiFDEndpoints(apiCall) (any, error) {
	out := streamed{}
	for _, e := range n.gossip.view() {
		apps := []any{}
		for _, k := range sortedKeys(e.App) {
			apps = append(apps, obj{{"application_state", k}, {"value", e.App[k].Value}, {"version", e.App[k].Version}})
		}
		out = append(out, obj{
			{"application_state", apps}, {"addrs", e.IP}, {"generation", e.Gen}, {"is_alive", e.Alive},
			{"update_time", e.Updated.UnixMilli()}, {"version", e.Ver},
		})
	}
	return out, nil
}

func (n *Node) apiSchemas(apiCall) (any, error) {
	byVersion := map[string][]string{}
	for _, e := range n.gossip.view() {
		if !e.Alive {
			continue
		}
		v := e.App[appSchema].Value
		if v == "" {
			v = "UNREACHABLE"
		}
		byVersion[v] = append(byVersion[v], e.IP)
	}
	out := []keyValue{}
	for _, k := range sortedKeys(byVersion) {
		out = append(out, keyValue{k, byVersion[k]})
	}
	return out, nil
}

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
