// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// Two datacenters of the operator, connected by externalSeeds: it copies no report, and its barrier accepts that.
func TestDatacentersOfExternalSeeds(t *testing.T) {
	t.Parallel()
	const note, noRemote, force = "note: 2 nodes of another datacenter have no status report here", "remote add", "kubectl scylla force-proceed"
	manual := func(c *plugintest.Cluster, flags ...string) []client.Object {
		objects := c.OperatorObjects("dc1", nil)
		for _, o := range objects {
			delete(o.GetLabels(), api.LabelParentScyllaDBCluster)
			var spec *corev1.PodSpec
			switch o := o.(type) {
			case *corev1.Pod:
				spec = &o.Spec
			case *appsv1.StatefulSet:
				spec = &o.Spec.Template.Spec
			}
			for i := 0; spec != nil && len(flags) > 0 && i < len(spec.InitContainers); i++ {
				spec.InitContainers[i].Command = flags
			}
		}
		return objects
	}
	two := func() *plugintest.Cluster {
		c := plugintest.New(3, 1)
		c.AddDatacenter("dc2", 1, 2)
		return c
	}
	joining := func() *plugintest.Cluster {
		c := two()
		c.Newcomer("dc1", "rack1", 1)
		return c
	}
	of := func(c *plugintest.Cluster) string { return c.Nodes[len(c.Nodes)-1].Name }
	down := two()
	down.Sees("demo-dc1-rack1-0", of(down), api.NodeStatusDown, plugintest.Now)
	here := two().Down("demo-dc1-rack2-0")
	for name, tc := range map[string]struct {
		objects []client.Object
		code    int
		has     []string
		not     []string
	}{
		"all UP":                       {manual(two()), 0, []string{"HEALTHY demo/demo: 5 of 5 nodes", note}, []string{noRemote, "force-proceed"}},
		"all UP, a new node":           {manual(joining()), 0, []string{"HEALTHY", note}, []string{noRemote, "force-proceed"}},
		"one there is DOWN for one":    {manual(down), 3, []string{"NOT HEALTHY"}, []string{note, noRemote, "force-proceed"}},
		"one here is DOWN":             {manual(here), 3, []string{"NOT HEALTHY", "demo-dc1-rack2-0"}, []string{noRemote, "force-proceed"}},
		"the barrier does not accept":  {manual(joining(), "/mnt/shared/scylla-operator", "run-bootstrap-barrier"), 3, []string{"NOT HEALTHY", "Check there that every node sees every node UP", force}, []string{note, noRemote}},
		"the same, and a node is DOWN": {manual(here, "/mnt/shared/scylla-operator", "run-bootstrap-barrier"), 3, []string{"NOT HEALTHY"}, []string{note, noRemote, "force-proceed"}},
		"part of a ScyllaDBCluster":    {two().OperatorObjects("dc1", nil), 3, []string{"NOT HEALTHY"}, []string{note, noRemote}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plugintest.Run{Args: []string{"status", "-n", "demo", "--all"}, Objects: tc.objects}.Do(t)
			text := strings.Join(strings.Fields(got.Stdout), " ")
			if got.Code != tc.code {
				t.Errorf("exit %d, want %d", got.Code, tc.code)
			}
			for _, s := range tc.has {
				if !strings.Contains(text, s) {
					t.Errorf("no %q", s)
				}
			}
			for _, s := range tc.not {
				if strings.Contains(text, s) {
					t.Errorf("it has %q", s)
				}
			}
			if t.Failed() {
				t.Log(got.Stdout + got.Stderr)
			}
		})
	}
}
