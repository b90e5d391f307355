// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

type discoverRequest struct {
	IP       string
	Eligible bool
}

type discoverReply struct {
	HostID   string
	Group0   string
	LeaderIP string
	Eligible bool
	Members  []topoNode
}

func (n *Node) inquire(ip string, r discoverRequest) (rep discoverReply, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, n.timeout(5*time.Second))
	defer cancel()
	return rep, n.tr.call(ctx, "", ip, "discover", r, &rep)
}

// shadowRound asks the seeds, except the node itself, for the members of the cluster. It fails when none has answered after shadow_round_ms.
func (n *Node) shadowRound(seeds []string) ([]topoNode, error) {
	end := n.clock.Now().Add(300 * time.Second)
	others := slices.DeleteFunc(slices.Clone(seeds), n.isMe)
	for {
		for _, ip := range others {
			if rep, err := n.inquire(ip, discoverRequest{}); err == nil && rep.Group0 != "" {
				return rep.Members, nil
			}
		}
		if !n.clock.Now().Before(end) {
			return nil, runtimeErrorf("%s", rules.NoSeedReached(idSet(others)))
		}
		if err := n.sleep(time.Second); err != nil {
			return nil, err
		}
	}
}

// discover returns the address to send the join request to, or "" when this node is to create the cluster. It creates only if its own
// address is among its seeds, every other node it knows of has answered that it belongs to no cluster, and its host ID is the smallest of
// those that could create. A node that knows no other seed than itself creates a cluster at once, whether or not there is another.
func (n *Node) discover(seeds []string, replacing bool) (string, error) {
	eligible := !replacing && slices.ContainsFunc(seeds, n.isMe)
	for {
		targets := slices.DeleteFunc(slices.Clone(seeds), n.isMe)
		n.mu.Lock()
		for ip := range n.eligible {
			targets = addUnique(targets, ip)
		}
		n.mu.Unlock()
		all, smallest, contact := true, true, ""
		for _, ip := range targets {
			rep, err := n.inquire(ip, discoverRequest{IP: n.o.BroadcastAddress, Eligible: eligible})
			switch {
			case err != nil:
				all = false
			case rep.Group0 != "" && contact == "":
				contact = cmp.Or(rep.LeaderIP, ip)
			case rep.Group0 == "" && rep.Eligible && rep.HostID < n.hostID:
				smallest = false
			}
		}
		if contact != "" {
			return contact, nil
		}
		if eligible && all && smallest {
			return "", nil
		}
		if err := n.sleep(time.Second); err != nil {
			return "", err
		}
	}
}

func (n *Node) handleDiscover(r discoverRequest) discoverReply {
	rep := discoverReply{HostID: n.hostID, Group0: n.groupID()}
	if rep.Group0 != "" {
		if id := n.g0.leaderID(); id != "" {
			rep.LeaderIP, _ = n.addressOf(id)
		}
		for _, t := range n.g0.state().sorted() {
			if t.State != rules.Left && t.State != rules.None {
				ip, _ := n.addressOf(t.HostID)
				rep.Members = append(rep.Members, topoNode{HostID: t.HostID, IP: ip, DC: t.DC, Rack: t.Rack})
			}
		}
		return rep
	}
	seeds, err := n.resolveSeeds()
	rep.Eligible = err == nil && slices.ContainsFunc(seeds, n.isMe) && n.o.ReplaceNodeFirstBoot == "" && n.o.ReplaceAddressFirstBoot == ""
	if r.Eligible {
		n.mu.Lock()
		n.eligible[r.IP] = true
		n.mu.Unlock()
	}
	return rep
}
