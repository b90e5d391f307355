// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// FieldOwner is the field manager of every apply. It also identifies our objects.
const FieldOwner = "kubectl-scylla"

// PartOfLabel is on every object of an installation, with value FieldOwner.
const PartOfLabel = "app.kubernetes.io/part-of"

// VersionAnnotation, on the namespace, is the installed version.
const VersionAnnotation = "kubectl-scylla/version"

// SharedKind is a CRD that the Scylla Operator also installs: the first installer keeps it.
const SharedKind = "scylladbdatacenternodesstatusreports.scylla.scylladb.com"

// ours reports whether an installation applied the object and no other manager has applied or
// written it since. Status writes of Kubernetes' controllers do not count.
func ours(have *unstructured.Unstructured) bool {
	applied := false
	for _, f := range have.GetManagedFields() {
		switch {
		case f.Subresource != "":
		case f.Manager == FieldOwner && f.Operation == metav1.ManagedFieldsOperationApply:
			applied = true
		case f.Manager != FieldOwner:
			return false
		}
	}
	return applied
}

// Applied reports whether an installation applied the object, even if other managers have written
// to it: Kubernetes itself writes a Deployment's revision.
func Applied(have *unstructured.Unstructured) bool {
	return slices.ContainsFunc(have.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == FieldOwner && f.Operation == metav1.ManagedFieldsOperationApply
	})
}

// Others returns the other managers of an object's fields, by name.
func Others(have *unstructured.Unstructured) []string {
	var all []string
	for _, f := range have.GetManagedFields() {
		if f.Subresource == "" && f.Manager != FieldOwner {
			all = append(all, f.Manager)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// HelmRelease returns the Helm release that has the object, as NAMESPACE/NAME; empty if none.
func HelmRelease(have *unstructured.Unstructured) string {
	name := have.GetAnnotations()["meta.helm.sh/release-name"]
	if name == "" || have.GetLabels()[api.LabelManagedBy] != "Helm" {
		return ""
	}
	return have.GetAnnotations()["meta.helm.sh/release-namespace"] + "/" + name
}

// Foreign reports whether the object is the CRD that we share with the Scylla Operator, installed
// by another manager. Such a CRD is never changed: the operator's upgrade would meet a conflict,
// and fields that a newer operator adds would be pruned.
func Foreign(have *unstructured.Unstructured) bool {
	return have.GetKind() == "CustomResourceDefinition" && have.GetName() == SharedKind && !ours(have)
}

// Narrower lists the fields that the installed CRD has and the new one lacks, as "v1alpha1:
// status.racks[].nodes". Applying the new CRD would prune them from every object that is written
// afterwards. Empty if nothing would be lost.
func Narrower(have, want *unstructured.Unstructured) []string {
	wanted := map[string]bool{}
	for _, p := range fields(want) {
		wanted[p] = true
	}
	lost := slices.DeleteFunc(fields(have), func(p string) bool { return wanted[p] })
	slices.Sort(lost)
	return lost
}

// fields returns the schema paths of all versions of a CRD.
func fields(crd *unstructured.Unstructured) []string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	var all []string
	for _, v := range versions {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		schema, _, _ := unstructured.NestedMap(m, "schema", "openAPIV3Schema")
		all = appendFields(all, fmt.Sprint(m["name"], ": "), schema)
	}
	return all
}

func appendFields(all []string, prefix string, schema map[string]any) []string {
	if items, ok := schema["items"].(map[string]any); ok {
		all = appendFields(all, strings.TrimSuffix(prefix, ".")+"[].", items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		all = append(all, prefix+name)
		if sub, ok := p.(map[string]any); ok {
			all = appendFields(all, prefix+name+".", sub)
		}
	}
	return all
}

// Newer reports whether the installed version is later than the version to install. Builds without
// a release version ("dev") count as equal.
func Newer(installed, to string) bool {
	i, errI := version.ParseSemantic(installed)
	t, errT := version.ParseSemantic(to)
	return errI == nil && errT == nil && t.LessThan(i)
}

// Release removes our entries from a CRD's managed fields, and leaves our label. The content then
// has no owner, and the next manager can apply the CRD without a conflict. Error: managed fields
// that are not a JSON object.
func Release(have *unstructured.Unstructured) error {
	entries := have.GetManagedFields()
	for i := range entries {
		e := &entries[i]
		if e.Manager != FieldOwner || e.FieldsV1 == nil {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields); err != nil {
			return fmt.Errorf("decode the managed fields of %s: %w", have.GetName(), err)
		}
		delete(fields, "f:spec")
		left, err := json.Marshal(fields)
		if err != nil {
			return fmt.Errorf("encode the managed fields of %s: %w", have.GetName(), err)
		}
		e.FieldsV1 = metav1.NewFieldsV1(string(left))
	}
	have.SetManagedFields(entries)
	return nil
}
