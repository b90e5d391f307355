// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Operation modes as /storage_service/operation_mode prints them.
const (
	modeDraining = "DRAINING"
	modeDrained  = "DRAINED"
)

// startupError is a C++ exception with its type. During the boot it ends the process with code 1 and "Startup failed"; in a REST call it is a 500.
type startupError struct{ what string }

func (e *startupError) Error() string { return e.what }

func runtimeErrorf(format string, args ...any) error {
	return &startupError{"std::runtime_error (" + fmt.Sprintf(format, args...) + ")"}
}

var errInterrupted = errors.New("startup interrupted")

// Node is one simulated ScyllaDB process.
type Node struct {
	o     Options
	v     rules.Version
	clock *clock
	log   *logger

	ctx    context.Context // ends with the process
	cancel context.CancelFunc
	runs   context.Context // ends with the process or, for the reason errInterrupted, with Stop
	stop   context.CancelCauseFunc
	done   chan struct{}
	ready  chan struct{} // closed when initialization is completed
	code   int

	started time.Time
	nonce   string
	hostID  string
	local   *localTable
	tr      *transport
	gossip  *gossiper
	g0      *group0

	stage    atomic.Int32
	apiSrv   *http.Server
	apiWG    sync.WaitGroup
	cqlOn    atomic.Bool
	awaiting atomic.Bool // a join request is placed and not answered
	dropped  atomic.Bool // a peer closed a connection without a word: an old version's ban
	joinResp chan joinResponse
	bannedCh chan string

	mu        sync.Mutex
	mode      string
	endCQL    context.CancelFunc
	eligible  map[string]bool // addresses of other nodes without a group 0 that may create one: their own address is among their seeds
	draining  bool
	streaming streamSession
	ended     bool
	index     map[string]string // see indexed
	taken     map[string]bool   // members whose address was another member's in system.peers at the start
	wg        sync.WaitGroup
}

// StartNode starts a node in this process. It returns as soon as the node runs; use WaitReady, Done and ExitCode to follow it. The node
// ends like a killed process when ctx ends.
func StartNode(ctx context.Context, o Options) (*Node, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	v, err := rules.ParseVersion(o.Version)
	if err != nil {
		return nil, err
	}
	if o.ReplaceNodeFirstBoot != "" && !v.ReplaceByHostID() {
		return nil, fmt.Errorf("unrecognised option '--replace-node-first-boot=%s'", o.ReplaceNodeFirstBoot)
	}
	if o.ZeroToken && !v.ZeroTokenNodes() {
		return nil, fmt.Errorf("start node: ScyllaDB %s has no zero-token nodes; simulate 6.2 or later, or leave out --join-ring=false", v)
	}
	n := &Node{
		o: o, v: v, clock: newClock(o.Speed), log: &logger{w: o.Log},
		done: make(chan struct{}), ready: make(chan struct{}), started: time.Now(), nonce: uuid.NewString(),
		mode:     rules.ModeStarting,
		joinResp: make(chan joinResponse, 8), bannedCh: make(chan string, 1), taken: map[string]bool{}, eligible: map[string]bool{},
	}
	n.ctx, n.cancel = context.WithCancel(ctx)
	n.runs, n.stop = context.WithCancelCause(n.ctx)
	// The services that join uses; they run from join on.
	n.g0 = newGroup0(filepath.Join(o.Dir, "data", "system", "scyllasim-group0"), n)
	n.gossip = &gossiper{n: n, peers: map[string]*peerView{}, liveChanged: make(chan struct{}), ctx: n.ctx}
	n.tr = &transport{n: n}
	n.tr.ctx, n.tr.cancel = context.WithCancel(n.ctx)
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

func (n *Node) Address() string { return n.o.BroadcastAddress }

// APIURL returns the base of the REST API, without a slash at the end.
func (n *Node) APIURL() string {
	return "http://" + net.JoinHostPort(n.o.APIAddress, apiPort)
}

func (n *Node) Dir() string { return n.o.Dir }

func (n *Node) Mode() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mode
}

// WaitReady returns when initialization is completed: NORMAL, CQL open, every part of the REST API there.
func (n *Node) WaitReady(ctx context.Context) error {
	select {
	case <-n.ready:
		return nil
	case <-n.done:
		return fmt.Errorf("wait for %s to be ready: it ended with code %d", n.o.ListenAddress, n.code)
	case <-ctx.Done():
		return fmt.Errorf("wait for %s to be ready: it is %s: %w", n.o.ListenAddress, n.Mode(), ctx.Err())
	}
}

