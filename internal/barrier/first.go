// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// notFirst holds back a member that would found a cluster while its seeds, or its StatefulSet, belong to another one. Nobody but the namespace as a whole can
// tell: of the cluster by its label there is nothing else.
func (b *barrier) notFirst(ctx context.Context, v bootstrap.Verdict, known *cluster.Cluster) []matrix.Blocker {
	if v.Decision != bootstrap.DecisionGenesis {
		return nil
	}
	all, err := kube.Neighbourhood(ctx, b.client, b.Namespace)
	if err != nil {
		return []matrix.Blocker{b.unlisted(err)}
	}
	if why := known.NotFirst(b.Service, all); !why.IsZero() {
		return []matrix.Blocker{bootstrap.NotFirst(v.Self, b.Namespace, why)}
	}
	return nil
}
