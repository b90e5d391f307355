// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// lookAgainAtOrphans is the interval of checks of Services without a StatefulSet. A check costs one
// request if the cluster has no StatefulSet at all.
const lookAgainAtOrphans = time.Minute

// setOfService maps a member Service to its StatefulSet, even if that is gone.
func setOfService(_ context.Context, svc client.Object) []reconcile.Request {
	name, ok := scope.StatefulSetOf(svc.GetName())
	if !ok || !cluster.Managed(svc) || svc.GetLabels()[api.LabelServiceType] != api.ServiceTypeMember {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: svc.GetNamespace(), Name: name}}}
}

// orphans retires the member Services of a deleted StatefulSet. They remain while their nodes may
// be members.
func (r *reconciler) orphans(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	var all corev1.ServiceList
	mine := client.MatchingLabels{api.LabelManagedBy: api.ManagedByUs, api.LabelServiceType: api.ServiceTypeMember}
	if err := r.o.Client.List(ctx, &all, client.InNamespace(key.Namespace), mine); err != nil {
		return reconcile.Result{}, fmt.Errorf("list member services of deleted statefulset %s: %w", key, err)
	}
	worlds := map[string]*world{} // by cluster: one, unless labels were changed
	waiting := false
	for i := range all.Items {
		svc := &all.Items[i]
		name := api.ClusterOf(svc.Labels)
		if set, ok := scope.StatefulSetOf(svc.Name); !ok || set != key.Name || name == "" || !cluster.Managed(svc) ||
			owned(svc, key.Name) {
			continue
		}
		if svc.Annotations[api.AnnotationHostID] == "" && svc.Annotations[api.AnnotationMemberClaims] == "" {
			continue // created before its StatefulSet for a fixed address: no node was recorded
		}
		w := worlds[name]
		if w == nil {
			var err error
			if w, err = r.read(ctx, nil, key.Namespace, name); err != nil {
				return reconcile.Result{}, err
			}
			worlds[name] = w
		}
		if err := r.record(ctx, w, svc); err != nil {
			return settle(err)
		}
		gone, err := r.retire(ctx, w, svc)
		if err != nil {
			return settle(err)
		}
		waiting = waiting || !gone
	}
	if waiting {
		return reconcile.Result{RequeueAfter: lookAgainAtOrphans}, nil
	}
	return reconcile.Result{}, nil
}

// clusterGone reports whether only member Services are left of a cluster: no StatefulSet, no Pod,
// and none of the PVCs that the Services name. It returns false for members without PVC names,
// because their data may be anywhere.
func (r *reconciler) clusterGone(ctx context.Context, w *world) (gone bool, why string, err error) {
	for name := range w.pods {
		return false, "Pod " + name + " exists", nil
	}
	for _, s := range w.services {
		if s.Labels[api.LabelServiceType] != api.ServiceTypeMember || !cluster.Managed(s) {
			continue
		}
		claims := s.Annotations[api.AnnotationMemberClaims]
		if claims == "" {
			return false, "the PVCs of " + s.Name + " are unknown", nil
		}
		for claim := range strings.SplitSeq(claims, ",") {
			// By name, and metadata only: a list would make the client cache all PVCs.
			p := &metav1.PartialObjectMetadata{}
			p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
			err := r.o.Live.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: claim}, p)
			if err == nil {
				return false, "PersistentVolumeClaim " + claim + " exists", nil
			}
			if !apierrors.IsNotFound(err) {
				return false, "", fmt.Errorf("get PVC %s/%s of a cluster without StatefulSets: %w", s.Namespace, claim,
					err)
			}
		}
	}
	return true, "the cluster no longer has any StatefulSet, Pod or PVC", nil
}

// retire deletes the Service of a removed ordinal once its node is not a member any more. gone is
// false while the node may still be one.
func (r *reconciler) retire(ctx context.Context, w *world, svc *corev1.Service) (gone bool, err error) {
	if svc.DeletionTimestamp != nil {
		return true, nil
	}
	if w.pods[svc.Name] != nil {
		return false, nil
	}
	for _, l := range []string{api.LabelReplace, api.LabelReplacingNodeHostID} {
		if _, open := svc.Labels[l]; open {
			return false, nil
		}
	}
	var others []*cluster.Member
	for _, s := range w.services {
		if s.Name != svc.Name && s.Labels[api.LabelServiceType] == api.ServiceTypeMember {
			others = append(others, w.member(s))
		}
	}
	left, why := left(w.member(svc), others)
	if !left && len(w.sets) == 0 {
		if left, why, err = r.clusterGone(ctx, w); err != nil {
			return false, err
		}
		if !left {
			r.o.Notice.Emit(ctx, svc, corev1.EventTypeNormal, "MemberServiceKept", "RetireMember", fmt.Sprintf(
				"the cluster has no StatefulSet, but it may be recreated: %s; only if its data is no longer needed, "+
					"delete its PVCs and member Services: kubectl delete services -l %s=%s,%s=%s -n %s",
				why, api.LabelCluster, svc.Labels[api.LabelCluster], api.LabelManagedBy, api.ManagedByUs,
				svc.Namespace))
			return false, nil
		}
	}
	if !left {
		r.o.Notice.Emit(ctx, svc, corev1.EventTypeNormal, "MemberServiceKept", "RetireMember", fmt.Sprintf(
			"the StatefulSet no longer has this ordinal, but the node may still be a member: %s; decommission or "+
				"remove the node", why))
		return false, nil
	}
	err = r.o.Client.Delete(ctx, svc, client.Preconditions{UID: &svc.UID, ResourceVersion: &svc.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("delete service %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	r.o.Log.InfoContext(ctx, "member service deleted", "namespace", svc.Namespace, "member", svc.Name, "why", why)
	return true, nil
}
