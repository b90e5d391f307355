// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// health is the resolved health policy of one assembly, with its conditions.
type health struct {
	policy     *api.StatusReportHealthPolicy
	conditions []metav1.Condition
}

// resolve computes the cluster's health policy from the annotations of its StatefulSets, and
// removes from the reports the rows that the policy cleans up.
func (r *reconciler) resolve(ctx context.Context, m *memory, w *world, now time.Time) health {
	var stored *api.StatusReportHealthPolicy
	if w.status != nil {
		stored = w.status.Status.HealthPolicy
	}
	in := w.HealthInput(stored)
	in.Settled, in.Window = len(maintenance.Rollouts(w.Cluster, nil)) == 0, view.Stabilisation
	if r.o.Views != nil {
		in.Window = r.o.Views.Window()
	}
	var out health
	var problems []healthpolicy.Problem
	out.policy, problems = healthpolicy.Resolve(in)
	if len(problems) > 0 {
		var texts []string
		for _, p := range problems {
			text := words.Text(p.Message)
			texts = append(texts, text)
			if at := slices.IndexFunc(w.sets, func(s appsv1.StatefulSet) bool { return s.Name == p.Object }); at >= 0 {
				r.o.Notice.Emit(ctx, &w.sets[at], corev1.EventTypeWarning, "HealthPolicyInvalid", "ResolveHealthPolicy",
					text)
			}
		}
		out.conditions = append(out.conditions, metav1.Condition{
			Type: api.ConditionHealthPolicyValid, Status: metav1.ConditionFalse, Reason: "FieldInvalid",
			Message: strings.Join(texts, "; "),
		})
	}
	gone, c, retained := m.dead.Next(w.Cluster, out.policy, now)
	w.Cluster = w.WithoutRows(gone)
	if retained {
		out.conditions = append(out.conditions, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason,
			Message: words.Text(c.Message)})
	}
	return out
}
