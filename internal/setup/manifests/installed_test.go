// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func definition(t *testing.T, schema string) *unstructured.Unstructured {
	t.Helper()
	objs, err := Decode(strings.NewReader(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"` + SharedKind + `"},
"spec":{"versions":[{"name":"v1alpha1","schema":{"openAPIV3Schema":` + schema + `}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return objs[0]
}

func TestForeignDefinitionIsLeftAlone(t *testing.T) {
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	tests := map[string]struct {
		managed []metav1.ManagedFieldsEntry
		want    bool
	}{
		"ours":                             {[]metav1.ManagedFieldsEntry{{Manager: FieldOwner, Operation: apply}, {Manager: "kube-apiserver", Operation: update, Subresource: "status"}}, false},
		"applied by kubectl":               {[]metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: apply}}, true},
		"ours, then the operator's":        {[]metav1.ManagedFieldsEntry{{Manager: FieldOwner, Operation: apply}, {Manager: "helm", Operation: update}}, true},
		"from the time before field owner": {nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := definition(t, `{}`)
			d.SetManagedFields(tt.managed)
			if got := Foreign(d); got != tt.want {
				t.Errorf("Foreign = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestNarrower(t *testing.T) {
	have := definition(t, `{"properties":{"racks":{"type":"array","items":{"properties":{"name":{},"nodes":{"items":{"properties":{"hostID":{},"later":{}}}}}}}}}`)
	want := definition(t, `{"properties":{"extra":{},"racks":{"type":"array","items":{"properties":{"name":{},"nodes":{"items":{"properties":{"hostID":{}}}}}}}}}`)
	if diff := cmp.Diff([]string{"v1alpha1: racks[].nodes[].later"}, Narrower(have, want)); diff != "" {
		t.Error(diff)
	}
	if lost := Narrower(want, want); len(lost) > 0 {
		t.Errorf("the same definition loses %v", lost)
	}
}

func TestNewer(t *testing.T) {
	tests := map[string]struct {
		installed, to string
		want          bool
	}{
		"later":             {"v1.2.0", "v1.1.9", true},
		"the same":          {"v1.2.0", "1.2.0", false},
		"earlier":           {"v1.1.0", "v1.2.0", false},
		"a build of a tree": {"v1.2.0", "dev", false},
		"never said":        {"", "v1.0.0", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Newer(tt.installed, tt.to); got != tt.want {
				t.Errorf("Newer(%q, %q) = %v, want %v", tt.installed, tt.to, got, tt.want)
			}
		})
	}
}

// TestBesideOperator2WhatIsReleasedIsNobodys: our label stays, so that the definition counts as ours until another manager applies it, and the fields
// of others stay theirs.
func TestBesideOperator2WhatIsReleasedIsNobodys(t *testing.T) {
	d := &unstructured.Unstructured{Object: map[string]any{"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": SharedKind}}}
	const both = `{"f:metadata":{"f:labels":{}},"f:spec":{"f:versions":{}}}`
	d.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(both)},
		{Manager: "kube-apiserver", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", FieldsV1: metav1.NewFieldsV1(both)},
	})
	if err := Release(d); err != nil {
		t.Fatal(err)
	}
	fields := d.GetManagedFields()
	if got := string(fields[0].FieldsV1.GetRawBytes()); got != `{"f:metadata":{"f:labels":{}}}` {
		t.Errorf("ours: %s", got)
	}
	if got := string(fields[1].FieldsV1.GetRawBytes()); got != both {
		t.Errorf("theirs: %s", got)
	}
	if !ours(d) || Foreign(d) {
		t.Error("it does not count as ours any more")
	}
	fields[0].FieldsV1 = metav1.NewFieldsV1("[]")
	d.SetManagedFields(fields)
	if err := Release(d); err == nil {
		t.Error("managed fields that are none are taken")
	}
}
