// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// NodeReplaceable reports whether the node is Dead and no cause is known that a replacement does
// not remove: its Pod is not starting, Kubernetes runs its containers, and its Kubernetes node
// responds. It does not show that the node's data is lost, so it is no evidence for a replacement.
func (m *Matrix) NodeReplaceable(hostID hostid.ID) bool {
	return !m.opts.Fates[hostID].Passes && m.Dead(hostID)
}

// Dead reports whether the node is AllDown and, by the times in a majority of the rows, has been
// DOWN since before Options.Settled. It is false for rows without times, such as the Scylla
// Operator's.
func (m *Matrix) Dead(hostID hostid.ID) bool {
	if m.opts.Settled.IsZero() || !m.AllDown(hostID) {
		return false
	}
	// as check down-for of a replacement: the Pod's readiness is not evidence about gossip
	since, known := m.Opinion(hostID).DownSince()
	return known && !since.After(m.opts.Settled)
}

// AllDown reports whether the rows agree that one node is DOWN. All of this must be true:
//   - the node is a normal member here
//   - the cluster has no network partition
//   - its rack and datacenter are not wholly DOWN
//   - it has no usable row of its own
//   - a majority of the other rows has it DOWN, no row has it UP, and no row contradicts itself
//   - no replacement is open
func (m *Matrix) AllDown(hostID hostid.ID) bool {
	i, ok := m.index[hostID]
	if !ok {
		return false
	}
	n := &m.nodes[i]
	fate := m.opts.Fates[n.HostID]
	if _, _, away := m.PlaceAway(n.HostID); m.parted || away || n.Member == "" || n.HostID == "" ||
		n.State != StateNormal || n.Reports || n.Removed || fate.Member != "" || fate.Joining {
		return false
	}
	o := m.Opinion(n.HostID)
	return o.MajorityDown() && len(o.Up) == 0 && len(o.Contradict) == 0
}

// DownSince returns since when a node has been DOWN by the majority of the rows. If these have no
// times (as in the Scylla Operator's reports), it returns since when its Pod has not been Ready.
// Zero if unknown.
func (m *Matrix) DownSince(hostID hostid.ID) time.Time { return m.downSince(hostID, m.Opinion(hostID)) }

func (m *Matrix) downSince(hostID hostid.ID, o Opinion) time.Time {
	if since, known := o.DownSince(); known {
		return since
	}
	return m.opts.Fates[hostID].NotReadySince
}

// placesAway returns the datacenters (without a rack) and racks that are wholly DOWN: at least two
// members, each DOWN in most rows and UP in none, not all of them for reasons of their own. The
// common cause is external, and the nodes return with it.
func (m *Matrix) placesAway() map[[2]string]bool {
	total, gone, together := map[[2]string]int{}, map[[2]string]int{}, map[[2]string]bool{}
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.HostID == "" || n.Datacenter == "" || !n.Joined || n.Removed {
			continue
		}
		down := !n.Reports && n.SeenUp == 0 && 2*n.SeenDown > n.SeenDown+n.SeenUnknown+n.NotSeen
		for k, place := range [2][2]string{{n.Datacenter, ""}, {n.Datacenter, n.Rack}} {
			if k == 1 && n.Rack == "" {
				continue
			}
			if total[place]++; down {
				gone[place]++
				together[place] = together[place] || !m.Explained(n.HostID)
			}
		}
	}
	var out map[[2]string]bool
	for place, nodes := range gone {
		if nodes > 1 && nodes == total[place] && together[place] {
			if out == nil {
				out = map[[2]string]bool{}
			}
			out[place] = true
		}
	}
	return out
}

// Explained reports whether a node that is DOWN is so for a reason of its own, or is being
// replaced.
func (m *Matrix) Explained(hostID hostid.ID) bool {
	fate := m.opts.Fates[hostID]
	return fate.Explained || fate.Member != ""
}

// PlaceAway returns the place of a node whose whole datacenter (then rack is empty) or whole rack
// is DOWN: none of its nodes is replaced. False for any other node.
func (m *Matrix) PlaceAway(hostID hostid.ID) (datacenter, rack string, away bool) {
	i, ok := m.index[hostID]
	if !ok || m.away == nil {
		return "", "", false
	}
	switch n := &m.nodes[i]; {
	case m.away[[2]string{n.Datacenter, ""}]:
		return n.Datacenter, "", true
	case n.Rack != "" && m.away[[2]string{n.Datacenter, n.Rack}]:
		return n.Datacenter, n.Rack, true
	}
	return "", "", false
}
