// SPDX-License-Identifier: Apache-2.0

package diagnosis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// only keeps the objects of one datacenter: the nodes of the others run elsewhere.
func only(c *plugintest.Cluster, datacenter string) []client.Object {
	return slices.DeleteFunc(c.Objects(), func(o client.Object) bool {
		if _, is := o.(*api.ScyllaDBStatusReport); is {
			return true
		}
		dc := o.GetLabels()[api.LabelDatacenter]
		if r, is := o.(*api.ScyllaDBDatacenterNodesStatusReport); is {
			dc = r.DatacenterName
		}
		return dc != "" && dc != datacenter
	})
}

// unseenBy makes the nodes of one place see those of the other DOWN, one way.
func unseenBy(c *plugintest.Cluster, ago time.Duration, observer, observed func(plugintest.Node) bool) *plugintest.Cluster {
	return each(c, func(a, b plugintest.Node) {
		if observer(a) && observed(b) {
			c.Sees(a.Name, b.Name, api.NodeStatusDown, scenes.Now.Add(-ago))
		}
	})
}

// waiting has the ScyllaDB containers of the members wait for one reason.
func waiting(c *plugintest.Cluster, reason, message string, members ...string) *plugintest.Cluster {
	for _, name := range members {
		c.Down(name)
		c.Pod(name).Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB,
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	return c
}

// pending has the members' Pods wait for a Kubernetes node.
func pending(c *plugintest.Cluster, message string, members ...string) *plugintest.Cluster {
	for _, name := range members {
		c.Down(name)
		c.Pod(name).Spec.NodeName = ""
		c.Pod(name).Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}}
	}
	return c
}

// exits has the members end with a code, each so long ago.
func exits(c *plugintest.Cluster, code int32, ago ...time.Duration) *plugintest.Cluster {
	for i, d := range ago {
		name := c.Nodes[i].Name
		c.DownSince(name, d)
		c.Pod(name).Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode = code
		c.Pod(name).Status.ContainerStatuses[0].RestartCount = int32(i) + 1
	}
	return c
}

// startsOver has the members' ScyllaDB run since a moment without being Ready; times restarts.
func startsOver(c *plugintest.Cluster, ago time.Duration, times int32, members ...string) *plugintest.Cluster {
	for _, name := range members {
		c.DownSince(name, ago+time.Minute)
		p := c.Pod(name)
		p.Status.Conditions[1].LastTransitionTime = metav1.NewTime(scenes.Now.Add(-ago - time.Minute))
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, RestartCount: times,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(scenes.Now.Add(-ago))}}}
	}
	return c
}

func names(c *plugintest.Cluster) []string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, n.Name)
	}
	return out
}

