// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// Options configure a node. The zero value of a field means ScyllaDB's default unless said otherwise.
type Options struct {
	// Version to behave as; DefaultVersion if empty.
	Version string
	// Speed is how many times faster than the wall all of ScyllaDB's own intervals run; 1 if zero.
	Speed float64
	// Dir is the work directory (/var/lib/scylla). It must be set and is all that survives a restart.
	Dir string

	ClusterName string // "Test Cluster" if empty
	DC, Rack    string // "datacenter1", "rack1" if empty
	Snitch      string // "SimpleSnitch" if empty
	// Seeds are addresses or names; a name stands for all addresses it resolves to at that moment. Empty: the node's own address.
	Seeds []string

	ListenAddress    string // must be set
	BroadcastAddress string // ListenAddress if empty
	RPCAddress       string // ListenAddress if empty
	APIAddress       string // 127.0.0.1 if empty

	StoragePort int // 7000
	CQLPort     int // 9042
	APIPort     int // 10000

	ReplaceNodeFirstBoot    string
	ReplaceAddressFirstBoot string
	ReplaceAddress          string
	IgnoreDeadNodes         []string

	FailureDetectorTimeout time.Duration // 20 s
	ShadowRound            time.Duration // 300 s
	// StreamTime is how long a bootstrap, replace, decommission or removenode moves data. 3 s if zero.
	StreamTime time.Duration
	// TabletRebuildTime is how long a replacing node waits, already normal, before it is COMPLETED. 2 s if zero.
	TabletRebuildTime time.Duration
	// StageTime is how long each stage of the boot takes, the first one four times as long. 300 ms if zero.
	StageTime time.Duration
	// BanNoticeFirst decides a race of versions since 2026.1: a cancelled joiner reads the notice of its ban (exit 0) before the
	// coordinator's answer (exit 1).
	BanNoticeFirst bool

	// Log receives log lines; nil discards them (Node.Log still has them).
	Log io.Writer
	// Clock overrides Speed.
	Clock Clock
	// Network is a firewall shared by nodes of one process; nil means none.
	Network *Network
}

func (o *Options) defaults() error {
	if o.Dir == "" {
		return errors.New("start node: Options.Dir is empty; give the work directory")
	}
	if net.ParseIP(o.ListenAddress) == nil {
		return fmt.Errorf("start node: Options.ListenAddress %q is not an IP address", o.ListenAddress)
	}
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	set(&o.Version, DefaultVersion)
	set(&o.ClusterName, "Test Cluster")
	set(&o.DC, "datacenter1")
	set(&o.Rack, "rack1")
	set(&o.Snitch, "SimpleSnitch")
	set(&o.BroadcastAddress, o.ListenAddress)
	set(&o.RPCAddress, o.ListenAddress)
	set(&o.APIAddress, "127.0.0.1")
	for _, p := range []struct {
		port *int
		v    int
	}{{&o.StoragePort, 7000}, {&o.CQLPort, 9042}, {&o.APIPort, 10000}} {
		if *p.port == 0 {
			*p.port = p.v
		}
	}
	for _, d := range []struct {
		d *time.Duration
		v time.Duration
	}{
		{&o.FailureDetectorTimeout, defaultFailureDetectorTimeout}, {&o.ShadowRound, 300 * time.Second},
		{&o.StreamTime, 3 * time.Second}, {&o.TabletRebuildTime, 2 * time.Second}, {&o.StageTime, 300 * time.Millisecond},
	} {
		if *d.d == 0 {
			*d.d = d.v
		}
	}
	if len(o.Seeds) == 0 {
		o.Seeds = []string{o.BroadcastAddress}
	}
	if o.Clock == nil {
		o.Clock = NewClock(o.Speed)
	}
	return nil
}

// Operation modes as /storage_service/operation_mode prints them.
const (
	modeStarting       = "STARTING"
	modeJoining        = "JOINING"
	modeBootstrap      = "BOOTSTRAP"
	modeNormal         = "NORMAL"
	modeLeaving        = "LEAVING"
	modeDecommissioned = "DECOMMISSIONED"
	modeDraining       = "DRAINING"
	modeDrained        = "DRAINED"
)

// startupError ends the process with code 1 and "Startup failed".
type startupError struct{ what string }

func (e *startupError) Error() string { return e.what }

