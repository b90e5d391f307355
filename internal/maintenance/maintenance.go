// SPDX-License-Identifier: Apache-2.0

// Package maintenance judges what may be done to a cluster now. It shows which operations are in
// progress, and whether the StatefulSets are at rest. It also shows how many copies of the data
// remain while nodes are stopped or replaced, and which host IDs may be removed. It is pure: no
// client, no clock, no logger. All other judges may import it, and it imports none of them.
package maintenance

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// work is what is in progress on a cluster.
type work struct {
	// Operations are the topology operations of ScyllaDB that are queued or running.
	Operations []api.NodeOperation
	// Known is true if at least one running node was queried for them: without it, an empty list
	// proves nothing.
	Known bool
	// Replaced are the members with a replacement that is requested or open, by name.
	Replaced []*cluster.Member
	// Rolling are the StatefulSets with a rollout in progress, of Kubernetes or of inject.
	Rolling []*appsv1.StatefulSet
}

// UnderWay returns what is in progress on the cluster.
func UnderWay(c *cluster.Cluster) work {
	var w work
	w.Operations, w.Known = c.Operations()
	w.Operations = Open(w.Operations)
	for _, m := range c.Serviced() {
		if m.ReplaceRequested || m.Replacing != "" {
			w.Replaced = append(w.Replaced, m)
		}
	}
	for i := range c.StatefulSets {
		set := &c.StatefulSets[i]
		// Without a revision no rollout is known: inject excludes its own roll in this way.
		if set.Status.UpdateRevision != "" && (unobserved(set) || cluster.Rolling(set) || ofOldRevision(set)) {
			w.Rolling = append(w.Rolling, set)
		}
	}
	return w
}

// Open returns a new list of the operations that are queued or running.
func Open(operations []api.NodeOperation) []api.NodeOperation {
	return slices.DeleteFunc(slices.Clone(operations),
		func(op api.NodeOperation) bool { return !cluster.OperationOpen(op) })
}

// Removable returns why a host ID must not be removed from the cluster; zero if it may be. ScyllaDB
// permanently bans a removed node.
func Removable(c *cluster.Cluster, id hostid.ID) words.Message {
	for _, m := range c.Serviced() {
		if m.HostID == id {
			return words.New(words.HostIDOfMember, "id", id, "member", m.Name())
		}
	}
	why := c.WhyNotRemovable(id)
	// Not in WhyNotRemovable: by it the controller, which reads no PVCs, tells states of host IDs.
	if why.IsZero() && c.Read&cluster.KindPVCs == 0 {
		return words.New(words.StrangerClaimsUnread)
	}
	return why
}

// Keyspace is where the replicas of a keyspace are.
type Keyspace struct {
	Name string
	// Tablets is true if its replicas are those of tablets.
	Tablets bool
	// Replicas are the distinct sets of nodes with the same data, by host ID, sorted.
	Replicas [][]hostid.ID
}

// Quorum reports whether more than half of the replicas are alive, both of all and of the near
// ones.
func Quorum(replicas []hostid.ID, alive, near func(hostid.ID) bool) bool {
	most := func(set []hostid.ID) bool { return 2*len(those(set, alive)) > len(set) }
	return most(replicas) && most(those(replicas, near))
}

func those(set []hostid.ID, are func(hostid.ID) bool) []hostid.ID {
	return slices.DeleteFunc(slices.Clone(set), func(id hostid.ID) bool { return !are(id) })
}
