// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

const groupOne, groupTwo = "11111111-1111-1111-8111-111111111111", "22222222-2222-1222-8222-222222222222"

func ofGroup(row, group string) string {
	return strings.Replace(row, `"operationMode"`, `"group0ID":"`+group+`","operationMode"`, 1)
}

// TestRow8Group0IDIsSetOnceAndNeverChanged: on the first node's first start its disk has no group 0 ID; once it has one the ID is recorded, and
// nothing changes it.
func TestRow8Group0IDIsSetOnceAndNeverChanged(t *testing.T) {
	b, tracker := viewed(t, one()...)
	b.join()
	b.reconcile()
	b.pass(tracker, 2*view.Stabilisation)
	if s := b.status().Status; !s.Initialized || s.Group0ID != "" {
		t.Fatalf("initialized %t, group 0 %q", s.Initialized, s.Group0ID)
	}
	how := *b.status().Status.Initialization
	b.say("demo-r1-0", ofGroup(firstWell, groupOne))
	b.reconcile()
	s := b.status().Status
	if s.Group0ID != groupOne || !s.Initialized || *s.Initialization != how {
		t.Fatalf("group 0 %q, initialized %t, %+v", s.Group0ID, s.Initialized, s.Initialization)
	}
	b.writes = nil
	b.pass(tracker, 4*view.Interval)
	if len(b.writes) > 0 {
		t.Errorf("nothing has changed, and written were %q", b.writes)
	}

	// All disks are lost, and a new node founded another cluster; a new process with empty memory reads it.
	b.say("demo-r1-0", ofGroup(firstWell, groupTwo))
	b.withViews(2)
	b.reconcile()
	if s := b.status().Status; s.Group0ID != groupOne || !strings.Contains(s.FirstBlocker, "two clusters have the same name") {
		t.Errorf("group 0 %q, first blocker %q", s.Group0ID, s.FirstBlocker)
	}
	b.says(api.ConditionSplitCluster, metav1.ConditionTrue, "demo-r1-0 has group 0 ID "+groupTwo,
		"kubectl scylla init reset demo --group0 -n demo\n")
	b.wantGauge("kubectl_scylla_cluster_split", 1)
	b.wantGauge("kubectl_scylla_cluster_initialized", 1)
	b.said(1, "SplitCluster ScyllaDBStatusReport/demo: ")
	b.reconciler.o.Views = nil
	b.reconcile()
	if s := b.status().Status; s.Group0ID != groupOne {
		t.Errorf("group 0 %q", s.Group0ID)
	}
	b.withViews(3)
	b.say("demo-r1-0", ofGroup(firstWell, groupOne))
	b.reconcile()
	b.wantGauge("kubectl_scylla_cluster_split", 0)
	b.says(api.ConditionSplitCluster, absent)
}

// TestRow10RecoveryNeedsOneGroup0: a cluster whose report was lost counts as initialised again when all its nodes have the same group 0, and never
// while they have two.
func TestRow10RecoveryNeedsOneGroup0(t *testing.T) {
	row := func(self, group string) string {
		return ofGroup(stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"}],"hostID":"`+self+`","operationMode":"NORMAL","ownsTokens":true,"coordinator":"`+self+`"}`)+"\n", group)
	}
	o := append(one(), set("demo-r2", "dc1", "r2", 1))
	o = append(o, member("demo-r2-0", "dc1", "r2", 0, stage.UUID("h1"), row("h1", groupTwo))...)
	b := newBench(t, o...)
	b.join()
	b.say("demo-r1-0", row("h0", groupOne))
	tracker := b.withViews(1)
	b.reconcile()
	b.pass(tracker, 3*view.Stabilisation)
	b.initialised(false, view.ReasonRecovering)
	b.says(api.ConditionSplitCluster, metav1.ConditionTrue)
	if g := b.status().Status.Group0ID; g != "" {
		t.Fatalf("group 0 %q", g)
	}
	b.say("demo-r2-0", row("h1", groupOne))
	b.pass(tracker, 2*view.Stabilisation)
	b.initialised(true, view.ReasonRecovered)
	b.says(api.ConditionSplitCluster, absent)
	if g := b.status().Status.Group0ID; g != groupOne {
		t.Errorf("group 0 %q", g)
	}
}

// TestRow10AClusterThatNobodyHandedOverIsLeftAlone: without the label there is no report, however healthy the nodes; with it, the cluster is taken
// over as it is.
func TestRow10AClusterThatNobodyHandedOverIsLeftAlone(t *testing.T) {
	o := one()
	delete(o[0].GetLabels(), api.LabelManagedBy)
	b := newBench(t, o...)
	b.join()
	tracker := b.withViews(1)
	b.reconcile()
	b.pass(tracker, view.Stabilisation)
	if len(b.writes) > 1 { // the write of join
		t.Errorf("written were %q", b.writes)
	}
	update(b, "demo-r1", func(s *appsv1.StatefulSet) { s.Labels[api.LabelManagedBy] = api.ManagedByUs })
	b.reconcile()
	b.pass(tracker, 2*view.Stabilisation)
	if i := b.status().Status.Initialization; i == nil || !i.Recovered {
		t.Errorf("handed over, and its initialisation is %+v", i)
	}
}
