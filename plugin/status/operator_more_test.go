// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator1ARemovenodeNeedsAllTheSigns: signs of another datacenter that only one source has, and members whose recorded host ID is wrong.
func TestBesideOperator1ARemovenodeNeedsAllTheSigns(t *testing.T) {
	cutOff := func() *plugintest.Cluster {
		c := plugintest.New(3, 1).AddDatacenter("dc2", 1, 2).Down("demo-dc2-rack1-0").Down("demo-dc2-rack1-1")
		c.Newcomer("dc1", "rack2", 1)
		return c
	}
	// unsigned has no sign of the other datacenter left but what a test gives it.
	unsigned := func(containers bool) []client.Object {
		objects := cutOff().OperatorObjects("dc1", nil)
		clean := func(s *corev1.PodSpec) {
			s.Containers[0].Command, s.Containers[0].Args, s.InitContainers = nil, nil, nil
		}
		for _, o := range objects {
			l := o.GetLabels()
			delete(l, api.LabelParentScyllaDBCluster)
			o.SetLabels(l)
			switch o := o.(type) {
			case *appsv1.StatefulSet:
				clean(&o.Spec.Template.Spec)
			case *corev1.Pod:
				set := o.Name[:strings.LastIndexByte(o.Name, '-')]
				o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: "set", Controller: new(true)}}
				if !containers {
					clean(&o.Spec)
				}
			}
		}
		return objects
	}
	datacenter := func(labels map[string]any, scylla map[string]any) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": api.GroupVersion.String(), "kind": api.ScyllaDBDatacenterGVK.Kind,
			"metadata": map[string]any{"namespace": "demo", "name": "demo", "labels": labels}, "spec": map[string]any{"scyllaDB": scylla},
		}}
	}
	recorded := func(change func(o *corev1.Service)) []client.Object {
		objects := plugintest.New(4, 1).Down("demo-dc1-rack4-0").OperatorObjects("dc1", nil)
		for _, o := range objects {
			if s, is := o.(*corev1.Service); is && s.Name == "demo-dc1-rack4-0" {
				change(s)
			}
		}
		return objects
	}
	const (
		elsewhere = "in another datacenter, unknown here"
		nodes     = "it may be the node of "
	)
	tests := map[string]struct {
		objects []client.Object
		want    string
	}{
		"the template has lost the seeds, its Pods have them": {unsigned(true), elsewhere + " (its Pods have seeds that are not members here: 10.2.0.7)"},
		"the datacenter asks for seeds, no Pod has them yet": {
			append(unsigned(false), datacenter(nil, map[string]any{"externalSeeds": []any{"dc2.example.com"}})), elsewhere + " (its Pods have seeds that are not members here: dc2.example.com)",
		},
		"the datacenter alone says whose part it is": {
			append(unsigned(false), datacenter(map[string]any{api.LabelParentScyllaDBCluster: "multi"}, nil)), elsewhere + " (it is part of ScyllaDBCluster multi",
		},
		"two Services record one host ID": {
			recorded(func(s *corev1.Service) { s.Annotations[api.AnnotationHostID] = plugintest.HostID(1) }), nodes + "demo-dc1-rack2-0 and demo-dc1-rack4-0, whose host ID is unknown",
		},
		"a Service records a host ID that no node lists": {
			recorded(func(s *corev1.Service) { s.Annotations[api.AnnotationHostID] = "c0ffee00-5ea1-4d00-8000-000000000099" }), nodes + "demo-dc1-rack4-0, whose host ID is unknown",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			saved := string(plugintest.SavedYAML(t, tc.objects))
			var all strings.Builder
			for _, args := range [][]string{{"status", "--all"}, {"status", "-o", "json"}, {"status", "--source=annotation"}, {"barrier"}, {"report", "-o", "wide"}, {"replace", "status"}} {
				all.WriteString(plugintest.Run{Args: append(args, "--from", "-"), Stdin: saved}.Transcript(t))
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(all.String(), "\\\n", "")), " ")
			if !strings.Contains(got, tc.want) || strings.Contains(got, "removenode") {
				t.Errorf("want %q and no removenode in\n%s", tc.want, all.String())
			}
		})
	}
}

// TestBesideOperator4AnEmptyReportIsNoNewCluster: the operator's report has no row, while Services say that their nodes have joined.
func TestBesideOperator4AnEmptyReportIsNoNewCluster(t *testing.T) {
	c := plugintest.New(3, 1)
	c.Newcomer("dc1", "rack1", 1)
	objects := c.OperatorObjects("dc1", nil)
	for _, o := range objects {
		if r, is := o.(*api.ScyllaDBDatacenterNodesStatusReport); is {
			r.Racks = nil
		}
	}
	got := plugintest.Run{Args: []string{"status", "--from", plugintest.Save(t, objects)}}.Do(t)
	if strings.Contains(got.Stdout, "no node has joined") || !strings.Contains(got.Stdout, "no status report from any node") || got.Code != 3 {
		t.Errorf("exit code %d:\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