func runtimeErrorf(format string, args ...any) error {
	return &startupError{"std::runtime_error (" + fmt.Sprintf(format, args...) + ")"}
}

var errInterrupted = errors.New("startup interrupted")

// Node is one simulated ScyllaDB process.
type Node struct {
	o     Options
	v     Version
	clock Clock
	log   *logger
	gate  gate

	ctx    context.Context // ends with the process
	cancel context.CancelFunc
	stopCh chan struct{} // closed by Stop
	once   sync.Once
	done   chan struct{}
	ready  chan struct{} // closed when initialization is completed
	code   int
	failed error

	started time.Time
	nonce   string
	hostID  string
	local   *localTable
	tr      *transport
	gossip  *gossiper
	g0      *group0

	stage    atomic.Int32
	apiLn    *heldListener
	apiSrv   *http.Server
	apiWG    sync.WaitGroup
	cqlOn    atomic.Bool
	awaiting atomic.Bool // a join request is placed and not answered
	dropped  atomic.Bool // a peer closed a connection without a word: an old version's ban
	joinResp chan joinResponse
	bannedCh chan string

	mu        sync.Mutex
	mode      string
	modeCh    chan struct{}
	cqlLn     *heldListener
	peers     journal
	disc      *discovery
	draining  bool
	ended     bool
	opRunning bool
	wg        sync.WaitGroup
}

// StartNode starts a node in this process. It returns as soon as the node runs; use WaitMode, Done and ExitCode to follow it. The node
// ends like a killed process when ctx ends.
func StartNode(ctx context.Context, o Options) (*Node, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	v, err := ParseVersion(o.Version)
	if err != nil {
		return nil, err
	}
	if o.ReplaceNodeFirstBoot != "" && !v.replaceByHostID() {
		return nil, fmt.Errorf("start node: ScyllaDB %s does not know --replace-node-first-boot; use --replace-address-first-boot", v)
	}
	n := &Node{
		o: o, v: v, clock: o.Clock, log: &logger{w: o.Log},
		stopCh: make(chan struct{}), done: make(chan struct{}), ready: make(chan struct{}), started: time.Now(), nonce: uuid.NewString(),
		mode: modeStarting, modeCh: make(chan struct{}),
		joinResp: make(chan joinResponse, 8), bannedCh: make(chan string, 1),
	}
	n.ctx, n.cancel = context.WithCancel(ctx)
	go n.run()
	return n, nil
}

// Done is closed when the process has ended.
func (n *Node) Done() <-chan struct{} { return n.done }

// ExitCode is the process's exit code once Done is closed: 1 after a failed startup, 0 after a clean stop or a ban, 137 after Kill.
func (n *Node) ExitCode() int { <-n.done; return n.code }

// Log returns the log lines so far.
func (n *Node) Log() string { return n.log.text() }

// HostID returns the node's host ID, empty before it is set.
func (n *Node) HostID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hostID
}

// Address returns the broadcast address.
func (n *Node) Address() string { return n.o.BroadcastAddress }

// APIURL returns the base of the REST API, without a slash at the end.
func (n *Node) APIURL() string {
	return "http://" + net.JoinHostPort(n.o.APIAddress, strconv.Itoa(n.o.APIPort))
}

// Dir returns the work directory.
func (n *Node) Dir() string { return n.o.Dir }

// Options returns the options the node runs with, defaults filled in; good for starting it again.
func (n *Node) Options() Options { return n.o }

// Mode returns the operation mode.
func (n *Node) Mode() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mode
}

// WaitMode returns when the node is in mode, or with an error when it or ctx has ended.
func (n *Node) WaitMode(ctx context.Context, mode string) error {
	for {
		n.mu.Lock()
		m, ch := n.mode, n.modeCh
		n.mu.Unlock()
		if m == mode {
			return nil
		}
		select {
		case <-ch:
		case <-n.done:
			return n.endedError("wait for %s to be %s", n.o.ListenAddress, mode)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to be %s: it is %s: %w", n.o.ListenAddress, mode, m, ctx.Err())
		}
	}
}

// endedError says how the process ended; only after Done.
func (n *Node) endedError(format string, args ...any) error {
	err := fmt.Errorf(format+": it ended with code %d", append(args, n.code)...)
	if n.failed != nil {
		err = fmt.Errorf("%w: %w", err, n.failed)
	}
	return err
}

