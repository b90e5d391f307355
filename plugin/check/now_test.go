// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/maintenance"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// scene is a cluster with a budget of one disruption on the Kubernetes node worker-1, which all its Pods are on.
func scene(allowed int32) *plugintest.Cluster {
	c := plugintest.New(3, 1)
	ready := corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	return c.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}, Status: ready}, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-2"}, Status: ready},
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{api.LabelCluster: "demo"}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
		})
}

// live is a live read in which every node reports the row of its annotation, except nodes whose Pods do not answer.
func live(silent ...string) func(context.Context, *cluster.Cluster, kube.LiveOptions) (*cluster.Cluster, error) {
	return func(_ context.Context, s *cluster.Cluster, _ kube.LiveOptions) (*cluster.Cluster, error) {
		rows := map[string]*api.NodeStatusReport{}
		for i := range s.Pods {
			p := &s.Pods[i]
			said, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport])
			if err != nil || said == nil || strings.Contains(strings.Join(silent, " "), p.Name) {
				said = &api.NodeStatusReport{Error: new("no answer in time"), Fault: api.FaultPodUnreachable}
			}
			rows[p.Name] = said
		}
		return s.WithLive(rows, map[string]cluster.LiveFacts{}, nil), nil
	}
}

func keyspaces(sets ...[]hostid.ID) func(*cli.Deps) {
	return func(d *cli.Deps) {
		d.Replication = func(context.Context, []corev1.Pod) ([]maintenance.Keyspace, error) {
			if sets == nil {
				return nil, errors.New("no other node is running, so none can be queried")
			}
			return []maintenance.Keyspace{{Name: "app", Replicas: sets}}, nil
		}
	}
}

// TestNoHarm32ADrainOfTwoMembersNamesTheFirst: a budget of one never allows two, so to wait helped nothing.
func TestNoHarm32ADrainOfTwoMembersNamesTheFirst(t *testing.T) {
	a, b, c := hostid.ID(plugintest.HostID(0)), hostid.ID(plugintest.HostID(1)), hostid.ID(plugintest.HostID(2))
	const first = "kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --pod-selector=statefulset.kubernetes.io/pod-name="
	for name, tc := range map[string]struct {
		allowed int32
		sets    [][]hostid.ID
		want    string
	}{
		"any may go first":                {1, [][]hostid.ID{{a, b, c}}, first + "demo-dc1-rack1-0"},
		"the first has the only copy":     {1, [][]hostid.ID{{a}, {a, b, c}}, first + "demo-dc1-rack2-0"},
		"each has an only copy":           {1, [][]hostid.ID{{a}, {b}, {c}}, ""},
		"the budget allows none":          {0, [][]hostid.ID{{a, b, c}}, "check again once this has ended"},
		"the location of data is unknown": {1, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := plugintest.Run{Args: []string{"check", "-n", "demo", "--for=drain", "worker-1"}, Objects: scene(tc.allowed).Objects(), Live: live(), Setup: keyspaces(tc.sets...)}.Do(t)
			if res.Code != 3 || tc.want == "" && strings.Contains(res.Stdout, "kubectl drain") || !strings.Contains(res.Stdout, tc.want) {
				t.Errorf("exit %d, want %q:\n%s%s", res.Code, tc.want, res.Stdout, res.Stderr)
			}
		})
	}
}

