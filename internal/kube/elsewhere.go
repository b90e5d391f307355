// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// mostNamespaces limits how many namespaces are listed one by one if listing Services in all
// namespaces is forbidden.
const mostNamespaces = 100

// RecordedElsewhere finds the member Services outside the cluster that record these host IDs, as
// NAMESPACE/NAME by host ID, in all readable namespaces. It requests metadata only. Unreadable
// namespaces are skipped, so a missing entry is not evidence.
func RecordedElsewhere(ctx context.Context, c client.Reader, key cluster.Key, ids []hostid.ID) map[hostid.ID]string {
	wanted, out := map[hostid.ID]bool{}, map[hostid.ID]string{}
	for _, id := range ids {
		wanted[id] = true
	}
	look := func(ns string) error {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
		err := c.List(ctx, list, client.InNamespace(ns), client.HasLabels{api.LabelCluster})
		for i := range list.Items {
			s := &list.Items[i]
			if id := recordedOutside(&s.ObjectMeta, key); wanted[id] {
				out[id] = s.Namespace + "/" + s.Name
			}
		}
		return err
	}
	if len(ids) == 0 || !apierrors.IsForbidden(look("")) {
		return out
	}
	namespaces := &metav1.PartialObjectMetadataList{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := c.List(ctx, namespaces); err != nil {
		_ = look(key.Namespace) // another cluster in this namespace may record a host ID
		return out
	}
	for i := range namespaces.Items[:min(len(namespaces.Items), mostNamespaces)] {
		_ = look(namespaces.Items[i].Name) // an unreadable namespace is skipped
	}
	return out
}

// recordedOutside returns the host ID that a member Service outside the cluster records.
func recordedOutside(s *metav1.ObjectMeta, key cluster.Key) hostid.ID {
	if s.Namespace == key.Namespace && api.ClusterOf(s.Labels) == key.Name {
		return ""
	}
	return hostid.Known(s.Annotations[api.AnnotationHostID])
}

// elsewhere sets what RecordedElsewhere finds in a running cluster.
func (s *saved) elsewhere(t *sorting) {
	for i := range s.services {
		v := &s.services[i].ObjectMeta
		if api.ClusterOf(v.Labels) == "" {
			continue
		}
		for key, c := range t.byKey {
			if id := recordedOutside(v, key); id != "" {
				if c.Elsewhere == nil {
					c.Elsewhere = map[hostid.ID]string{}
				}
				c.Elsewhere[id] = v.Namespace + "/" + v.Name
			}
		}
	}
}
