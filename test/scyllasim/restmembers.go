// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"net/netip"
	"slices"

	"github.com/google/uuid"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

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
			if i := slices.IndexFunc(out, func(kv keyValue) bool { return kv.key == ip }); i >= 0 {
				out[i].value = t.HostID
				continue
			}
		}
		out = append(out, keyValue{ip, t.HostID})
	}
	return out, nil
}

func (n *Node) apiAllTokens(apiCall) (any, error) {
	out := streamed{}
	for _, t := range n.g0.state().ring() {
		out = append(out, itoa(t.token))
	}
	return out, nil
}

// hostAt returns the host ID that gossip has for an address: a live node's, else that of the node that started last; "" when there is none.
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
			if t.State != rules.Left && t.State != rules.None && compareIP(t.IP, ip) == 0 {
				best = t.HostID
			}
		}
	}
	return best
}

// memberAt returns the host ID whose tokens and location the API answers for an address: by its index in 6.2, else by gossip.
func (n *Node) memberAt(ip string) string {
	index := n.indexed()
	for known, id := range index {
		if compareIP(known, ip) == 0 {
			return id
		}
	}
	if index != nil {
		return ""
	}
	return n.hostAt(ip)
}

func (n *Node) apiTokens(c apiCall) (any, error) {
	if _, err := netip.ParseAddr(c.param); err != nil {
		return nil, runtimeErrorf("%s: Not found", c.param)
	}
	out := streamed{}
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
