// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// HealthPolicy returns the thresholds for the cluster's nodes: from its report, else the defaults.
func (c *Cluster) HealthPolicy() api.StatusReportHealthPolicy { return healthpolicy.Of(c.StatusReport) }

// HealthInput returns the cluster's settings for its health policy, without Settled and Window.
// stored is the policy in its report.
func (c *Cluster) HealthInput(stored *api.StatusReportHealthPolicy) healthpolicy.Input {
	in := healthpolicy.Input{Stored: stored}
	for i := range c.StatefulSets {
		s := &c.StatefulSets[i]
		in.Said = append(in.Said, healthpolicy.Said{Namespace: s.Namespace, Name: s.Name, Annotations: s.Annotations})
	}
	nodes := c.all.Nodes()
	for i := range nodes {
		if n := &nodes[i]; n.Joined && !n.Removed && n.State == matrix.StateNormal {
			in.Members++
		}
	}
	return in
}

// DeadRows returns the members that have a row in the reports although their node was removed: no
// fresh row lists it, and no ScyllaDB runs in their Pod.
func (c *Cluster) DeadRows() []matrix.Ref {
	var out []matrix.Ref
	for _, m := range c.Serviced() {
		ref := m.Recorded()
		if at, ok := c.all.Index(ref.HostID); ok && ref.HostID != "" && m.Idle() && m.HasJoined() &&
			c.all.Nodes()[at].Removed {
			out = append(out, ref)
		}
	}
	return out
}

// WithoutRows returns the same Cluster, whose reports omit the rows of these nodes.
func (c *Cluster) WithoutRows(of []hostid.ID) *Cluster {
	other := *c
	other.rowless = slices.Clone(of)
	return &other
}
