// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

type apiRoute struct {
	stage int32
	serve func(n *Node, c apiCall) (any, error)
}

// apiRoutes are the paths by method; {} stands for the last segment.
var apiRoutes = map[string]apiRoute{
	"GET /system/uptime_ms":                  {1, func(n *Node, _ apiCall) (any, error) { return time.Since(n.started).Milliseconds(), nil }},
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
	"GET /gossiper/endpoint/live":        {2, func(n *Node, _ apiCall) (any, error) { return n.endpoints(true), nil }},
	"GET /gossiper/endpoint/down":        {2, func(n *Node, _ apiCall) (any, error) { return n.endpoints(false), nil }},
	"GET /failure_detector/endpoints":    {2, (*Node).apiFDEndpoints},

	"GET /raft/leader_host": {3, (*Node).apiLeader},

	"GET /storage_service/operation_mode":         {4, func(n *Node, _ apiCall) (any, error) { return n.Mode(), nil }},
	"GET /storage_service/scylla_release_version": {4, func(n *Node, _ apiCall) (any, error) { return n.v.Release(), nil }},
	"GET /storage_service/release_version":        {4, func(*Node, apiCall) (any, error) { return cassandraVersion, nil }},
	"GET /storage_service/schema_version":         {4, (*Node).apiSchema},
	"GET /storage_proxy/schema_versions":          {4, (*Node).apiSchemas},
	"GET /storage_service/load":                   {4, func(n *Node, _ apiCall) (any, error) { return 640 << 10, nil }},
	"GET /storage_service/generation_number":      {4, func(n *Node, _ apiCall) (any, error) { return n.gossip.state(n.hostID).Gen, nil }},
	"GET /storage_service/keyspaces":              {4, (*Node).apiKeyspaces},
	"GET /storage_service/describe_ring/{}":       {4, (*Node).apiDescribeRing},
	"GET /column_family":                          {4, (*Node).apiTables},
	"GET /storage_service/raft_topology/upgrade":  {4, (*Node).apiUpgradeState},
	"POST /storage_service/raft_topology/upgrade": {4, (*Node).apiUpgradeStart},
	"POST /storage_service/decommission":          {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.decommission(n.ctx) }},
	"POST /storage_service/remove_node":           {4, (*Node).apiRemoveNode},
	"POST /storage_service/drain":                 {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.drainNode() }},
	"POST /storage_service/keyspace_flush/{}":     {4, (*Node).apiKeyspaceFlush},

	"GET /storage_service/native_transport":    {6, func(n *Node, _ apiCall) (any, error) { return n.cqlOn.Load(), nil }},
	"POST /storage_service/native_transport":   {6, func(n *Node, _ apiCall) (any, error) { n.startCQL(); return void{}, nil }},
	"DELETE /storage_service/native_transport": {6, func(n *Node, _ apiCall) (any, error) { n.stopCQL(); return void{}, nil }},
}

// apiConfig has the options that clients read. The salted password is a value that nobody may request.
func (n *Node) apiConfig(c apiCall) (any, error) {
	const class = "org.apache.cassandra.auth."
	known := map[string]any{
		"authenticator":       class + cmp.Or(strings.TrimPrefix(n.o.Authenticator, class), "AllowAllAuthenticator"),
		"auth_superuser_name": "", "maintenance_socket": cmp.Or(n.o.MaintenanceSocket, "ignore"), "workdir,W": n.o.Dir,
		"native_transport_port": 9042, "native_transport_port_ssl": 9142, "rpc_address": n.o.RPCAddress,
		"client_encryption_options":      map[string]string{"enabled": strconv.FormatBool(n.o.CQLTLS)},
		"failure_detector_timeout_in_ms": rules.FailureDetectorTimeout.Milliseconds(), "maintenance_mode": false,
		"enable_repair_based_node_ops": true, "allowed_repair_based_node_ops": "replace,removenode,rebuild,bootstrap,decommission",
	}
	if n.v.ReplaceByHostID() {
		known["replace_node_first_boot"] = n.o.ReplaceNodeFirstBoot
	}
	if v, is := known[c.param]; is {
		return v, nil
	}
	return nil, errNotFound
}

func (n *Node) endpoints(live bool) []string {
	ips := []string{}
	for _, e := range n.gossip.view() {
		if e.Alive == live {
			if !live && e.HostID == n.hostID {
				continue // a node never is unreachable to itself
			}
			ips = addUnique(ips, e.IP)
		}
	}
	return ips
}

