// SPDX-License-Identifier: Apache-2.0

// Package write updates datacenter reports, here and in other Kubernetes clusters, to the desired
// content, with a request only if something differs. It must not decide the content.
package write

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// ownPrefix of annotations that only this project writes: unwanted ones are removed from our
// reports.
const ownPrefix = "kubectl-scylla.scylladb.com/"

// owner is the field manager by which Delete recognises our objects.
const owner = client.FieldOwner(api.FieldOwnerController)

// Reports writes datacenter reports through one client. Create it with New. It is safe for
// concurrent use.
type Reports struct {
	mu    sync.Mutex
	marks map[types.NamespacedName]mark
}

// mark records the result of a write. If the API server or a mutating webhook changes the written
// object, a comparison with only the stored object would cause a write each time.
type mark struct {
	resourceVersion string
	sum             [sha256.Size]byte
}

// New returns a Reports without marks.
func New() *Reports { return &Reports{marks: map[types.NamespacedName]mark{}} }

// Differs reports whether existing (nil: none) differs from want.
func (w *Reports) Differs(existing, want *api.ScyllaDBDatacenterNodesStatusReport) bool {
	if existing == nil {
		return true
	}
	merged := merge(existing, want)
	if equality.Semantic.DeepEqual(existing, merged) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.marks[client.ObjectKeyFromObject(want)]
	return !ok || m.resourceVersion != existing.ResourceVersion || m.sum != sum(merged)
}

// Write creates the report or updates existing to want. It returns errors of the API server
// unwrapped, so that the caller can detect a conflict.
func (w *Reports) Write(ctx context.Context, c client.Client, existing,
	want *api.ScyllaDBDatacenterNodesStatusReport) error {
	var obj *api.ScyllaDBDatacenterNodesStatusReport
	var s [sha256.Size]byte
	if existing == nil {
		obj = want.DeepCopy()
		s = sum(obj)
		if err := c.Create(ctx, obj, owner); err != nil {
			return fmt.Errorf("create report %s/%s: %w", want.Namespace, want.Name, err)
		}
	} else {
		obj = merge(existing, want)
		s = sum(obj)
		if err := c.Update(ctx, obj, owner); err != nil {
			return fmt.Errorf("update report %s/%s: %w", want.Namespace, want.Name, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks[client.ObjectKeyFromObject(want)] = mark{resourceVersion: obj.ResourceVersion, sum: s}
	return nil
}

// Forget drops the mark of a report that was deleted.
func (w *Reports) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.marks, key)
}

// merge returns existing with all our fields from want; other labels, annotations and owners
// remain.
func merge(existing, want *api.ScyllaDBDatacenterNodesStatusReport) *api.ScyllaDBDatacenterNodesStatusReport {
	out := existing.DeepCopy()
	if len(want.Labels) > 0 && out.Labels == nil {
		out.Labels = map[string]string{}
	}
	maps.Copy(out.Labels, want.Labels)
	// The Scylla Operator deletes a report with the name of its ScyllaDBDatacenter here. Earlier
	// versions wrote it, no reader uses it.
	delete(out.Labels, api.LabelCluster)
	maps.DeleteFunc(out.Annotations, func(k, _ string) bool {
		_, wanted := want.Annotations[k]
		return strings.HasPrefix(k, ownPrefix) && !wanted
	})
	if len(want.Annotations) > 0 && out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	maps.Copy(out.Annotations, want.Annotations)
	out.OwnerReferences = want.OwnerReferences
	out.DatacenterName, out.Racks = want.DatacenterName, want.Racks
	return out
}

func sum(r *api.ScyllaDBDatacenterNodesStatusReport) [sha256.Size]byte {
	c := *r
	c.ObjectMeta = metav1.ObjectMeta{Labels: r.Labels, Annotations: r.Annotations, OwnerReferences: r.OwnerReferences}
	c.TypeMeta = metav1.TypeMeta{}
	b, _ := json.Marshal(c) // plain data always marshals
	return sha256.Sum256(b)
}
