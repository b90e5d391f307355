// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// announceOrder leaves an Event with the cure where people look at what stands still: on the StatefulSet that makes no Pod, and on the Pod that it waits for. The
// barrier of the Pod that is not made cannot say it, and the barrier that runs reads no StatefulSets' Pods.
func (r *Reconciler) announceOrder(ctx context.Context, w *world) {
	for _, held := range w.HeldForEver() {
		for _, object := range []client.Object{held.Set, held.Lower} {
			r.o.Notice.Emit(ctx, object, corev1.EventTypeWarning, "PodHeldByOrder", "WaitForLowerOrdinal", words.Text(held.Step))
		}
	}
}
