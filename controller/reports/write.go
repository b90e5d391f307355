// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// desired returns existing with all our fields from want.
func desired(key types.NamespacedName, w *world, existing, want *api.ScyllaDBStatusReport) *api.ScyllaDBStatusReport {
	obj := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if existing != nil {
		obj = existing.DeepCopy()
	}
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	obj.Labels[api.LabelManagedBy] = api.ManagedByUs
	delete(obj.Labels, api.LabelCluster) // of an earlier version
	obj.OwnerReferences = owners(w.sets, "")
	c := want.DeepCopy() // the client decodes into the sent object; want must not change
	obj.Membership, obj.Datacenters, obj.LastListed = c.Membership, c.Datacenters, c.LastListed
	return obj
}

// writeStatus updates the cluster report to want and reads it back. f has the fields that are set
// once.
func (r *reconciler) writeStatus(ctx context.Context, key types.NamespacedName, m *memory, w *world,
	want *api.ScyllaDBStatusReport, f first) (*api.ScyllaDBStatusReport, error) {
	existing := w.status
	obj := desired(key, w, existing, want)
	if !f.news && existing != nil && equality.Semantic.DeepEqual(obj, existing) &&
		equality.Semantic.DeepEqual(want.Status, existing.Status) {
		return existing, nil
	}
	m.wrote = true
	owner := client.FieldOwner(api.FieldOwnerController)
	if existing != nil {
		// Before every other write: a failure below must not lose it.
		if err := r.initialise(ctx, obj, want, f); err != nil {
			return nil, err
		}
	}
	switch {
	case existing == nil:
		if err := r.o.Client.Create(ctx, obj, owner); err != nil {
			return nil, fmt.Errorf("create cluster report %s: %w", key, err)
		}
		r.o.Metrics.Wrote("ScyllaDBStatusReport")
		if err := r.initialise(ctx, obj, want, f); err != nil {
			return nil, err
		}
	case !equality.Semantic.DeepEqual(desired(key, w, existing, want), existing):
		if err := r.o.Client.Update(ctx, obj, owner); err != nil {
			return nil, fmt.Errorf("update cluster report %s: %w", key, err)
		}
		r.o.Metrics.Wrote("ScyllaDBStatusReport")
	}
	// The rows are written first: between the two requests a row may look fresher than it is for as
	// long as it did before, never longer.
	if existing == nil || !equality.Semantic.DeepEqual(want.Status, existing.Status) {
		obj.Status = *want.Status.DeepCopy()
		if err := r.o.Client.Status().Update(ctx, obj, owner); err != nil {
			return nil, fmt.Errorf("update status of cluster report %s: %w", key, err)
		}
	}
	// Only a stored view is served.
	stored := &api.ScyllaDBStatusReport{}
	if err := r.o.Live.Get(ctx, key, stored); err != nil {
		return nil, fmt.Errorf("read back cluster report %s: %w", key, err)
	}
	return stored, nil
}
