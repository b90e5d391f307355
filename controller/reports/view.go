// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// view puts into the wanted status what is not in the rows: the view and the initialisation, which once set stays whatever else happens.
func (r *Reconciler) view(
	ctx context.Context, key types.NamespacedName, m *memory, judged *cluster.Cluster, w *world, want *api.ScyllaDBStatusReport,
) (view.Initialisation, []metav1.Condition) {
	stored := &api.ScyllaDBStatusReportStatus{}
	if w.status != nil {
		stored = w.status.Status.DeepCopy()
	}
	want.Status.Initialized, want.Status.Initialization = stored.Initialized, stored.Initialization
	if r.o.Views == nil {
		return view.Initialisation{}, nil
	}
	scene := view.SceneOf(judged, stored, r.claims(ctx, m, judged), r.o.Views.MaxPermits())
	r.o.Views.Scene(key, stored.View, scene)
	want.Status.View = r.o.Views.View(ctx, key, judged, stored.View)
	init := r.o.Views.Initialisation(key, judged, stored)
	if init.Now != nil {
		want.Status.Initialized, want.Status.Initialization = true, init.Now
	}
	was := meta.FindStatusCondition(stored.Conditions, api.ConditionNodeReplaceable)
	if c, ok := view.Replaceable(judged); !ok {
		init.Absent = append(init.Absent, api.ConditionNodeReplaceable)
	} else if init.Conditions = append(init.Conditions, c); w.status != nil && (was == nil || was.Message != words.Text(c.Message)) {
		r.o.Notice.Emit(ctx, w.status, corev1.EventTypeWarning, "NodeReplaceable", "AssembleReport", words.Text(c.Message))
	}
	var conditions []metav1.Condition
	for _, c := range init.Conditions {
		conditions = append(conditions, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: words.Text(c.Message)})
	}
	return init, conditions
}

// initialise writes that the cluster is initialised, as the field owner of that alone. obj becomes what the API server has then.
func (r *Reconciler) initialise(ctx context.Context, obj *api.ScyllaDBStatusReport, how *api.StatusReportInitialization) error {
	if how == nil {
		return nil
	}
	key := client.ObjectKeyFromObject(obj)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(how)
	if err != nil {
		return fmt.Errorf("write that cluster %s is initialised: %w", key, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": obj.Namespace, "name": obj.Name, "uid": string(obj.UID), "resourceVersion": obj.ResourceVersion},
		"status":   map[string]any{"initialized": true, "initialization": fields},
	}}
	u.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBStatusReport"))
	err = r.o.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(api.FieldOwnerInitialization), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("write that cluster %s is initialised: %w", key, err)
	}
	obj.ResourceVersion = u.GetResourceVersion()
	r.o.Metrics.Wrote("ScyllaDBStatusReport")
	r.o.Notice.Emit(ctx, obj, corev1.EventTypeNormal, "InitCompleted", "Initialise", words.Text(view.Done(how)))
	return nil
}