// WaitReady returns when initialization is completed: NORMAL, CQL open, every part of the REST API there.
func (n *Node) WaitReady(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-n.done:
		return n.endedError("wait for %s to be ready", n.o.ListenAddress)
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to be ready: it is %s: %w", n.o.ListenAddress, n.Mode(), ctx.Err())
	}
}

// Kill ends the process at once, as SIGKILL does, and returns when its sockets are closed.
func (n *Node) Kill() {
	n.finish(137, nil)
	<-n.done
}

// Stop ends the process as SIGTERM does: gossip announces it, system.local is flushed, exit code 0.
func (n *Node) Stop() {
	n.once.Do(func() { close(n.stopCh) })
	<-n.done
}

// Pause freezes the process as SIGSTOP does: its sockets stay open and nothing answers.
func (n *Node) Pause() { n.gate.pause() }

// Resume undoes Pause.
func (n *Node) Resume() { n.gate.resume() }

func (n *Node) finish(code int, err error) {
	n.mu.Lock()
	if !n.ended {
		n.ended, n.code, n.failed = true, code, err
	}
	n.mu.Unlock()
	n.cancel()
}

func (n *Node) setMode(mode string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mode == mode {
		return
	}
	n.mode = mode
	close(n.modeCh)
	n.modeCh = make(chan struct{})
	n.log.info("storage_service", "entering %s mode", mode)
}

// sleep waits d of the node's time. It ends early with the process (its error) or a clean stop (errInterrupted).
func (n *Node) sleep(d time.Duration) error {
	select {
	case <-n.clock.After(d):
	case <-n.stopCh:
		return errInterrupted
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
	return n.gate.wait(n.ctx)
}

// minTimeout is the shortest time that one node waits for another's answer, on the wall. A fast clock must not turn a busy machine
// into a broken network; a peer that is really gone is noticed by a refused connection or by the failure detector.
const minTimeout = 5 * time.Second

// timeout converts an RPC timeout to wall time.
func (n *Node) timeout(d time.Duration) time.Duration { return max(n.clock.Real(d), minTimeout) }

func (n *Node) run() {
	defer close(n.done)
	bootCtx, stopWatch := context.WithCancel(n.ctx)
	go func() {
		// A ban ends the process wherever it is.
		select {
		case by := <-n.bannedCh:
			// A waiting joiner is told twice, by the coordinator's answer and by this notice; the option says which it reads first.
			if n.awaiting.Load() && !n.o.BanNoticeFirst {
				select {
				case <-time.After(4 * n.timeout(5*time.Second)):
				case <-bootCtx.Done():
					return
				}
			}
			n.log.info("storage_service", "received notification of being banned from the cluster from %s, terminating.", by)
			n.finish(0, nil)
		case <-bootCtx.Done():
		}
	}()
	err := n.boot()
	if err == nil {
		select {
		case <-n.stopCh:
		case <-n.ctx.Done():
		}
		_ = n.gate.wait(n.ctx) // a paused process takes no signal
	}
	var se *startupError
	switch {
	case n.ctx.Err() != nil:
	case errors.As(err, &se):
		n.log.error("init", "Startup failed: %s", se.what)
		n.finish(1, err)
	case errors.Is(err, errInterrupted):
		n.log.info("init", "Startup interrupted")
		n.shutdown()
		n.finish(0, nil)
	case err != nil:
		n.log.error("init", "Startup failed: std::system_error (%v)", err)
		n.finish(1, err)
	default:
		n.log.info("init", "Signal received; shutting down")
		n.shutdown()
		n.finish(0, nil)
	}
	stopWatch()
	n.finish(137, nil) // the context ended before the node did: killed
	n.cleanup()
}

// shutdown is the orderly part of a stop: announce, drain, flush.
func (n *Node) shutdown() {
	n.drain()
	if n.local != nil {
		if err := n.local.close(); err != nil {
			n.log.error("database", "flush on shutdown: %v", err)
		}
	}
	n.log.info("init", "Scylla version %s shutdown complete.", n.v.Release())
}

// drain closes the native transport and gossip and flushes; the process goes on.
func (n *Node) drain() {
	n.mu.Lock()
	again := n.draining
	n.draining = true
	n.mu.Unlock()
	if again {
		return
	}
	n.stopCQL()
	if n.gossip != nil && n.gossip.isEnabled() {
		st := ""
		if s := n.g0.state(); s != nil {
			st = s.state(n.hostID)
		}
		// A node that is not a normal member yet, or is one no longer, goes silent.
		n.gossip.stop(n.ctx, st == stateNormal || (!n.v.onlyNormalAnnounces() && st == stateDecommissioning))
		_ = n.sleepQuiet(2 * time.Second)
	}
	if n.tr != nil {
		n.tr.close()
	}
	if n.local != nil {
		if err := n.local.flush(); err != nil {
			n.log.error("database", "flush on drain: %v", err)
		}
	}
}

// sleepQuiet waits like sleep but is not cut short by a stop that is under way.
func (n *Node) sleepQuiet(d time.Duration) error {
	select {
	case <-n.clock.After(d):
		return nil
	case <-n.ctx.Done():
		return n.ctx.Err()
	}
}

func (n *Node) cleanup() {
	n.cancel()
	n.gate.resume()
	if n.apiLn != nil {
		n.apiLn.closeAll()
		_ = n.apiSrv.Close()
	}
	n.stopCQL()
	if n.tr != nil {
		n.tr.close()
		n.gossip.wg.Wait()
		n.g0.wg.Wait()
	}
	n.wg.Wait()
	n.apiWG.Wait()
	if n.g0 != nil {
		n.g0.mu.Lock()
		n.g0.journal.close()
		n.g0.mu.Unlock()
		n.mu.Lock()
		n.peers.close()
		n.mu.Unlock()
	}
	if n.local != nil {
		n.local.abandon()
	}
}

func (n *Node) resolveSeeds() ([]string, error) {
	var out []string
	for _, s := range n.o.Seeds {
		s = strings.TrimSpace(s)
		if s == "" {
			continue
		}
		if a, err := netip.ParseAddr(s); err == nil {
			out = addUnique(out, a.String())
			continue
		}
		ctx, cancel := context.WithTimeout(n.ctx, 5*time.Second)
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", s)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("Bad configuration: invalid value in 'seeds': '%s': std::system_error (error C-Ares:4, %s: Not found)", s, s) //nolint:staticcheck // ScyllaDB's text
		}
		for _, ip := range ips {
			out = addUnique(out, ip.Unmap().String())
		}
	}
	return out, nil
}

