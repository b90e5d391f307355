// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Leave is a decommission that a user plans: the members that leave, and the nodes that remain.
type Leave struct {
	Members []cluster.Member
	// Left are the joined nodes without Members, of all datacenters.
	Left []matrix.Ref

	nodes map[hostid.ID]matrix.Ref // all of both
}

// LeaveOf returns the decommission of these members.
func LeaveOf(c *cluster.Cluster, members []cluster.Member) *Leave {
	l := &Leave{Members: members, nodes: map[hostid.ID]matrix.Ref{}}
	for i := range c.Matrix().Nodes() {
		n := &c.Matrix().Nodes()[i]
		if !n.Joined || n.Removed || n.HostID == "" {
			continue
		}
		l.nodes[n.HostID] = n.Ref
		if n.State != matrix.StateLeaving && !l.Leaves(n.HostID) {
			l.Left = append(l.Left, n.Ref)
		}
	}
	return l
}

// Leaves reports whether the node with that host ID leaves.
func (l *Leave) Leaves(id hostid.ID) bool {
	return slices.ContainsFunc(l.Members, func(m cluster.Member) bool { return m.HostID == id })
}

// In returns how many nodes remain in a datacenter, and how many of them in a rack.
func (l *Leave) In(datacenter, rack string) (inDatacenter, inRack int) {
	for _, n := range l.Left {
		if n.Datacenter == datacenter {
			inDatacenter++
			if n.Rack == rack {
				inRack++
			}
		}
	}
	return inDatacenter, inRack
}

// racks returns the racks of a datacenter in which nodes remain.
func (l *Leave) racks(datacenter string) map[string]bool {
	out := map[string]bool{}
	for _, n := range l.Left {
		if n.Datacenter == datacenter {
			out[n.Rack] = true
		}
	}
	return out
}

// places returns the distinct datacenters and racks of the members that leave, in their order.
func (l *Leave) places() (datacenters []string, racks []matrix.Ref) {
	for i := range l.Members {
		m := &l.Members[i]
		if !slices.Contains(datacenters, m.Datacenter) {
			datacenters = append(datacenters, m.Datacenter)
		}
		if !slices.ContainsFunc(racks, func(r matrix.Ref) bool {
			return r.Datacenter == m.Datacenter && r.Rack == m.Rack
		}) {
			racks = append(racks, m.Ref)
		}
	}
	return datacenters, racks
}

// EmptyRacks returns the racks in which no node remains, as the first member of each.
func (l *Leave) EmptyRacks() []matrix.Ref {
	_, racks := l.places()
	return slices.DeleteFunc(racks, func(r matrix.Ref) bool {
		_, left := l.In(r.Datacenter, r.Rack)
		return left > 0
	})
}

// Misfit is why replicas of keyspaces have no place on the nodes that remain.
type Misfit struct {
	// Cause is RFAboveLeft, ReplicasWithoutNode, RackWithoutNode, RackMaybeNeeded or RFOfOwn. The
	// last two do not prove that a replica has no place.
	Cause     words.Code
	Keyspaces []string
	Place     matrix.Ref
	// Replicas is the largest number of replicas there, Left how many nodes remain there.
	Replicas, Left int
}

// Misfits returns the keyspaces whose replicas have no place once the members have left. A keyspace
// that is on every node by definition always has one.
func (l *Leave) Misfits(keyspaces []Keyspace) []Misfit {
	var out []Misfit
	add := func(m Misfit) {
		at := slices.IndexFunc(out, func(o Misfit) bool {
			return o.Cause == m.Cause && o.Place == m.Place && o.Replicas == m.Replicas
		})
		if at < 0 {
			out = append(out, m)
			return
		}
		out[at].Keyspaces = append(out[at].Keyspaces, m.Keyspaces...)
	}
	datacenters, _ := l.places()
	for _, k := range keyspaces {
		if k.Everywhere() {
			continue
		}
		for _, dc := range datacenters {
			m := l.misfit(&k, dc)
			if m.Keyspaces = []string{k.Name}; m.Cause != "" {
				add(m)
			}
		}
	}
	return out
}

// misfit returns why the replicas that a keyspace has in a datacenter have no place; without a
// cause if they have. Tablets go to a rack without another replica of theirs, and each node holds
// one replica at most (service/tablet_allocator.cc:4185, :4553).
func (l *Leave) misfit(k *Keyspace, dc string) Misfit {
	inRack := map[string]int{} // the largest number of replicas of one range, by rack
	always := map[string]int{} // how many sets have a replica in the rack
	for _, set := range k.Replicas {
		here := map[string]int{}
		for _, id := range set {
			if at, known := l.nodes[id]; known && at.Datacenter == dc {
				here[at.Rack]++
			}
		}
		for rack := range here {
			inRack[rack] = max(inRack[rack], here[rack])
			always[rack]++
		}
	}
	left, _ := l.In(dc, "")
	replicas := l.Replicas(k, dc)
	m := Misfit{Place: matrix.Ref{Datacenter: dc}, Replicas: replicas, Left: left}
	racks := l.racks(dc)
	switch {
	case replicas <= left && !k.Tablets:
	case k.Own() && !k.Tablets:
		// SimpleStrategy: the replicas go to any nodes of the cluster
		if left > 0 {
			m.Cause = words.RFOfOwn
		}
	case replicas > 0 && left == 0:
		m.Cause = words.ReplicasWithoutNode
	case replicas > left:
		m.Cause = words.RFAboveLeft
	default:
		for _, rack := range slices.Sorted(maps.Keys(inRack)) {
			switch {
			case racks[rack]:
				continue
			case replicas > len(racks) && inRack[rack] == 1:
				m.Cause = words.RackWithoutNode
			case always[rack] == len(k.Replicas) && m.Cause == "":
				m.Cause = words.RackMaybeNeeded
			default:
				continue
			}
			m.Place.Rack = rack
		}
	}
	return m
}

// Replicas returns the largest number of replicas that a range of the keyspace has in a datacenter.
func (l *Leave) Replicas(k *Keyspace, datacenter string) (replicas int) {
	for _, set := range k.Replicas {
		here := those(set, func(id hostid.ID) bool { return l.nodes[id].Datacenter == datacenter })
		replicas = max(replicas, len(here))
	}
	return replicas
}

// Everywhere reports whether ScyllaDB keeps the keyspace on every node (EverywhereStrategy).
func (k *Keyspace) Everywhere() bool {
	return k.Name == "system_distributed_everywhere" || k.Name == "system_replicated_keys"
}

// Own reports whether ScyllaDB itself made the keyspace.
func (k *Keyspace) Own() bool { return strings.HasPrefix(k.Name, "system_") }
