// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/crds"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decode(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// shape flattens a schema to its fields with their types. Every other keyword, such as required or enum, becomes an entry of its own.
func shape(at string, schema map[string]any, into map[string]string) {
	for k, v := range schema {
		switch k {
		case "description": // for people
		case "type":
			into[at] = fmt.Sprint(v)
		case "properties":
			for name, p := range v.(map[string]any) {
				shape(at+"."+name, p.(map[string]any), into)
			}
		case "items":
			shape(at+"[]", v.(map[string]any), into)
		default:
			into[at+" "+k] = fmt.Sprint(v)
		}
	}
}

func TestKindOfTheClusterReport(t *testing.T) {
	const want = "scylla.scylladb.com/v1alpha1, Kind=ScyllaDBStatusReport"
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kinds, _, err := scheme.ObjectKinds(&api.ScyllaDBStatusReport{})
	if err != nil || len(kinds) != 1 || kinds[0].String() != want {
		t.Errorf("the type is %v, want %s (%v)", kinds, want, err)
	}
	data, err := crds.FS.ReadFile("scylla.scylladb.com_scylladbstatusreports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := decode(t, data)
	group, _, _ := unstructured.NestedString(crd, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	for _, v := range versions {
		if got := fmt.Sprintf("%s/%s, Kind=%s", group, v.(map[string]any)["name"], kind); got != want {
			t.Errorf("the CRD is of %s, want %s", got, want)
		}
	}
	if len(versions) != 1 {
		t.Errorf("%d versions", len(versions))
	}
}

// TestBesideOperator2TheKindIsExactlyTheOperators: the definition that we ship for the Scylla Operator's kind has exactly the operator's fields with
// their formats, its annotations, no required field and no enum that the operator lacks, no status and no columns.
func TestBesideOperator2TheKindIsExactlyTheOperators(t *testing.T) {
	ours, err := crds.FS.ReadFile("scylla.scylladb.com_scylladbdatacenternodesstatusreports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The fields of the operator's sources and CRD.
	want := map[string]string{
		"": "object", ".apiVersion": "string", ".kind": "string", ".metadata": "object",
		".datacenterName": "string", ".racks": "array", ".racks[]": "object", ".racks[].name": "string",
		".racks[].nodes": "array", ".racks[].nodes[]": "object", ".racks[].nodes[].ordinal": "integer", ".racks[].nodes[].hostID": "string",
		".racks[].nodes[].observedNodes": "array", ".racks[].nodes[].observedNodes[]": "object",
		".racks[].nodes[].observedNodes[].hostID": "string", ".racks[].nodes[].observedNodes[].status": "string",
	}
	rest := map[string]map[string]any{}
	for whose, data := range map[string][]byte{"theirs": read(t, "..", "..", "test", "e2e", "testdata", "operator-crd.yaml"), "ours": ours} {
		crd := decode(t, data)
		versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
		if err != nil || len(versions) != 1 {
			t.Fatalf("%s: %d versions, %v", whose, len(versions), err)
		}
		version := versions[0].(map[string]any)
		schema, _, err := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		shape("", schema, got)
		if whose == "ours" {
			// The one difference: a number that no reader can decode would keep all reports of a Kubernetes cluster from the controller.
			if format := ".racks[].nodes[].ordinal format"; got[format] != "int32" {
				t.Errorf("%s is %q", format, got[format])
			} else {
				delete(got, format)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: fields (-want +got):\n%s", whose, diff)
		}
		delete(version, "schema")
		// An empty list of subresources counts as none, and controller-gen's version is not part of the kind.
		delete(version, "subresources")
		unstructured.RemoveNestedField(crd, "metadata", "annotations", "controller-gen.kubebuilder.io/version")
		if err := unstructured.SetNestedSlice(crd, versions, "spec", "versions"); err != nil {
			t.Fatal(err)
		}
		rest[whose] = crd
	}
	if diff := cmp.Diff(rest["theirs"], rest["ours"]); diff != "" {
		t.Errorf("what is not the schema, as names, annotations and columns (-theirs +ours):\n%s", diff)
	}
}

// TestBesideOperator2AReportOfTheOperatorsIsKeptAsItIs: decoded into our types and encoded again it is the same, field by field.
func TestBesideOperator2AReportOfTheOperatorsIsKeptAsItIs(t *testing.T) {
	sample := read(t, "..", "kube", "testdata", "operator", "report.yaml")
	var report api.ScyllaDBDatacenterNodesStatusReport
	if err := yaml.UnmarshalStrict(sample, &report); err != nil {
		t.Fatal("a field of the operator's report is not known: ", err)
	}
	back, err := yaml.Marshal(&report)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, sample), decode(t, back)); diff != "" {
		t.Errorf("(-as the operator wrote it +as we write it):\n%s", diff)
	}
	if len(report.Racks) != 2 || !metav1.HasLabel(report.ObjectMeta, api.LabelReportSelector) {
		t.Errorf("report %+v", report)
	}
}

// TestStatusesOfTheClusterReport: the schema takes the proposal's two words and ours. Each word that a report is written with is one of them.
func TestStatusesOfTheClusterReport(t *testing.T) {
	data, err := crds.FS.ReadFile("scylla.scylladb.com_scylladbstatusreports.yaml")
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(decode(t, data), "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	schema, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	shape("", schema, got)
	const at = ".datacenters[].nodes[].observedNodes[].status enum"
	if got[at] != "[UP DOWN UNKNOWN MISSING]" {
		t.Errorf("%s is %s", at, got[at])
	}
	for s := range matrix.Missing + 2 { // the last has no name
		if word := string(matrix.Observation{Status: s}.Wire().Status); !slices.Contains([]string{"UP", "DOWN", "UNKNOWN", "MISSING"}, word) {
			t.Errorf("status %d is written as %q", s, word)
		}
	}
}