func (n *Node) isMe(ip string) bool {
	return compareIP(ip, n.o.BroadcastAddress) == 0 || compareIP(ip, n.o.ListenAddress) == 0
}

func (n *Node) boot() error {
	n.log.info("init", "Scylla version %s starting.", n.v.Release())
	if err := n.sleep(4 * n.o.StageTime); err != nil {
		return err
	}
	seeds, err := n.resolveSeeds()
	if err != nil {
		n.log.error("init", "%v", err)
		return &startupError{"bad_configuration_error (std::exception)"}
	}
	if err := n.startAPI(); err != nil {
		return &startupError{fmt.Sprintf("std::system_error (error system:98, %v)", err)}
	}
	n.stage.Store(1)
	if err := n.sleep(n.o.StageTime); err != nil {
		return err
	}

	local, replayed, err := openLocal(n.o.Dir, n.v)
	if err != nil {
		return runtimeErrorf("load system.local: %v", err)
	}
	n.local = local
	if replayed {
		n.log.info("init", "replaying schema commit log - flushing memtables")
	}
	hostID := local.get("host_id")
	if hostID == "" {
		hostID = uuid.NewString()
		n.log.info("system_keyspace", "Setting local host id to %s", hostID)
	}
	gen := time.Now().Unix()
	if old, err := strconv.ParseInt(local.get("gossip_generation"), 10, 64); err == nil && gen <= old {
		gen = old + 1
	}
	if err := local.set(map[string]string{
		"key": "local", "host_id": hostID, "cluster_name": n.o.ClusterName, "data_center": n.o.DC, "rack": n.o.Rack,
		"release_version": cassandraVersion, "broadcast_address": n.o.BroadcastAddress, "listen_address": n.o.ListenAddress,
		"rpc_address": n.o.RPCAddress, "gossip_generation": itoa(gen),
	}); err != nil {
		return runtimeErrorf("save system.local: %v", err)
	}
	n.assemble(hostID, seeds)
	n.mu.Lock()
	n.hostID = hostID
	n.mu.Unlock()
	for s := int32(2); s <= 4; s++ {
		n.stage.Store(s)
		if err := n.sleep(n.o.StageTime); err != nil {
			return err
		}
	}
	if err := n.join(gen, seeds); err != nil {
		return err
	}

	// The end of join_topology: only now does the disk say that this node has bootstrapped.
	if err := local.set(map[string]string{"bootstrapped": "COMPLETED"}); err != nil {
		return runtimeErrorf("save system.local: %v", err)
	}
	n.setMode(modeNormal)
	if n.v.notifyUp() {
		n.notifyPeersUp()
	}
	n.startCQL()
	n.stage.Store(6)
	n.log.info("init", "Scylla version %s initialization completed.", n.v.Release())
	close(n.ready)
	return nil
}

