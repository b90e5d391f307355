// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// NodeReplaceable is true for a node whose replacement an output may name. Every other package asks this function. All of this must hold: the node is a member here and a normal
// one; the cluster is not partitioned; its rack and datacenter are not wholly DOWN; the node has no row of its own that counts; a majority of the other rows has it DOWN, none has it UP, and none contradicts itself; no other
// cause is known (its Pod is not starting, its Kubernetes node answers, no replacement is open); and by the times in a majority of the rows it has been DOWN since before Options.Settled. Rows without times, as the
// Scylla Operator's, never make a node replaceable.
func (m *Matrix) NodeReplaceable(hostID hostid.ID) bool {
	i, ok := m.index[hostID]
	return ok && m.replaceable(&m.nodes[i])
}

func (m *Matrix) replaceable(n *Node) bool {
	return !m.opts.Fates[n.HostID].Passes && m.dead(n)
}

// Dead is NodeReplaceable also for a node that is DOWN for a known cause.
func (m *Matrix) Dead(hostID hostid.ID) bool {
	i, ok := m.index[hostID]
	return ok && m.dead(&m.nodes[i])
}

func (m *Matrix) dead(n *Node) bool {
	fate := m.opts.Fates[n.HostID]
	if _, _, away := m.PlaceAway(n.HostID); m.parted || away || n.Member == "" || n.HostID == "" || n.State != StateNormal || n.Reports || n.Removed || fate.Member != "" || fate.Joining {
		return false
	}
	o := m.Opinion(n.HostID)
	since, known := o.DownSince() // as check down-for of a replacement: since when the Pod is not ready tells nothing about gossip
	return known && len(o.Up) == 0 && len(o.Contradict) == 0 && !m.opts.Settled.IsZero() && !since.After(m.opts.Settled)
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

// placesAway are the datacenters, without a rack, and the racks with two members or more of which every one is DOWN for most rows and UP for none: what they have in common is away, and
// their nodes come back with it.
func (m *Matrix) placesAway() map[[2]string]bool {
	total, gone := map[[2]string]int{}, map[[2]string]int{}
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
			}
		}
	}
	var out map[[2]string]bool
	for place, nodes := range gone {
		if nodes > 1 && nodes == total[place] {
			if out == nil {
				out = map[[2]string]bool{}
			}
			out[place] = true
		}
	}
	return out
}

// PlaceAway is the place of a node whose whole datacenter, then without a rack, or whole rack is DOWN: no node of it is replaced. False for any other node.
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
