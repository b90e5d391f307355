// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// Gathered is what commands in a member's Pod printed when its objects were saved, as by the Scylla
// Operator's must-gather.
type Gathered struct {
	// DiskUsedPercent is how full the volume with the node's data was, by df; nil if unknown.
	DiskUsedPercent *int32
	// Status is the state of each node by nodetool status, such as UN or DN.
	Status map[hostid.ID]string
}

// WithGathered returns the same Cluster with the output of commands, by member.
func (c *Cluster) WithGathered(of map[string]Gathered) *Cluster {
	other := *c
	other.Gathered = of
	return other.judge(c.want)
}

// Dispute is a node that nodetool status of a member and its status report show differently.
type Dispute struct {
	Member   string
	Of       matrix.Ref
	Nodetool string // UN, DN and others
	Row      matrix.Status
}

// Disputes returns the nodes that are UP in one of the two and DOWN in the other, in the order of
// the members.
func (c *Cluster) Disputes() []Dispute {
	var out []Dispute
	nodes := c.all.Nodes()
	for _, member := range slices.Sorted(maps.Keys(c.Gathered)) {
		i := slices.IndexFunc(nodes, func(n matrix.Node) bool { return n.Member == member && n.Row != nil })
		if i < 0 {
			continue
		}
		listed := c.Gathered[member].Status
		for j := range nodes {
			code, row := listed[nodes[j].HostID], c.all.At(i, j)
			if i != j && (strings.HasPrefix(code, "D") && row == matrix.Up ||
				strings.HasPrefix(code, "U") && row == matrix.Down) {
				out = append(out, Dispute{member, nodes[j].Ref, code, row})
			}
		}
	}
	return out
}
