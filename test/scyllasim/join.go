// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// tokensPerNode is num_tokens. It is small to keep the stored topology small.
const tokensPerNode = 16

type joinRequest struct {
	Node      topoNode
	Forwarded bool
}

type joinResponse struct {
	Accept bool
	Reason string
	// Alive are the hosts that the joiner must see alive before it answers.
	Alive []string
	reply chan error
}

// join is storage_service::join_cluster: it returns when the node is a normal member.
func (n *Node) join(gen int64, seeds []string) error {
	s := rules.Start{
		Version: n.v, ZeroToken: n.o.ZeroToken, Replaces: cmp.Or(n.o.ReplaceNodeFirstBoot, n.o.ReplaceAddressFirstBoot),
		Alone: !slices.ContainsFunc(seeds, func(ip string) bool { return !n.isMe(ip) }),
	}
	done := n.local.get("bootstrapped")
	s.Disk.Decommissioned, s.Disk.Completed = done == "DECOMMISSIONED", done == "COMPLETED"
	var err error
	if s.Disk.Group0, err = n.loadGroup0(); err != nil {
		return err
	}
	s.State = n.g0.state().State(n.hostID)
	contact, target, ignore := "", "", []string(nil)
	for first := true; ; first = false {
		path, why := s.Next()
		switch {
		case path == rules.Ends:
			return runtimeErrorf("%s", why)
		case path == rules.Rejoins && !s.Disk.Group0:
			return runtimeErrorf("load group 0: state is missing")
		case first:
			if err := n.tr.listen(n.o.ListenAddress); err != nil {
				return &startupError{fmt.Sprintf("std::system_error (error system:98, %v)", err)}
			}
		}
		switch path {
		case rules.Rejoins:
			return n.rejoin(gen)
		case rules.Unfinished:
			n.loadSaved()
			n.startGossip(gen)
			n.setMode(rules.ModeJoining)
			return runtimeErrorf("%s", rules.NoRequest(newTaskID()))
		case rules.Discovers:
			if contact, err = n.discover(seeds, s.Replaces != ""); err != nil {
				return err
			}
			s.Found, s.Alone = contact != "", contact == ""
		case rules.Gathers:
			if target, ignore, err = n.replaceTarget(seeds); err != nil {
				return err
			}
			s.Gathered, s.Known = true, target != ""
		case rules.Founds:
			return n.form(gen)
		case rules.Asks:
			return n.joinExisting(gen, seeds, contact, target, ignore)
		}
	}
}

// rejoin is the restart of a member; it returns when gossip has settled.
func (n *Node) rejoin(gen int64) error {
	n.loadSaved()
	n.startGossip(gen)
	n.runCoordinator()
	n.setMode(rules.ModeJoining)
	n.log.info("gossip", "Waiting for gossip to settle...")
	if err := n.sleep(3 * time.Second); err != nil {
		return err
	}
	// Versions before 2026.1 do not tell a banned node; they drop its connections, and it waits here without end.
	for n.dropped.Load() && !n.v.BanNotice() && n.alone() {
		if err := n.sleep(time.Second); err != nil {
			return err
		}
	}
	n.log.info("gossip", "No gossip backlog; proceeding")
	return nil
}

func (n *Node) alone() bool {
	return !slices.ContainsFunc(n.gossip.view(), func(e endpointView) bool { return e.HostID != n.hostID && e.Alive })
}

func (n *Node) loadSaved() {
	ips := n.g0.p.Peers
	for _, t := range n.g0.state().sorted() {
		switch ip := cmp.Or(ips[t.HostID], t.IP); {
		case t.State == rules.Left:
		case ips[t.HostID] == "" && slices.Contains(slices.Collect(maps.Values(ips)), ip):
			n.mu.Lock()
			n.taken[t.HostID] = true
			n.mu.Unlock()
		case n.v.GossipByHostID() || !n.isMe(ip):
			n.gossip.addSaved(t.HostID, ip, t.DC, t.Rack)
		}
	}
}

