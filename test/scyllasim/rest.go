// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// cassandraVersion is the compatibility number that /storage_service/release_version answers for ever.
const cassandraVersion = "3.0.8"

// emptySchema is the schema version of a node that has no schema yet.
const emptySchema = "59adb24e-f3cd-3e02-97f0-5b395827453f"

// apiError is an error with its HTTP status; every other error is a C++ exception and becomes a 500.
type apiError struct {
	code int
	msg  string
}

func (e *apiError) Error() string { return e.msg }

func badParam(format string, args ...any) error { return &apiError{400, fmt.Sprintf(format, args...)} }

type apiCall struct {
	*http.Request
	param string // what {x} stood for
}

// required returns a parameter that must be there.
func (c apiCall) required(name string) (string, error) {
	if v := c.FormValue(name); v != "" {
		return v, nil
	}
	return "", badParam("Missing mandatory parameter '%s'", name)
}

type apiRoute struct {
	stage int32
	serve func(n *Node, c apiCall) (any, error)
}

// void is the answer of a call that returns nothing: 200 and no body.
type void struct{}

// raw is JSON that is already printed.
type raw string

// pairs prints as a list of {"key": ..., "value": ...}.
type keyValue struct {
	key   string
	value any
}

// obj keeps the order of its fields.
type obj []keyValue

// streamed is a list that the server prints item by item, with a space after the comma.
type streamed []any

