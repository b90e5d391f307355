// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// parts are the clusters in the namespaces that the ScyllaDBClusters of this one name: there the Scylla Operator keeps their datacenters. A namespace that is
// in another Kubernetes cluster, or that may not be looked into, gives none, which is said.
func (r *Reader) parts(ctx context.Context, ns string) []cluster.Key {
	if ns == "" {
		return nil // all namespaces are listed already
	}
	named, err := kube.DatacenterNamespaces(ctx, r.c, ns)
	if err != nil {
		return nil // no such kind, or no right to it: nothing is known of other namespaces
	}
	var keys []cluster.Key
	for _, n := range named {
		found, err := kube.ListClusters(ctx, r.c, n.Namespace, r.flags.selector)
		switch {
		case err != nil:
			r.d.Warn("datacenter %s of ScyllaDBCluster %s/%s is in namespace %s: %s", n.Datacenter, ns, n.Cluster, n.Namespace, err)
		case len(found) == 0:
			r.d.Say(fmt.Sprintf("datacenter %s of ScyllaDBCluster %s/%s is in namespace %s of Kubernetes cluster %s, not in this one\n", n.Datacenter, ns, n.Cluster, n.Namespace, n.Kubernetes))
		}
		for _, k := range found {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}