// Kill ends the process at once, as SIGKILL does, and returns when its sockets are closed.
func (n *Node) Kill() {
	n.finish(137)
	<-n.done
}

// Stop ends the process as SIGTERM does: gossip announces it, system.local is flushed, exit code 0.
func (n *Node) Stop() {
	n.stop(errInterrupted)
	<-n.done
}

func (n *Node) finish(code int) {
	n.mu.Lock()
	if !n.ended {
		n.ended, n.code = true, code
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
	n.log.info("storage_service", "entering %s mode", mode)
}

// sleep waits d of the node's time. It ends early with the process (its error) or a clean stop (errInterrupted).
func (n *Node) sleep(d time.Duration) error {
	_ = n.clock.sleep(n.runs, d)
	return context.Cause(n.runs)
}

// minTimeout is the shortest wall time that one node waits for another's answer. A fast clock must not turn a busy machine
// into a broken network; a peer that is really gone is noticed by a refused connection or by the failure detector.
const minTimeout = 5 * time.Second

// timeout converts an RPC timeout to wall time.
func (n *Node) timeout(d time.Duration) time.Duration { return max(n.clock.Real(d), minTimeout) }

func (n *Node) run() {
	defer close(n.done)
	watch, stopWatch := context.WithCancel(n.ctx)
	go func() {
		// A ban ends the process in every state.
		select {
		case by := <-n.bannedCh:
			// A waiting joiner gets the coordinator's answer and this notice; the option says which one it reads first.
			if n.awaiting.Load() && !n.o.BanNoticeFirst {
				select {
				case <-time.After(4 * n.timeout(5*time.Second)):
				case <-watch.Done():
					return
				}
			}
			n.log.info("storage_service", "received notification of being banned from the cluster from %s, terminating.", by)
			n.finish(0)
		case <-watch.Done():
		}
	}()
	err := n.boot()
	if err == nil {
		<-n.runs.Done()
	}
	said := "Signal received; shutting down"
	switch {
	case n.ctx.Err() != nil:
	case errors.Is(err, errInterrupted):
		said = "Startup interrupted"
		fallthrough
	case err == nil:
		n.log.info("init", "%s", said)
		n.shutdown()
		n.finish(0)
	default:
		se := &startupError{fmt.Sprintf("std::system_error (%v)", err)}
		_ = errors.As(err, &se)
		n.log.error("init", "Startup failed: %s", se.what)
		n.finish(1)
	}
	stopWatch()
	n.finish(137) // the context ended before the node did: killed
	n.cleanup()
}

// shutdown is the orderly part of a stop: announce, drain, flush.
func (n *Node) shutdown() {
	n.drain()
	if n.local != nil {
		if err := n.local.close(true); err != nil {
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
	if n.gossip.isEnabled() {
		n.gossip.stop(rules.Announces(n.g0.state().State(n.hostID), n.v.LeavingAnnounces()))
		_ = n.clock.sleep(n.ctx, 2*time.Second)
	}
	n.tr.close()
	if n.local != nil {
		if err := n.flushSystem(); err != nil {
			n.log.error("database", "flush on drain: %v", err)
		}
	}
}

func (n *Node) cleanup() {
	n.cancel()
	if n.apiSrv != nil {
		_ = n.apiSrv.Close()
	}
	n.stopCQL()
	n.tr.close()
	n.gossip.wg.Wait()
	n.g0.wg.Wait()
	n.wg.Wait()
	n.apiWG.Wait()
	n.g0.mu.Lock()
	n.g0.journal.close()
	n.g0.mu.Unlock()
	if n.local != nil {
		_ = n.local.close(false)
	}
}

func (n *Node) groupID() string {
	if s := n.g0.state(); s != nil {
		return s.GroupID
	}
	return ""
}

// applied runs after each commit while group 0 is locked: of group 0 it may call state() only.
func (n *Node) applied(old, cur *topology) {
	for _, t := range cur.sorted() {
		if t.HostID != n.hostID && t.State == rules.Left && old.State(t.HostID) != rules.Left {
			n.gossip.remove(t.HostID)
		}
	}
	if cur.State(n.hostID) == rules.Normal && old.State(n.hostID) != rules.Normal {
		n.gossip.set(appStatus, cur.node(n.hostID).gossipStatus())
	}
	n.gossip.set(appSchema, cur.Schema)
}
