// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Joins that ScyllaDB would refuse, or that would break, with every node UP.

// tooOld is the blocker of an image that is older than the oldest node that runs: ScyllaDB refuses a node that does not know all features that the cluster
// has enabled, and bans it.
//
// This judges features, too. No REST call returns the enabled features, nor those that an image supports before it runs. But a node refuses to start on a disk that has an enabled
// feature which it does not support ("prohibited downgrade"; read in ScyllaDB's feature service), so every running node, the oldest among them, supports all enabled features; and
// a later version supports those of an earlier one, retired names included. So an image that is not older than the oldest node supports them, also in a cluster that was upgraded
// and partly rolled back, where the rolled back nodes would not run otherwise. A patch release may add a feature, so patch numbers count; a pre-release counts as its release. Not
// detected is a feature that the newcomer's own configuration turns off.
func (in *Input) tooOld(m *matrix.Matrix) []matrix.Blocker {
	if !in.Version.Known {
		return nil
	}
	var oldest release.Version
	var runs matrix.Ref
	nodes := m.Nodes()
	for i := range nodes {
		n := &nodes[i]
		if n.Self || n.Row == nil || !n.Joined {
			continue
		}
		if v := in.runs(n); v.Known && (!oldest.Known || numbers(v).Compare(numbers(oldest)) < 0) {
			oldest, runs = v, n.Ref
		}
	}
	if !oldest.Known || numbers(in.Version).Compare(numbers(oldest)) >= 0 {
		return nil
	}
	// Without the package's release number, which is not needed to choose an image.
	number, _, _ := strings.Cut(oldest.String(), "-0.")
	return []matrix.Blocker{{
		Reason: words.VersionTooOld, Observed: in.self,
		Cause: words.New(words.OlderThanOldest, "version", in.Version.String(), "node", runs.Name(), "oldest", number),
	}}
}

// runs is the version of a node by its own row, and where its reporter does not write it, as the Scylla Operator's, by the image of its Pod.
func (in *Input) runs(n *matrix.Node) release.Version {
	if v, err := release.Parse(n.Row.Says().ScyllaVersion); err == nil {
		return v
	}
	for _, p := range in.Peers {
		if p.Ref.Member == n.Member && n.Member != "" && p.Started() {
			return p.ImageVersion()
		}
	}
	return release.Version{}
}

// numbers is the version as a release: a pre-release may support the features of its release.
func numbers(v release.Version) release.Version {
	v.Pre = ""
	return v
}

// oneAtATime is the blocker of a newcomer beside another one where topology is not managed by Raft: there two joins at once damage each other. The other is one that its peers list
// as joining, one whose ScyllaDB has been started, or one that also waits and comes first by the rule of the first node.
func (in *Input) oneAtATime(m *matrix.Matrix) []matrix.Blocker {
	legacy := false
	nodes := m.Nodes()
	for i := range nodes {
		legacy = legacy || nodes[i].Row != nil && nodes[i].Row.Says().LegacyTopology && !nodes[i].Self
	}
	if !legacy {
		return nil
	}
	blocker := func(other matrix.Ref, cause words.Code) matrix.Blocker {
		return matrix.Blocker{Reason: words.OneNewcomerAtATime, Observed: other, Cause: words.New(cause, "node", other.Name())}
	}
	var list []matrix.Blocker
	seen := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		if !n.Self && n.HostID != in.self.HostID && (n.State == matrix.StateJoining || n.State == matrix.StateReplacing) {
			list = append(list, blocker(n.Ref, words.NewcomerOnItsWay))
			seen[n.Member] = true
		}
	}
	for _, p := range in.Peers {
		if p.HasJoined() || seen[p.Ref.Member] {
			continue
		}
		switch {
		case p.Started():
			list = append(list, blocker(p.Recorded(), words.NewcomerOnItsWay))
		case p.WaitsInBarrier() && byAge(p, in.Member) < 0:
			list = append(list, blocker(p.Recorded(), words.NewcomerBefore))
		}
	}
	return list
}

// newRack warns of the first node of a rack in a datacenter that has others: the keyspaces and their replication are in no row.
func (in *Input) newRack(m *matrix.Matrix) []words.Message {
	if in.self.Rack == "" || in.self.Datacenter == "" || !in.replaces().IsZero() {
		return nil
	}
	others := false
	nodes := m.Nodes()
	for i := range nodes {
		n := &nodes[i]
		if n.Self && n.Joined {
			return nil // its node is a member there already, and restarts or is replaced
		}
		if !n.Joined || n.Datacenter != in.self.Datacenter || n.Rack == "" {
			continue
		}
		if n.Rack == in.self.Rack {
			return nil
		}
		others = true
	}
	if !others {
		return nil
	}
	return []words.Message{words.New(words.RackIsNew, "rack", in.self.Rack, "datacenter", in.self.Datacenter)}
}
