// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// sayHealth annotates a StatefulSet; an empty value removes the annotation.
func (b *bench) sayHealth(name, field, value string) {
	b.t.Helper()
	update(b, name, func(s *appsv1.StatefulSet) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, healthpolicy.Annotation(field), value)
		if value == "" {
			delete(s.Annotations, healthpolicy.Annotation(field))
		}
	})
}

// The policy is written with the first report that has permits, once, and changes when a StatefulSet's annotation does. A bad field affects only
// itself.
func TestTheHealthPolicyIsResolvedOnceIntoTheStatus(t *testing.T) {
	b, tracker := viewed(t, one()...)
	first := b.status().Status
	if p := first.HealthPolicy; p == nil || p.Dead.Duration != view.Dead || p.MinQuorum != 3 || !p.CleanUpDeadReports || first.View == nil {
		t.Fatalf("policy %+v beside view %+v", p, first.View)
	}
	b.writes = nil
	b.pass(tracker, 4*view.Interval)
	if len(b.writes) > 0 {
		t.Errorf("nothing has changed, and written were %q", b.writes)
	}

	b.sayHealth("demo-r1", healthpolicy.FieldDead, "10m")
	b.sayHealth("demo-r1", healthpolicy.FieldContact, "5s")
	b.reconcile()
	if p := b.status().Status.HealthPolicy; p.Dead.Duration != 10*time.Minute || p.Contact.Duration != view.ContactLimit || fmt.Sprint(p.Overridden) != "[dead]" {
		t.Errorf("policy %+v", p)
	}
	b.says(api.ConditionHealthPolicyValid, metav1.ConditionFalse,
		": annotation kubectl-scylla.scylladb.com/health-contact of StatefulSet demo/demo-r1 has the invalid value \"5s\": "+
			"specify a duration from 10s to 1m, for example 1m30s, or remove it: kubectl annotate statefulset demo-r1 "+
			"kubectl-scylla.scylladb.com/health-contact- -n demo; until then it is 10s\n")
	b.said(1, "HealthPolicyInvalid StatefulSet/demo-r1: annotation")
	b.sayHealth("demo-r1", healthpolicy.FieldContact, "")
	b.reconcile()
	b.says(api.ConditionHealthPolicyValid, absent)
}

// The cluster's own stabilisation sets how long the first node must be UP.
func TestTheHealthPolicySetsTheWindowOfTheFirstNode(t *testing.T) {
	b := newBench(t, one()...)
	tracker := b.withViews(1)
	b.sayHealth("demo-r1", healthpolicy.FieldStabilisation, "1m")
	b.reconcile()
	b.join()
	b.reconcile()
	b.pass(tracker, 50*time.Second)
	b.initialised(false, "")
	b.pass(tracker, 20*time.Second)
	b.initialised(true, "")
}

func TestTheHealthPolicySetsWhenANodeIsDead(t *testing.T) {
	b := threeOfWhichOneIsDown(t)
	b.sayHealth("demo-r1", healthpolicy.FieldDead, "1h")
	tracker := b.withViews(1)
	b.reconcile()
	b.pass(tracker, 10*time.Minute)
	b.says(api.ConditionNodeReplaceable, absent)
	b.sayHealth("demo-r1", healthpolicy.FieldDead, "8m")
	b.pass(tracker, 2*view.Interval)
	b.says(api.ConditionNodeReplaceable, metav1.ConditionTrue, "DOWN for 8m0s or longer")
}

// removed is a cluster of four whose fourth node was removed: its Service and its Pod stay, no ScyllaDB runs there, and no row lists it.
func removed(t *testing.T) *bench {
	t.Helper()
	row := stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h2","status":"UP"}]}`) + "\n"
	o := racks(row, row, row, "")
	o[len(o)-1].(*corev1.Pod).Status.InitContainerStatuses[0].Ready = false
	return newBench(t, o...)
}

// rows fails unless each of the two reports has that many.
func (b *bench) rows(want int) {
	b.t.Helper()
	var wide, narrow int
	for _, d := range b.status().Datacenters {
		wide += len(d.Nodes)
	}
	for _, rack := range b.report(own).Racks {
		narrow += len(rack.Nodes)
	}
	if wide != want || narrow != want {
		b.t.Errorf("the cluster's report has %d rows and its datacenter's %d, want %d", wide, narrow, want)
	}
}

func TestDeadReportsAreCleanedUp(t *testing.T) {
	b := removed(t)
	tracker := b.withViews(1)
	b.reconcile()
	b.rows(4)
	b.pass(tracker, view.Dead-view.Interval)
	b.rows(4)
	b.pass(tracker, 2*view.Interval)
	b.rows(3)
	b.says(api.ConditionDeadReportRetained, absent)
	// Its Service stays, and once a ScyllaDB runs there and is listed again its row comes back.
	b.say("demo-r1-0", stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h2","status":"UP"},{"hostID":"h3","status":"DOWN"}]}`)+"\n")
	b.reconcile()
	b.rows(4)
}

// The clean-up never leaves fewer members than the minimum quorum, and never happens where it is off; a condition and an Event say so.
func TestDeadReportsThatAreKept(t *testing.T) {
	for name, tc := range map[string]struct{ field, value, reason, says string }{
		"too few report":  {healthpolicy.FieldMinQuorum, "4", view.ReasonMinQuorum, "3 members report, and the clean-up requires at least 4 afterwards (minQuorum)"},
		"forced off":      {healthpolicy.FieldMinQuorum, "2", view.ReasonCleanUpOff, "the clean-up is off"},
		"off by a person": {healthpolicy.FieldCleanUp, "false", view.ReasonCleanUpOff, "the clean-up is off"},
	} {
		t.Run(name, func(t *testing.T) {
			b := removed(t)
			b.sayHealth("demo-r1", tc.field, tc.value)
			tracker := b.withViews(1)
			b.reconcile()
			b.pass(tracker, view.Dead+2*view.Interval)
			b.rows(4)
			b.says(api.ConditionDeadReportRetained, metav1.ConditionTrue, tc.reason+": ", tc.says,
				"kubectl annotate service demo-r4-0 "+api.AnnotationHostID+"- "+api.AnnotationNodeJoined+"- -n demo\n")
		})
	}
	// Turned off, and turned on by a person.
	b := removed(t)
	b.sayHealth("demo-r1", healthpolicy.FieldMinQuorum, "2")
	b.sayHealth("demo-r2", healthpolicy.FieldCleanUp, "true")
	tracker := b.withViews(1)
	b.reconcile()
	b.pass(tracker, view.Dead+2*view.Interval)
	b.rows(3)
}
