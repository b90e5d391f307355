// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Register adds the reconciler to a manager. sources notify it, by a cluster's namespace and name,
// of changes outside this Kubernetes cluster.
func Register(mgr ctrl.Manager, r *reconciler, sources ...source.Source) error {
	b := ctrl.NewControllerManagedBy(mgr).
		Named("reports").
		Watches(&appsv1.StatefulSet{}, handler.EnqueueRequestsFromMapFunc(byLabel(api.LabelCluster)),
			builder.WithPredicates(setSaysMore)).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(byLabel(api.LabelCluster)),
			builder.WithPredicates(metadataOrDeletion)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(byLabel(api.LabelCluster)),
			builder.WithPredicates(podSaysMore)).
		Watches(&api.ScyllaDBDatacenterNodesStatusReport{},
			handler.EnqueueRequestsFromMapFunc(byLabel(api.LabelReportSelector))).
		Watches(&api.ScyllaDBStatusReport{}, &handler.EnqueueRequestForObject{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(1, r.o.Concurrency)})
	for _, s := range sources {
		b = b.WatchesRawSource(s)
	}
	if err := b.Complete(r); err != nil {
		return fmt.Errorf("register the controller of reports: %w", err)
	}
	return nil
}

// byLabel maps an object to the cluster in one of its labels.
func byLabel(label string) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		name := api.ClusterValue(obj.GetLabels()[label])
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: name}}}
	}
}

// setSaysMore passes updates of a StatefulSet's labels and annotations, and of its status, which
// shows whether a rollout is in progress.
var setSaysMore = predicate.Or(metadataOrDeletion, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*appsv1.StatefulSet)
	is, ok2 := e.ObjectNew.(*appsv1.StatefulSet)
	return !ok || !ok2 || was.Generation != is.Generation || !equality.Semantic.DeepEqual(was.Status, is.Status)
}})

// metadataOrDeletion passes updates of labels, annotations or the UID: reports use nothing else of
// a Service.
var metadataOrDeletion = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
		!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
		e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
}}

// podSaysMore passes updates that change a Pod's row or whether that row is fresh. A kubelet writes
// a Pod's status far more often.
var podSaysMore = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*corev1.Pod)
	is, ok2 := e.ObjectNew.(*corev1.Pod)
	if !ok || !ok2 {
		return true
	}
	before, _ := api.RowOf(was.Annotations)
	after, _ := api.RowOf(is.Annotations)
	return was.UID != is.UID || before != after ||
		cluster.SaysMore(was, is) || api.ClusterOf(was.Labels) != api.ClusterOf(is.Labels)
}}
