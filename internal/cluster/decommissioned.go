// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// normalIn returns the nodes whose fresh rows list a host ID as a normal member, including the node
// itself, as indexes into the matrix.
func (c *Cluster) normalIn(id hostid.ID) []int {
	at, known := c.all.Index(id)
	if id == "" || !known {
		return nil
	}
	in := c.all.Opinion(id).States[matrix.StateNormal]
	if own := c.all.Cell(at, at); c.all.HasUsableRow(at) && own.Status != matrix.Missing &&
		own.State == matrix.StateNormal {
		in = append(in, at)
	}
	return in
}

// labelBlockers returns the members whose Service has label scylla/decommissioned=true although
// fresh rows list them as normal members. They do not block new nodes, but a cluster with one is
// not healthy. When the rack is scaled down, the Scylla Operator up to 1.21 skips the decommission
// of such a node. Later releases drain the rack down to it. All then delete its PVC.
func (c *Cluster) labelBlockers() []matrix.Blocker {
	var out []matrix.Blocker
	for _, name := range c.ix.names() {
		svc, ref := c.ix.services[name], c.ix.refs[name]
		if svc == nil || svc.Labels[api.LabelDecommissioned] != api.DecommissionedDone {
			continue
		}
		if in := c.normalIn(ref.HostID); len(in) > 0 {
			out = append(out, matrix.Blocker{
				Reason: words.DecommissionLabel, Observed: ref,
				Cause: words.New(words.SaysDecommissioned, "service", name, "rows", len(in)),
			})
		}
	}
	return out
}
