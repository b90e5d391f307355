// SPDX-License-Identifier: Apache-2.0

package support_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
)

func node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"topology.kubernetes.io/zone": "a"}},
		Spec:       corev1.NodeSpec{Unschedulable: true, ProviderID: "cloud:///account-4711"},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}},
			Images:     []corev1.ContainerImage{{Names: []string{"internal.example/secret-project"}}},
		},
	}
}

func object2(gvk schema.GroupVersionKind, name string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"version": "2025.2.1", "scyllaArgs": "--smp=2 --auth-token hunter2", "env": []any{map[string]any{"name": "A", "value": "hunter2"}},
	}}}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace("ns")
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

// The objects around the cluster get into the archive, without secrets, and come back from it.
func TestArchiveHoldsSurroundings(t *testing.T) {
	t.Parallel()
	s := waits()
	s.Operator = true
	for i := range s.Pods {
		s.Pods[i].Spec.NodeName, s.Pods[i].Status.Phase = "worker-"+string(rune('a'+i)), corev1.PodRunning
	}
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(
		node("worker-a"), node("other"),
		object2(api.ScyllaDBDatacenterGVK, "demo", map[string]string{"parent": "global"}), object2(api.ScyllaClusterGVK, "demo", nil),
		object2(api.ScyllaDBClusterGVK, "global", nil), object2(api.ScyllaDBClusterGVK, "unrelated", nil),
	).Build()
	log := func(_ context.Context, _, _ string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		text := "INFO fine\nINFO password=\"hunter2 and more\nINFO \x1b[31mred\n"
		switch {
		case o.TailLines != nil && *o.TailLines != 500:
			t.Errorf("%d lines are asked for", *o.TailLines)
		case o.Previous:
			text = "MIIhunter2\n-----END RSA PRIVATE KEY-----\nINFO the run before\n-----BEGIN EC PRIVATE KEY-----\nhunter2\n"
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	tables := func(_ context.Context, pods []corev1.Pod, progress func(done, total int)) (map[string]support.Tables, []cluster.Problem) {
		progress(1, len(pods))
		return map[string]support.Tables{pods[0].Name: {HostID: "a", Members: []scylla.Member{{Address: "10.0.0.1", HostID: "a"}}, Gossip: []scylla.Endpoint{{Address: "10.0.0.1", Alive: true}}}}, nil
	}
	got, err := support.Gather(t.Context(), c, s, "", support.Server{Log: log, Tables: tables}, support.Limits{LogLines: 500})
	if err != nil {
		t.Fatal(err)
	}
	got.Context = "prod"
	a, err := support.Pack([]*support.Cluster{got}, now, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := a.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	saved, err := support.Open(&b)
	if err != nil {
		t.Fatal(err)
	}
	back := saved.Clusters[0]
	if back.Context != "prod" || len(back.Nodes) != 1 || !back.NodesRead || back.Nodes[0].Spec.ProviderID != "" || len(back.Nodes[0].Status.Images) != 0 || !back.Nodes[0].Spec.Unschedulable ||
		back.Nodes[0].Status.Conditions[0].Reason != "KubeletNotReady" || back.Nodes[0].Labels["topology.kubernetes.io/zone"] != "a" {
		t.Errorf("Kubernetes nodes: %+v", back.Nodes)
	}
	kinds := map[string]string{}
	for _, o := range back.Operator {
		kinds[o.GetKind()] = o.GetName()
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		if _, args := spec["scyllaArgs"]; args || o.GetKind() == api.ScyllaClusterGVK.Kind && spec["version"] != "2025.2.1" {
			t.Errorf("%s: %v", o.GetKind(), spec)
		}
	}
	if diff := cmp.Diff(map[string]string{"ScyllaDBDatacenter": "demo", "ScyllaCluster": "demo", "ScyllaDBCluster": "global"}, kinds); diff != "" {
		t.Errorf("the operator's objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got.Tables, back.Tables); diff != "" {
		t.Errorf("tables (-packed +opened):\n%s", diff)
	}
	i := slices.IndexFunc(back.Waiting, func(c support.Container) bool { return c.Container == "scylla" })
	if w := back.Waiting[i]; w.Log != "INFO fine\nINFO password=\"[redacted]\"\nINFO \uFFFD[31mred\n" || w.PreviousLog != "[redacted]\nINFO the run before\n[redacted]\n" {
		t.Errorf("logs: %q, %q", w.Log, w.PreviousLog)
	}
	// The second time nothing is left to take out, and it is the same.
	again, err := support.Pack([]*support.Cluster{back}, now, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	names := func(m support.Manifest) []string {
		sums := map[string]string{}
		for _, f := range m.Files {
			sums[f.Name] = f.SHA256
		}
		return slices.Sorted(maps.Keys(sums))
	}
	if diff := cmp.Diff(names(a.Manifest), names(again.Manifest)); diff != "" {
		t.Errorf("files of an archive of an archive (-first +second):\n%s", diff)
	}
	if again.Manifest.Redacted != nil {
		t.Errorf("taken out again: %v", again.Manifest.Redacted)
	}
}

func TestGatherWithoutRightsAround(t *testing.T) {
	t.Parallel()
	s := sample().Snapshot
	s.Operator = true
	s.Pods[0].Spec.NodeName, s.Pods[0].Status.Phase = "worker-a", corev1.PodRunning
	refuse := func(o client.Object) error {
		switch o.(type) {
		case *corev1.Node, *unstructured.Unstructured:
			return apierrors.NewForbidden(schema.GroupResource{Resource: "x"}, "n", errors.New("no"))
		}
		return nil
	}
	c := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := refuse(o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*unstructured.UnstructuredList); ok {
				return refuse(&unstructured.Unstructured{})
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()
	tables := func(context.Context, []corev1.Pod, func(done, total int)) (map[string]support.Tables, []cluster.Problem) {
		return nil, []cluster.Problem{{Verb: "create", Resource: "pods/portforward", Kind: cluster.ProblemForbidden, Message: "may not"}}
	}
	got, err := support.Gather(t.Context(), c, s, "", support.Server{Tables: tables}, support.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, l := range slices.Concat(got.LeftOut, got.Uncollected) {
		left = append(left, l.What+": "+l.Why.Word()+": "+l.Detail)
	}
	for _, want := range []string{
		"Kubernetes nodes: forbidden: request a ClusterRole with verbs get and list on resource nodes: no",
		"ScyllaDBCluster: forbidden: request a Role with verb list on resource scylladbclusters of group scylla.scylladb.com: no",
		"ScyllaDB's tables: forbidden: may not",
	} {
		if !slices.Contains(left, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(left, "\n"))
		}
	}
}