// replaceTarget does the checks that a replacing node makes before anything is stored in the cluster. It returns the target and the
// ignored nodes; the target is "" when gossip does not tell of it.
func (n *Node) replaceTarget(seeds []string) (string, []string, error) {
	o := n.o
	id, address := cmp.Or(o.ReplaceNodeFirstBoot, uuid.Nil.String()), cmp.Or(o.ReplaceAddressFirstBoot, "0.0.0.0")
	if _, err := uuid.Parse(id); err != nil {
		return "", nil, runtimeErrorf("Unable to parse %s as host-id", id)
	}
	n.log.info("storage_service", "Gathering node replacement information for %s/%s", id, address)
	members, err := n.shadowRound(seeds)
	if err != nil {
		return "", nil, err
	}
	i := slices.IndexFunc(members, func(m topoNode) bool { return m.HostID == id || compareIP(m.IP, address) == 0 })
	switch {
	case i < 0 && o.ReplaceNodeFirstBoot == "":
		return "", nil, runtimeErrorf("Cannot replace_address %s because it doesn't exist in gossip", address)
	case i < 0:
		return "", nil, nil
	}
	target := members[i]
	if target.DC != o.DC || target.Rack != o.Rack {
		return "", nil, runtimeErrorf("Cannot replace node %s/%s with a node on a different data center or rack. Current location=%s/%s, new location=%s/%s",
			target.HostID, target.IP, target.DC, target.Rack, o.DC, o.Rack)
	}
	var ignore []string
	for _, id := range o.IgnoreDeadNodes {
		i := slices.IndexFunc(members, func(m topoNode) bool { return m.HostID == id || compareIP(m.IP, id) == 0 && m.HostID != target.HostID })
		if i < 0 {
			return "", nil, runtimeErrorf("Could not find ignored dead node %s in the cluster", id)
		}
		ignore = addUnique(ignore, members[i].HostID)
	}
	n.log.info("storage_service", "Host %s/%s is replacing %s/%s", n.hostID, o.BroadcastAddress, target.HostID, target.IP)
	return target.HostID, ignore, nil
}

// form creates a new cluster with this node as its only member.
func (n *Node) form(gen int64) error {
	now := time.Now().UTC()
	task := newTaskID()
	n.g0.create(&topology{
		GroupID: uuid.NewString(), Schema: uuid.NewString(),
		Voters: []string{n.hostID}, Features: n.v.Features(), Legacy: !n.v.RaftTopology(), Keyspaces: n.o.Keyspaces, Auth: n.initialAuth(),
		Nodes: map[string]*topoNode{n.hostID: {
			HostID: n.hostID, IP: n.o.BroadcastAddress, DC: n.o.DC, Rack: n.o.Rack, State: rules.Normal,
			Tokens: randomTokens(tokensPerNode), InGroup0: true, RequestID: task, Features: n.v.Features(),
		}},
		Tasks: []*topoTask{{ID: task, Type: rules.Join, HostID: n.hostID, State: "done", Start: now, End: now}},
	})
	n.log.info("raft_group0", "Created group 0 with ID %s", n.groupID())
	n.startGossip(gen)
	n.runCoordinator()
	n.setMode(rules.ModeJoining)
	return n.sleep(time.Second)
}

