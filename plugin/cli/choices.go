// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// Choices returns the clusters in all namespaces, or in the namespace if the others cannot be
// listed.
func (r *Reader) Choices(ctx context.Context) ([]cluster.Key, error) {
	if r.c == nil {
		var keys []cluster.Key
		for _, s := range r.saved.Snapshots() {
			keys = append(keys, s.Key)
		}
		return keys, nil
	}
	if keys, err := kube.ListClusters(ctx, r.c, "", nil); err == nil {
		return keys, nil
	}
	ns, err := r.namespace()
	if err != nil {
		return nil, err
	}
	return kube.ListClusters(ctx, r.c, ns, nil)
}

// MustChoose reports whether an error of Cluster without a name ends with the choice of a cluster:
// there are several, or the namespace of the kubeconfig has none.
func (r *Reader) MustChoose(err error) bool {
	_, none := errors.AsType[*noClusterError](err)
	return isAmbiguous(err) || none && r.d.NamespaceGiven() == ""
}
