// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/scenario"
)

// Each node is asked itself, through a port-forward: reports and annotations are not looked at.
func TestStatusLive(t *testing.T) {
	covers(t, "internal/kube", "internal/scylla", "plugin/status")
	t.Parallel()
	pods(t, 3)
	f := deploy(t, scenario.Cluster{})

	// Pods are ready before gossip has settled everywhere.
	f.waitFor("every node to answer that all are UP", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "status", "--source=live", "-n", f.namespace)
		return r.Code == 0, r.Stdout + r.Stderr, err
	})
	healthy := f.plugin("status", "--source=live")
	if healthy.Code != 0 {
		t.Fatalf("status of a healthy cluster: exit %d\n%s%s", healthy.Code, healthy.Stdout, healthy.Stderr)
	}
	contains(t, "status --source=live", healthy.Stdout, "HEALTHY", "3 of 3 nodes seen UP by everyone", "from live (ScyllaDB answered on 3 of 3 Pods)")
	if r := f.plugin("status", "--source=live", "-o", "jsonpath={.source.used} {.healthy}"); r.Stdout != "live true" {
		t.Errorf("the document says %q, want \"live true\"; exit %d\n%s", r.Stdout, r.Code, r.Stderr)
	}
	if r := f.plugin("dashboard", "--once", "--source=live"); r.Code != 0 {
		t.Errorf("dashboard --once --source=live: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}

	// A node that hangs does not answer; what the others say is shown, as the part that it is.
	victim := rack3 + "-0"
	f.freeze(victim, rack1+"-0")
	f.waitFor("the others to say that the frozen node is DOWN", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "status", "--source=live", "-o", `jsonpath={.nodes[?(@.seen.status=="DOWN")].member}`, "-n", f.namespace)
		return r.Stdout == victim, r.Stdout + r.Stderr, err
	})
	r := f.plugin("status", "--source=live", "--all")
	if r.Code != 3 {
		t.Errorf("status with a frozen node: exit %d, want 3\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	contains(t, "status with a frozen node", r.Stdout, "NOT HEALTHY", "from live (ScyllaDB answered on 2 of 3 Pods)", "DOWN 2/2", victim,
		" (partial): ", "\npartial: no answer from Pod "+victim+": GET /storage_service/hostid/local: no answer within 5s\n")

	f.thaw(victim)
	f.waitFor("every node to answer again", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "status", "--source=live", "-n", f.namespace)
		return r.Code == 0, r.Stdout + r.Stderr, err
	})
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
	f.waitFor("every node to answer that all are UP", func(ctx context.Context) (bool, string, error) {
		r, err := f.Plugin(ctx, "status", "--source=live", "-n", f.namespace)
		return r.Code == 0, r.Stdout + r.Stderr, err
	})
	r := f.plugin("status", "--source=live", "-o", "wide")
	contains(t, "status --source=live", r.Stdout, "HEALTHY", "3 of 3 nodes seen UP by everyone", "from live")
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
	contains(t, "status", auto.Stdout, "from live (no report and no annotation has a row")
}
