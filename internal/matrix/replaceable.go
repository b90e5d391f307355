// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// NodeReplaceable is true for a node whose replacement an output may name. Every other package asks this function. All of this must hold: the node is a member here and a normal
// one; the cluster is not partitioned; the node has no row of its own that counts; a majority of the other rows has it DOWN, none has it UP, and none contradicts itself; no other
// cause is known (its Pod is not starting, its Kubernetes node answers, no replacement is open); and it has been DOWN since before Options.Settled.
func (m *Matrix) NodeReplaceable(hostID hostid.ID) bool {
	i, ok := m.index[hostID]
	return ok && m.replaceable(&m.nodes[i])
}

func (m *Matrix) replaceable(n *Node) bool {
	return m.opts.Fates[n.HostID].Step.IsZero() && m.dead(n)
}

// dead is replaceable but for a known cause.
func (m *Matrix) dead(n *Node) bool {
	fate := m.opts.Fates[n.HostID]
	if m.parted || n.Member == "" || n.HostID == "" || n.State != StateNormal || n.Reports || n.Removed || fate.Member != "" || fate.Joining {
		return false
	}
	o := m.Opinion(n.HostID)
	since := m.downSince(n.HostID, o)
	return o.MajorityDown() && len(o.Up) == 0 && len(o.Contradict) == 0 && !since.IsZero() && !m.opts.Settled.IsZero() && !since.After(m.opts.Settled)
}

// DownSince is since when a node has been DOWN: for the majority of the rows, and where these have no times (the Scylla Operator's reports never have), since when its Pod has not
// been ready. Zero is not known.
func (m *Matrix) DownSince(hostID hostid.ID) time.Time { return m.downSince(hostID, m.Opinion(hostID)) }

func (m *Matrix) downSince(hostID hostid.ID, o Opinion) time.Time {
	if since, known := o.DownSince(); known {
		return since
	}
	return m.opts.Fates[hostID].NotReadySince
}
