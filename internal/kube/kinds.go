// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// kind is one kind of object that belongs to clusters: how to list, watch, and decode it from a
// file.
type kind struct {
	bit      cluster.Kinds
	gvk      schema.GroupVersionKind
	resource string
	// label is the label key with the cluster's name; empty for a kind that is read by name.
	label string
	// newList returns an empty list, store copies the items of a list into the objects, decode
	// appends one saved object.
	newList func() client.ObjectList
	store   func(client.ObjectList, *cluster.Objects)
	decode  func([]byte, *saved) error
}

var kinds = []kind{
	listed(cluster.KindServices, corev1.SchemeGroupVersion.WithKind("Service"), cluster.ResourceServices,
		api.LabelCluster,
		func(l *corev1.ServiceList, o *cluster.Objects) { o.Services = l.Items },
		func(s *saved) *[]corev1.Service { return &s.services }),
	listed(cluster.KindPods, corev1.SchemeGroupVersion.WithKind("Pod"), cluster.ResourcePods, api.LabelCluster,
		func(l *corev1.PodList, o *cluster.Objects) { o.Pods = l.Items },
		func(s *saved) *[]corev1.Pod { return &s.pods }),
	listed(cluster.KindStatefulSets, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), cluster.ResourceStatefulSets,
		api.LabelCluster,
		func(l *appsv1.StatefulSetList, o *cluster.Objects) { o.StatefulSets = l.Items },
		func(s *saved) *[]appsv1.StatefulSet { return &s.sets }),
	listed(cluster.KindPVCs, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), cluster.ResourcePVCs,
		api.LabelCluster,
		func(l *corev1.PersistentVolumeClaimList, o *cluster.Objects) { o.PVCs = l.Items },
		func(s *saved) *[]corev1.PersistentVolumeClaim { return &s.pvcs }),
	listed(cluster.KindReports, api.GroupVersion.WithKind("ScyllaDBDatacenterNodesStatusReport"),
		cluster.ResourceReports, api.LabelReportSelector,
		func(l *api.ScyllaDBDatacenterNodesStatusReportList, o *cluster.Objects) { o.Reports = l.Items },
		func(s *saved) *[]api.ScyllaDBDatacenterNodesStatusReport { return &s.reports }),
	// An override may name any cluster report, and the Lease belongs to our controller, not to one
	// cluster: both are read by name.
	listed(cluster.KindStatusReport, api.GroupVersion.WithKind("ScyllaDBStatusReport"), cluster.ResourceStatusReports,
		"",
		func(*api.ScyllaDBStatusReportList, *cluster.Objects) {},
		func(s *saved) *[]api.ScyllaDBStatusReport { return &s.status }),
	listed(cluster.KindLease, coordinationv1.SchemeGroupVersion.WithKind("Lease"), cluster.ResourceLeases, "",
		func(*coordinationv1.LeaseList, *cluster.Objects) {},
		func(s *saved) *[]coordinationv1.Lease { return &s.leases }),
}

func listed[L any, T any, P interface {
	*L
	client.ObjectList
}](bit cluster.Kinds, gvk schema.GroupVersionKind, resource, label string, store func(P, *cluster.Objects),
	into func(*saved) *[]T) kind {
	return kind{
		bit: bit, gvk: gvk, resource: resource, label: label,
		newList: func() client.ObjectList { return P(new(L)) },
		store:   func(l client.ObjectList, o *cluster.Objects) { store(l.(P), o) },
		decode: func(raw []byte, s *saved) error {
			var one T
			if err := json.Unmarshal(raw, &one); err != nil {
				return err
			}
			list := into(s)
			*list = append(*list, one)
			return nil
		},
	}
}

// OfCluster selects the objects of a cluster by LabelCluster: in one request also our StatefulSets.
func OfCluster(name string) client.ListOption {
	values := []string{name}
	if own := api.OwnCluster(name); own != name {
		values = append(values, own)
	}
	one, err := labels.NewRequirement(api.LabelCluster, selection.In, values)
	if err != nil {
		return client.MatchingLabels{api.LabelCluster: name} // the API server refuses the value
	}
	return client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*one)}
}

// of selects the objects of the kind that belong to a cluster.
func (k *kind) of(name string) client.ListOption {
	if k.bit == cluster.KindStatefulSets {
		return OfCluster(name)
	}
	return client.MatchingLabels{k.label: name}
}

// kindNamed returns the kind with that name, nil if it does not belong to clusters.
func kindNamed(name string) *kind {
	for i := range kinds {
		if kinds[i].gvk.Kind == name {
			return &kinds[i]
		}
	}
	return nil
}

// listKind returns the list type of the kind.
func (k *kind) listKind() schema.GroupVersionKind {
	return k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List")
}

// CachedOfCluster selects the objects of a cluster in a cache and returns them without copies. The
// caller must not change what their maps, slices and pointers contain.
func CachedOfCluster(namespace, name string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), OfCluster(name), client.UnsafeDisableDeepCopy}
}
