// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

func (n *Node) resolveSeeds() ([]string, error) {
	var out []string
	for _, s := range n.o.Seeds {
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

// stageTime is how long each stage of the boot takes, the first one four times as long.
const stageTime = 300 * time.Millisecond

func (n *Node) boot() error {
	n.log.info("init", "Scylla version %s starting.", n.v.Release())
	if err := n.sleep(4 * stageTime); err != nil {
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
	if err := n.sleep(stageTime); err != nil {
		return err
	}

	hostID, gen, err := n.openSystemLocal()
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.hostID = hostID
	n.mu.Unlock()
	n.gossip.seeds = seeds
	for s := int32(2); s <= 4; s++ {
		n.stage.Store(s)
		if err := n.sleep(stageTime); err != nil {
			return err
		}
	}
	if err := n.join(gen, seeds); err != nil {
		return err
	}

	// The end of join_topology: only now does the disk say that this node has bootstrapped.
	if err := n.local.set(map[string]string{"bootstrapped": "COMPLETED"}); err != nil {
		return runtimeErrorf("save system.local: %v", err)
	}
	n.setMode(rules.ModeNormal)
	if n.v.NotifyUp() {
		n.notifyPeersUp()
	}
	n.startCQL()
	n.stage.Store(6)
	n.log.info("init", "Scylla version %s initialization completed.", n.v.Release())
	close(n.ready)
	return nil
}

// openSystemLocal loads system.local and saves this start's host ID, addresses and generation. It returns the host ID, which is made at
// the first start, and the generation of this process, which is greater than that of any earlier one.
func (n *Node) openSystemLocal() (hostID string, gen int64, err error) {
	local, replayed, err := openLocal(n.o.Dir, n.v)
	if err != nil {
		return "", 0, runtimeErrorf("load system.local: %v", err)
	}
	n.local = local
	if replayed {
		n.log.info("init", "replaying schema commit log - flushing memtables")
	}
	hostID = local.get("host_id")
	if hostID == "" {
		hostID = uuid.NewString()
		n.log.info("system_keyspace", "Setting local host id to %s", hostID)
	}
	gen = time.Now().Unix()
	if old, err := strconv.ParseInt(local.get("gossip_generation"), 10, 64); err == nil && gen <= old {
		gen = old + 1
	}
	if err := local.set(map[string]string{
		"key": "local", "host_id": hostID, "cluster_name": n.o.ClusterName, "data_center": n.o.DC, "rack": n.o.Rack,
		"release_version": cassandraVersion, "broadcast_address": n.o.BroadcastAddress, "listen_address": n.o.ListenAddress,
		"rpc_address": n.o.RPCAddress, "gossip_generation": itoa(gen),
	}); err != nil {
		return "", 0, runtimeErrorf("save system.local: %v", err)
	}
	return hostID, gen, nil
}

// startGossip starts group 0, too.
func (n *Node) startGossip(gen int64) {
	n.g0.start(n.ctx)
	app := map[int]string{appSchema: emptySchema, appDC: n.o.DC, appRack: n.o.Rack, appHostID: n.hostID, appFeatures: n.v.Features()}
	if s := n.g0.state(); s != nil {
		app[appSchema] = s.Schema
		if s.State(n.hostID) == rules.Normal {
			app[appStatus] = s.node(n.hostID).gossipStatus()
		}
	}
	n.gossip.start(n.ctx, &endpointState{HostID: n.hostID, IP: n.o.BroadcastAddress, Gen: gen, Ver: 1, App: app})
}

// notifyPeersUp tells every other member of this node's state.
func (n *Node) notifyPeersUp() {
	var wg sync.WaitGroup
	for _, t := range n.g0.state().sorted() {
		if t.State == rules.Normal && t.HostID != n.hostID && n.gossip.alive(t.HostID) {
			wg.Go(func() { n.gossip.exchange(n.ctx, new(n.gossip.state(t.HostID))) })
		}
	}
	wg.Wait()
}

func randomTokens(k int) []int64 {
	out := make([]int64, k)
	for i := range out {
		out[i] = int64(rand.Uint64())
	}
	slices.Sort(out)
	return out
}
