// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net"
	"slices"
	"strconv"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// Reporters returns the members whose reporters must respond before the member starts: those that
// have joined and have a Pod here with our reporter. The member itself, the node that it replaces
// and the dead nodes that its replacement ignores are left out. Under the Scylla Operator there are
// none: its reporter is part of ScyllaDB's container and serves no port.
func (c *Cluster) Reporters(member string) []*Member {
	var dead []hostid.ID
	if m := c.Member(member); m != nil {
		dead = append(m.IgnoredDead(), hostid.Known(m.Label(api.LabelReplacingNodeHostID)))
	}
	var out []*Member
	for i := range c.all.Nodes() {
		n := &c.all.Nodes()[i]
		if c.ix.pods[n.Member] == nil || n.Member == member || n.Removed || slices.Contains(dead, n.HostID) {
			continue
		}
		m := c.MemberOf(n)
		// The row of a node that has just joined may not show it yet.
		if _, _, ours := reporterStatus(m.Pod); ours && (n.Joined || m.HasJoined() && m.RecordedID() == n.HostID) {
			out = append(out, m)
		}
	}
	return out
}

// Heartbeat returns the TLS endpoint of its reporter that its row names; nil if it names none.
func (m *Member) Heartbeat() *api.ReportHeartbeat {
	if m.Report == nil || m.Pod == nil {
		return nil
	}
	return m.Report.Heartbeat
}

// HeartbeatAt returns host and port of Heartbeat; empty if there is none, or its Pod has no
// address.
func (m *Member) HeartbeatAt() string {
	h := m.Heartbeat()
	if h == nil || h.Port == 0 || m.Pod.Status.PodIP == "" {
		return ""
	}
	return net.JoinHostPort(m.Pod.Status.PodIP, strconv.Itoa(int(h.Port)))
}
