// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// notFirst blocks a member that would create a cluster although its seeds, or its StatefulSet,
// belong to another one. It reads all objects of the namespace: none of them has this cluster's
// label.
func (b *barrier) notFirst(ctx context.Context, v bootstrap.Verdict, known *cluster.Cluster) []matrix.Blocker {
	if v.Decision != bootstrap.DecisionGenesis {
		return nil
	}
	all, err := kube.Neighbourhood(ctx, b.client, b.Namespace)
	if err != nil {
		return []matrix.Blocker{b.unlisted(err)}
	}
	if why := known.NotFirst(b.Service, all); !why.IsZero() {
		return []matrix.Blocker{bootstrap.NotFirst(v.Self, why)}
	}
	return nil
}

func ours(s *cluster.Cluster) bool { return s != nil && s.Ours() }