// assemble makes the services that join uses; they run from join on.
func (n *Node) assemble(hostID string, seeds []string) {
	n.g0 = newGroup0(filepath.Join(n.o.Dir, "data", "system", "scyllasim-group0"), hostID, n.clock, n.log, &n.gate)
	n.peers = journal{dir: filepath.Join(n.o.Dir, "data", "system", "peers-37f71aca7dc2383ba70672528af04d4f"), prefix: "scyllasim-peers", limit: 1 << 20}
	n.gossip = &gossiper{
		self: hostID, byHostID: n.v.gossipByHostID(), clock: n.clock, log: n.log, gate: &n.gate, fdTimeout: n.o.FailureDetectorTimeout,
		peers: map[string]*peerView{}, liveChanged: make(chan struct{}), ctx: n.ctx,
		seeds: func() []string {
			// Names are looked up again: pods change their addresses.
			if s, err := n.resolveSeeds(); err == nil {
				seeds = s
			}
			return slices.DeleteFunc(slices.Clone(seeds), n.isMe)
		},
		banned:  func(id string) bool { return n.g0.state().banned(id) },
		group0:  n.groupID,
		onPeers: n.savePeers,
	}
	n.tr = &transport{
		cluster: n.o.ClusterName, hostID: hostID, ip: n.o.BroadcastAddress, port: n.o.StoragePort, clock: n.clock,
		network: n.o.Network, gate: &n.gate, handler: n.handle,
		banned: func(id string) bool { return n.g0.state().banned(id) }, notice: n.v.banNotice(),
		onBanned: func(by string) {
			if n.v.banNotice() {
				select {
				case n.bannedCh <- by:
				default:
				}
			}
		},
	}
	n.gossip.call = n.tr.call
	n.g0.send = n.sendTo
	n.g0.onApply = n.applied
}

func (n *Node) groupID() string {
	if s := n.g0.state(); s != nil {
		return s.GroupID
	}
	return ""
}

// sendTo calls a member by host ID.
func (n *Node) sendTo(ctx context.Context, hostID, method string, in, out any) error {
	ip, ok := n.addressOf(hostID)
	if !ok {
		return fmt.Errorf("no address for host %s", hostID)
	}
	_, err := n.tr.call(ctx, strings.SplitN(method, ".", 2)[0], hostID, ip, method, in, out)
	if errors.Is(err, io.EOF) {
		n.dropped.Store(true)
	}
	return err
}

// addressOf is the address map: gossip first, then what the topology remembers.
func (n *Node) addressOf(hostID string) (string, bool) {
	if ip, ok := n.gossip.addressOf(hostID); ok {
		return ip, true
	}
	if t := n.g0.state().node(hostID); t != nil && t.IP != "" {
		return t.IP, true
	}
	return "", false
}

