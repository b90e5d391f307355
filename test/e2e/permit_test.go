// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// By default a cluster founds itself by one Form permit, and two newcomers of two racks that are created at once join one after the other, in order, while
// status shows the queue. No flag sets the policy: permits are the default.
func TestTwoNewcomersJoinOneAfterTheOtherUnderPermits(t *testing.T) {
	covers(t, "controller/views", "internal/agent/barrier", "internal/view", "plugin/status")
	t.Parallel()
	pods(t, 5)
	f := deploy(t, scenario.Cluster{})
	report := &api.ScyllaDBStatusReport{}
	view := func(ctx context.Context) *api.StatusReportView {
		if err := f.Client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "demo"}, report); err != nil || report.Status.View == nil {
			return &api.StatusReportView{}
		}
		return report.Status.View
	}
	founder := view(f.ctx).Founder
	if founder == "" {
		t.Errorf("three nodes have joined, and nobody had the permit to found the cluster: %+v", report.Status.View)
	}

	first, second := rack2+"-1", rack3+"-1"
	f.must(f.Scale(f.ctx, f.namespace, rack3, 2)) // the later one by order is there first
	f.must(f.Scale(f.ctx, f.namespace, rack2, 2))
	var order []string
	queued, joined := false, 0
	look := func(ctx context.Context) string {
		v := view(ctx)
		if len(v.Permits) > 1 {
			t.Fatalf("%d permits at once: %+v", len(v.Permits), v.Permits)
		}
		for _, p := range v.Permits {
			if (p.Member == first || p.Member == second) && !slices.Contains(order, p.Member) {
				order = append(order, p.Member)
			}
		}
		queued = len(v.Permits) == 1 && slices.ContainsFunc(v.Queue, func(w api.StatusReportViewWaiting) bool { return w.Member == second })
		joined = 0
		for _, m := range v.Members {
			if m.Name == first || m.Name == second {
				joined++
			}
		}
		return fmt.Sprintf("permits of %v, queue %+v", order, v.Queue)
	}
	f.waitFor("one newcomer to wait for the other's join", func(ctx context.Context) (bool, string, error) { said := look(ctx); return queued, said, nil })
	shown := f.plugin("status", "--all").Stdout + f.plugin("barrier", second).Stdout
	f.waitFor("both newcomers to join", func(ctx context.Context) (bool, string, error) { said := look(ctx); return joined == 2, said, nil })
	if !slices.Equal(order, []string{first, second}) {
		t.Errorf("permits of %v, want %s first", order, first)
	}
	t.Logf("status and barrier while one waits for the other:\n%s", shown)
	contains(t, "status and barrier", shown, "is waiting for its permit", "has its permit", "is waiting for its permit: 1 of 1 in the queue")
	f.ready(5)
	if again := view(f.ctx).Founder; again != founder {
		t.Errorf("the founder was %q and is %q", founder, again)
	}
}
