// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// TestBesideOperator10AJoiningMemberIsWaitedFor: under the operator a node has no row before it has joined, while its peers list it. The output must not say that its reporter
// should write.
func TestBesideOperator10AJoiningMemberIsWaitedFor(t *testing.T) {
	c := plugintest.New(3, 1)
	const member = "demo-dc1-rack3-0"
	c.Service(member).Annotations[api.AnnotationNodeJoined] = "false"
	objects := c.OperatorObjects("dc1", nil)
	for _, o := range objects {
		switch o := o.(type) {
		case *api.ScyllaDBDatacenterNodesStatusReport:
			o.Racks = o.Racks[:2]
		case *corev1.Pod:
			if o.Name == member {
				delete(o.Annotations, api.AnnotationNodeStatusReport)
			}
		}
	}
	got := plugintest.Run{Objects: objects, Args: []string{"status", "-n", "demo", "-o", "wide"}}.Do(t)
	if got.Code != 3 || !strings.Contains(got.Stdout, "until it has joined") || strings.Contains(got.Stdout, "reporter writes") {
		t.Errorf("exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// multi is a ScyllaDBCluster in namespace multi, whose datacenter dc1 is in namespace demo; dc2 is in the namespace of the second argument.
func multi(kubernetes, namespace string) client.Object {
	sc := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "multi", "name": "shop"},
		"spec": map[string]any{"datacenters": []any{
			map[string]any{"name": "dc1", "remoteKubernetesClusterName": "here"}, map[string]any{"name": "dc2", "remoteKubernetesClusterName": kubernetes},
		}},
		"status": map[string]any{"datacenters": []any{
			map[string]any{"name": "dc1", "remoteNamespaceName": "demo"}, map[string]any{"name": "dc2", "remoteNamespaceName": namespace},
		}},
	}}
	sc.SetGroupVersionKind(api.ScyllaDBClusterGVK)
	return sc
}

// TestBesideOperator10ReadersFollowAScyllaDBCluster: in the namespace of a ScyllaDBCluster there is no member; each verb that reads goes where its status says.
func TestBesideOperator10ReadersFollowAScyllaDBCluster(t *testing.T) {
	objects := plugintest.New(3, 1).OperatorObjects("dc1", nil)
	away := append(slices.Clone(objects), multi("west", "demo-7x2k1"))
	const elsewhere = "datacenter dc2 of ScyllaDBCluster multi/shop is in namespace demo-7x2k1 of Kubernetes cluster west, not in this one"
	second := append(append(slices.Clone(objects), multi("here", "demo2")), plugintest.NewNamed("demo2", "demo", "dc1", 3, 1).OperatorObjects("dc1", nil)...)
	none := []client.Object{multi("west", "demo-7x2k1")}
	cases := map[string]struct {
		objects []client.Object
		args    []string
		code    int
		out     string
		err     string
	}{
		"status":                          {away, []string{"status"}, 0, "demo/demo", elsewhere},
		"status, the datacenter's name":   {away, []string{"status", "demo"}, 0, "demo/demo", elsewhere},
		"status, the ScyllaDBCluster":     {away, []string{"status", "shop"}, 0, "demo/demo", elsewhere},
		"status, another name":            {away, []string{"status", "shopp"}, 1, "", `did you mean "shop"`},
		"barrier":                         {away, []string{"barrier"}, 0, "No member is waiting", elsewhere},
		"barrier of a member":             {away, []string{"barrier", "demo-dc1-rack1-0"}, 0, "demo/demo", elsewhere},
		"describe":                        {away, []string{"describe", "rack1/0"}, 0, "demo/demo", elsewhere},
		"report":                          {away, []string{"report"}, 0, "demo/demo", elsewhere},
		"report, the ScyllaDBCluster":     {away, []string{"report", "shop"}, 0, "demo/demo", elsewhere},
		"dashboard":                       {away, []string{"dashboard", "--once"}, 0, "demo/demo", elsewhere},
		"dashboard, the ScyllaDBCluster":  {away, []string{"dashboard", "shop", "--once"}, 0, "demo/demo", elsewhere},
		"dashboard, two datacenters here": {second, []string{"dashboard", "--once"}, 2, "", "there are 2 clusters in namespaces demo, demo2, specify one: demo/demo, demo2/demo"},
		"report, two datacenters here":    {second, []string{"report", "shop"}, 2, "", "specify one: demo/demo, demo2/demo"},
		"report, one of two, by its name": {second, []string{"report", "demo2/demo"}, 0, "demo2/demo", ""},
		"report, no datacenter here":      {none, []string{"report"}, 1, "", elsewhere},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := plugintest.Run{Objects: tc.objects, Args: append(tc.args, "-n", "multi")}.Do(t)
			if got.Code != tc.code || !strings.Contains(got.Stdout, tc.out) || !strings.Contains(got.Stderr, tc.err) {
				t.Errorf("exit %d, want %d with %q and %q\n%s%s", got.Code, tc.code, tc.out, tc.err, got.Stdout, got.Stderr)
			}
		})
	}
}
