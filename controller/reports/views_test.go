// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"log/slog"
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

// viewed is a bench after its first reconciliation, with views.
func viewed(t testing.TB, objects ...client.Object) (*bench, *views.Tracker) {
	t.Helper()
	b := newBench(t, objects...)
	tracker := b.withViews(1)
	b.reconcile()
	return b, tracker
}

// The view is written when its content changes, and not at each look.
func TestTheViewIsWrittenOnChange(t *testing.T) {
	b, tracker := viewed(t, two()...)
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
		b.quiet()
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

	// Without views the report has none: barriers would believe one that stayed behind.
	b.reconciler.o.Views = nil
	b.reconcile()
	if v := b.status().Status.View; v != nil {
		t.Errorf("view %+v", v)
	}
}

// seesThird is a row whose observer sees three nodes, the third with that status.
func seesThird(status string) string {
	const others = `{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}`
	return stage.UUIDs(`{"observedNodes":[`+others+`,{"hostID":"h2","status":"`+status+`}]}`) + "\n"
}

// threeOfWhichOneIsDown is a cluster whose third node has been DOWN for a minute; its own row, the last, says UP.
func threeOfWhichOneIsDown(t *testing.T) *bench {
	t.Helper()
	const down = `DOWN","since":"2026-11-21T11:59:00Z"`
	o := racks(seesThird(down), seesThird(down), seesThird(`UP"`))
	o[len(o)-1].(*corev1.Pod).Status.InitContainerStatuses[0].Ready = false
	return newBench(t, o...)
}

// A node that has been DOWN for long enough is named with its command, and no other node is; once it is UP the condition is gone.
func TestNodeReplaceable(t *testing.T) {
	b := threeOfWhichOneIsDown(t)
	tracker := b.withViews(1)
	b.reconcile()
	b.says(api.ConditionNodeReplaceable, absent)
	b.wantGauge("kubectl_scylla_cluster_nodes_replaceable", 0)
	b.pass(tracker, view.Dead/2)
	tracker = b.withViews(2) // the absence of a controller does not restart the time
	b.pass(tracker, view.Dead/2)
	b.says(api.ConditionNodeReplaceable, metav1.ConditionTrue, ": demo-r3-0 (68320000) has been DOWN for 5m0s or longer ",
		"kubectl scylla status demo -n demo\n")
	b.wantGauge("kubectl_scylla_cluster_nodes_replaceable", 1)
	b.said(1, "NodeReplaceable ScyllaDBStatusReport/demo: ")
	b.say("demo-r1-0", seesThird(`UP"`))
	b.reconcile()
	b.says(api.ConditionNodeReplaceable, absent)
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
