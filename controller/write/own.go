// SPDX-License-Identifier: Apache-2.0

package write

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// NotOursError means that an object must not be changed.
type NotOursError struct{ Why string }

// Error implements error.
func (e *NotOursError) Error() string {
	return "not deleted, because it is not ours: " + e.Why
}

// Foreign returns why a report is not ours, by its label and owners, else "". The label alone
// proves nothing: the Scylla Operator copies every label of a datacenter to its report.
func Foreign(r client.Object) string {
	if v := r.GetLabels()[api.LabelManagedBy]; v != api.ManagedByUs {
		return fmt.Sprintf("label %s is %q", api.LabelManagedBy, v)
	}
	// A report without owners may be ours: deleting a StatefulSet without its Pods
	// (--cascade=orphan) removes the owner references.
	for _, o := range r.GetOwnerReferences() {
		if gv, err := schema.ParseGroupVersion(o.APIVersion); err != nil || gv.Group != appsv1.GroupName ||
			o.Kind != "StatefulSet" {
			return fmt.Sprintf("its owner is %s %s", o.Kind, o.Name)
		}
	}
	return ""
}

// notWrittenByUs returns why an object's content is not our controller's, by its field managers,
// else "".
func notWrittenByUs(fields []metav1.ManagedFieldsEntry) string {
	ours := false
	for i := range fields {
		f := &fields[i]
		switch {
		case f.Subresource != "":
		case f.Manager == api.FieldOwnerController:
			ours = true
		case hasContent(f):
			return fmt.Sprintf("field manager %q wrote it", f.Manager)
		}
	}
	if !ours {
		return fmt.Sprintf("field manager %q did not write it", api.FieldOwnerController)
	}
	return ""
}

// hasContent reports whether a manager owns fields other than metadata and status.
func hasContent(f *metav1.ManagedFieldsEntry) bool {
	if f.FieldsV1 == nil {
		return false
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(f.FieldsV1.GetRawBytes(), &fields); err != nil {
		return true
	}
	for k := range fields {
		if k != "f:metadata" && k != "f:status" {
			return true
		}
	}
	return false
}

// Delete deletes an object whose label, owners and field manager are all ours, as read from live:
// the cache has no field managers. Any other object remains (NotOursError); a missing one is not an
// error.
func (w *Reports) Delete(ctx context.Context, c client.Client, live client.Reader, obj client.Object) error {
	key := client.ObjectKeyFromObject(obj)
	if why := Foreign(obj); why != "" {
		return &NotOursError{Why: why}
	}
	now, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("delete report %s: %T is not an object", key, obj)
	}
	switch err := live.Get(ctx, key, now); {
	case apierrors.IsNotFound(err):
		w.Forget(key)
		return nil
	case err != nil:
		return fmt.Errorf("read report %s before it is deleted: %w", key, err)
	case now.GetUID() != obj.GetUID():
		return nil // another object of the same name; the cache will report it
	}
	why := Foreign(now)
	if why == "" {
		why = notWrittenByUs(now.GetManagedFields())
	}
	if why != "" {
		return &NotOursError{Why: why}
	}
	uid, version := now.GetUID(), now.GetResourceVersion()
	if err := c.Delete(ctx, now, client.Preconditions{UID: &uid, ResourceVersion: &version}); client.IgnoreNotFound(
		err) != nil {
		return fmt.Errorf("delete report %s: %w", key, err)
	}
	w.Forget(key)
	return nil
}