// TestOneCauseIsOneFinding: nine nodes behind one cable were nine findings, and none had the word network.
func TestOneCauseIsOneFinding(t *testing.T) {
	t.Parallel()
	in := func(dcs ...string) func(plugintest.Node) bool {
		return func(n plugintest.Node) bool { return slices.Contains(dcs, n.Datacenter) }
	}
	rack1 := func(n plugintest.Node) bool { return n.Rack == "rack1" }
	others := func(n plugintest.Node) bool { return n.Rack != "rack1" }
	away := func(dcs ...string) []client.Object {
		c := plugintest.New(3, 1)
		for _, dc := range dcs {
			c.AddDatacenter(dc, 2, 2)
		}
		return only(unseenBy(c, 5*time.Minute, in("dc1"), in(dcs...)), "dc1")
	}
	const net = " (routes, firewalls, NetworkPolicies; ports 7000 and 7001)"
	of := func(c *plugintest.Cluster) []client.Object { return c.Objects() }
	alone := func() []client.Object {
		all := func(plugintest.Node) bool { return true }
		return unseen(plugintest.New(3, 1), all, all).Objects()
	}
	six := func() *plugintest.Cluster { return plugintest.New(3, 2) }
	for name, tc := range map[string]struct {
		objects []client.Object
		change  func(*cluster.Objects)
		want    []string
	}{
		"of two datacenters": {objects: away("dc2", "dc3"), want: []string{
			"DatacenterDown: datacenter dc2 DOWN or cut off: all 4 of its nodes, and none of its status reports is here; do not remove or replace any of these nodes. Check the network to their datacenter dc2" + net + ", and whether they are running there; give the controller here access to their status reports: kubectl scylla remote add NAME demo --remote-context CONTEXT --remote-namespace NAMESPACE -n demo",
			"DatacenterDown: datacenter dc3 DOWN or cut off: all 4 of its nodes, and none of its status reports is here; do not remove or replace any of these nodes. Check the network to their datacenter dc3" + net + ", and whether they are running there; give the controller here access to their status reports: kubectl scylla remote add NAME demo --remote-context CONTEXT --remote-namespace NAMESPACE -n demo",
		}},
		"two nodes of another datacenter": {objects: only(unseenBy(plugintest.New(3, 1).AddDatacenter("dc2", 2, 2), time.Minute, in("dc1"),
			func(n plugintest.Node) bool { return n.Datacenter == "dc2" && n.Rack == "rack1" }), "dc1"), want: []string{
			"NodeDown: host ID 38d3f4a3-5ea1-4d00-8000-000000000003 and host ID 39d4f5a4-5ea1-4d00-8000-000000000004 DOWN: no member here has them: they are nodes of datacenter dc2; do not remove or replace any of these nodes. Check the network to their datacenter dc2" + net + ", and whether they are running there; give the controller here access to their status reports: kubectl scylla remote add NAME demo --remote-context CONTEXT --remote-namespace NAMESPACE -n demo",
			"ReporterSilent: no usable status report from host ID 3ad5f6a5-5ea1-4d00-8000-000000000005 and host ID 3bd6f7a6-5ea1-4d00-8000-000000000006; if it runs in another datacenter, copy that datacenter's report here; check whether it is an orphaned host ID that can be removed: kubectl scylla status -n demo",
		}},
		"nobody knows of which datacenter": {objects: only(unseenBy(plugintest.New(3, 1).AddDatacenter("dc2", 2, 2), time.Minute, in("dc1"), in("dc2")).Says(
			func(_ plugintest.Node, r *api.NodeStatusReport) { r.Places = nil }), "dc1"), change: func(o *cluster.Objects) {
			for i := range o.Pods {
				o.Pods[i].Spec.Containers[0].Args = []string{"--seeds=10.2.0.1"}
			}
		}, want: []string{
			"NodeDown: host ID 38d3f4a3-5ea1-4d00-8000-000000000003, host ID 39d4f5a4-5ea1-4d00-8000-000000000004, host ID 3ad5f6a5-5ea1-4d00-8000-000000000005 and host ID 3bd6f7a6-5ea1-4d00-8000-000000000006 DOWN: no member here has them: they may be in another datacenter (its Pods have seeds that are not members here: 10.2.0.1); do not remove or replace any of these nodes. Check the network to their datacenter" + net + ", and whether they are running there; give the controller here access to their status reports: kubectl scylla remote add NAME demo --remote-context CONTEXT --remote-namespace NAMESPACE -n demo",
		}},
		"its report is stale": {objects: unseenBy(plugintest.New(3, 1).AddDatacenter("dc2", 2, 2), time.Minute, in("dc1"), in("dc2")).OperatorObjects("dc1",
			func(r *api.ScyllaDBDatacenterNodesStatusReport) {
				r.Annotations = map[string]string{api.AnnotationCopy: api.CopyPushed}
				r.ManagedFields = stage.Written(`{"f:metadata":{"f:annotations":{"f:` + api.AnnotationCopyRenewed + `":{}}}}`)
				r.ManagedFields[0].Time.Time = scenes.Now.Add(-time.Hour)
			}), want: []string{
			"DatacenterDown: datacenter dc2 DOWN: all 4 of its nodes; check what its nodes have in common (power, network, Kubernetes); bring datacenter dc2 back, and do not replace any node",
		}},
		"no node sees another": {objects: alone(), want: []string{
			"Partition: none of 3 running nodes sees another one UP; fix the network first" + net + "; do not replace any node",
		}},
		"no node sees another, with volumes of former Services": {objects: alone(), change: func(o *cluster.Objects) {
			for _, s := range o.Services {
				o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "data-" + s.Name,
					CreationTimestamp: metav1.NewTime(scenes.Now.Add(-90 * 24 * time.Hour))}})
			}
		}, want: []string{
			"Partition: none of 3 running nodes sees another one UP: their volumes are older than their Services, so the nodes may look for one another at former addresses; " +
				"do not delete or replace anything. Compare the addresses that the nodes have for one another with those of their Services: " +
				"kubectl scylla nodetool --all -n demo -- status; kubectl get services -n demo; check the network if they are the same",
		}},
		"a rack is cut off": {objects: of(unseen(six(), rack1, others)), want: []string{
			"Partition: dc1/rack1 (2) and dc1/rack2 + dc1/rack3 (4) do not see each other; fix the network first" + net + "; do not replace any node",
		}},
		"each of its nodes": {objects: of(unseen(unseen(six(), rack1, others), rack1, rack1)), want: []string{
			"Partition: demo-dc1-rack1-0 (1), demo-dc1-rack1-1 (1) and demo-dc1-rack2-0 + demo-dc1-rack2-1 + demo-dc1-rack3-0 + demo-dc1-rack3-1 (4) do not see each other; fix the network first" + net + "; do not replace any node",
		}},
		"one way": {objects: of(unseenBy(six(), time.Minute, others, rack1)), want: []string{
			"LinkDown: the 4 other nodes see all 2 nodes of rack dc1/rack1 DOWN, but these are running and send status reports; check the network between rack dc1/rack1 and the others" + net + "; do not replace any node: all are running",
		}},
		"one way, the other one": {objects: of(unseenBy(six(), time.Minute, rack1, others)), want: []string{
			"LinkDown: all 2 nodes of rack dc1/rack1 see the 4 other nodes DOWN, but all are running; check the network between rack dc1/rack1 and the others" + net + "; do not replace any node: all are running",
		}},
		"a rack, all DOWN": {objects: of(exits(six(), 1, time.Minute, time.Minute)), want: []string{
			"RackDown: rack dc1/rack1 DOWN: all 2 of its nodes: scylla exits with code 1; check what its nodes have in common (zone, power, switch, Kubernetes nodes). Bring rack dc1/rack1 back, and do not replace any node while the whole rack is DOWN",
		}},
		"one image": {objects: of(waiting(six(), "ImagePullBackOff", "not found", names(six())...)), want: []string{
			"DatacenterDown: datacenter dc1 DOWN: all 6 of its nodes: container scylla cannot pull its image scylladb/scylla:2025.2.1 (ImagePullBackOff): not found; fix the name of the image in StatefulSet demo-dc1-rack1, StatefulSet demo-dc1-rack2, StatefulSet demo-dc1-rack3, its pull Secret, or access to its registry; no data is lost: kubectl describe pod demo-dc1-rack1-0 -n demo",
		}},
		"one image, in one rack": {objects: of(waiting(six(), "ImagePullBackOff", "not found", names(six())[:2]...)), want: []string{
			"RackDown: rack dc1/rack1 DOWN: all 2 of its nodes: container scylla cannot pull its image scylladb/scylla:2025.2.1 (ImagePullBackOff): not found; fix the name of the image in StatefulSet demo-dc1-rack1, its pull Secret, or access to its registry; no data is lost: kubectl describe pod demo-dc1-rack1-0 -n demo",
		}},
		"one image, in two racks": {objects: of(waiting(six(), "ImagePullBackOff", "not found", names(six())[1:3]...)), want: []string{
			"NodeDown: demo-dc1-rack1-1 and demo-dc1-rack2-0 DOWN, each: container scylla cannot pull its image scylladb/scylla:2025.2.1 (ImagePullBackOff): not found; fix the name of the image in StatefulSet demo-dc1-rack1, StatefulSet demo-dc1-rack2, its pull Secret, or access to its registry; no data is lost: kubectl describe pod demo-dc1-rack1-1 -n demo",
		}},
		"all wait for memory": {objects: of(pending(six(), "0/3 nodes are available: 3 Insufficient memory.", names(six())...)), want: []string{
			"DatacenterDown: datacenter dc1 DOWN: all 6 of its nodes: no Kubernetes node takes its Pod: 3 have too little memory; free memory on a Kubernetes node, add one, or lower the request of its Pod in StatefulSet demo-dc1-rack1, StatefulSet demo-dc1-rack2, StatefulSet demo-dc1-rack3; no data is lost: kubectl describe pod demo-dc1-rack1-0 -n demo",
		}},
		"exit code within a minute": {objects: of(exits(plugintest.New(4, 1), 134, time.Minute, 100*time.Second)), want: []string{
			"NodeDown: demo-dc1-rack1-0 and demo-dc1-rack2-0 DOWN, each: scylla exits with code 134; check the end of its log; do not replace it yet: kubectl logs demo-dc1-rack1-0 -c scylla --previous -n demo",
		}},
		"exit code, an hour between": {objects: of(exits(plugintest.New(4, 1), 134, time.Minute, time.Hour)), want: []string{
			"NodeDown: demo-dc1-rack1-0 DOWN: scylla exits with code 134, 1 restart; check the end of its log; do not replace it yet: kubectl logs demo-dc1-rack1-0 -c scylla --previous -n demo",
			"NodeDown: demo-dc1-rack2-0 DOWN: scylla exits with code 134, 2 restarts; check the end of its log; do not replace it yet: kubectl logs demo-dc1-rack2-0 -c scylla --previous -n demo",
		}},
		"one error in the logs": {objects: of(startsOver(six(), time.Minute, 2, names(six())[1:5]...)), change: func(o *cluster.Objects) {
			o.Logged = map[string]cluster.LogError{}
			for _, n := range names(six())[1:5] {
				o.Logged[n] = cluster.LogError{Code: words.DuplicateAddress, Text: "duplicate IP for host_id 9f3b, first IP 10.1.0.21"}
			}
		}, want: []string{
			"NodeDown: demo-dc1-rack1-1, demo-dc1-rack2-0, demo-dc1-rack2-1 and demo-dc1-rack3-0 DOWN, each: its log: duplicate IP for host_id 9f3b, first IP 10.1.0.21; do not restart nodes that are UP: they may end with the same error. Compare the two addresses in its log with the Pods: kubectl logs demo-dc1-rack1-1 -c scylla -n demo",
		}},
		"several have started again": {objects: of(startsOver(six(), time.Minute, 2, names(six())[1:5]...)), want: []string{
			"NodeStarting: ScyllaDB of demo-dc1-rack1-1, demo-dc1-rack2-0, demo-dc1-rack2-1 and demo-dc1-rack3-0 ended, and has started again within one minute: none is Ready; nodes that end together have one cause: check the end of a log for the first error, for example of demo-dc1-rack1-1, and restart no node that is UP: kubectl logs demo-dc1-rack1-1 -c scylla -n demo",
		}},
		"several start": {objects: of(startsOver(six(), time.Minute, 0, names(six())[1:5]...)), want: []string{
			"NodeStarting: demo-dc1-rack1-1, demo-dc1-rack2-0, demo-dc1-rack2-1 and demo-dc1-rack3-0 starting: waiting for container scylla to become ready; wait up to 10m0s: it is starting and waiting for container scylla to become ready; check its Pod: kubectl get pod demo-dc1-rack1-1 -n demo",
		}},
		"all start at once": {objects: of(startsOver(plugintest.New(3, 1), 5*time.Minute, 0, names(plugintest.New(3, 1))...)), want: []string{
			"Unknown: all 3 nodes started within one minute: none is Ready (cannot query the local ScyllaDB: connection refused); wait up to 10m0s: nodes that start together wait for one another; do not delete or replace anything. Check the end of a log, for example of demo-dc1-rack1-0: kubectl logs demo-dc1-rack1-0 -c scylla -n demo",
		}},
		"all have been starting for hours": {objects: of(startsOver(plugintest.New(3, 1), 5*time.Hour, 0, names(plugintest.New(3, 1))...)), want: []string{
			"Unknown: all 3 nodes started within one minute: none is Ready (cannot query the local ScyllaDB: connection refused); no ScyllaDB answers its reporter; check the end of a log, for example of demo-dc1-rack1-0: kubectl logs demo-dc1-rack1-0 -c scylla -n demo",
		}},
		"all start again and again": {objects: of(startsOver(plugintest.New(3, 1), 5*time.Minute, 7, names(plugintest.New(3, 1))...)), want: []string{
			"Unknown: all 3 nodes started within one minute, after up to 7 restarts: none is Ready (cannot query the local ScyllaDB: connection refused); nodes that end together have one cause: check the end of a log for the first error, for example of demo-dc1-rack1-0, and restart no node that is UP: kubectl logs demo-dc1-rack1-0 -c scylla -n demo",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := plugintest.Objects(cluster.Key{Namespace: "demo", Name: "demo"}, tc.objects)
			if tc.change != nil {
				tc.change(&o)
			}
			c := cluster.New(o, cluster.SourceAuto, scenes.Now)
			findings := diagnosis.Of(c)
			var got []string
			for _, f := range findings {
				if !f.Remark {
					got = append(got, string(f.Kind)+": "+words.Text(f.Message)+"; "+strings.TrimSpace(words.Text(f.Step)))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			check(t, c, findings)
		})
	}
}
