// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Joins that ScyllaDB would refuse, or that would break, although every node is UP.

// tooOld returns the blocker for an image that is older than the oldest running node. ScyllaDB
// refuses, and bans, a node that does not support all features that the cluster has enabled.
//
// No REST call returns the enabled features, nor the features of an image before it runs, so
// versions are compared:
//   - A node refuses to start on a disk with an enabled feature that it does not support
//     ("prohibited downgrade"; read in ScyllaDB's feature service). So every running node supports
//     all enabled features, even after a partial rollback of an upgrade.
//   - A later version supports the features of an earlier one, including retired names. So an image
//     that is not older than the oldest node supports them.
//   - A patch release may add a feature, so patch numbers count. A pre-release counts as its
//     release.
//
// It does not detect a feature that the new node's own configuration disables.
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

// runs returns the version of a node by its own row. If its reporter does not write it, as the
// Scylla Operator's, it is the version of its Pod's image.
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

// numbers returns the version as a release: a pre-release may support the features of its release.
func numbers(v release.Version) release.Version {
	v.Pre = ""
	return v
}

// oneAtATime returns the blockers of a new node if another one joins and topology is not managed by
// Raft: then two concurrent joins damage each other. The other node is listed as joining by its
// peers, or its ScyllaDB runs. Or it also waits and is first by the rule of the first node.
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
		return matrix.Blocker{Reason: words.OneNewcomerAtATime, Observed: other,
			Cause: words.New(cause, "node", other.Name())}
	}
	var list []matrix.Blocker
	seen := map[string]bool{}
	for i := range nodes {
		n := &nodes[i]
		if !n.Self && n.HostID != in.self.HostID && n.HostID != in.Ran && n.State.NewNode() {
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

// newRack returns a warning for the first node of a rack in a datacenter that has others: the
// keyspaces and their replication are in no row.
func (in *Input) newRack(m *matrix.Matrix) []words.Message {
	if in.self.Rack == "" || in.self.Datacenter == "" || !in.replaces().IsZero() {
		return nil
	}
	others := false
	nodes := m.Nodes()
	for i := range nodes {
		n := &nodes[i]
		if n.Self && n.Joined {
			return nil // its node is already a member there, and restarts or is replaced
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