func appendJSON(b []byte, v any) []byte {
	switch x := v.(type) {
	case raw:
		return append(b, x...)
	case obj:
		b = append(b, '{')
		for i, f := range x {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendJSON(b, f.key)
			b = append(b, ": "...)
			b = appendJSON(b, f.value)
		}
		return append(b, '}')
	case streamed:
		return appendList(b, x, ", ")
	case []any:
		return appendList(b, x, ",")
	case []string:
		l := make([]any, len(x))
		for i, s := range x {
			l[i] = s
		}
		return appendList(b, l, ",")
	case []keyValue:
		l := make([]any, len(x))
		for i, kv := range x {
			l[i] = obj{{"key", kv.key}, {"value", kv.value}}
		}
		return appendList(b, l, ",")
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return append(b, "null"...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

func appendList(b []byte, l []any, sep string) []byte {
	b = append(b, '[')
	for i, v := range l {
		if i > 0 {
			b = append(b, sep...)
		}
		b = appendJSON(b, v)
	}
	return append(b, ']')
}

func (n *Node) startAPI() error {
	l, err := (&net.ListenConfig{}).Listen(n.ctx, "tcp", net.JoinHostPort(n.o.APIAddress, strconv.Itoa(n.o.APIPort)))
	if err != nil {
		return err
	}
	// The API is local to its node: a cut between nodes does not reach it.
	n.apiLn = newHeldListener(n.ctx, l, &n.gate, func(string) <-chan struct{} { return nil })
	n.apiSrv = &http.Server{Handler: http.HandlerFunc(n.serveAPI), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: time.Minute}
	n.apiWG.Go(func() { _ = n.apiSrv.Serve(n.apiLn) })
	n.log.info("init", "Scylla API server listening on %s ...", l.Addr())
	return nil
}

func (n *Node) serveAPI(w http.ResponseWriter, r *http.Request) {
	if n.gate.wait(n.ctx) != nil {
		dropConnection(w)
		return
	}
	out, err := n.route(r)
	if n.gate.wait(n.ctx) != nil {
		dropConnection(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Server", "Seastar httpd")
	if err != nil {
		var ae *apiError
		if !errors.As(err, &ae) {
			ae = &apiError{500, err.Error()}
		}
		w.WriteHeader(ae.code)
		_, _ = w.Write(appendJSON(nil, obj{{"message", ae.msg}, {"code", ae.code}}))
		return
	}
	if _, ok := out.(void); ok {
		return
	}
	_, _ = w.Write(appendJSON(nil, out))
}

// dropConnection ends a connection without an answer: the process behind it is gone.
func dropConnection(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

func (n *Node) route(r *http.Request) (any, error) {
	path := r.URL.Path
	if len(path) > 1 {
		path = strings.TrimRight(path, "/")
	}
	notFound := &apiError{404, "Not found"}
	rt, param := apiRoutes[r.Method+" "+path], ""
	if rt.serve == nil {
		i := strings.LastIndex(path, "/")
		if i < 0 {
			return nil, notFound
		}
		rt, param = apiRoutes[r.Method+" "+path[:i]+"/{}"], path[i+1:]
	}
	if rt.serve == nil {
		return nil, notFound
	}
	stage := rt.stage
	if n.v.gossipRoutesAfterSS() && stage == 2 && (strings.HasPrefix(path, "/gossiper") || strings.HasPrefix(path, "/snitch/")) {
		stage = 4
	}
	if n.stage.Load() < stage {
		return nil, notFound
	}
	return rt.serve(n, apiCall{r, param})
}

// apiRoutes are the paths by method; {} stands for the last segment.
var apiRoutes = map[string]apiRoute{
	"GET /system/uptime_ms":                         {1, func(n *Node, _ apiCall) (any, error) { return n.uptime().Milliseconds(), nil }},
	"GET /system/highest_supported_sstable_version": {1, func(*Node, apiCall) (any, error) { return "me", nil }},
	"GET /snitch/name":                              {1, func(n *Node, _ apiCall) (any, error) { return "org.apache.cassandra.locator." + n.o.Snitch, nil }},
	"GET /v2/config/{}":                             {1, (*Node).apiConfig},
	"GET /v2":                                       {1, func(*Node, apiCall) (any, error) { return raw(`{"swagger": "2.0"}`), nil }},
	"GET /task_manager/list_modules":                {1, (*Node).apiModules},
	"GET /task_manager/list_module_tasks/{}":        {1, (*Node).apiModuleTasks},
	"GET /task_manager/task_status/{}":              {1, (*Node).apiTaskStatus},
	"GET /task_manager/wait_task/{}":                {1, (*Node).apiWaitTask},
	"POST /task_manager/abort_task/{}":              {1, (*Node).apiAbortTask},
	"GET /task_manager/user_ttl":                    {1, func(*Node, apiCall) (any, error) { return 3600, nil }},
	"GET /task_manager/ttl":                         {1, func(*Node, apiCall) (any, error) { return 0, nil }},

	"GET /storage_service/hostid/local":         {2, (*Node).apiLocalHostID},
	"GET /storage_service/host_id":              {2, (*Node).apiHostIDs},
	"GET /storage_service/tokens":               {2, (*Node).apiAllTokens},
	"GET /storage_service/tokens/{}":            {2, (*Node).apiTokens},
	"GET /storage_service/tokens_endpoint":      {2, (*Node).apiTokensEndpoint},
	"GET /storage_service/nodes/joining":        {2, (*Node).apiJoining},
	"GET /storage_service/nodes/leaving":        {2, (*Node).apiLeaving},
	"GET /storage_service/nodes/moving":         {2, func(*Node, apiCall) (any, error) { return []string{}, nil }},
	"GET /storage_service/nodes/excluded":       {2, (*Node).apiExcluded},
	"GET /snitch/datacenter":                    {2, func(n *Node, c apiCall) (any, error) { return n.location(c, true) }},
	"GET /snitch/rack":                          {2, func(n *Node, c apiCall) (any, error) { return n.location(c, false) }},
	"GET /gossiper/endpoint/live":               {2, func(n *Node, _ apiCall) (any, error) { return n.endpoints(true) }},
	"GET /gossiper/endpoint/down":               {2, func(n *Node, _ apiCall) (any, error) { return n.endpoints(false) }},
	"GET /gossiper/downtime/{}":                 {2, (*Node).apiDowntime},
	"GET /gossiper/generation_number/{}":        {2, (*Node).apiGeneration},
	"GET /gossiper/heart_beat_version/{}":       {2, (*Node).apiHeartBeat},
	"POST /gossiper/assassinate/{}":             {2, (*Node).apiAssassinate},
	"GET /failure_detector/endpoints":           {2, (*Node).apiFDEndpoints},
	"GET /failure_detector/simple_states":       {2, (*Node).apiFDStates},
	"GET /failure_detector/count/endpoint/up":   {2, func(n *Node, _ apiCall) (any, error) { return n.count(true), nil }},
	"GET /failure_detector/count/endpoint/down": {2, func(n *Node, _ apiCall) (any, error) { return n.count(false), nil }},

	"GET /raft/leader_host":       {3, (*Node).apiLeader},
	"POST /raft/read_barrier":     {3, (*Node).apiReadBarrier},
	"POST /raft/trigger_stepdown": {3, (*Node).apiStepdown},

	"GET /storage_service/operation_mode":         {4, func(n *Node, _ apiCall) (any, error) { return n.Mode(), nil }},
	"GET /storage_service/scylla_release_version": {4, func(n *Node, _ apiCall) (any, error) { return n.v.Release(), nil }},
	"GET /storage_service/release_version":        {4, func(*Node, apiCall) (any, error) { return cassandraVersion, nil }},
	"GET /storage_service/schema_version":         {4, (*Node).apiSchema},
	"GET /storage_proxy/schema_versions":          {4, (*Node).apiSchemas},
	"GET /storage_service/cluster_name":           {4, func(n *Node, _ apiCall) (any, error) { return n.o.ClusterName, nil }},
	"GET /storage_service/load":                   {4, func(n *Node, _ apiCall) (any, error) { return n.load(), nil }},
	"GET /storage_service/gossiping":              {4, func(n *Node, _ apiCall) (any, error) { return n.gossip.isEnabled(), nil }},
	"GET /storage_service/is_initialized":         {4, (*Node).apiInitialized},
	"GET /storage_service/is_starting":            {4, func(n *Node, _ apiCall) (any, error) { return n.Mode() == modeStarting, nil }},
	"GET /storage_service/join_ring":              {4, func(n *Node, _ apiCall) (any, error) { return n.Mode() != modeStarting, nil }},
	"GET /storage_service/generation_number":      {4, func(n *Node, _ apiCall) (any, error) { return n.gossip.generation(), nil }},
	"GET /storage_service/removal_status":         {4, func(*Node, apiCall) (any, error) { return "No token removals in process.", nil }},
	"GET /storage_service/ownership": {4, func(*Node, apiCall) (any, error) {
		return nil, badParam("storage_service/ownership cannot be used when a keyspace uses tablets")
	}},
	"GET /storage_service/keyspaces":                    {4, func(*Node, apiCall) (any, error) { return []string{"system", "system_schema"}, nil }},
	"GET /storage_service/raft_topology/upgrade":        {4, (*Node).apiUpgradeState},
	"POST /storage_service/raft_topology/upgrade":       {4, (*Node).apiUpgradeStart},
	"GET /storage_service/raft_topology/cmd_rpc_status": {4, (*Node).apiCommandStatus},
	"POST /storage_service/raft_topology/reload":        {4, func(*Node, apiCall) (any, error) { return void{}, nil }},
	"POST /storage_service/decommission":                {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.decommission(n.ctx) }},
	"POST /storage_service/remove_node":                 {4, (*Node).apiRemoveNode},
	"POST /storage_service/exclude_node":                {4, (*Node).apiExcludeNode},
	"POST /storage_service/force_remove_completion": {4, func(*Node, apiCall) (any, error) {
		return nil, runtimeErrorf("The unsafe nodetool removenode force is not supported anymore")
	}},
	"POST /storage_service/drain":               {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.drainNode() }},
	"POST /storage_service/rebuild":             {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.rebuild(n.ctx) }},
	"POST /storage_service/quiesce_topology":    {4, func(n *Node, c apiCall) (any, error) { return void{}, n.quiesce(n.ctx) }},
	"POST /storage_service/flush":               {4, func(n *Node, _ apiCall) (any, error) { return void{}, n.local.flush() }},
	"POST /storage_service/keyspace_flush/{}":   {4, (*Node).apiKeyspaceFlush},
	"POST /storage_service/keyspace_cleanup/{}": {4, (*Node).apiKeyspaceCleanup},
	"POST /storage_service/cleanup_all":         {4, func(n *Node, _ apiCall) (any, error) { return 0, n.cleanupData() }},
	"POST /storage_service/mark_node_as_clean":  {4, func(*Node, apiCall) (any, error) { return void{}, nil }},

	"GET /storage_service/load_map":         {6, (*Node).apiLoadMap},
	"GET /storage_service/native_transport": {6, func(n *Node, _ apiCall) (any, error) { return n.cqlOn.Load(), nil }},
	"GET /storage_service/rpc_server":       {6, func(*Node, apiCall) (any, error) { return false, nil }},
}

func (n *Node) apiConfig(c apiCall) (any, error) {
	switch c.param {
	case "failure_detector_timeout_in_ms":
		return n.o.FailureDetectorTimeout.Milliseconds(), nil
	case "shadow_round_ms":
		return n.o.ShadowRound.Milliseconds(), nil
	case "replace_node_first_boot":
		if n.v.replaceByHostID() {
			return n.o.ReplaceNodeFirstBoot, nil
		}
	case "replace_address_first_boot":
		return n.o.ReplaceAddressFirstBoot, nil
	case "replace_address":
		return n.o.ReplaceAddress, nil
	case "ignore_dead_nodes_for_replace":
		return strings.Join(n.o.IgnoreDeadNodes, ","), nil
	case "broadcast_address":
		return n.o.BroadcastAddress, nil
	case "listen_address":
		return n.o.ListenAddress, nil
	case "rpc_address":
		return n.o.RPCAddress, nil
	case "cluster_name":
		return n.o.ClusterName, nil
	case "endpoint_snitch":
		return n.o.Snitch, nil
	case "num_tokens":
		return tokensPerNode, nil
	case "api_port":
		return n.o.APIPort, nil
	case "native_transport_port":
		return n.o.CQLPort, nil
	case "storage_port":
		return n.o.StoragePort, nil
	case "data_file_directories":
		return []string{n.o.Dir + "/data"}, nil
	case "commitlog_directory":
		return n.o.Dir + "/commitlog", nil
	case "sstable_format":
		return "me", nil
	}
	return nil, &apiError{404, "Not found"}
}

func (n *Node) apiLocalHostID(apiCall) (any, error) {
	if id := n.HostID(); id != "" {
		return id, nil
	}
	if n.v.zeroLocalHostID() {
		return uuid.Nil.String(), nil
	}
	return nil, &apiError{404, "local host ID is not yet set"}
}

func (n *Node) gossipRequired() error {
	if n.v.gossiperNotReady500() && !n.gossip.isEnabled() {
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
	form := n.v.hostIDForm()
	out := []keyValue{}
	for _, t := range n.g0.state().sorted() {
		show := t.visible()
		if form == hostIDNormalOnly {
			show = t.State == stateNormal || t.State == stateDecommissioning || t.State == stateRemoving || t.State == stateRebuilding
		}
		if !show {
			continue
		}
		ip, err := n.mustAddress(t.HostID)
		if err != nil {
			return nil, err
		}
		if form != hostIDList {
			// A map: the host ID that comes later takes the address over.
			if i := slices.IndexFunc(out, func(kv keyValue) bool { return kv.key == ip }); i >= 0 {
				out[i].value = t.HostID
				continue
			}
		}
		out = append(out, keyValue{ip, t.HostID})
	}
	return out, nil
}

func (n *Node) ringTokens() []keyValue {
	type owned struct {
		tok int64
		id  string
	}
	var all []owned
	for _, t := range n.g0.state().sorted() {
		if t.owner() {
			for _, tok := range t.Tokens {
				all = append(all, owned{tok, t.HostID})
			}
		}
	}
	slices.SortFunc(all, func(a, b owned) int {
		if a.tok < b.tok {
			return -1
		}
		return 1
	})
	out := []keyValue{}
	for _, o := range all {
		out = append(out, keyValue{itoa(o.tok), o.id})
	}
	return out
}

func (n *Node) apiAllTokens(apiCall) (any, error) {
	out := streamed{}
	for _, t := range n.ringTokens() {
		out = append(out, t.key)
	}
	return out, nil
}

// hostAt resolves an address the way gossip does: a node that lives there, else the newest that did.
func (n *Node) hostAt(ip string) string {
	best := ""
	var gen int64 = -1
	for _, e := range n.gossip.view() {
		if compareIP(e.IP, ip) != 0 {
			continue
		}
		g := e.Gen
		if e.Alive {
			g += 1 << 50
		}
		if g > gen {
			best, gen = e.HostID, g
		}
	}
	if best == "" {
		for _, t := range n.g0.state().sorted() {
			if t.State != stateLeft && t.State != stateNone && compareIP(t.IP, ip) == 0 {
				best = t.HostID
			}
		}
	}
	return best
}

func (n *Node) apiTokens(c apiCall) (any, error) {
	if _, err := netip.ParseAddr(c.param); err != nil {
		return nil, runtimeErrorf("%s: Not found", c.param)
	}
	out := streamed{}
	if t := n.g0.state().node(n.hostAt(c.param)); t != nil && t.owner() {
		for _, tok := range t.Tokens {
			out = append(out, itoa(tok))
		}
	}
	return out, nil
}

func (n *Node) apiTokensEndpoint(apiCall) (any, error) {
	out := streamed{}
	for _, t := range n.ringTokens() {
		ip, err := n.mustAddress(t.value.(string))
		if err != nil {
			return nil, err
		}
		out = append(out, obj{{"key", t.key}, {"value", ip}})
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
	return n.addressesIn(func(t *topoNode) bool { return t.State == stateBootstrapping && len(t.Tokens) > 0 })
}

func (n *Node) apiLeaving(apiCall) (any, error) {
	// A node that is being replaced is not leaving.
	return n.addressesIn(func(t *topoNode) bool { return t.State == stateDecommissioning || t.State == stateRemoving })
}

func (n *Node) apiExcluded(apiCall) (any, error) {
	if !n.v.excludeNode() {
		return nil, &apiError{404, "Not found"}
	}
	out := []string{}
	s := n.g0.state()
	for _, t := range s.sorted() {
		if t.State != stateLeft && (slices.Contains(s.Excluded, t.HostID) || slices.Contains(s.Ignored, t.HostID)) {
			out = append(out, t.HostID)
		}
	}
	return out, nil
}

func (n *Node) location(c apiCall, dc bool) (any, error) {
	pick := func(d, r string) string {
		if dc {
			return d
		}
		return r
	}
	host := c.FormValue("host")
	if host == "" || n.isMe(host) {
		return pick(n.o.DC, n.o.Rack), nil
	}
	if id := n.hostAt(host); id != "" {
		if t := n.g0.state().node(id); t != nil && t.DC != "" {
			return pick(t.DC, t.Rack), nil
		}
		for _, e := range n.gossip.view() {
			if e.HostID == id && e.App[appDC].Value != "" {
				return pick(e.App[appDC].Value, e.App[appRack].Value), nil
			}
		}
	}
	return pick("UNKNOWN_DC", "UNKNOWN_RACK"), nil
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

func (n *Node) endpointAt(ip string) (endpointView, error) {
	id := n.hostAt(ip)
	for _, e := range n.gossip.view() {
		if e.HostID == id {
			return e, nil
		}
	}
	return endpointView{}, runtimeErrorf("Could not get endpoint state for endpoint %s", ip)
}

func (n *Node) apiDowntime(c apiCall) (any, error) {
	// An endpoint that nobody knows was never marked DOWN.
	if e, err := n.endpointAt(c.param); err == nil && !e.Alive && !e.DownSince.IsZero() {
		return n.clock.Now().Sub(e.DownSince).Microseconds(), nil
	}
	return 0, nil
}

func (n *Node) apiGeneration(c apiCall) (any, error) {
	e, err := n.endpointAt(c.param)
	return e.Gen, err
}

func (n *Node) apiHeartBeat(c apiCall) (any, error) {
	e, err := n.endpointAt(c.param)
	return e.Ver, err
}

func (n *Node) apiAssassinate(apiCall) (any, error) {
	return nil, runtimeErrorf("Assassinating endpoint is not supported in topology over raft mode")
}

func (n *Node) apiFDEndpoints(apiCall) (any, error) {
	out := streamed{}
	for _, e := range n.gossip.view() {
		apps := []any{}
		keys := make([]int, 0, len(e.App))
		for k := range e.App {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			apps = append(apps, obj{{"application_state", k}, {"value", e.App[k].Value}, {"version", e.App[k].Version}})
		}
		out = append(out, obj{
			{"application_state", apps}, {"addrs", e.IP}, {"generation", e.Gen}, {"is_alive", e.Alive},
			{"update_time", e.Updated.UnixMilli()}, {"version", e.Ver},
		})
	}
	return out, nil
}

func (n *Node) apiFDStates(apiCall) (any, error) {
	out := []keyValue{}
	for _, e := range n.gossip.view() {
		st := "DOWN"
		if e.Alive {
			st = "UP"
		}
		out = append(out, keyValue{e.IP, st})
	}
	return out, nil
}

func (n *Node) count(alive bool) int {
	c := 0
	for _, e := range n.gossip.view() {
		if e.Alive == alive {
			c++
		}
	}
	return c
}

func (n *Node) apiLeader(apiCall) (any, error) {
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
		// A leader that has committed in its term holds a majority; a follower asks it.
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

func (n *Node) apiStepdown(apiCall) (any, error) {
	if !n.v.stepdownAPI() {
		return nil, &apiError{404, "Not found"}
	}
	n.g0.stepDown()
	return void{}, nil
}

func (n *Node) apiSchema(apiCall) (any, error) {
	if s := n.g0.state(); s != nil {
		return s.Schema, nil
	}
	return emptySchema, nil
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
	keys := make([]string, 0, len(byVersion))
	for k := range byVersion {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := []keyValue{}
	for _, k := range keys {
		out = append(out, keyValue{k, byVersion[k]})
	}
	return out, nil
}

func (n *Node) apiInitialized(apiCall) (any, error) {
	switch n.Mode() {
	case modeNormal, modeLeaving, modeDecommissioned, modeDraining, modeDrained:
		return true, nil
	}
	return false, nil
}

func (n *Node) apiUpgradeState(apiCall) (any, error) {
	if !n.v.raftTopology() {
		return nil, &apiError{404, "Not found"}
	}
	return "done", nil
}

func (n *Node) apiUpgradeStart(apiCall) (any, error) {
	if !n.v.raftTopology() || n.v.upgradeAlwaysDone() {
		return nil, &apiError{404, "Not found"}
	}
	return void{}, nil
}

func (n *Node) apiCommandStatus(apiCall) (any, error) {
	if !n.v.stepdownAPI() {
		return nil, &apiError{404, "Not found"}
	}
	if t := n.g0.state().transition(); t != nil && n.g0.leadership() != nil {
		return "barrier[0]: " + t.HostID, nil
	}
	return "none", nil
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

func knownKeyspace(ks string) error {
	switch ks {
	case "system", "system_schema", "system_auth", "system_distributed", "system_traces", "system_distributed_everywhere":
		return nil
	}
	return badParam("Can't find a keyspace %s", ks)
}

func (n *Node) apiKeyspaceFlush(c apiCall) (any, error) {
	if err := knownKeyspace(c.param); err != nil {
		return nil, err
	}
	tables := splitList(c.FormValue("cf"))
	if c.param == "system" && (len(tables) == 0 || slices.Contains(tables, localTableName)) {
		return void{}, n.local.flush()
	}
	return void{}, nil
}

func (n *Node) apiKeyspaceCleanup(c apiCall) (any, error) {
	if err := knownKeyspace(c.param); err != nil {
		return nil, err
	}
	return 0, n.cleanupData()
}

// cleanupData is a cleanup of vnode tables, which flushes everything first.
func (n *Node) cleanupData() error { return n.local.flush() }

func (n *Node) apiLoadMap(apiCall) (any, error) {
	out := []keyValue{}
	for _, e := range n.gossip.view() {
		load, err := strconv.ParseInt(e.App[appLoad].Value, 10, 64)
		if err == nil {
			out = append(out, keyValue{e.IP, load})
		}
	}
	return out, nil
}

func (n *Node) apiModules(apiCall) (any, error) {
	if !n.v.nodeOpsTasks() {
		return []string{"compaction", "repair"}, nil
	}
	return []string{"compaction", "node_ops", "repair", "streaming", "tablets"}, nil
}

func (n *Node) apiModuleTasks(c apiCall) (any, error) {
	switch c.param {
	case "compaction", "repair":
		return []any{}, nil
	case "streaming", "tablets":
		if n.v.nodeOpsTasks() {
			return []any{}, nil
		}
	case "node_ops":
		if n.v.nodeOpsTasks() {
			out := []any{}
			if n.stage.Load() < 2 {
				return out, nil
			}
			if s := n.g0.state(); s != nil {
				for _, t := range s.Tasks {
					if t.expired(n.clock.Real(time.Hour)) {
						continue
					}
					out = append(out, obj{
						{"task_id", t.ID}, {"type", t.Type}, {"kind", "cluster"}, {"scope", "cluster"}, {"state", t.State},
						{"sequence_number", 0}, {"keyspace", ""}, {"table", ""}, {"entity", t.Entity}, {"shard", 0},
						{"start_time", apiTime(t.Start)}, {"end_time", apiTime(t.End)},
					})
				}
			}
			return out, nil
		}
	}
	return nil, badParam("task manager module %s not found", c.param)
}

// expired reports whether a finished task is older than user_task_ttl.
func (t *topoTask) expired(ttl time.Duration) bool {
	return t.State != "running" && time.Since(t.End) > ttl
}

func apiTime(t time.Time) string {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func (n *Node) findTask(id string) (*topoTask, error) {
	if _, err := uuid.Parse(id); err != nil {
		return nil, badParam("Cannot parse task id %s", id)
	}
	if n.stage.Load() >= 2 && n.v.nodeOpsTasks() {
		if t := n.g0.state().task(id); t != nil && !t.expired(n.clock.Real(time.Hour)) {
			return t, nil
		}
	}
	return nil, badParam("task with id %s not found", id)
}

func (n *Node) taskStatus(t *topoTask) obj {
	x := n.g0.state().node(t.Entity)
	abortable := t.State == "running" && x != nil && x.Stage == ""
	done := 0.0
	if t.State == "done" {
		done = 1
	}
	return obj{
		{"id", t.ID}, {"type", t.Type}, {"kind", "cluster"}, {"scope", "cluster"}, {"state", t.State},
		{"is_abortable", abortable}, {"start_time", apiTime(t.Start)}, {"end_time", apiTime(t.End)}, {"error", t.Error},
		{"parent_id", "none"}, {"sequence_number", 0}, {"shard", 0}, {"keyspace", ""}, {"table", ""}, {"entity", t.Entity},
		{"progress_units", ""}, {"progress_total", 1.0}, {"progress_completed", done}, {"children_ids", []any{}},
	}
}

func (n *Node) apiTaskStatus(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	return n.taskStatus(t), nil
}

func (n *Node) apiWaitTask(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(n.ctx)
	defer cancel()
	defer context.AfterFunc(c.Context(), cancel)()
	if _, err := n.awaitTask(ctx, t.ID); err != nil {
		return nil, err
	}
	if t = n.g0.state().task(t.ID); t == nil {
		return nil, badParam("task with id %s not found", c.param)
	}
	return n.taskStatus(t), nil
}

func (n *Node) apiAbortTask(c apiCall) (any, error) {
	t, err := n.findTask(c.param)
	if err != nil {
		return nil, err
	}
	err = n.ask(n.ctx, "topo.request", topologyRequest{Kind: "abort", HostIDs: []string{t.ID}}, nil)
	if err != nil && strings.Contains(err.Error(), "not abortable") {
		return nil, &apiError{403, err.Error()}
	}
	return void{}, err
}
