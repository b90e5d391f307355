// SPDX-License-Identifier: Apache-2.0

package forceproceed

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// planOperator plans the annotation of the object that the Scylla Operator reads.
func (o *options) planOperator(ctx context.Context, s *cluster.Cluster, p *plan, services []client.Object) error {
	if o.reader.Saved() {
		return exit.WithHint(exit.Refusedf("%s: saved objects do not contain the object that the Scylla Operator reads",
			p.title), "specify a member, or add --per-service")
	}
	dc, err := o.metadata(ctx, api.ScyllaDBDatacenterGVK, s)
	if err != nil {
		return err
	}
	var owner client.Object
	for _, ref := range dc.GetOwnerReferences() {
		if ref.Kind == api.ScyllaClusterGVK.Kind {
			if owner, err = o.metadata(ctx, api.ScyllaClusterGVK, s); err != nil {
				return err
			}
		}
	}
	switch {
	case o.undo:
		// The operator copies the annotation downwards and never removes it, so every object that
		// has it is cleared, from the top down.
		more, err := o.propagated(ctx, s, services)
		if err != nil {
			return err
		}
		for _, obj := range slices.Concat([]client.Object{owner, dc}, services, more) {
			if obj != nil && obj.GetAnnotations()[api.AnnotationForceProceed] != "" {
				p.targets = append(p.targets, obj)
			}
		}
		p.restarts = dc.GetAnnotations()[api.AnnotationForceProceed] != "" ||
			owner != nil && owner.GetAnnotations()[api.AnnotationForceProceed] != ""
		if p.restarts {
			p.warnings = append(p.warnings,
				"the Scylla Operator removes the annotation from its Pod templates: every Pod of the cluster "+
					"restarts, one by one")
		}
		if len(p.targets) == 0 {
			return exit.Refusedf("%s is not forced", p.title)
		}
	default:
		obj := dc
		if o.datacenter == "" && owner != nil {
			obj = owner
		}
		p.targets = []client.Object{obj}
		p.warnings = append(p.warnings,
			fmt.Sprintf(
				"the Scylla Operator copies the annotation of a %s into the Pod templates: every Pod of the cluster "+
					"restarts, one by one, and again with --undo", kindOf(obj)),
			"if you remove the annotation there, it stays on the Services and StatefulSets; --undo also clears those",
			o.withoutRestart(s, p.members))
	}
	return nil
}

// withoutRestart recommends the form that restarts nothing.
func (o *options) withoutRestart(s *cluster.Cluster, waiting []string) string {
	if len(waiting) == 0 {
		return "to force only one member, without a restart, specify the member: none is waiting now"
	}
	return "to force only the waiting members, without a restart: " +
		o.d.Words().Shell(words.Scylla(s.Namespace, "force-proceed", waiting[0])) + ", or --per-service for all"
}

// propagated returns the objects other than member Services to which the operator has copied the
// force: the cluster's other Services and the StatefulSets.
func (o *options) propagated(ctx context.Context, s *cluster.Cluster, members []client.Object) ([]client.Object,
	error) {
	var out []client.Object
	var services corev1.ServiceList
	if err := o.reader.Client().List(ctx, &services, client.InNamespace(s.Namespace),
		client.MatchingLabels{api.LabelCluster: s.Name}); err != nil {
		return nil, fmt.Errorf("list the Services of cluster %s: %w", s.Key, err)
	}
	for i := range services.Items {
		v := &services.Items[i]
		if !slices.ContainsFunc(members, func(m client.Object) bool { return m.GetName() == v.Name }) {
			out = append(out, v)
		}
	}
	for i := range s.StatefulSets {
		out = append(out, &s.StatefulSets[i])
	}
	return out, nil
}

// forcedAbove returns the kind of the Scylla Operator's object whose force the operator repeatedly
// copies to the members; empty if there is none, or none is readable.
func (o *options) forcedAbove(ctx context.Context, s *cluster.Cluster) string {
	if !s.Operator || !o.undo {
		return ""
	}
	for _, gvk := range []schema.GroupVersionKind{api.ScyllaClusterGVK, api.ScyllaDBDatacenterGVK} {
		if obj, err := o.metadata(ctx, gvk, s); err == nil && obj.GetAnnotations()[api.AnnotationForceProceed] != "" {
			return gvk.Kind
		}
	}
	return ""
}
