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
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// view adds to the wanted status the fields that do not come from rows: the view, and the
// initialisation, which is never unset.
func (r *reconciler) view(
	ctx context.Context, key types.NamespacedName, m *memory, judged *cluster.Cluster, w *world,
	want *api.ScyllaDBStatusReport,
) (view.Initialisation, []metav1.Condition) {
	stored := &api.ScyllaDBStatusReportStatus{}
	if w.status != nil {
		stored = w.status.Status.DeepCopy()
	}
	if r.o.Views == nil {
		want.Status.Initialized, want.Status.Initialization = stored.Initialized, stored.Initialization
		return view.Initialisation{}, nil
	}
	scene := view.SceneOf(judged, stored, r.claims(ctx, m, judged, stored.View), r.o.Views.MaxPermits())
	init := r.o.Views.Status(ctx, key, judged, stored, scene, &want.Status)
	parts, split := view.Split(judged,
		func() words.Message { return diagnosis.Step(judged, &matrix.Blocker{Reason: words.SplitCluster}) })
	r.o.Metrics.SetStanding(key.Namespace, key.Name, want.Status.Initialized, split)
	if !split {
		init.Absent = append(init.Absent, api.ConditionSplitCluster)
	} else {
		init.Conditions = append(init.Conditions, parts)
		if w.status != nil {
			r.o.Notice.Emit(ctx, w.status, corev1.EventTypeWarning, "SplitCluster", "AssembleReport",
				words.Text(parts.Message))
		}
	}
	r.announceFirst(ctx, w, stored.Conditions, init.Conditions)
	was := meta.FindStatusCondition(stored.Conditions, api.ConditionNodeReplaceable)
	c, replaceable := view.Replaceable(judged)
	r.o.Metrics.SetReplaceable(key.Namespace, key.Name, replaceable)
	if replaceable == 0 {
		init.Absent = append(init.Absent, api.ConditionNodeReplaceable)
	} else if init.Conditions = append(init.Conditions, c); w.status != nil &&
		(was == nil || was.Message != words.Text(c.Message)) {
		r.o.Notice.Emit(ctx, w.status, corev1.EventTypeWarning, "NodeReplaceable", "AssembleReport",
			words.Text(c.Message))
	}
	var conditions []metav1.Condition
	for _, c := range init.Conditions {
		conditions = append(conditions, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason,
			Message: words.Text(c.Message)})
	}
	return init, conditions
}

// announceFirst writes an Event when the first node becomes healthy, and when it fails before the
// required time has passed.
func (r *reconciler) announceFirst(ctx context.Context, w *world, was []metav1.Condition, is []view.Condition) {
	for _, c := range is {
		if c.Type != api.ConditionInitialized || w.status == nil {
			continue
		}
		switch reason := view.Turned(meta.FindStatusCondition(was, c.Type), c); reason {
		case view.InitStarted:
			r.o.Notice.Emit(ctx, w.status, corev1.EventTypeNormal, reason, "Initialise", words.Text(c.Message))
		case view.InitFailed:
			r.o.Notice.Emit(ctx, w.status, corev1.EventTypeWarning, reason, "Initialise",
				"the first node was not healthy for long enough: "+words.Text(c.Message))
		}
	}
}

// first has the fields of a cluster that are set once and never change; news is false if none is
// new.
type first struct {
	news bool
	how  *api.StatusReportInitialization // set if the cluster becomes initialised in this assembly
}

// initialise writes the fields that are set once, with a separate field owner. obj becomes the
// object in the API server.
func (r *reconciler) initialise(ctx context.Context, obj, want *api.ScyllaDBStatusReport, f first) error {
	if !f.news {
		return nil
	}
	key := client.ObjectKeyFromObject(obj)
	status := map[string]any{"initialized": true}
	if want.Status.Group0ID != "" {
		status["group0ID"] = want.Status.Group0ID
	}
	if want.Status.Initialization != nil {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want.Status.Initialization)
		if err != nil {
			return fmt.Errorf("record that cluster %s is initialised: %w", key, err)
		}
		status["initialization"] = fields
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": obj.Namespace, "name": obj.Name, "uid": string(obj.UID),
			"resourceVersion": obj.ResourceVersion},
		"status": status,
	}}
	u.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBStatusReport"))
	err := r.o.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(api.FieldOwnerInitialization), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("record that cluster %s is initialised: %w", key, err)
	}
	obj.ResourceVersion = u.GetResourceVersion()
	r.o.Metrics.Wrote("ScyllaDBStatusReport")
	if f.how != nil {
		r.o.Notice.Emit(ctx, obj, corev1.EventTypeNormal, "InitCompleted", "Initialise", words.Text(view.Done(f.how)))
	}
	return nil
}
