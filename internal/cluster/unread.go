// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// UnreadElsewhere returns the host IDs of another datacenter of a Scylla Operator's cluster whose
// rows cannot be read here: each is UP in every fresh row. Nil if another host ID without a row may
// belong here.
func (c *Cluster) UnreadElsewhere() []hostid.ID {
	if !c.Operator {
		return nil
	}
	var out []hostid.ID
	nodes := c.all.Nodes()
	for i := range nodes {
		n := &nodes[i]
		if n.HostID == "" || n.Row != nil || n.Member != "" || !c.all.Appears(i) {
			continue
		}
		if !n.AllUp() || c.WhyNotRemovable(n.HostID).Code != words.StrangerElsewhere {
			return nil
		}
		out = append(out, n.HostID)
	}
	return out
}

// AcceptedUnread returns UnreadElsewhere if the operator's barriers accept these nodes without a
// row: all have the flag for it, and the only report is this datacenter's. In a ScyllaDBCluster the
// operator copies the other reports here, and a missing one is a fault.
func (c *Cluster) AcceptedUnread() []hostid.ID {
	members := c.Serviced()
	if c.ReportCount() != 1 || len(members) == 0 || c.scyllaDBCluster() != "" ||
		slices.ContainsFunc(c.rows,
			func(r matrix.Row) bool { return r.Reporter.Datacenter != members[0].Datacenter }) ||
		slices.ContainsFunc(members, func(m *Member) bool { return !m.AllowsNonReporting() }) {
		return nil
	}
	return c.UnreadElsewhere()
}
