// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// recordForces records, on the Service of each forced member, the reasons that its force overrides
// when it is first seen, and the volume that it is for, unless the user who forced has recorded
// them. A copy of a force from above has no volume yet. The record outlives this process and the
// barrier's. A barrier without a record opens: without a controller a force has the Scylla
// Operator's meaning.
func (r *reconciler) recordForces(ctx context.Context, in reading) error {
	var judged *cluster.Cluster // only if needed
	for _, m := range in.world.Serviced() {
		_, recorded := m.ForceOverrides()
		bound := m.Annotation(api.AnnotationForceVolume) != "" || m.Annotation(api.AnnotationForcePropagatedFrom) == ""
		if recorded && bound || !m.Forced() || m.OfOperator() || cluster.NodeStarted(m.Pod) {
			continue
		}
		claim, err := r.claim(ctx, types.NamespacedName{Namespace: m.Namespace, Name: m.PVCName})
		if err != nil {
			return fmt.Errorf("record the volume that the force of %s is for: %w", m.Name(), err)
		}
		volume := string(cmp.Or(claim.UID, m.PodUID()))
		if volume == "" {
			continue // it has nothing to start on
		}
		text := m.Annotation(api.AnnotationForceOverrides)
		if !recorded {
			if judged == nil {
				_, judged = in.report()
			}
			overrides, err := bootstrap.OverridesOf(judged, m.Ref.Member)
			if err != nil {
				return fmt.Errorf("record the reasons that the force of %s overrides: %w", m.Name(), err)
			}
			if text, err = api.EncodeForceOverrides(overrides); err != nil {
				return err
			}
		}
		svc := m.Service.DeepCopy()
		// A conflict is decided again from the new Service.
		if err := kube.PatchMetadata(ctx, r.o.Client, svc, func(s *corev1.Service) {
			s.Annotations[api.AnnotationForceOverrides], s.Annotations[api.AnnotationForceVolume] = text, volume
		}); err != nil {
			return fmt.Errorf("record the reasons that the force of %s overrides: %w", m.Name(), err)
		}
		r.o.Log.InfoContext(ctx, "reasons recorded that a force overrides", "namespace", svc.Namespace, "member",
			svc.Name, "reasons", text, "volume", volume)
	}
	return nil
}
