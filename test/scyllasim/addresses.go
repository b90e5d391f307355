// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// sendTo calls a member by host ID and decodes its answer into out.
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

// addressOf returns a host's address: the one that gossip knows, else the one in the topology; false when neither has one.
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
