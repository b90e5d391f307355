// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// volumes gives every member a bound PVC of 100 GiB that is so full, and a coordinator that all rows name.
func volumes(c *plugintest.Cluster, percent int32) *plugintest.Cluster {
	for _, n := range c.Nodes {
		c.Add(&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + n.Name, Labels: map[string]string{api.LabelCluster: "demo"}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("100Gi")}},
		})
	}
	first := hostid.ID(c.Nodes[0].HostID)
	return c.Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
		said.Coordinator, said.DiskUsedPercent = first, &percent
	})
}

// answers is a live read of nodes that also answer what the Scylla Operator's annotations lack.
func answers(ctx context.Context, s *cluster.Cluster, opts kube.LiveOptions) (*cluster.Cluster, error) {
	if !s.Operator {
		return live()(ctx, s, opts)
	}
	rows, facts := map[string]*api.NodeStatusReport{}, map[string]cluster.LiveFacts{}
	for i := range s.Pods {
		p := &s.Pods[i]
		said, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport])
		if err != nil {
			return nil, err
		}
		said.OperationMode, said.ScyllaVersion, said.OwnsTokens = "NORMAL", "2026.1.0-0.20260101.abc", new(true)
		said.HostID, said.Coordinator = s.Member(p.Name).HostID, ids(0)[0]
		rows[p.Name], facts[p.Name] = said, cluster.LiveFacts{Vitals: cluster.Vitals{LoadBytes: new(int64(20 << 30))}}
	}
	return s.WithLive(rows, facts, nil), nil
}

// ids are the host IDs of these nodes of the cluster.
func ids(nodes ...int) []hostid.ID {
	var out []hostid.ID
	for _, n := range nodes {
		out = append(out, hostid.ID(plugintest.HostID(n)))
	}
	return out
}

