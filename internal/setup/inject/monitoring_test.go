// SPDX-License-Identifier: Apache-2.0

package inject

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-scylla/kubectl-scylla/internal/setup/manifests"
)

// podMonitors returns, by the name of the PodMonitor, its selector and the names of its ports.
func podMonitors(t *testing.T) map[string]struct {
	selector labels.Selector
	ports    []string
} {
	t.Helper()
	b, err := os.ReadFile("../../../docs/monitoring/podmonitors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]struct {
		selector labels.Selector
		ports    []string
	}{}
	for _, u := range objects {
		match, _, _ := unstructured.NestedStringMap(u.Object, "spec", "selector", "matchLabels")
		endpoints, _, _ := unstructured.NestedSlice(u.Object, "spec", "podMetricsEndpoints")
		m := out[u.GetName()]
		m.selector = labels.SelectorFromSet(match)
		for _, e := range endpoints {
			m.ports = append(m.ports, e.(object)["port"].(string))
		}
		out[u.GetName()] = m
	}
	return out
}

// ports returns the declared ports of a Pod, by name.
func ports(spec *corev1.PodSpec) map[string]int32 {
	out := map[string]int32{}
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, p := range c.Ports {
			out[p.Name] = p.ContainerPort
		}
	}
	return out
}

// The PodMonitors that are shipped find the Pods and the ports that install and inject write, and so do the annotations.
func TestPrometheusFindsEveryProcess(t *testing.T) {
	monitors := podMonitors(t)
	check := func(monitor string, template *corev1.PodTemplateSpec, annotated string) {
		t.Helper()
		m, there := ports(&template.Spec), monitors[monitor]
		if there.selector == nil || there.selector.Empty() || !there.selector.Matches(labels.Set(template.Labels)) {
			t.Errorf("%s selects by %v, and the Pods have %v", monitor, there.selector, template.Labels)
		}
		for _, port := range there.ports {
			if m[port] == 0 {
				t.Errorf("%s has port %s, and the Pods have %v", monitor, port, slices.Sorted(maps.Keys(m)))
			}
		}
		want := map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": strconv.Itoa(int(m[annotated])), "prometheus.io/path": "/metrics"}
		if diff := cmp.Diff(want, template.Annotations); diff != "" {
			t.Errorf("annotations of %s (-want +got):\n%s", monitor, diff)
		}
	}
	objects, err := manifests.Objects(manifests.Options{Image: "x:1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range objects {
		if u.GetKind() != "Deployment" {
			continue
		}
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
			t.Fatal(err)
		}
		check("kubectl-scylla-controller", &d.Spec.Template, "metrics")
	}
	docs, err := split(input(t, "plain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := statefulSet(docs[1].root, image, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := typed(res.Object)
	if err != nil {
		t.Fatal(err)
	}
	check("kubectl-scylla-members", &s.Spec.Template, "reporter")
}

// A Pod has one port for each annotation: where a person has used them, for ScyllaDB's own metrics, they stay as they are.
func TestAnnotationsOfAPersonStay(t *testing.T) {
	docs, err := split(input(t, "plain.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	set := docs[1].root
	theirs := map[string]string{"prometheus.io/port": "9180"}
	if err := unstructured.SetNestedStringMap(set.Object, theirs, "spec", "template", "metadata", "annotations"); err != nil {
		t.Fatal(err)
	}
	res, err := statefulSet(set, image, nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Undo(res.Object)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []*unstructured.Unstructured{res.Object, back} {
		if got, _, _ := unstructured.NestedStringMap(u.Object, "spec", "template", "metadata", "annotations"); !cmp.Equal(theirs, got) {
			t.Errorf("%v", got)
		}
	}
}
