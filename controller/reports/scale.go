// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// scale sets the replicas of StatefulSets with a wanted count, from the report that was stored
// before this assembly. It writes only the scale subresource, with the resourceVersion that was
// read.
func (r *reconciler) scale(ctx context.Context, w *world) error {
	if r.o.Views == nil {
		return nil
	}
	stored := &api.ScyllaDBStatusReportStatus{}
	if w.status != nil {
		stored = &w.status.Status
	}
	for _, s := range view.Scale(w.Cluster, stored) {
		text := words.Text(s.Message)
		if s.Invalid {
			r.o.Notice.Emit(ctx, s.Set, corev1.EventTypeWarning, "WantedReplicasInvalid", "ScaleStatefulSet", text)
			continue
		}
		to := &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Set.Namespace, Name: s.Set.Name, UID: s.Set.UID,
				ResourceVersion: s.Set.ResourceVersion},
			Spec: autoscalingv1.ScaleSpec{Replicas: s.Replicas},
		}
		if err := r.o.Client.SubResource("scale").Update(ctx, s.Set.DeepCopy(),
			client.WithSubResourceBody(to)); err != nil {
			return fmt.Errorf("scale StatefulSet %s/%s to %d: %w", s.Set.Namespace, s.Set.Name, s.Replicas, err)
		}
		r.o.Notice.Emit(ctx, s.Set, corev1.EventTypeNormal, "ReplicasSet", "ScaleStatefulSet", text)
		r.o.Log.InfoContext(ctx, "replicas set: "+text, "namespace", s.Set.Namespace, "statefulset", s.Set.Name,
			"replicas", s.Replicas)
	}
	return nil
}
