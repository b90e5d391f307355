// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// sayHealth annotates a StatefulSet; an empty value removes the annotation.
func (b *bench) sayHealth(name, field, value string) {
	b.t.Helper()
	s := &appsv1.StatefulSet{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: name}, s); err != nil {
		b.t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&s.ObjectMeta, healthpolicy.Annotation(field), value)
	if value == "" {
		delete(s.Annotations, healthpolicy.Annotation(field))
	}
	if err := b.client.Update(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
}

// The policy is written with the first report that has permits, once, and changes when a StatefulSet's annotation does. A bad field affects only
// itself.
func TestTheHealthPolicyIsResolvedOnceIntoTheStatus(t *testing.T) {
	b := newBench(t, one()...)
	tracker := b.withViews(1)
	b.reconcile()
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
	c := b.condition(api.ConditionHealthPolicyValid)
	if want := `annotation kubectl-scylla.scylladb.com/health-contact of StatefulSet demo/demo-r1 has the invalid value "5s": specify a duration from 10s to 1m, for example 1m30s, or ` +
		`remove it: kubectl annotate statefulset demo-r1 kubectl-scylla.scylladb.com/health-contact- -n demo; until then it is 10s`; c.Status != metav1.ConditionFalse || c.Message != want {
		t.Errorf("condition %+v\nwant %s", c, want)
	}
	if e := strings.Join(b.events(), "\n"); strings.Count(e, "HealthPolicyInvalid StatefulSet/demo-r1: annotation") != 1 {
		t.Errorf("events %s", e)
	}
	b.sayHealth("demo-r1", healthpolicy.FieldContact, "")
	b.reconcile()
	if c := b.condition(api.ConditionHealthPolicyValid); c.Type != "" {
		t.Errorf("all is well, and there is %+v", c)
	}
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
	if b.status().Status.Initialized {
		t.Error("initialised before a minute has passed")
	}
	b.pass(tracker, 20*time.Second)
	if !b.status().Status.Initialized {
		t.Error("not initialised")
	}
}

func TestTheHealthPolicySetsWhenANodeIsDead(t *testing.T) {
	b := threeOfWhichOneIsDown(t)
	b.sayHealth("demo-r1", healthpolicy.FieldDead, "1h")
	tracker := b.withViews(1)
	b.reconcile()
	b.pass(tracker, 10*time.Minute)
	if c := b.condition(api.ConditionNodeReplaceable); c.Type != "" {
		t.Fatalf("DOWN for ten minutes of an hour, and there is %+v", c)
	}
	b.sayHealth("demo-r1", healthpolicy.FieldDead, "8m")
	b.pass(tracker, 2*view.Interval)
	if c := b.condition(api.ConditionNodeReplaceable); !strings.Contains(c.Message, "DOWN for 8m0s or longer") {
		t.Errorf("condition %+v", c)
	}
}

func threeOfWhichOneIsDown(t *testing.T) *bench {
	t.Helper()
	down := stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h2","status":"DOWN","since":"2026-11-21T11:59:00Z"}]}`) + "\n"
	o := []client.Object{set("demo-r1", "dc1", "r1", 1), set("demo-r2", "dc1", "r2", 1), set("demo-r3", "dc1", "r3", 1)}
	o = append(o, member("demo-r1-0", "dc1", "r1", 0, stage.UUID("h0"), down)...)
	o = append(o, member("demo-r2-0", "dc1", "r2", 0, stage.UUID("h1"), down)...)
	third := member("demo-r3-0", "dc1", "r3", 0, stage.UUID("h2"), "")
	third[1].(*corev1.Pod).Status.InitContainerStatuses[0].Ready = false
	return newBench(t, append(o, third...)...)
}

// removed is a cluster of four whose fourth node was removed: its Service and its Pod stay, no ScyllaDB runs there, and no row lists it.
func removed(t *testing.T) *bench {
	t.Helper()
	row := stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h2","status":"UP"}]}`) + "\n"
	var o []client.Object
	for i := range 4 {
		rack, said := fmt.Sprintf("r%d", i+1), row
		if i == 3 {
			said = ""
		}
		o = append(o, set("demo-"+rack, "dc1", rack, 1))
		o = append(o, member("demo-"+rack+"-0", "dc1", rack, 0, stage.UUID(fmt.Sprintf("h%d", i)), said)...)
	}
	pod := o[len(o)-1].(*corev1.Pod)
	pod.Status.InitContainerStatuses[0].Ready = false
	return newBench(t, o...)
}

func (b *bench) rows() int {
	b.t.Helper()
	n := 0
	for _, d := range b.status().Datacenters {
		n += len(d.Nodes)
	}
	r := &api.ScyllaDBDatacenterNodesStatusReport{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: scope.ObjectName("demo", "dc1")}, r); err != nil {
		b.t.Fatal(err)
	}
	for _, rack := range r.Racks {
		n -= len(rack.Nodes)
	}
	if n != 0 {
		b.t.Errorf("the cluster's report has %d more rows than its datacenter's", n)
	}
	n = 0
	for _, rack := range r.Racks {
		n += len(rack.Nodes)
	}
	return n
}

func TestDeadReportsAreCleanedUp(t *testing.T) {
	b := removed(t)
	tracker := b.withViews(1)
	b.reconcile()
	if n := b.rows(); n != 4 {
		t.Fatalf("%d rows", n)
	}
	b.pass(tracker, view.Dead-view.Interval)
	if n := b.rows(); n != 4 {
		t.Errorf("%d rows before the time is over", n)
	}
	b.pass(tracker, 2*view.Interval)
	if n := b.rows(); n != 3 {
		t.Errorf("%d rows of 3 members", n)
	}
	if c := b.condition(api.ConditionDeadReportRetained); c.Type != "" {
		t.Errorf("condition %+v", c)
	}
	// Its Service stays, and once a ScyllaDB runs there and is listed again its row comes back.
	b.say("demo-r1-0", stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"},{"hostID":"h1","status":"UP"},{"hostID":"h2","status":"UP"},{"hostID":"h3","status":"DOWN"}]}`)+"\n")
	b.reconcile()
	if n := b.rows(); n != 4 {
		t.Errorf("%d rows, and a member lists it", n)
	}
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
			if n := b.rows(); n != 4 {
				t.Errorf("%d rows", n)
			}
			c := b.condition(api.ConditionDeadReportRetained)
			command := "kubectl annotate service demo-r4-0 " + api.AnnotationHostID + "- " + api.AnnotationNodeJoined + "- -n demo"
			if c.Status != metav1.ConditionTrue || c.Reason != tc.reason || !strings.Contains(c.Message, tc.says) || !strings.HasSuffix(c.Message, command) {
				t.Errorf("condition %+v", c)
			}
		})
	}
	// Turned off, and turned on by a person.
	b := removed(t)
	b.sayHealth("demo-r1", healthpolicy.FieldMinQuorum, "2")
	b.sayHealth("demo-r2", healthpolicy.FieldCleanUp, "true")
	tracker := b.withViews(1)
	b.reconcile()
	b.pass(tracker, view.Dead+2*view.Interval)
	if n := b.rows(); n != 3 {
		t.Errorf("%d rows", n)
	}
}
