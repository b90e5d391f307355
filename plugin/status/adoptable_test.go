// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator1OurStatefulSetsThatItAdopts: the operator adopts our StatefulSets by the label of an earlier version, and deletes them. The remark names them and the command that
// takes them out of its reach; nothing is scaled, deleted or restarted.
func TestBesideOperator1OurStatefulSetsThatItAdopts(t *testing.T) {
	const relabel = "kubectl label statefulset demo-dc1-rack1 demo-dc1-rack2 demo-dc1-rack3 scylla/cluster=own_demo --overwrite -n demo"
	const upgrade = "kubectl scylla install --upgrade"
	named := func(gvk schema.GroupVersionKind, name string) client.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		o.SetGroupVersionKind(gvk)
		return o
	}
	owned := func(o client.Object, group, kind string) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: group, Kind: kind, Name: "demo", UID: "sdc", Controller: new(true)}})
	}
	services := func(o client.Object) {
		if _, is := o.(*corev1.Service); is {
			owned(o, "v1", "Namespace")
		}
	}
	cases := map[string]struct {
		beside client.Object
		change func(client.Object)
		want   []string // nothing of adoption when empty
		never  string
	}{
		"a ScyllaDBDatacenter of the name": {beside: named(api.ScyllaDBDatacenterGVK, "demo"), change: services,
			want: []string{"ScyllaDBDatacenter demo exists in this namespace", "statefulset demo-dc1-rack1", relabel}, never: upgrade},
		"a ScyllaCluster":   {beside: named(api.ScyllaClusterGVK, "demo"), want: []string{"ScyllaCluster demo exists", "service demo-dc1-rack1-0", relabel}},
		"a ScyllaDBCluster": {beside: named(api.ScyllaDBClusterGVK, "demo"), want: []string{"ScyllaDBCluster demo exists", relabel}},
		"of another name":   {beside: named(api.ScyllaDBDatacenterGVK, "other")},
		"the StatefulSets have our label, a Service has the operator's": {beside: named(api.ScyllaDBDatacenterGVK, "demo"), change: func(o client.Object) {
			if _, is := o.(*appsv1.StatefulSet); is {
				o.GetLabels()[api.LabelCluster] = api.OwnCluster("demo")
			}
		}, want: []string{"service demo-dc1-rack1-0", upgrade}, never: "scylla/cluster=own_demo"},
		"nothing is selected": {beside: named(api.ScyllaDBDatacenterGVK, "demo"), change: func(o client.Object) {
			if services(o); o.GetLabels()[api.LabelCluster] != "" {
				if _, is := o.(*appsv1.StatefulSet); is {
					o.GetLabels()[api.LabelCluster] = api.OwnCluster("demo")
				}
			}
		}},
		"adopted": {change: func(o client.Object) {
			if _, is := o.(*appsv1.StatefulSet); is {
				owned(o, api.GroupVersion.String(), "ScyllaDBDatacenter")
			}
			services(o)
		}, want: []string{"ScyllaDBDatacenter demo of the Scylla Operator has adopted some of them", relabel, "get statefulsets demo-dc1-rack1 demo-dc1-rack2 demo-dc1-rack3 --output yaml"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects := plugintest.New(3, 1).Objects()
			for _, o := range objects {
				if tc.change != nil {
					tc.change(o)
				}
			}
			if tc.beside != nil {
				objects = append(objects, tc.beside)
			}
			got := plugintest.Run{Objects: objects, Args: []string{"status", "-n", "demo", "-o", "wide"}}.Do(t)
			text := strings.Join(strings.Fields(strings.ReplaceAll(got.Stdout, "\\\n", "")), " ")
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q:\n%s%s", want, got.Stdout, got.Stderr)
				}
			}
			if found := strings.Contains(text, "adopt"); found != (len(tc.want) > 0) || tc.never != "" && strings.Contains(text, tc.never) {
				t.Errorf("adoption is named: %v\n%s%s", found, got.Stdout, got.Stderr)
			}
			for _, word := range []string{"--replicas", "kubectl delete", "removenode"} {
				if strings.Contains(text, word) {
					t.Errorf("it says %q:\n%s", word, got.Stdout)
				}
			}
		})
	}
}
