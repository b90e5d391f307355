// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"cmp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Compact are the objects of a cluster of any size: no cell for each pair of nodes, but the cluster report that our controller writes of more than
// 32 nodes. Pods have no rows, because no annotation has room for 10,000 cells.
func (c *Cluster) Compact() []client.Object {
	ids := make([]string, len(c.Nodes))
	for i := range c.Nodes {
		ids[i] = c.Nodes[i].HostID
	}
	r := &api.ScyllaDBStatusReport{
		ObjectMeta: c.Meta("statusreport", c.Name, map[string]string{api.LabelManagedBy: api.ManagedByUs}),
		Membership: api.NewMembership(ids),
	}
	for _, n := range c.Nodes {
		at := len(r.Datacenters) - 1
		if at < 0 || r.Datacenters[at].Name != n.Datacenter {
			at, r.Datacenters = at+1, append(r.Datacenters, api.StatusReportDatacenter{Name: n.Datacenter})
		}
		row, said := api.StatusReportNode{HostID: n.HostID, Member: n.Name}, &api.NodeStatusReport{}
		if text := c.failed[n.Name]; text != "" {
			row.Fault = &api.RowTrouble{Code: api.FaultScyllaDB, Words: text}
			c.annotate(n)
		} else {
			row.MembershipDigest, said.OperationMode, said.ScyllaVersion = r.Membership.Digest, "NORMAL", n.Version
			for _, o := range c.not[n.HostID] {
				row.ObservedNodes = append(row.ObservedNodes, o)
			}
			slices.SortFunc(row.ObservedNodes, func(a, b api.ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) })
		}
		for _, change := range c.says {
			change(n, said)
		}
		m := api.StatusReportMember{
			Name: n.Name, Namespace: c.Namespace, Datacenter: n.Datacenter, Rack: n.Rack, Ordinal: n.Ordinal, HostID: n.HostID, Joined: true,
			OperationMode: said.OperationMode, ScyllaVersion: said.ScyllaVersion, Coordinator: string(said.Coordinator), Group0ID: said.Group0ID,
		}
		r.Datacenters[at].Nodes, r.Status.Members = append(r.Datacenters[at].Nodes, row), append(r.Status.Members, m)
	}
	for i := range r.Datacenters {
		slices.SortFunc(r.Datacenters[i].Nodes, func(a, b api.StatusReportNode) int { return cmp.Compare(a.HostID, b.HostID) })
	}
	slices.SortFunc(r.Status.Members, func(a, b api.StatusReportMember) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Rack, b.Rack), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return append(slices.Concat(byName(c.services), byName(c.pods), byName(c.sets)), r)
}
