// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Launcher is the state of a launcher that repeats the judgement of its Pod's barrier.
type Launcher struct {
	// Annotation is the present value of api.AnnotationBarrier; empty without one.
	Annotation string
	// Just is true if the barrier has just opened: its stabilisation time counts until a node, or
	// the controller's view, blocks.
	Just bool

	ran hostid.ID // with which ScyllaDB has run in this Pod; empty if it has not responded
}

// judged ends the barrier's stabilisation time if the verdict blocks by more than a controller that
// this process has not seen working yet.
func (l *Launcher) judged(v bootstrap.Verdict) {
	if l != nil && slices.ContainsFunc(v.Blockers,
		func(x matrix.Blocker) bool { return x.Reason != words.ControllerSilent }) {
		l.Just = false
	}
}

// readRan reads the host ID with which ScyllaDB has run in this Pod: its reporter writes it at its
// next poll. A failure leaves it unknown, which only makes the launcher wait.
func (b *barrier) readRan(ctx context.Context) {
	pod := &corev1.Pod{}
	if b.Launcher.ran != "" ||
		b.client.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: b.Pod}, pod) != nil ||
		b.PodUID != "" && pod.UID != b.PodUID {
		return
	}
	if row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport]); err == nil {
		b.Launcher.ran = row.LastHostID()
	}
}
