// SPDX-License-Identifier: Apache-2.0

package status_test

import (
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
	if got.Code != 3 || !strings.Contains(got.Stdout, "wait until it has joined") || strings.Contains(got.Stdout, "reporter writes") {
		t.Errorf("exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestBesideOperator10StatusFollowsAScyllaDBCluster: in the namespace of a ScyllaDBCluster there is no member; status goes where its status says.
func TestBesideOperator10StatusFollowsAScyllaDBCluster(t *testing.T) {
	sc := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "multi", "name": "demo"},
		"spec": map[string]any{"datacenters": []any{
			map[string]any{"name": "dc1", "remoteKubernetesClusterName": "here"}, map[string]any{"name": "dc2", "remoteKubernetesClusterName": "west"},
		}},
		"status": map[string]any{"datacenters": []any{
			map[string]any{"name": "dc1", "remoteNamespaceName": "demo"}, map[string]any{"name": "dc2", "remoteNamespaceName": "demo-7x2k1"},
		}},
	}}
	sc.SetGroupVersionKind(api.ScyllaDBClusterGVK)
	objects := append(plugintest.New(3, 1).OperatorObjects("dc1", nil), client.Object(sc))
	got := plugintest.Run{Objects: objects, Args: []string{"status", "-n", "multi"}}.Do(t)
	if got.Code != 0 || !strings.Contains(got.Stdout, "demo/demo") ||
		!strings.Contains(got.Stderr, "datacenter dc2 of ScyllaDBCluster multi/demo is in namespace demo-7x2k1 of Kubernetes cluster west, not in this one") {
		t.Errorf("exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
