// SPDX-License-Identifier: Apache-2.0

package describe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

const (
	dead     = "demo-dc1-rack3-0"
	newcomer = "demo-dc1-rack2-1"
)

// scene is a cluster with a dead node, a newcomer that waits, Events, claims and the Kubernetes node worker-1, which is cordoned.
func scene() *plugintest.Cluster {
	c := plugintest.New(3, 1).Down(dead)
	c.Newcomer("dc1", "rack2", 1)
	c.Pod(dead).Status.PodIP = "10.0.0.3"
	event := func(kind, about, reason, typ, message string, ago time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: about + "." + strings.ToLower(reason)},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Name: about, Namespace: "demo"},
			Type:           typ, Reason: reason, Message: message, Count: 3, LastTimestamp: metav1.NewTime(plugintest.Now.Add(-ago)),
		}
	}
	return c.Add(
		event("Pod", dead, "BackOff", "Warning", "Back-off restarting failed container\x1b[2J", 10*time.Second),
		event("Pod", dead, "Scheduled", "Normal", "Successfully assigned", time.Hour),
		event("Pod", "demo-dc1-rack1-0", "Started", "Normal", "of another", time.Minute),
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + dead},
			Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-3"},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}},
		},
		&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}, Spec: corev1.NodeSpec{Unschedulable: true},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		},
	)
}

// logs is an API server whose containers have logged the error that ended them.
func logs(t *testing.T) func(*cli.Deps) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "INFO  2026-11-21 11:59:00,000 [shard 0:main] init - starting")
		_, _ = fmt.Fprintln(w, "ERROR 2026-11-21 11:59:48,000 [shard 0:main] init - Startup failed: std::runtime_error (no space left)")
	}))
	t.Cleanup(server.Close)
	return func(d *cli.Deps) {
		d.RESTConfig = func() (*rest.Config, error) { return &rest.Config{Host: server.URL}, nil }
	}
}

func TestDescribe(t *testing.T) {
	gone := func() *plugintest.Cluster { return plugintest.New(3, 1).Ghost(dead) }
	refused := interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.EventList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", fmt.Errorf(`User "ada" cannot list resource "events" in API group "" in the namespace "demo"`))
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*corev1.Node); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, key.Name, fmt.Errorf(`User "ada" cannot get resource "nodes" in API group "" at the cluster scope`))
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}
	cases := map[string]plugintest.Run{
		"a dead node":              {Args: []string{"describe", "10.0.0.3", "-n", "demo"}, Objects: scene().Objects(), Setup: logs(t)},
		"a node that is UP":        {Args: []string{"node", "rack1/0", "-n", "demo"}, Objects: scene().Objects()},
		"a node with notes":        {Args: []string{"describe", dead, "-n", "demo"}, Objects: scene().Maintenance(dead, 52*time.Hour).Objects()},
		"a newcomer":               {Args: []string{"describe", newcomer, "-n", "demo"}, Objects: scene().Objects()},
		"a healthy cluster's node": {Args: []string{"describe", "rack1/0", "-n", "demo"}, Objects: plugintest.New(3, 1).Objects()},
		"a member without a Pod":   {Args: []string{"describe", dead, "-n", "demo"}, Objects: gone().Objects()},
		"without rights":           {Args: []string{"describe", dead, "-n", "demo"}, Objects: scene().Objects(), Funcs: refused},
		"a log alone":              {Args: []string{"describe", "--log", "-"}, Stdin: "ERROR 2026-11-21 11:40:11,123 [shard 0:main] init - Startup failed: std::runtime_error (A node with address 10.1.0.2 already exists, cancelling join. Use replace_address if you want to replace this node.)\n"},
		"the log of a lost volume": {Args: []string{"describe", "--log", "-"}, Stdin: "ERROR 2026-11-21 11:40:11,123 [shard 0:main] init - Startup failed: std::runtime_error (This node was decommissioned and will not rejoin the ring unless override_decommission=true has been set,or all existing data is removed and the node is bootstrapped again)\n"},
		"an archive":               {Args: []string{"describe", "rack3/0", "--from", "sample:incident"}},
		"nobody":                   {Args: []string{"describe", "-n", "demo"}, Objects: scene().Objects()},
		"an unknown member":        {Args: []string{"describe", "rack9/0", "-n", "demo"}, Objects: scene().Objects()},
		"as YAML":                  {Args: []string{"describe", dead, "-n", "demo", "-o", "yaml"}, Objects: scene().Objects(), Setup: logs(t)},
		"a field":                  {Args: []string{"describe", dead, "-n", "demo", "-o", "jsonpath={.items[*].pod.ip} {.items[*].kubernetesNode.cordoned}"}, Objects: scene().Objects()},
		"on a narrow terminal":     {Args: []string{"describe", dead, "-n", "demo"}, Objects: scene().Objects(), Terminal: cli.Terminal{Out: true, Width: 80, Height: 24}},
	}
	plugintest.Screens(t, cases, plugintest.Run.Transcript)
}

// Every node that other nodes list is described, in every sample, and no description is empty.
func TestDescribeEveryNodeOfTheSamples(t *testing.T) {
	for _, sample := range []string{"healthy", "incident", "partition", "replacement", "multi-dc"} {
		status := plugintest.Run{Args: []string{"status", "--from", "sample:" + sample, "-o", "json"}}.Do(t)
		var doc struct {
			Items []struct {
				Nodes []struct{ HostID, Member string }
			}
		}
		if err := json.Unmarshal([]byte(status.Stdout), &doc); err != nil || len(doc.Items) != 1 {
			t.Fatalf("%s: %v: %s", sample, err, status.Stderr)
		}
		for _, n := range doc.Items[0].Nodes {
			name := n.HostID
			if name == "" {
				name = n.Member
			}
			res := plugintest.Run{Args: []string{"describe", name, "--from", "sample:" + sample}}.Do(t)
			if res.Code != 0 || !strings.Contains(res.Stdout, "Membership:") || n.HostID != "" && !strings.Contains(res.Stdout, n.HostID) {
				t.Errorf("%s: describe %s: exit %d\n%s%s", sample, name, res.Code, res.Stdout, res.Stderr)
			}
		}
	}
}