func TestSafeNow(t *testing.T) {
	a, b, c := plugintest.HostID(0), plugintest.HostID(1), plugintest.HostID(2)
	all := []hostid.ID{hostid.ID(a), hostid.ID(b), hostid.ID(c)}
	operation := func() *plugintest.Cluster {
		return scene(1).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
			said.Operations = []api.NodeOperation{{Type: "decommission", State: "running", HostID: hostid.ID(b)}}
		})
	}
	replacing := func() *plugintest.Cluster {
		s := scene(1)
		s.Service("demo-dc1-rack2-0").Labels[api.LabelReplace] = ""
		return s
	}
	rolled := func() *plugintest.Cluster {
		s := scene(1)
		set := s.Set("dc1", "rack2")
		set.Status.CurrentRevision, set.Status.UpdateRevision, set.Status.Replicas = "one", "two", 1
		set.Generation, set.Status.ObservedGeneration = 2, 2
		return s
	}
	deleting := scene(1).Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "data-demo-dc1-rack3-0", Labels: map[string]string{api.LabelCluster: "demo"},
		Finalizers: []string{"kubernetes.io/pvc-protection"}, DeletionTimestamp: &metav1.Time{Time: plugintest.Now},
	}})
	cases := map[string]struct {
		cluster *plugintest.Cluster
		args    []string
		live    func(context.Context, *cluster.Cluster, kube.LiveOptions) (*cluster.Cluster, error)
		sets    [][]hostid.ID
		code    int
		says    []string
	}{
		"a restart":               {scene(1), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 0, []string{"all nodes see each other UP", "queried: 3 nodes", "every token range keeps a quorum", "no PodDisruptionBudget prevents it"}},
		"a restart, data of RF 1": {scene(1), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{{hostid.ID(a)}, {hostid.ID(c)}}, 3, []string{"without demo-dc1-rack3-0, too few replicas of app are UP for a quorum"}},
		"a restart, RF 1 in its datacenter": {
			plugintest.New(2, 1).AddDatacenter("dc2", 3, 1), []string{"--for=restart", "dc1/rack1/0"}, live(), [][]hostid.ID{{hostid.ID(a), hostid.ID(plugintest.HostID(2)), hostid.ID(plugintest.HostID(3)), hostid.ID(plugintest.HostID(4))}}, 3,
			[]string{"without demo-dc1-rack1-0, too few replicas of app"},
		},
		"a restart, RF 1 of another": {scene(1), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{{hostid.ID(a)}}, 0, nil},
		"a restart, another DOWN":    {scene(1).Down("demo-dc1-rack2-0"), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 3, []string{"demo-dc1-rack2-0 DOWN", "without demo-dc1-rack3-0, too few replicas of app"}},
		"a restart, one is silent":   {scene(1), []string{"--for=restart", "rack3/0"}, live("demo-dc1-rack1-0"), [][]hostid.ID{all}, 3, []string{"member demo/demo-dc1-rack1-0: ", "no answer in time"}},
		"a restart, nobody knows":    {scene(1), []string{"--for=restart", "rack3/0"}, live(), nil, 3, []string{"no other node is running, so none can be queried", "check the replication factors"}},
		"a restart, no budget left":  {scene(0), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 3, []string{"budget demo/demo: it allows 0 disruptions now; demo-dc1-rack3-0 would be stopped"}},
		"a restart, an operation":    {operation(), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 3, []string{"decommission", "demo-dc1-rack2-0"}},
		"a restart, its claim goes":  {deleting, []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 3, []string{"of running node demo-dc1-rack3-0", "do not restart or delete Pod demo-dc1-rack3-0"}},
		"a restart, a replacement":   {replacing(), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 3, []string{"member demo/demo-dc1-rack2-0: its replacement is requested or in progress"}},
		"a restart, a rollout":       {rolled(), []string{"--for=restart", "rack3/0"}, live(), [][]hostid.ID{all}, 3, []string{"statefulset demo/demo-dc1-rack2: a rolling update is in progress"}},
		"a drain of three":           {scene(1), []string{"--for=drain", "worker-1"}, live(), [][]hostid.ID{all}, 3, []string{"too few replicas of app", "it allows 1 disruptions now; demo-dc1-rack1-0, demo-dc1-rack2-0, demo-dc1-rack3-0 would be stopped"}},
		"a drain of nobody":          {scene(1), []string{"--for=drain", "worker-2"}, live(), [][]hostid.ID{all}, 0, []string{"Kubernetes node worker-2: no ScyllaDB node of this namespace is on it"}},
		"a drain of no node":         {scene(1), []string{"--for=drain", "worker-9"}, live(), [][]hostid.ID{all}, 2, []string{`Kubernetes node "worker-9" not found`}},
		"an unknown member":          {scene(1), []string{"--for=restart", "rack9/0"}, live(), [][]hostid.ID{all}, 2, []string{`no member "rack9/0"`}},
		"a scale":                    {scene(0), []string{"--for=scale"}, live(), nil, 0, []string{"all nodes see each other UP"}},
		"a scale, a decommission failed": {scene(0).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
			said.Operations = append(said.Operations, api.NodeOperation{Type: "decommission", State: "failed", HostID: all[2], Error: "Rolled back: Failed to drain tablets"})
		}), []string{"--for=scale"}, live(), nil, 3, []string{"decommission of demo-dc1-rack3-0 failed", "Failed to drain tablets"}},
		"a scale, one DOWN":        {scene(1).Down("demo-dc1-rack2-0"), []string{"--for=scale"}, live(), nil, 3, []string{"demo-dc1-rack2-0 DOWN"}},
		"an upgrade":               {scene(0), []string{"--for=upgrade"}, live(), [][]hostid.ID{all}, 0, []string{"every token range keeps a quorum"}},
		"an upgrade, data of RF 2": {scene(0), []string{"--for=upgrade"}, live(), [][]hostid.ID{{hostid.ID(a), hostid.ID(b)}}, 3, []string{"without demo-dc1-rack1-0, too few", "without demo-dc1-rack2-0, too few"}},
		"an upgrade in JUnit":      {scene(0), []string{"--for=upgrade", "-o", "junit"}, live(), [][]hostid.ID{{hostid.ID(a), hostid.ID(b)}}, 3, []string{`<failure message="without demo-dc1-rack1-0, too few replicas of app`}},
		"a restart of nobody":      {scene(0), []string{"--for=restart"}, live(), [][]hostid.ID{all}, 2, []string{"error: --for=restart requires a member: --for=restart MEMBER\nlist the members: kubectl scylla status"}},
		"a drain of nothing":       {scene(0), []string{"--for=drain"}, live(), [][]hostid.ID{all}, 2, []string{"error: --for=drain requires a Kubernetes node: --for=drain KUBERNETES_NODE\nlist the Kubernetes nodes: kubectl get nodes"}},
		"a purpose of nobody":      {scene(0), []string{"--for=fun"}, live(), [][]hostid.ID{all}, 2, []string{`unknown --for="fun"`}},
		"a name too many":          {scene(0), []string{"--for=scale", "x"}, live(), [][]hostid.ID{all}, 2, []string{`unexpected argument "x"`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res := plugintest.Run{Args: append([]string{"check", "-n", "demo"}, tc.args...), Objects: tc.cluster.Objects(), Live: tc.live, Setup: keyspaces(tc.sets...)}.Do(t)
			if res.Code != tc.code {
				t.Errorf("exit %d, want %d", res.Code, tc.code)
			}
			for _, want := range tc.says {
				if !strings.Contains(res.Stdout+res.Stderr, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() {
				t.Logf("%s%s", res.Stdout, res.Stderr)
			}
		})
	}
}
