// SPDX-License-Identifier: Apache-2.0

package install

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/exit"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
)

// An older version replaces a newer one only if a person allows it and nothing is under way that it may not be able to end.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	object := func(name string, labels, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: labels, Annotations: annotations}
	}
	service := func(labels map[string]string) client.Object {
		labels[api.LabelCluster] = "shop"
		return &corev1.Service{ObjectMeta: object("shop-a-0", labels, nil)}
	}
	for name, tc := range map[string]struct {
		installed string
		allowed   bool
		objects   []client.Object
		refused   string
	}{
		"an older one":          {installed: "v1.3.0", refused: "an older version does not replace a newer one"},
		"allowed":               {installed: "v1.3.0", allowed: true, objects: []client.Object{service(map[string]string{})}},
		"a replacement, asked":  {installed: "v1.3.0", allowed: true, objects: []client.Object{service(map[string]string{api.LabelReplace: ""})}, refused: "the replacement of member demo/shop-a-0"},
		"a replacement, begun":  {installed: "v1.3.0", allowed: true, objects: []client.Object{service(map[string]string{api.LabelReplacingNodeHostID: "x"})}, refused: "the replacement of member demo/shop-a-0"},
		"inject":                {installed: "v1.3.0", allowed: true, objects: []client.Object{&appsv1.StatefulSet{ObjectMeta: object("shop-a", nil, map[string]string{api.AnnotationRolling: "{}"})}}, refused: "inject of statefulset demo/shop-a"},
		"a permit":              {installed: "v1.3.0", allowed: true, objects: []client.Object{&api.ScyllaDBStatusReport{ObjectMeta: object("shop", nil, nil), Status: api.ScyllaDBStatusReportStatus{View: &api.StatusReportView{Permits: []api.StatusReportViewPermit{{}}}}}}, refused: "a permit of cluster demo/shop"},
		"a view, and no permit": {installed: "v1.3.0", allowed: true, objects: []client.Object{&api.ScyllaDBStatusReport{ObjectMeta: object("shop", nil, nil), Status: api.ScyllaDBStatusReportStatus{View: &api.StatusReportView{}}}}},
		"no newer one":          {installed: "v1.1.0", allowed: true, refused: "replace it with --upgrade"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(tc.objects...).Build()
			o := &options{version: "v1.2.0", downgrade: tc.allowed, dryRun: "none"}
			err := o.refuseVersion(t.Context(), c, tc.installed)
			text := ""
			if err != nil {
				text = exit.Message(err)
			}
			if (err != nil) != (tc.refused != "") || !strings.Contains(text, tc.refused) || err != nil && exit.Code(err) != 2 {
				t.Errorf("%v, want %q", text, tc.refused)
			}
		})
	}
}

// TestTheFeatureGatesAreKept: the controller gets a gate that is off, and the next installation keeps it; a gate that is on is its default.
func TestTheFeatureGatesAreKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given string
		want  bool // the controller has the argument
	}{
		"off": {"BootstrapSynchronisation=false", true}, "on": {"BootstrapSynchronisation=true", false}, "not given": {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &options{gates: tc.given, image: "example.com/scylla-agent:1"}
			objects, err := o.objects()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == "Deployment" })
			text, err := objects[i].MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(string(text), `"--feature-gates=BootstrapSynchronisation=false"`); has != tc.want || strings.Contains(string(text), "feature-gates") != tc.want {
				t.Errorf("the argument is there: %t, want %t\n%s", has, tc.want, text)
			}
			kept, err := installedGates(t.Context(), fake.NewClientBuilder().WithObjects(objects[i]).Build())
			if want := map[bool]string{true: tc.given}[tc.want]; err != nil || kept != want {
				t.Errorf("the next installation keeps %q, want %q (%v)", kept, want, err)
			}
		})
	}
	if kept, err := installedGates(t.Context(), fake.NewClientBuilder().Build()); kept != "" || err != nil {
		t.Errorf("without an installation: %q, %v", kept, err)
	}
}
