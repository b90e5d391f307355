// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// What is asked of a cluster, and changes nothing in it, shares one: its nodes' own answers, commands in its containers, force on a StatefulSet, and in the end a
// dead node and what its data would be worth.
func TestLiveExecForceAndDataInOneCluster(t *testing.T) {
	covers(t, "controller/force", "internal/kube", "internal/scylla", "plugin/nodetool", "plugin/replace", "plugin/status")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Env: map[string]string{"SCYLLASIM_KEYSPACES": "app=dc1:3;log=dc1:1;hot=dc1:1,tablets,table:t1"}})
	f.part("status by the nodes' own answers", (*fixture).live)
	f.part("nodetool in real containers", (*fixture).theVerbNodetool)
	f.part("force on a StatefulSet", (*fixture).forcesRack)
	f.part("a node that hangs, and the only copy of some data", func(f *fixture) { // one part: what is frozen in a part ends with it
		f.liveInPart()
		f.onlyCopy()
		f.revive(dead)
		if r := f.plugin("status", "--source=live", "--wait", "--timeout=5m"); r.Code != 0 {
			f.t.Errorf("status once every node answers again: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
		}
	})
}

// live asks each node itself, through a port-forward: reports and annotations are not looked at.
func (f *fixture) live() {
	f.t.Helper()
	t := f.t
	// Pods are ready before gossip has settled everywhere.
	healthy := f.plugin("status", "--source=live", "--wait", "--timeout=5m")
	if healthy.Code != 0 {
		t.Fatalf("status of a healthy cluster: exit %d\n%s%s", healthy.Code, healthy.Stdout, healthy.Stderr)
	}
	contains(t, "status --source=live", healthy.Stdout, "HEALTHY", "3 of 3 nodes seen UP by all", "source: live (ScyllaDB answered on 3 of 3 Pods)")
	if r := f.plugin("status", "--source=live", "-o", "jsonpath={.items[*].source.used} {.items[*].healthy}"); r.Stdout != "live true" {
		t.Errorf("the document says %q, want \"live true\"; exit %d\n%s", r.Stdout, r.Code, r.Stderr)
	}
	if r := f.plugin("dashboard", "--once", "--source=live"); r.Code != 0 {
		t.Errorf("dashboard --once --source=live: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// liveInPart: a node that hangs does not answer; what the others say is shown, as the part that it is.
func (f *fixture) liveInPart() {
	f.t.Helper()
	t := f.t
	f.kill(dead, rack1+"-0")
	f.untilRow(rack2+"-0", `"DOWN"`)
	if r := f.plugin("status", "--source=live", "-o", `jsonpath={.items[*].nodes[?(@.seen.status=="DOWN")].member}`); r.Stdout != dead {
		t.Errorf("%q is DOWN, want %s; exit %d\n%s", r.Stdout, dead, r.Code, r.Stderr)
	}
	r := f.plugin("status", "--source=live", "--all")
	if r.Code != 3 {
		t.Errorf("status with a frozen node: exit %d, want 3\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "status with a frozen node", r.Stdout, "NOT HEALTHY", "source: live (ScyllaDB answered on 2 of 3 Pods)", "DOWN 2/2", dead,
		" (partial): ", "\npartial: no response from Pod "+dead+": GET /storage_service/hostid/local: no response within 5s\n")
}

// onlyCopy: the volume of a node that holds the only copy of some data is not given away by mistake: a live node is asked where the data is.
func (f *fixture) onlyCopy() {
	f.t.Helper()
	t := f.t
	f.longDown(dead)
	r := f.plugin("replace", dead, "--dry-run=client", atOnce)
	if r.Code != 2 {
		t.Errorf("replace of the only copy: exit %d, want 2\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "the plan", r.Stdout, "it has the only replica of data of hot, log, which is lost with its volume", "--skip-check=data")
	contains(t, "the refusal", r.Stderr, "refused by 1 check: data")
	if r := f.plugin("replace", dead, "--dry-run=client", atOnce+",data"); r.Code != 0 {
		t.Errorf("with the check skipped by name: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// forcesRack: on the StatefulSet the force reaches the member Services without restarting a Pod, and goes when it is removed.
func (f *fixture) forcesRack() {
	f.t.Helper()
	t := f.t
	before := f.pod(rack2 + "-0")
	sts := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: rack2}}
	annotate := func(value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, api.AnnotationForceProceed, value)
		f.must(f.Client.Patch(f.ctx, sts, client.RawPatch("application/merge-patch+json", patch)))
	}
	// A value that opens nothing reaches a member that runs; the one that opens is for one start, which was.
	annotate(`"not yet"`)
	f.waitFor("the member Service to say what its StatefulSet says", func(ctx context.Context) (bool, string, error) {
		a := f.service(rack2 + "-0").Annotations
		return a[api.AnnotationForceProceed] == "not yet", fmt.Sprint(a), nil
	})
	if v := f.service(rack1 + "-0").Annotations[api.AnnotationForceProceed]; v != "" {
		t.Errorf("the force of %s reached %s: %q", rack2, rack1, v)
	}
	annotate(`"true"`)
	f.waitFor("the force of a node that runs to be spent", func(ctx context.Context) (bool, string, error) {
		v, there := f.service(rack2 + "-0").Annotations[api.AnnotationForceProceed]
		return !there, v, nil
	})
	annotate("null")
	after := f.pod(rack2 + "-0")
	if before.UID != after.UID || restarts(before) != restarts(after) {
		t.Errorf("forcing restarted %s", after.Name)
	}
}

// withoutAgents leaves ScyllaDB alone in its Pods: without launch, the test has to choose the seed of the others.
func withoutAgents(s *appsv1.StatefulSet) {
	spec := &s.Spec.Template.Spec
	spec.InitContainers = nil
	for i := range spec.Containers {
		if c := &spec.Containers[i]; c.Name == api.ContainerScyllaDB {
			c.Command = []string{"/docker-entrypoint.py"}
			c.Args = append(c.Args, "--seeds="+rack1+"-0")
		}
	}
}

// Without our containers in the Pods no process writes rows: only the nodes' own answers are known.
func TestStatusLiveNeedsNoAgent(t *testing.T) {
	covers(t, "internal/kube", "internal/scylla", "plugin/status")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{Mutate: withoutAgents})
	r := f.plugin("status", "--source=live", "--wait", "--timeout=5m", "-o", "wide")
	contains(t, "status --source=live", r.Stdout, "HEALTHY", "3 of 3 nodes seen UP by all", "source: live")
	for _, member := range []string{rack1 + "-0", rack2 + "-0", rack3 + "-0"} {
		if row := f.pod(member).Annotations[api.AnnotationNodeStatusReport]; row != "" {
			t.Errorf("%s has a row, so this proves nothing: %s", member, row)
		}
	}
	// By itself it finds out that nothing else speaks, and says so.
	auto := f.plugin("status")
	if auto.Code != 0 {
		t.Errorf("status: exit %d\n%s%s", auto.Code, auto.Stdout, auto.Stderr)
	}
	contains(t, "status", auto.Stdout, "source: live (no status report in reports or annotations")
}