func (n *Node) apiFDEndpoints(apiCall) (any, error) {
	out := []any{}
	for _, e := range n.gossip.view() {
		apps := []any{}
		for _, k := range sortedKeys(e.App) {
			apps = append(apps, map[string]any{"application_state": k, "value": e.App[k], "version": e.Ver})
		}
		out = append(out, map[string]any{
			"application_state": apps, "addrs": e.IP, "generation": e.Gen, "is_alive": e.Alive, "version": e.Ver,
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
		v := cmp.Or(e.App[appSchema], "UNREACHABLE")
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
		return nil, errNotFound
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
	id := c.FormValue("host_id")
	if _, err := uuid.Parse(id); err != nil {
		return nil, badParam("Cannot parse host ID %s", id)
	}
	return void{}, n.removeNode(n.ctx, id, splitList(c.FormValue("ignore_nodes")))
}

func (n *Node) apiKeyspaceFlush(c apiCall) (any, error) {
	if _, err := n.keyspace(c.param); err != nil {
		return nil, err
	}
	if c.param == "system" {
		return void{}, n.flushSystem(splitList(c.FormValue("cf"))...)
	}
	return void{}, nil
}

func (n *Node) apiLocalHostID(apiCall) (any, error) {
	if id := n.HostID(); id != "" {
		return id, nil
	}
	if n.v.ZeroLocalHostID() {
		return uuid.Nil.String(), nil
	}
	return nil, &apiError{404, "local host ID is not yet set"}
}

func (n *Node) gossipRequired() error {
	if n.v.GossiperNotReady() && !n.gossip.isEnabled() {
		return runtimeErrorf("The gossiper is not ready yet")
	}
	return nil
}

func (n *Node) mustAddress(id string) (string, error) {
	if ip, ok := n.addressOf(id); ok {
		return ip, nil
	}
	return "", runtimeErrorf("No ip address for %s when one is expected", id)
}

func (n *Node) apiHostIDs(apiCall) (any, error) {
	if err := n.gossipRequired(); err != nil {
		return nil, err
	}
	form := n.v.HostIDForm()
	out := []keyValue{}
	if index := n.indexed(); index != nil {
		for _, ip := range sortedKeys(index) {
			out = append(out, keyValue{ip, index[ip]})
		}
		return out, nil
	}
	for _, t := range n.g0.state().sorted() {
		show := t.visible()
		if form == rules.HostIDNormalOnly {
			show = t.State == rules.Normal || t.State == rules.Decommissioning || t.State == rules.Removing
		}
		if !show {
			continue
		}
		ip, err := n.mustAddress(t.HostID)
		if err != nil {
			return nil, err
		}
		if form != rules.HostIDList {
			// A map: the host ID that comes later takes the address over.
			if i := slices.IndexFunc(out, func(kv keyValue) bool { return kv.Key == ip }); i >= 0 {
				out[i].Value = t.HostID
				continue
			}
		}
		out = append(out, keyValue{ip, t.HostID})
	}
	return out, nil
}

func (n *Node) apiAllTokens(apiCall) (any, error) {
	out := []string{}
	for _, t := range n.g0.state().ring() {
		out = append(out, itoa(t.token))
	}
	return out, nil
}

// memberAt returns the host ID whose tokens the API answers for an address: by its index in 6.2, else that of gossip's live node, else that
// of the node that started last; "" when there is none.
func (n *Node) memberAt(ip string) string {
	index := n.indexed()
	for known, id := range index {
		if compareIP(known, ip) == 0 {
			return id
		}
	}
	var best endpointView
	for _, e := range n.gossip.view() {
		if index == nil && compareIP(e.IP, ip) == 0 && (best.HostID == "" || e.Alive && !best.Alive || e.Alive == best.Alive && e.Gen > best.Gen) {
			best = e
		}
	}
	return best.HostID
}

func (n *Node) apiTokens(c apiCall) (any, error) {
	if _, err := netip.ParseAddr(c.param); err != nil {
		return nil, runtimeErrorf("%s: Not found", c.param)
	}
	out := []string{}
	if t := n.g0.state().node(n.memberAt(c.param)); t != nil && t.owner() {
		for _, tok := range t.Tokens {
			out = append(out, itoa(tok))
		}
	}
	return out, nil
}

func (n *Node) addressesIn(want func(t *topoNode) bool) (any, error) {
	ips := []string{}
	for _, t := range n.g0.state().sorted() {
		if want(t) {
			ip, err := n.mustAddress(t.HostID)
			if err != nil {
				return nil, err
			}
			ips = append(ips, ip)
		}
	}
	slices.SortFunc(ips, compareIP)
	return ips, nil
}

func (n *Node) apiJoining(apiCall) (any, error) {
	return n.addressesIn(func(t *topoNode) bool { return t.State == rules.Bootstrapping && len(t.Tokens) > 0 })
}

func (n *Node) apiLeaving(apiCall) (any, error) {
	// A node that is being replaced is not leaving.
	return n.addressesIn(func(t *topoNode) bool { return t.State == rules.Decommissioning || t.State == rules.Removing })
}
