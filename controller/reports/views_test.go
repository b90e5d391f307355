// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// withViews makes the bench's reports carry views. Another call simulates another process, of the next epoch.
func (b *bench) withViews(epoch int64) *views.Tracker {
	tracker := views.New(views.Options{Clock: b.clock, Log: slog.New(slog.DiscardHandler), Epoch: func(context.Context) (int64, error) { return epoch, nil }})
	b.reconciler.o.Views = tracker
	return tracker
}

// The view is written when its content changes, and not at each look.
func TestTheViewIsWrittenOnChange(t *testing.T) {
	b := newBench(t, two()...)
	tracker := b.withViews(1)
	b.reconcile()
	for range view.RecoveryLimit {
		tracker.Look()
		b.reconcile()
	}
	v := b.status().Status.View
	if v == nil || v.Epoch != 1 || len(v.Members) != 2 || v.Members[0].State != api.NodeStatusUp || v.Members[1].Name != "demo-r2-0" {
		t.Fatalf("view %+v", v)
	}
	for range 5 {
		tracker.Look()
		if got := b.reconcile(); len(got) > 0 {
			t.Errorf("nothing has changed, and written were %q", got)
		}
	}

	b.say("demo-r1-0", oneDn)
	b.reconcile()
	down := b.status().Status.View
	if down.Members[1].State != api.NodeStatusDown || !view.StampOf(down).Newer(view.StampOf(v)) {
		t.Errorf("view %+v after %+v", down, v)
	}

	// Another process takes over.
	b.withViews(2)
	b.reconcile()
	if v := b.status().Status.View; v.Epoch != 2 || !v.Members[1].DownSince.Equal(down.Members[1].DownSince) {
		t.Errorf("view %+v after %+v", v, down)
	}
}

// Without views the report has none: barriers would believe one that stayed behind.
func TestAReportWithoutViewsHasNone(t *testing.T) {
	b := newBench(t, two()...)
	b.withViews(1)
	b.reconcile()
	b.reconciler.o.Views = nil
	b.reconcile()
	if v := b.status().Status.View; v != nil {
		t.Errorf("view %+v", v)
	}
}

// A node that has been DOWN for long enough is named with its command, and no other node is; once it is UP the condition is gone.
func TestNodeReplaceable(t *testing.T) {
	says := func(status, since string) string {
		return stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h2","status":"`+status+`"`+since+`}]}`) + "\n"
	}
	down := says("DOWN", `,"since":"2026-11-21T11:59:00Z"`) // a minute before the start of the bench's clock
	o := []client.Object{set("demo-r1", "dc1", "r1", 1), set("demo-r2", "dc1", "r2", 1), set("demo-r3", "dc1", "r3", 1)}
	o = append(o, member("demo-r1-0", "dc1", "r1", 0, stage.UUID("h0"), down)...)
	o = append(o, member("demo-r2-0", "dc1", "r2", 0, stage.UUID("h1"), down)...)
	third := member("demo-r3-0", "dc1", "r3", 0, stage.UUID("h2"), says("UP", ""))
	pod := third[1].(*corev1.Pod)
	pod.Status.InitContainerStatuses[0].Ready = false
	b := newBench(t, append(o, third...)...)
	tracker := b.withViews(1)
	b.reconcile()
	if c := b.condition(api.ConditionNodeReplaceable); c.Type != "" {
		t.Fatalf("DOWN for a minute, and there is %+v", c)
	}
	b.wantGauge("kubectl_scylla_cluster_nodes_replaceable", 0)
	b.pass(tracker, view.Dead/2)
	tracker = b.withViews(2) // the absence of a controller does not restart the time
	b.pass(tracker, view.Dead/2)
	c := b.condition(api.ConditionNodeReplaceable)
	if c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, "kubectl scylla status demo -n demo") || !strings.HasPrefix(c.Message, "demo-r3-0 (68320000) has been DOWN for 5m0s or longer ") {
		t.Fatalf("condition %+v", c)
	}
	b.wantGauge("kubectl_scylla_cluster_nodes_replaceable", 1)
	if e := strings.Join(b.events(), "\n"); strings.Count(e, "NodeReplaceable ScyllaDBStatusReport/demo: ") != 1 {
		t.Errorf("events %s", e)
	}
	b.say("demo-r1-0", says("UP", ""))
	b.reconcile()
	if c := b.condition(api.ConditionNodeReplaceable); c.Type != "" {
		t.Errorf("one row says UP, and there is still %+v", c)
	}
	b.wantGauge("kubectl_scylla_cluster_nodes_replaceable", 0)
}

// wantGauge compares a metric of the one cluster.
func (b *bench) wantGauge(name string, want float64) {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name && len(f.GetMetric()) == 1 && f.GetMetric()[0].GetGauge().GetValue() == want {
			return
		}
	}
	b.t.Errorf("%s is not %v", name, want)
}
