// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

const (
	noPlace = "Rolled back: Failed to drain tablets: std::runtime_error (Unable to find new replica for tablet 0cc3:0 on 0dd4:1 when draining {0dd4}. Consider adding new nodes or reducing replication factor.)"
	noNodes = "Rolled back: Failed to drain tablets: std::runtime_error (There are nodes with tablets to drain but no candidate nodes in DC dc1. Consider adding new nodes or reducing replication factor.)"
)

// A decommission that failed or never ended was HEALTHY, exit 0, without a word of it.
func TestADecommissionThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	const (
		leaver = "demo-dc1-rack3-1"
		where  = "delete nothing: the node keeps its data and stays a member. Its tablets have no other place: add a node in rack rack3 of datacenter dc1, or lower the replication factor of the keyspaces that need it; then decommission it again. Show their replication: " +
			"kubectl exec demo-dc1-rack3-1 -n demo -c scylla -- cqlsh -e 'SELECT keyspace_name, replication FROM system_schema.keyspaces'"
		look  = "delete nothing: the node keeps its data and stays a member. Check the log of demo-dc1-rack3-1 for the reason: kubectl logs demo-dc1-rack3-1 -c scylla -n demo; then decommission it again, or withdraw the request"
		slow  = "delete nothing: the node still has data. Waiting is no answer at this age: check which operation it waits for: kubectl scylla nodetool demo-dc1-rack3-1 -n demo -- tasks list node_ops; and the log of demo-dc1-rack3-1: kubectl logs demo-dc1-rack3-1 -c scylla -n demo"
		wait  = "wait until its data has moved, as long as the reports change within 12h0m; delete nothing. Check its operation: kubectl scylla nodetool demo-dc1-rack3-1 -n demo -- tasks list node_ops"
		keep  = "delete nothing, and do not restart it: it cannot start again on its data directory. Its data is on the other nodes, and a StatefulSet removes its highest ordinal first: kubectl scylla describe "
		stuck = "DecommissionStuck: decommission of demo-dc1-rack3-1 "
	)
	labelled := func(ago time.Duration) func(*plugintest.Cluster) {
		return func(c *plugintest.Cluster) {
			svc := c.Service(leaver)
			svc.Labels[api.LabelDecommissioned] = "false"
			if ago > 0 {
				svc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "scylla-operator", Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
					Time: &metav1.Time{Time: scenes.Now.Add(-ago)}, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:scylla/decommissioned":{}}}}`)}}
			}
		}
	}
	task := func(state, text string, named bool) func(*plugintest.Cluster) {
		return func(c *plugintest.Cluster) {
			op := api.NodeOperation{Type: "decommission", State: state, Error: text}
			if named {
				op.HostID = hostid.ID(c.Node(leaver).HostID)
			}
			c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				said.Operations = append(said.Operations, op)
				if by.Name == leaver && state == "running" {
					said.OperationMode = "LEAVING"
				}
			})
		}
	}
	mode := func(member, mode string) func(*plugintest.Cluster) {
		return func(c *plugintest.Cluster) {
			c.Says(func(by plugintest.Node, said *api.NodeStatusReport) {
				if by.Name == member {
					said.OperationMode = mode
				}
			})
		}
	}
	operator := func(c *plugintest.Cluster) { c.Operator() }
	type changes []func(*plugintest.Cluster)
	for what, tc := range map[string]struct {
		cluster changes
		written time.Duration // how long ago the rows changed, if not four minutes
		want    []string
		blocks  bool
	}{
		"it runs": {changes{labelled(0), task("running", "", true)}, 0,
			[]string{"DecommissionOpen: decommission of demo-dc1-rack3-1 in progress; " + wait}, false},
		"it runs, unnamed, without the operator's label": {changes{task("running", "", false)}, 0,
			[]string{"DecommissionOpen: decommission of demo-dc1-rack3-1 in progress; " + wait}, false},
		"its rows have not changed for 11 hours": {changes{task("running", "", true)}, 11 * time.Hour,
			[]string{"DecommissionOpen: decommission of demo-dc1-rack3-1 in progress; " + wait}, false},
		"its rows have not changed for 12 hours": {changes{task("running", "", true)}, 12 * time.Hour,
			[]string{stuck + "in progress without a change of its status reports; " + slow}, true},
		"requested for a day, and it still changes": {changes{labelled(24 * time.Hour), task("running", "", true)}, 0,
			[]string{stuck + "in progress without a change of its status reports; " + slow}, true},
		"no tablets fit elsewhere": {changes{labelled(time.Minute), task("failed", noPlace, true)}, 0,
			[]string{stuck + "failed: " + noPlace + "; " + where}, true},
		"no candidate nodes, unnamed": {changes{labelled(0), task("failed", noNodes, false)}, 0,
			[]string{stuck + "failed: " + noNodes + "; " + where}, true},
		"it failed for another reason": {changes{task("failed", "Canceled. Dead nodes: {1}", true)}, 0,
			[]string{stuck + "failed: Canceled. Dead nodes: {1}; " + look}, true},
		"it failed, and runs again": {changes{task("failed", noPlace, true), task("running", "", true)}, 0,
			[]string{"DecommissionOpen: decommission of demo-dc1-rack3-1 in progress; " + wait}, false},
		"an attempt failed, and nothing shows whose": {changes{task("failed", noPlace, false)}, 0,
			[]string{"DecommissionOpen: the decommission of a node failed: " + noPlace + "; delete nothing: the node keeps its data and stays a member. Its tablets have no other place: add a node in datacenter dc1, or lower the replication factor of the keyspaces that need it; then decommission it again. Show their replication: " +
				"kubectl exec demo-dc1-rack1-0 -n demo -c scylla -- cqlsh -e 'SELECT keyspace_name, replication FROM system_schema.keyspaces'"}, false},
		"requested, and ScyllaDB does not run it": {changes{labelled(10 * time.Minute)}, 0,
			[]string{stuck + "requested, but ScyllaDB does not run it; " + look}, true},
		"requested a moment ago": {changes{labelled(9 * time.Minute)}, 0,
			[]string{"DecommissionOpen: decommission of demo-dc1-rack3-1 in progress; " + wait}, false},
		"the operator's, for 23 hours": {changes{labelled(23 * time.Hour), operator}, 0,
			[]string{"DecommissionOpen: decommission of demo-dc1-rack3-1 in progress; " + wait}, false},
		"the operator's, for a day": {changes{labelled(24 * time.Hour), operator}, 0,
			[]string{stuck + "in progress without a change of its status reports; " + slow}, true},
		"it has ended, and its Pod is wanted": {changes{mode(leaver, "DECOMMISSIONED")}, 0,
			[]string{"DecommissionStuck: demo-dc1-rack3-1 is decommissioned, but StatefulSet demo-dc1-rack3 still has its Pod; " +
				"scale StatefulSet demo-dc1-rack3 down to 1: its data is on the other nodes, and it cannot start again on its data directory: kubectl scale statefulset demo-dc1-rack3 --replicas=1 -n demo"}, true},
		"one of a lower ordinal has ended": {changes{mode("demo-dc1-rack3-0", "DECOMMISSIONED")}, 0,
			[]string{"DecommissionStuck: demo-dc1-rack3-0 is decommissioned, but StatefulSet demo-dc1-rack3 still has its Pod; " + keep + "demo-dc1-rack3-0 -n demo"}, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := plugintest.New(3, 2)
			for _, change := range tc.cluster {
				change(c)
			}
			o := scenes.Objects(c)
			for i := range o.Pods {
				if fields := o.Pods[i].ManagedFields; tc.written > 0 && len(fields) > 0 {
					fields[0].Time = &metav1.Time{Time: scenes.Now.Add(-tc.written)}
				}
			}
			var got []string
			blocks := false
			for _, f := range diagnosis.Of(cluster.New(o, cluster.SourceAuto, scenes.Now)) {
				blocks = blocks || !f.Remark
				got = append(got, string(f.Kind)+": "+words.Text(f.Message)+"; "+words.Text(f.Step))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || blocks != tc.blocks {
				t.Errorf("blocks: %t (-want +got):\n%s", blocks, diff)
			}
		})
	}
}
