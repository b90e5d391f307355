// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// announceOrder writes an Event with the fix on the StatefulSet that creates no further Pod, and on
// the Pod that it waits for. The missing Pod has no barrier to report it, and the running barrier
// does not read the StatefulSets' Pods.
func (r *reconciler) announceOrder(ctx context.Context, w *world) {
	for _, m := range w.Members() {
		cause, lower := w.Cause(m.RecordedID())
		pod := w.Pod(lower)
		if cause != cluster.CauseOrder || pod == nil {
			continue
		}
		step := replace.WhileCause(w.Cluster, m.Member, cause, lower)
		if step.Code != words.ApplyParallel {
			continue
		}
		for _, object := range []client.Object{w.StatefulSet(m.Member), pod} {
			r.o.Notice.Emit(ctx, object, corev1.EventTypeWarning, "PodHeldByOrder", "WaitForLowerOrdinal",
				words.Text(step))
		}
	}
}