func TestDecommission(t *testing.T) {
	t.Parallel()
	// 3 racks with 2 nodes: 0 and 1 are of rack1, 2 and 3 of rack2, 4 and 5 of rack3
	six := func() *plugintest.Cluster { return volumes(plugintest.New(3, 2), 40) }
	tablets := func(sets ...[]hostid.ID) []maintenance.Keyspace {
		return []maintenance.Keyspace{{Name: "app", Tablets: true, Replicas: sets}}
	}
	vnodes := func(sets ...[]hostid.ID) []maintenance.Keyspace {
		return []maintenance.Keyspace{{Name: "app", Replicas: sets}}
	}
	racked := tablets(ids(0, 2, 4), ids(1, 3, 5))
	two := volumes(plugintest.New(3, 1).AddDatacenter("dc2", 3, 1), 40)
	both := []maintenance.Keyspace{{Name: "app", Tablets: true, Replicas: [][]hostid.ID{ids(0, 1, 2, 3, 4, 5)}},
		{Name: "old", Replicas: [][]hostid.ID{ids(0, 1, 2, 3, 4)}}, {Name: "near", Replicas: [][]hostid.ID{ids(0, 1, 2)}},
		{Name: "system_distributed", Replicas: [][]hostid.ID{ids(1, 3, 4)}},
		{Name: "system_distributed_everywhere", Replicas: [][]hostid.ID{ids(0, 1, 2, 3, 4, 5)}}}
	const highest = "demo-dc1-rack1-1"
	for name, tc := range map[string]struct {
		cluster   *plugintest.Cluster
		args      string
		keyspaces []maintenance.Keyspace
		code      int
		says      []string
		never     string
	}{
		"one of two in its rack": {six(), "rack1/1", racked, 0, []string{
			"the volumes of demo-dc1-rack1-0 would be about 80 % full", "every replica has a place", "5 nodes remain for group 0",
			"1. decommission " + highest, "kubectl scylla nodetool " + highest + " -n demo -- decommission",
			"kubectl scale statefulset demo-dc1-rack1 --replicas=1 -n demo"}, "LOCAL_QUORUM"},
		"not the highest ordinal": {six(), "rack1/0", racked, 3, []string{
			"member demo/demo-dc1-rack1-0: StatefulSet demo-dc1-rack1 removes its highest ordinal first, which is " + highest,
			"check --for=decommission -n demo " + highest}, "-- decommission"},
		"two of two, RF is the number of racks": {six(), "rack1/0 rack1/1", racked, 3, []string{
			"app keeps one replica of each tablet in each rack of dc1, and no node of rack rack1 remains",
			"add a node in rack rack1 of datacenter dc1 first, or lower the replication factor of app",
			"no node of rack rack1 in datacenter dc1 remains"}, "-- decommission"},
		"the only node of a rack, vnodes": {volumes(plugintest.New(4, 1), 40), "rack1/0", vnodes(ids(0, 1, 2), ids(1, 2, 3)), 0, []string{
			"warning  racks        cluster demo/demo: no node of rack rack1"}, ""},
		"the only node of a fourth rack, tablets": {volumes(plugintest.New(4, 1), 40), "rack1/0", tablets(ids(0, 1, 2), ids(1, 2, 3)), 0, nil, ""},
		"a rack that each tablet uses": {volumes(plugintest.New(4, 1), 40), "rack1/0", tablets(ids(0, 1, 2), ids(0, 2, 3)), 3, []string{
			"unknown  data         cluster demo/demo: all tablets of app have a replica in rack rack1 of dc1",
			`kubectl exec demo-dc1-rack1-0 -n demo -c scylla -- cqlsh -e 'DESCRIBE KEYSPACE app'`}, "-- decommission"},
		"RF larger than what is left": {volumes(plugintest.New(3, 1), 40), "rack3/0", vnodes(ids(0, 1, 2)), 3, []string{
			"app has 3 replicas in datacenter dc1, where 2 nodes remain", "once one is DOWN, group 0 has no majority"}, "-- decommission"},
		"RF of ScyllaDB's own keyspace": {volumes(plugintest.New(3, 1), 40), "rack3/0", []maintenance.Keyspace{
			{Name: "system_distributed", Replicas: [][]hostid.ID{ids(0, 1, 2)}}}, 0, []string{"warning  data"}, ""},
		"the last node": {volumes(plugintest.New(1, 1), 40), "rack1/0", vnodes(ids(0)), 3, []string{
			"ScyllaDB refuses to decommission the last one"}, "-- decommission"},
		"no row says the replication": {six(), "rack1/1", nil, 3, []string{
			"unknown  data         cluster demo/demo: the replication factors are unknown", "system_schema.keyspaces"}, "-- decommission"},
		"another is DOWN": {six().Down("demo-dc1-rack2-0"), "rack1/1", racked, 3, []string{"demo-dc1-rack2-0 DOWN"}, "-- decommission"},
		"a join": {func() *plugintest.Cluster { c := six(); c.Newcomer("dc1", "rack2", 2); return c }(), "rack1/1", racked, 3,
			[]string{"demo-dc1-rack2-2 has not joined"}, "-- decommission"},
		"another decommission": {six().Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
			said.Operations = []api.NodeOperation{{Type: "decommission", State: "running", HostID: ids(3)[0]}}
		}), "rack1/1", racked, 3, []string{`"decommission" of demo-dc1-rack2-1`}, "-- decommission"},
		"no coordinator": {six().Says(func(_ plugintest.Node, said *api.NodeStatusReport) { said.Coordinator = "" }), "rack1/1", racked, 3,
			[]string{"group 0 may have no majority"}, "-- decommission"},
		"full volumes": {volumes(plugintest.New(3, 2), 50), "rack1/1", racked, 3, []string{
			"failed   disk         rack rack1 of datacenter dc1: the volumes of demo-dc1-rack1-0 would be about 100 % full"}, "-- decommission"},
		"unknown volumes": {plugintest.New(3, 2).Says(func(_ plugintest.Node, said *api.NodeStatusReport) { said.Coordinator = ids(0)[0] }), "rack1/1", racked, 3,
			[]string{"the size or use of demo-dc1-rack1-0 and " + highest + " is unknown", "kubectl exec demo-dc1-rack1-0 -n demo -c scylla -- df -h /var/lib/scylla"}, "-- decommission"},
		"the first Pod does not run ScyllaDB, the next has another container": {func() *plugintest.Cluster {
			c := six()
			c.Pod("demo-dc1-rack1-1").Status.ContainerStatuses = nil
			p := c.Pod("demo-dc1-rack1-0")
			for i := range p.Spec.Containers {
				if p.Spec.Containers[i].Name == api.ContainerScyllaDB {
					p.Spec.Containers[i].Name, p.Spec.Containers[i].Image, p.Status.ContainerStatuses[i].Name = "db", "scylladb/scylla:2026.1", "db"
				}
			}
			return c
		}(), "rack1/1", nil, 3, []string{"kubectl exec demo-dc1-rack1-0 -n demo -c db -- cqlsh -e 'SELECT"}, "-- decommission"},
		"of the Scylla Operator": {func() *plugintest.Cluster { c := six(); c.Operator(); return c }(), "rack1/1", racked, 0,
			[]string{"1. set `members` of rack rack1 to 1 in the ScyllaCluster"}, "-- decommission"},
		"a datacenter with replicas": {two, "--datacenter=dc2", both, 3, []string{
			"app has replicas in datacenter dc2, where no node remains", "old has replicas in datacenter dc2",
			"1. stop all client writes to datacenter dc2", "2. repair each node of datacenter dc2 for old",
			"nodetool demo-dc2-rack1-0 -n demo -- repair -pr", "3. repair the keyspaces with tablets (app) once", "-- cluster repair",
			"4. ALTER app and old so that no replica is in datacenter dc2", "5. check again", "check --for=decommission -n demo --datacenter=dc2",
			"decommission demo-dc2-rack1-0; its data moves", "then do the same for demo-dc2-rack2-0 and demo-dc2-rack3-0",
			"check that no node of datacenter dc2 is listed"}, "-- decommission\n"},
		"a datacenter without replicas": {two, "--datacenter=dc2", both[2:], 0, []string{
			"1. stop all client writes", "2. decommission demo-dc2-rack1-0", "nodetool demo-dc2-rack1-0 -n demo -- decommission"}, "repair"},
		"a rack of a name in two datacenters": {two, "--rack=rack1", both, 2, []string{"add --datacenter"}, ""},
		"a rack":                              {six(), "--rack=rack1 --datacenter=dc1", racked, 3, []string{"no node of rack rack1 remains"}, ""},
		"a datacenter of none":                {six(), "--datacenter=dc7", racked, 2, []string{`no member of datacenter "dc7"`}, ""},
		"nobody":                              {six(), "", racked, 2, []string{"requires members, or a --datacenter or --rack"}, ""},
		"both":                                {six(), "rack1/1 --rack=rack1", racked, 2, []string{"requires members, or a --datacenter or --rack"}, ""},
		"in JSON":                             {six(), "rack1/1 -o json", racked, 0, []string{`"steps": [`, `"LeaveDecommission"`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := func(d *cli.Deps) {
				d.Replication = func(context.Context, []corev1.Pod) ([]maintenance.Keyspace, error) {
					if tc.keyspaces == nil {
						return nil, errors.New("no answer in time")
					}
					return tc.keyspaces, nil
				}
			}
			args := append([]string{"check", "-n", "demo", "--for=decommission"}, strings.Fields(tc.args)...)
			res := plugintest.Run{Args: args, Objects: tc.cluster.Objects(), Live: answers, Setup: read}.Do(t)
			if res.Code != tc.code {
				t.Errorf("exit %d, want %d", res.Code, tc.code)
			}
			for _, want := range tc.says {
				if !strings.Contains(res.Stdout+res.Stderr, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if tc.never != "" && strings.Contains(res.Stdout, tc.never) {
				t.Errorf("it says %q", tc.never)
			}
			if t.Failed() {
				t.Logf("%s%s", res.Stdout, res.Stderr)
			}
		})
	}
}