func (n *Node) joinExisting(gen int64, seeds []string, contact, replaces string, ignore []string) error {
	n.startGossip(gen)
	n.gossip.exchange(n.ctx, &endpointState{IP: contact}) // gossip knows it before it asks
	req := joinRequest{Node: topoNode{
		HostID: n.hostID, IP: n.o.BroadcastAddress, DC: n.o.DC, Rack: n.o.Rack,
		Nonce: n.nonce, Replaces: replaces, Ignore: ignore, Features: n.v.Features(), ZeroToken: n.o.ZeroToken,
	}}
	for {
		n.log.info("raft_topology", "join: sending the join request to %s", contact)
		ctx, cancel := context.WithTimeout(n.ctx, n.timeout(30*time.Second))
		var rejected string
		err := n.tr.call(ctx, "", contact, "topo.join", req, &rejected)
		cancel()
		if rejected != "" {
			return n.rejected(rejected)
		} else if err == nil {
			break
		}
		var re *remoteError
		if errors.As(err, &re) && strings.Contains(re.msg, "ClusterName mismatch") {
			return runtimeErrorf("%s", re.msg)
		}
		n.log.warn("raft_topology", "join: request to %s failed (%v), trying again", contact, err)
		if err := n.sleep(time.Second); err != nil {
			return err
		}
		again, err := n.discover(slices.DeleteFunc(slices.Clone(seeds), n.isMe), true)
		if err != nil {
			return err
		}
		contact = again
	}
	n.log.info("raft_topology", "join: request to join placed, waiting for the response from the topology coordinator")
	if err := n.awaitResponse(); err != nil {
		return err
	}
	n.runCoordinator()
	if err := n.awaitNormal(replaces != ""); err != nil {
		return err
	}
	n.log.info("raft_topology", "join: success")
	if replaces != "" && n.v.AwaitsTablets() {
		n.log.info("storage_service", "Waiting for tablet replicas from the replaced node to be rebuilt")
		if err := n.sleep(n.o.TabletRebuildTime); err != nil {
			return err
		}
		n.log.info("storage_service", "Tablet replicas from the replaced node have been rebuilt")
	}
	return nil
}

func (n *Node) rejected(reason string) error {
	return runtimeErrorf("the topology coordinator rejected request to join the cluster: %s", reason)
}

// awaitResponse waits, without bound, for the coordinator's answer.
func (n *Node) awaitResponse() error {
	n.awaiting.Store(true)
	defer n.awaiting.Store(false)
	for {
		select {
		case <-n.runs.Done():
			return context.Cause(n.runs)
		case r := <-n.joinResp:
			if !r.Accept {
				r.reply <- nil
				if n.o.BanNoticeFirst && n.v.BanNotice() {
					continue
				}
				return n.rejected(r.Reason)
			}
			n.log.info("raft_topology", "coordinator accepted request to join, waiting for nodes %s to be alive before responding and continuing", idSet(r.Alive))
			if err := n.waitAlive(r.Alive); err != nil {
				r.reply <- err
				return err
			}
			// The mode changes before the answer is sent: the coordinator's next call may start the streaming, which has its own mode.
			n.setMode(rules.Accept.Mode())
			r.reply <- nil
			return nil
		}
	}
}

func (n *Node) waitAlive(ids []string) error {
	ctx, cancel := context.WithTimeout(n.runs, n.timeout(rules.AliveWait))
	defer cancel()
	missing := func(id string) bool { return !n.gossip.alive(id) }
	err := n.await(ctx, func() bool { return !slices.ContainsFunc(ids, missing) })
	if errors.Is(err, context.DeadlineExceeded) {
		return runtimeErrorf(rules.NotAlive+", nodes=%s", idSet(ids))
	}
	return err
}

// awaitNormal returns when the topology lists this node as normal, or why its request failed.
func (n *Node) awaitNormal(replacing bool) (failed error) {
	err := n.await(n.runs, func() bool { // at each change: the notice of a ban may come right after the reason
		me := n.g0.state().node(n.hostID)
		if me == nil {
			return false
		}
		task := n.g0.state().task(me.RequestID)
		if me.State == rules.Left || (task != nil && task.State == "failed") {
			what, why := "Bootstrap", "the node was removed"
			if replacing {
				what = "Replace"
			}
			if task != nil && task.Error != "" {
				why = task.Error
			}
			failed = runtimeErrorf("%s failed. See earlier errors (%s)", what, why)
		}
		return failed != nil || me.State == rules.Normal && me.Stage == ""
	})
	return cmp.Or(failed, err)
}

// handleJoinResponse passes the coordinator's answer to the waiting join and returns the join's own error.
func (n *Node) handleJoinResponse(ctx context.Context, r joinResponse) error {
	r.reply = make(chan error, 1)
	if n.Mode() != rules.ModeStarting && r.Accept {
		return nil // a new coordinator asks again; the answer stays the same
	}
	select {
	case n.joinResp <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-n.done:
		return io.EOF
	}
}
