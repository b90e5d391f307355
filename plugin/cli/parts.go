// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// parts returns the clusters in the namespaces that the local ScyllaDBClusters name: there the
// Scylla Operator keeps their datacenters. It prints a message for a namespace in another
// Kubernetes cluster or without read permission, which has no clusters here.
func (r *Reader) parts(ctx context.Context, ns string) []cluster.Key {
	if ns == "" {
		return nil // all namespaces are already listed
	}
	named, err := kube.DatacenterNamespaces(ctx, r.c, ns)
	if err != nil {
		return nil // no such CRD or no permission: other namespaces are unknown
	}
	var keys []cluster.Key
	for _, n := range named {
		found, err := kube.ListClusters(ctx, r.c, n.Namespace, r.flags.selector)
		switch {
		case err != nil:
			r.d.Warn("datacenter %s of ScyllaDBCluster %s/%s is in namespace %s: %s", n.Datacenter, ns, n.Cluster,
				n.Namespace, err)
		case len(found) == 0:
			r.d.Say(
				fmt.Sprintf(
					"datacenter %s of ScyllaDBCluster %s/%s is in namespace %s of Kubernetes cluster %s, not in "+
						"this one\n", n.Datacenter, ns, n.Cluster, n.Namespace, n.Kubernetes))
		}
		for _, k := range found {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}
