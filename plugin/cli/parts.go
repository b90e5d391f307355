// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// part is a cluster in the namespace that a ScyllaDBCluster names for one of its datacenters; Of is
// the name of the ScyllaDBCluster.
type part struct {
	cluster.Key
	Of string
}

// parts returns the clusters in the namespaces that the local ScyllaDBClusters name: there the
// Scylla Operator keeps their datacenters. It prints a message for a namespace in another
// Kubernetes cluster or without read permission, which has no clusters here.
func (r *Reader) parts(ctx context.Context, ns string) []part {
	if ns == "" {
		return nil // all namespaces are already listed
	}
	named, err := kube.DatacenterNamespaces(ctx, r.c, ns)
	if err != nil {
		return nil // no such CRD or no permission: other namespaces are unknown
	}
	var parts []part
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
			if !slices.ContainsFunc(parts, func(p part) bool { return p.Key == k }) {
				parts = append(parts, part{Key: k, Of: n.Cluster})
			}
		}
	}
	return parts
}

// part returns the one cluster of parts with the name, its own or its ScyllaDBCluster's; an empty
// name selects the only part. Errors: *cluster.NotFoundError, *cluster.AmbiguousError.
func (r *Reader) part(ctx context.Context, ns, name string) (cluster.Key, error) {
	parts := r.parts(ctx, ns)
	var in, keys, names []string
	var hits []cluster.Key
	for _, p := range parts {
		in, keys, names = append(in, p.Namespace), append(keys, p.String()), append(names, p.Name, p.Of)
		if slices.Contains([]string{"", p.Name, p.String(), p.Of}, name) {
			hits = append(hits, p.Key)
		}
	}
	slices.Sort(in)
	where := "namespaces " + strings.Join(slices.Compact(in), ", ")
	switch len(hits) {
	case 0:
		slices.Sort(names)
		return cluster.Key{}, &cluster.NotFoundError{What: "cluster", Name: name, In: where, Known: len(parts),
			Nearest: cluster.Nearest(name, slices.Compact(names)),
			Cure:    "clusters: " + strings.Join(keys, ", ")}
	case 1:
		return hits[0], nil
	}
	found := &cluster.AmbiguousError{What: "cluster", Name: name, In: where}
	for _, k := range hits {
		found.Candidates = append(found.Candidates, k.String())
	}
	return cluster.Key{}, found
}
