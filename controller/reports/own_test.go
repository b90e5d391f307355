// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// writtenBy returns the managed fields of a report whose content one manager wrote.
func writtenBy(manager string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: api.GroupVersion.String(), FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:datacenterName":{},"f:racks":{}}`),
	}}
}

// left returns a report, with our label, of a datacenter that has no StatefulSet any more: entirely ours unless change alters it.
func left(change func(*report)) *report {
	r := &report{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: "left", UID: "uid-left", ManagedFields: writtenBy(api.FieldOwnerController),
			Labels:          map[string]string{api.LabelManagedBy: api.ManagedByUs, api.LabelReportSelector: "demo"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "demo-r1", UID: "uid-demo-r1"}},
		},
		DatacenterName: "gone",
	}
	if change != nil {
		change(r)
	}
	return r
}

func TestBesideOperator7OnlyOurReportsAreDeleted(t *testing.T) {
	operators := metav1.OwnerReference{APIVersion: api.GroupVersion.String(), Kind: "ScyllaDBDatacenter", Name: "demo", UID: "uid-demo"}
	for name, tc := range map[string]struct {
		change func(*report)
		says   string // in the Event; empty when the report is deleted, or does not carry our label
		stays  bool
	}{
		"ours in every respect": {},
		"without our label":     {change: func(r *report) { r.Labels[api.LabelManagedBy] = api.ManagedByOperator }, stays: true},
		"owned by the operator's datacenter": {
			change: func(r *report) { r.OwnerReferences = []metav1.OwnerReference{operators} }, stays: true, says: "its owner is ScyllaDBDatacenter demo",
		},
		"owned by both": {change: func(r *report) { r.OwnerReferences = append(r.OwnerReferences, operators) }, stays: true, says: "its owner is ScyllaDBDatacenter demo"},
		"its StatefulSet was deleted without its Pods": {change: func(r *report) { r.OwnerReferences = nil }},
		"owned by nobody, written by other": {
			change: func(r *report) { r.OwnerReferences, r.ManagedFields = nil, writtenBy("kubectl-create") }, stays: true, says: `field manager "kubectl-create" wrote it`,
		},
		"written by other": {change: func(r *report) { r.ManagedFields = writtenBy("scylla-operator") }, stays: true, says: `field manager "scylla-operator" wrote it`},
		"written by both": {
			change: func(r *report) { r.ManagedFields = append(r.ManagedFields, writtenBy("kubectl-edit")...) }, stays: true, says: `field manager "kubectl-edit" wrote it`,
		},
		"annotated by a person": {change: func(r *report) {
			more := writtenBy("kubectl-annotate")
			more[0].FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:a":{}}}}`)
			r.ManagedFields = append(r.ManagedFields, more...)
		}},
	} {
		for _, last := range []bool{false, true} {
			b := newBench(t, append(two(), left(tc.change))...)
			if last { // no StatefulSet of the cluster is left
				b.drop(set("demo-r1", "", "", 0), set("demo-r2", "", "", 0))
			}
			b.reconcile()
			err := b.client.Get(t.Context(), types.NamespacedName{Namespace: ns, Name: "left"}, &report{})
			if stays := !apierrors.IsNotFound(err); stays != tc.stays {
				t.Errorf("%s, last %t: it stays: %t", name, last, stays)
			}
			said := slices.ContainsFunc(b.events(), func(e string) bool {
				return strings.HasPrefix(e, "ReportLeftAlone ") && strings.Contains(e, tc.says)
			})
			if said != (tc.says != "") {
				t.Errorf("%s, last %t: Events %q", name, last, b.events())
			}
		}
	}
}

// TestBesideOperator7AReportInTheWayIsNotOverwritten: another report has the name that ours would have: the operator's,
// with our label, or one without.
func TestBesideOperator7AReportInTheWayIsNotOverwritten(t *testing.T) {
	for says, change := range map[string]func(*report){
		"its owner is ScyllaDBDatacenter demo": func(r *report) {
			r.OwnerReferences = []metav1.OwnerReference{{APIVersion: api.GroupVersion.String(), Kind: "ScyllaDBDatacenter", Name: "demo", UID: "uid-demo"}}
		},
		own + " has the name of our report but is not ours": func(r *report) { delete(r.Labels, api.LabelManagedBy) },
	} {
		b := newBench(t, append(two(), left(func(r *report) { r.Name = own; change(r) }))...)
		if _, err := b.Reconcile(t.Context(), demo); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("reconcile: %v, want %q", err, says)
		}
		if slices.ContainsFunc(b.writes, func(w string) bool { return strings.HasSuffix(w, own) }) {
			t.Errorf("written: %q", b.writes)
		}
	}
}
