// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// LeftVolume is data of this cluster that no member has: the PVC of an ordinal that its StatefulSet
// no longer wants, or a PersistentVolume that is kept for such a PVC. A node without a member may
// return with it.
type LeftVolume struct {
	// Claim is the name of the PVC, Volume its PersistentVolume if the PVC does not exist.
	Claim, Volume string
	// Member has the name that a Pod with this PVC has.
	Member string
	// Set is the StatefulSet, nil if it does not exist.
	Set     *appsv1.StatefulSet
	Ordinal int32
}

// LeftVolumes returns the volumes that no member has and that may be of this datacenter and rack,
// sorted by ordinal and PVC.
func (c *Cluster) LeftVolumes(datacenter, rack string) []LeftVolume {
	var out []LeftVolume
	volumes := maps.Clone(c.Claimed)
	if volumes == nil {
		volumes = map[string]string{}
	}
	for name, pvc := range c.ix.pvcs {
		if volumes[name] = ""; pvc.Status.Phase == corev1.ClaimLost {
			delete(volumes, name)
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(volumes)) {
		v, labels := c.leftVolume(claim)
		at := Place(v.Member, labels)
		if v.Member == "" || differ(at.Datacenter, datacenter) || differ(at.Rack, rack) {
			continue
		}
		v.Volume = volumes[claim]
		out = append(out, v)
	}
	slices.SortStableFunc(out, func(a, b LeftVolume) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return out
}

// differ reports whether two names are known and not equal.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// leftVolume returns the volume of the PVC with this name and the labels of its place; zero if a
// member has it, or a StatefulSet wants a member with it.
func (c *Cluster) leftVolume(claim string) (LeftVolume, map[string]string) {
	for i := range claim {
		if claim[i] != '-' {
			continue
		}
		member := claim[i+1:]
		set, ordinal, ok := cutOrdinal(member)
		if _, has := c.ix.refs[member]; has || !ok || c.ix.pvcName(member) != claim {
			continue
		}
		v, pvc := LeftVolume{Claim: claim, Member: member, Set: c.ix.sets[set], Ordinal: ordinal}, c.ix.pvcs[claim]
		if v.Set == nil && pvc != nil && api.ClusterOf(pvc.Labels) == c.Name {
			return v, pvc.Labels
		} else if v.Set == nil {
			continue
		}
		if first, n := Ordinals(v.Set); int(ordinal) < first || int(ordinal) >= first+n {
			return v, v.Set.Labels
		}
	}
	return LeftVolume{}, nil
}

// fact returns the volume as the reason why a node must not be removed.
func (v *LeftVolume) fact() words.Message {
	m := words.New(words.StrangerLeftVolume, "claim", v.Claim, "volume", v.Volume, "member", v.Member)
	if v.Set != nil {
		first, n := Ordinals(v.Set)
		m.Params["statefulSet"], m.Params["rack"] = v.Set.Name, v.Set.Labels[api.LabelRack]
		m.Params["replicas"], m.Params["wanted"] = n, int(v.Ordinal)-first+1
	}
	return m
}

// mayHaveVolume reports whether the member has a volume, or may have one: its PVC can lack the
// cluster's label, and a file can lack the PVC. Where no PVCs are read, as in the controller,
// nothing is removable; see maintenance.Removable.
func (c *Cluster) mayHaveVolume(member string) bool {
	claim := c.ix.pvcName(member)
	_, bound := c.Claimed[claim]
	return c.ix.pvcs[claim] != nil || bound || c.Offline || c.Read&KindPVCs != 0 && c.Claimed == nil
}
