// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// ListClusters finds the clusters in a namespace ("" = all) from member Services, StatefulSets and
// reports, sorted. A selector (nil = everything) applies to the labels of those objects. It
// requests metadata only. If no object has the cluster label, cluster.NameOf groups the
// StatefulSets that run ScyllaDB. The error is non-nil if no cluster was found and a read failed.
//
//nolint:funlen // one list after the other, each with its own way to find clusters
func ListClusters(ctx context.Context, c client.Reader, ns string, selector labels.Selector) ([]cluster.Key, error) {
	if selector == nil {
		selector = labels.Everything()
	}
	sources := []struct {
		gvk             schema.GroupVersionKind
		label, resource string
	}{
		{corev1.SchemeGroupVersion.WithKind("ServiceList"), api.LabelCluster, cluster.ResourceServices},
		{appsv1.SchemeGroupVersion.WithKind("StatefulSetList"), api.LabelCluster, cluster.ResourceStatefulSets},
		{api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReportList"), api.LabelReportSelector,
			cluster.ResourceReports},
	}
	var (
		mu       sync.Mutex
		problems []cluster.Problem
		found    = map[cluster.Key]bool{}
	)
	g, gctx := errgroup.WithContext(ctx)
	for _, src := range sources {
		g.Go(func() error {
			has, err := labels.NewRequirement(src.label, selection.Exists, nil)
			if err != nil {
				return fmt.Errorf("select by label %s: %w", src.label, err)
			}
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(src.gvk)
			err = c.List(gctx, list, client.InNamespace(ns),
				client.MatchingLabelsSelector{Selector: selector.DeepCopySelector().Add(*has)})
			p, fatal := classify(gctx, "list", src.resource, ns, "", err)
			if fatal != nil {
				return fatal
			}
			mu.Lock()
			defer mu.Unlock()
			if p != nil {
				problems = append(problems, *p)
				return nil
			}
			for i := range list.Items {
				o := &list.Items[i]
				if src.resource == cluster.ResourceServices && !cluster.NamesMember(o) {
					continue
				}
				if name := api.ClusterValue(o.Labels[src.label]); name != "" {
					found[cluster.Key{Namespace: o.Namespace, Name: name}] = true
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, during("find clusters in "+inNamespace(ns), err)
	}
	if len(found) == 0 {
		var list appsv1.StatefulSetList
		err := c.List(ctx, &list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: selector})
		p, fatal := classify(ctx, "list", cluster.ResourceStatefulSets, ns, "", err)
		if fatal != nil {
			return nil, during("find clusters in "+inNamespace(ns), fatal)
		}
		if p != nil {
			problems = append(problems, *p)
		}
		for i := range list.Items {
			if name := cluster.NameOf(&list.Items[i]); name != "" {
				found[cluster.Key{Namespace: list.Items[i].Namespace, Name: name}] = true
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b cluster.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	if len(keys) == 0 {
		return nil, cluster.Incomplete(problems)
	}
	return keys, nil
}

// ResolveCluster finds a cluster by name in the namespace. An empty name selects the only cluster.
// Errors: *cluster.NotFoundError with the nearest names, *cluster.AmbiguousError if the name is
// empty and there are several clusters, and the errors of ListClusters.
func ResolveCluster(ctx context.Context, c client.Reader, ns, name string) (cluster.Key, error) {
	keys, err := ListClusters(ctx, c, ns, nil)
	if err != nil {
		return cluster.Key{}, err
	}
	if name == "" {
		switch len(keys) {
		case 1:
			return keys[0], nil
		case 0:
			return cluster.Key{}, notFoundAmong("", ns, keys)
		}
		return cluster.Key{}, &cluster.AmbiguousError{What: "cluster", In: inNamespace(ns),
			Candidates: keyNames(keys, ns)}
	}
	var hits []cluster.Key
	for _, k := range keys {
		if k.Name == name || k.String() == name {
			hits = append(hits, k)
		}
	}
	switch len(hits) {
	case 1:
		return hits[0], nil
	case 0:
		if ns != "" {
			// ListClusters omits an unlabelled StatefulSet if labelled clusters exist; Load finds
			// it.
			if _, err := Load(ctx, c, cluster.Key{Namespace: ns, Name: name},
				LoadOptions{Source: cluster.SourceReport, NoPods: true}); err == nil {
				return cluster.Key{Namespace: ns, Name: name}, nil
			}
		}
		return cluster.Key{}, notFoundAmong(name, ns, keys)
	}
	return cluster.Key{}, &cluster.AmbiguousError{What: "cluster", Name: name, In: inNamespace(ns),
		Candidates: keyNames(hits, ns)}
}

func inNamespace(ns string) string {
	if ns == "" {
		return "all namespaces"
	}
	return "namespace " + ns
}

func keyNames(keys []cluster.Key, ns string) []string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
		if ns == "" {
			names[i] = k.String()
		}
	}
	return names
}

// clusterNotFound returns a NotFoundError with the nearest names, without names if clusters cannot
// be listed.
func clusterNotFound(ctx context.Context, c client.Reader, key cluster.Key) error {
	keys, err := ListClusters(ctx, c, key.Namespace, nil)
	if err != nil {
		keys = nil
	}
	return notFoundAmong(key.Name, key.Namespace, keys)
}

func notFoundAmong(name, ns string, keys []cluster.Key) error {
	e := &cluster.NotFoundError{What: "cluster", Name: name, In: inNamespace(ns), Known: len(keys)}
	names := keyNames(keys, ns)
	e.Nearest = cluster.Nearest(name, names)
	switch {
	case len(keys) == 0 && ns != "":
		e.Cure = "the namespace has no ScyllaDB cluster; choose another namespace with -n"
	case len(keys) == 0:
		e.Cure = "no member Service, StatefulSet or report has the label " + api.LabelCluster
	default:
		e.Cure = "clusters: " + strings.Join(names[:min(8, len(names))], ", ")
	}
	return e
}