// savePeers stores the addresses that gossip knows, for the next start.
func (n *Node) savePeers() {
	m := map[string]string{}
	for _, e := range n.gossip.view() {
		if e.HostID != n.hostID {
			m[e.HostID] = e.IP
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		return
	}
	if err := n.peers.append(m, func() any { return m }); err != nil {
		n.log.warn("system_keyspace", "cannot save peers: %v", err)
	}
}

func (n *Node) loadPeers() (map[string]string, error) {
	m := map[string]string{}
	err := n.peers.load(func(line []byte) error {
		clear(m) // each record is the whole
		return json.Unmarshal(line, &m)
	})
	return m, err
}

// applied runs after each commit, with group 0 locked: it must not call back into it except for state().
func (n *Node) applied(old, cur *topology) {
	for _, t := range cur.sorted() {
		id := t.HostID
		if id == n.hostID {
			continue
		}
		if t.State == stateLeft && old.state(id) != stateLeft {
			n.tr.drop(id)
			n.gossip.remove(id)
		} else if cur.banned(id) && !old.banned(id) {
			n.tr.drop(id)
		}
	}
	if cur.state(n.hostID) == stateNormal && old.state(n.hostID) != stateNormal {
		if me := cur.node(n.hostID); len(me.Tokens) > 0 {
			n.gossip.set(appStatus, "NORMAL,"+itoa(me.Tokens[0]))
		}
	}
	n.gossip.set(appSchema, cur.Schema)
}

func (n *Node) startGossip(gen int64) {
	status := map[int]appValue{}
	if s := n.g0.state(); s.state(n.hostID) == stateNormal {
		tok := "0"
		if t := s.node(n.hostID).Tokens; len(t) > 0 {
			tok = itoa(t[0])
		}
		status[appStatus] = appValue{Value: "NORMAL," + tok}
	}
	schema := emptySchema
	if s := n.g0.state(); s != nil {
		schema = s.Schema
	}
	for app, v := range map[int]string{
		appLoad: itoa(n.load()), appSchema: schema, appDC: n.o.DC, appRack: n.o.Rack, appReleaseVersion: cassandraVersion,
		appRPCAddress: n.o.RPCAddress, appNetVersion: "0", appHostID: n.hostID, appRPCReady: "0", appSnitchName: n.o.Snitch,
	} {
		status[app] = appValue{Value: v}
	}
	ver := int64(1)
	for _, app := range []int{appStatus, appLoad, appSchema, appDC, appRack, appReleaseVersion, appRPCAddress, appNetVersion, appHostID, appRPCReady, appSnitchName} {
		if v, ok := status[app]; ok {
			v.Version = ver
			status[app] = v
			ver++
		}
	}
	n.gossip.start(n.ctx, &endpointState{HostID: n.hostID, IP: n.o.BroadcastAddress, Gen: gen, Ver: ver, App: status})
}

// load is the data size that the node reports: nothing but a plausible, stable number.
func (n *Node) load() int64 {
	var sum int64 = 100 << 10
	for _, c := range n.hostID {
		sum += int64(c) * 97
	}
	return sum
}

func (n *Node) notifyPeersUp() {
	s := n.g0.state()
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout(10*time.Second))
	defer cancel()
	var wg sync.WaitGroup
	for _, t := range s.sorted() {
		if t.State == stateNormal && t.HostID != n.hostID && n.gossip.alive(t.HostID) {
			wg.Go(func() { _ = n.sendTo(ctx, t.HostID, "gossip.notifyup", n.gossip.statesOf([]string{n.hostID}), nil) })
		}
	}
	wg.Wait()
}

func (n *Node) startCQL() {
	lc := net.ListenConfig{}
	l, err := lc.Listen(n.ctx, "tcp", net.JoinHostPort(n.o.RPCAddress, strconv.Itoa(n.o.CQLPort)))
	if err != nil {
		n.log.error("cql_server_controller", "cannot listen: %v", err)
		return
	}
	ln := newHeldListener(n.ctx, l, &n.gate, func(remote string) <-chan struct{} { return n.o.Network.held(n.o.RPCAddress, remote) })
	n.mu.Lock()
	n.cqlLn = ln
	n.mu.Unlock()
	n.cqlOn.Store(true)
	n.gossip.set(appRPCReady, "1")
	n.log.info("cql_server_controller", "Starting listening for CQL clients on %s (unencrypted, non-shard-aware)", l.Addr())
	n.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			// No protocol: a client that speaks first is told so by a closed connection.
			n.wg.Go(func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Read(make([]byte, 1))
			})
		}
	})
}

func (n *Node) stopCQL() {
	n.cqlOn.Store(false)
	n.mu.Lock()
	ln := n.cqlLn
	n.cqlLn = nil
	n.mu.Unlock()
	if ln != nil {
		ln.closeAll()
	}
}

func randomTokens(k int) []int64 {
	out := make([]int64, k)
	for i := range out {
		out[i] = int64(rand.Uint64())
	}
	slices.Sort(out)
	return out
}
