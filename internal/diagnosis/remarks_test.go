// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// In a cluster of the Scylla Operator, a finding about a node that is DOWN or not Ready has label
// scylla/node-maintenance of that node in its evidence, and of no other node.
func TestMaintenanceIsNamedAsAPossibleCause(t *testing.T) {
	t.Parallel()
	const label = "a possible cause: demo-dc1-rack3-0 has label scylla/node-maintenance, which keeps the Pod from being Ready"
	unready := func(c *plugintest.Cluster, name string) *plugintest.Cluster {
		for i := range c.Pod(name).Status.Conditions[1:] {
			c.Pod(name).Status.Conditions[1+i].Status = corev1.ConditionFalse
		}
		c.Pod(name).Status.ContainerStatuses[0].Ready = false
		return c
	}
	notReady := func(o *cluster.Objects, set string) {
		for i := range o.StatefulSets {
			if o.StatefulSets[i].Name == set {
				o.StatefulSets[i].Status = appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "a"}
			}
		}
	}
	for name, tc := range map[string]struct {
		cluster *plugintest.Cluster
		change  func(*cluster.Objects)
		want    []string
	}{
		"DOWN": {
			cluster: plugintest.New(3, 1).Operator().Down("demo-dc1-rack3-0").Maintenance("demo-dc1-rack3-0", time.Hour),
			want:    []string{"NodeDown: DOWN in 2 of 2 reports, UP in 0; " + label},
		},
		"a plain StatefulSet": {
			cluster: plugintest.New(3, 1).Down("demo-dc1-rack3-0").Maintenance("demo-dc1-rack3-0", time.Hour),
			want:    []string{"NodeDown: DOWN in 2 of 2 reports, UP in 0"},
		},
		"another one is DOWN": {
			cluster: plugintest.New(3, 1).Operator().Down("demo-dc1-rack3-0").Maintenance("demo-dc1-rack2-0", time.Hour),
			want:    []string{"NodeDown: DOWN in 2 of 2 reports, UP in 0"},
		},
		"not Ready": {
			cluster: unready(plugintest.New(3, 1).Operator().Maintenance("demo-dc1-rack3-0", time.Hour), "demo-dc1-rack3-0"),
			change:  func(o *cluster.Objects) { notReady(o, "demo-dc1-rack3") },
			want:    []string{"PodsNotReady: " + label},
		},
		"another one is not Ready": {
			cluster: unready(plugintest.New(3, 1).Operator().Maintenance("demo-dc1-rack3-0", time.Hour), "demo-dc1-rack2-0"),
			change:  func(o *cluster.Objects) { notReady(o, "demo-dc1-rack2") },
			want:    []string{"PodsNotReady: "},
		},
		"every node": {
			cluster: plugintest.New(1, 2).Down("demo-dc1-rack1-0").Down("demo-dc1-rack1-1"),
			want:    []string{"DatacenterDown: no status report of another node shows them"},
		},
		"a rack of two": {
			cluster: plugintest.New(3, 2).Operator().Down("demo-dc1-rack3-0").Down("demo-dc1-rack3-1").Maintenance("demo-dc1-rack3-0", time.Hour).Maintenance("demo-dc1-rack3-1", time.Hour),
			want:    []string{"RackDown: reported by 4 other nodes; a possible cause: demo-dc1-rack3-0 and demo-dc1-rack3-1 have label scylla/node-maintenance, which keeps the Pod from being Ready"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scenes.Objects(tc.cluster)
			if tc.change != nil {
				tc.change(&o)
			}
			var got []string
			for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
				got = append(got, string(f.Kind)+": "+words.Text(f.Evidence))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// disk sets how full the disk of one member is.
func disk(member string, percent int32) func(plugintest.Node, *api.NodeStatusReport) {
	return func(by plugintest.Node, said *api.NodeStatusReport) {
		if by.Name == member {
			said.DiskUsedPercent = &percent
		}
	}
}
