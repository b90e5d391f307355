// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/preflight"
)

// GatherNow reads the additional input of preflight.Safe: disruption budgets and replica placement.
func (d *Deps) GatherNow(ctx context.Context, c client.Reader, in *preflight.Now) {
	var budgets policyv1.PodDisruptionBudgetList
	if err := c.List(ctx, &budgets, client.InNamespace(in.Cluster.Namespace)); err != nil {
		in.PDBErr = exit.Describe(err).Error()
	}
	in.PDBs = budgets.Items
	p := d.Busy("querying the replicas of " + in.Cluster.Key.String())
	defer p.Stop()
	var err error
	if in.Keyspaces, err = d.Replication(ctx, Witnesses(in.Cluster, "")); err != nil {
		in.DataErr = exit.Describe(err).Error()
	}
}
