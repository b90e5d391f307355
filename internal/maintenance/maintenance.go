// SPDX-License-Identifier: Apache-2.0

// Package maintenance counts the copies of the data that are left while nodes are stopped or replaced. It is pure: no client, no clock, no logger.
package maintenance

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// Keyspace is where the replicas of a keyspace are.
type Keyspace struct {
	Name string
	// Replicas are the distinct sets of nodes that hold the same data, by host ID, sorted.
	Replicas [][]hostid.ID
}

// Quorum is true where more than half of the replicas are alive, of all and of the near ones.
func Quorum(replicas []hostid.ID, alive, near func(hostid.ID) bool) bool {
	most := func(set []hostid.ID) bool { return 2*len(those(set, alive)) > len(set) }
	return most(replicas) && most(those(replicas, near))
}

func those(set []hostid.ID, are func(hostid.ID) bool) []hostid.ID {
	return slices.DeleteFunc(slices.Clone(set), func(id hostid.ID) bool { return !are(id) })
}
