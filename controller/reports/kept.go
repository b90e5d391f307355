// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// whole returns an error if the CRD lacks fields, and the cluster report must not be written: the
// API server removes unknown fields from every write. A stale row would look fresh, and stored
// values of such fields, for example that the cluster is initialised, would be lost.
func (r *reconciler) whole() error {
	if r.o.Whole == nil {
		return nil
	}
	return r.o.Whole()
}

func (r *reconciler) kept(key types.NamespacedName, began time.Time, err error) {
	if r.o.Kept != nil {
		r.o.Kept(key, began, err)
	}
}

// maxError limits the length of an API server's error in a condition: it may repeat the whole
// report.
const maxError = 1000

// notKept reports that a report could not be written: in an Event, and in a condition if at least
// the status is writable.
func (r *reconciler) notKept(ctx context.Context, key types.NamespacedName, m *memory, w *world, why error,
	now time.Time) {
	c := notWritten(why)
	r.o.Notice.Emit(ctx, &w.sets[0], corev1.EventTypeWarning, "ReportNotKept", "AssembleReport", c.Message)
	if m.said || r.whole() != nil || w.status == nil || w.status.Labels[api.LabelManagedBy] != api.ManagedByUs {
		return
	}
	obj := w.status.DeepCopy()
	c.LastTransitionTime = metav1.NewTime(now)
	if !meta.SetStatusCondition(&obj.Status.Conditions, c) {
		return
	}
	if err := r.o.Client.Status().Update(ctx, obj); err != nil && !onlyConflicts(err) {
		r.o.Log.WarnContext(ctx, "cannot record in the status that reports are not written", "namespace", key.Namespace,
			"cluster", key.Name, "error", err)
	}
}

func notWritten(why error) metav1.Condition {
	text := api.Clip(words.Clean(strings.Join(strings.Fields(why.Error()), " ")), maxError)
	return metav1.Condition{
		Type: api.ConditionReportsKept, Status: metav1.ConditionFalse, Reason: "NotWritten",
		Message: "the reports cannot be written, so barriers do not trust them: " + text,
	}
}

// Clusters returns the clusters whose reports this reconciler must keep.
func (r *reconciler) Clusters(ctx context.Context) ([]types.NamespacedName, error) {
	var sets appsv1.StatefulSetList
	if err := r.o.Client.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list statefulsets: %w", err)
	}
	var keys []types.NamespacedName
	for i := range sets.Items {
		if place, err := scope.PlaceOf(&sets.Items[i]); err == nil && cluster.Managed(&sets.Items[i]) {
			keys = append(keys, types.NamespacedName{Namespace: place.Namespace, Name: place.Cluster})
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(keys), nil
}
