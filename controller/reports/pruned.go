// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/write"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// pruning records the fields that the API server removes from our cluster report, because the installed definition of the kind does not have them.
type pruning struct {
	fields []string
	look   time.Time // when to ask whether the API server still removes them
	// The last content sent, and the object's version after it: where fields are removed, the object never equals the wanted one.
	version string
	sum     [sha256.Size]byte
}

// lookAgain is how long after fields were removed a dry-run request asks whether the API server keeps them now.
const lookAgain = 10 * time.Minute

// writeStatus brings the cluster report to want and reads it back. Where the API server removed fields it writes the report again without states, so
// that no remaining part of a row is wrong. f holds the fields that are set once and never changed.
func (r *Reconciler) writeStatus(
	ctx context.Context, key types.NamespacedName, m *memory, w *world, want *api.ScyllaDBStatusReport, f first, now time.Time,
) (*api.ScyllaDBStatusReport, error) {
	if len(m.pruned.fields) > 0 && w.status != nil && !now.Before(m.pruned.look) {
		kept, err := r.keepsAll(ctx, desired(key, w, w.status, want))
		if err != nil {
			return nil, err
		}
		if m.pruned.look = now.Add(lookAgain); kept {
			m.pruned = pruning{}
		}
	}
	known := len(m.pruned.fields) > 0
	if !known {
		meta.RemoveStatusCondition(&want.Status.Conditions, api.ConditionFieldsKept)
	}
	stored, missing, err := r.writeOnce(ctx, key, m, w, w.status, withoutStates(want, m.pruned.fields, now), f)
	if err != nil || known || len(missing) == 0 {
		return stored, err
	}
	m.pruned.fields, m.pruned.look = missing, now.Add(lookAgain)
	r.o.Log.WarnContext(ctx, "the API server takes fields off the cluster report: install the kinds of this version", "namespace", key.Namespace, "cluster", key.Name, "fields", missing)
	stored, _, err = r.writeOnce(ctx, key, m, w, stored, withoutStates(want, missing, now), first{})
	return stored, err
}

// desired is existing with all our fields as in want.
func desired(key types.NamespacedName, w *world, existing, want *api.ScyllaDBStatusReport) *api.ScyllaDBStatusReport {
	obj := &api.ScyllaDBStatusReport{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if existing != nil {
		obj = existing.DeepCopy()
	}
	if obj.Labels == nil {
		obj.Labels = map[string]string{}
	}
	maps.Copy(obj.Labels, map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelCluster: key.Name})
	obj.OwnerReferences = owners(w.sets, "")
	c := want.DeepCopy() // the client decodes the answer into the object that was sent, and want must not change
	obj.Membership, obj.Datacenters, obj.LastListed = c.Membership, c.Datacenters, c.LastListed
	return obj
}

// writeOnce brings existing to want, and returns which fields of it the API server has not kept.
func (r *Reconciler) writeOnce(
	ctx context.Context, key types.NamespacedName, m *memory, w *world, existing, want *api.ScyllaDBStatusReport, f first,
) (stored *api.ScyllaDBStatusReport, missing []string, err error) {
	obj := desired(key, w, existing, want)
	full := obj.DeepCopy()
	full.Status = want.Status
	sum := sumOf(full)
	if !f.news && existing != nil && (equality.Semantic.DeepEqual(full, existing) || existing.ResourceVersion == m.pruned.version && sum == m.pruned.sum) {
		return existing, nil, nil
	}
	m.wrote = true
	owner := client.FieldOwner(api.FieldOwnerController)
	if existing != nil {
		// Before every other write: a failure below must not lose it.
		if err := r.initialise(ctx, obj, want, f); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case existing == nil:
		if err := r.o.Client.Create(ctx, obj, owner); err != nil {
			return nil, nil, fmt.Errorf("create cluster report %s: %w", key, err)
		}
		r.o.Metrics.Wrote("ScyllaDBStatusReport")
		if err := r.initialise(ctx, obj, want, f); err != nil {
			return nil, nil, err
		}
	case !equality.Semantic.DeepEqual(desired(key, w, existing, want), existing):
		if err := r.o.Client.Update(ctx, obj, owner); err != nil {
			return nil, nil, fmt.Errorf("update cluster report %s: %w", key, err)
		}
		r.o.Metrics.Wrote("ScyllaDBStatusReport")
	}
	// The rows are written first: between the two requests a row may look fresher than it is for as long as it did before, never longer.
	if existing == nil || !equality.Semantic.DeepEqual(want.Status, existing.Status) {
		obj.Status = *want.Status.DeepCopy()
		if err := r.o.Client.Status().Update(ctx, obj, owner); err != nil {
			return nil, nil, fmt.Errorf("update status of cluster report %s: %w", key, err)
		}
	}
	// Decoded into a new object: fields that the answer lacks would remain in the object that was sent.
	stored = &api.ScyllaDBStatusReport{}
	if err := r.o.Live.Get(ctx, key, stored); err != nil {
		return nil, nil, fmt.Errorf("read back cluster report %s: %w", key, err)
	}
	if stored.ResourceVersion != obj.ResourceVersion {
		return stored, nil, nil // another write came between, and the next reconciliation compares again
	}
	m.pruned.version, m.pruned.sum = stored.ResourceVersion, sum
	return stored, append(write.Missing("", content(full), content(stored)), write.Missing("status", full.Status, stored.Status)...), nil
}

// content returns the fields of a report's main resource beside its metadata.
func content(r *api.ScyllaDBStatusReport) any {
	return map[string]any{"membership": r.Membership, "datacenters": r.Datacenters, "lastListed": r.LastListed}
}

func sumOf(r *api.ScyllaDBStatusReport) [sha256.Size]byte {
	b, _ := json.Marshal([]any{content(r), r.Status, r.Labels, r.OwnerReferences}) // plain data always marshals
	return sha256.Sum256(b)
}

// keepsAll asks the API server, with a dry-run request, whether it would keep all rows of obj.
func (r *Reconciler) keepsAll(ctx context.Context, obj *api.ScyllaDBStatusReport) (bool, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return false, fmt.Errorf("cluster report %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(api.GroupVersion.WithKind("ScyllaDBStatusReport"))
	if err := r.o.Client.Update(ctx, u, client.DryRunAll); err != nil {
		return false, fmt.Errorf("try to update cluster report %s/%s: %w", obj.Namespace, obj.Name, err)
	}
	kept := map[string]any{"membership": u.Object["membership"], "datacenters": u.Object["datacenters"]}
	return len(write.Missing("", content(obj), kept)) == 0, nil
}

// withoutStates returns want without states and with a condition that names the removed fields; want itself where none are removed.
func withoutStates(want *api.ScyllaDBStatusReport, pruned []string, now time.Time) *api.ScyllaDBStatusReport {
	if len(pruned) == 0 {
		return want
	}
	out := cluster.WithoutStates(want)
	meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{
		Type: api.ConditionFieldsKept, Status: metav1.ConditionFalse, Reason: "Pruned", LastTransitionTime: metav1.NewTime(now),
		Message: fmt.Sprintf("the definition of kind ScyllaDBStatusReport that is installed does not know %s: rows are written without the states of nodes, and "+
			"those that may be old without observations, which blocks; bring the kinds up to date: kubectl scylla install --upgrade", strings.Join(pruned, ", ")),
	})
	return out
}
