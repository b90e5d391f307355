// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var firstWell = stage.UUIDs(`{"observedNodes":[{"hostID":"h0","status":"UP"}],"hostID":"h0","operationMode":"NORMAL","ownsTokens":true,"coordinator":"h0"}`) + "\n"

// one is a cluster whose first member has not joined: its Pod and its ScyllaDB run.
func one() []client.Object {
	o := append([]client.Object{set("demo-r1", "dc1", "r1", 1)}, member("demo-r1-0", "dc1", "r1", 0, stage.UUID("h0"), "")...)
	svc, pod := o[1].(*corev1.Service), o[2].(*corev1.Pod)
	svc.Annotations = nil
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, Ready: true, State: running(true).State}}
	return o
}

// join writes the annotations that the reporter and the members controller write once the first node has joined.
func (b *bench) join() {
	b.t.Helper()
	b.say("demo-r1-0", firstWell)
	b.annotate(map[string]string{api.AnnotationHostID: stage.UUID("h0"), api.AnnotationNodeJoined: "true"})
}

func (b *bench) annotate(a map[string]string) {
	b.t.Helper()
	svc := &corev1.Service{}
	if err := b.client.Get(b.t.Context(), types.NamespacedName{Namespace: ns, Name: "demo-r1-0"}, svc); err != nil {
		b.t.Fatal(err)
	}
	svc.Annotations = a
	if err := b.client.Update(b.t.Context(), svc); err != nil {
		b.t.Fatal(err)
	}
}

// pass advances the clock by long, with a look and a reconciliation at each step; errors of these reconciliations are ignored.
func (b *bench) pass(tracker *views.Tracker, long time.Duration) {
	b.t.Helper()
	for ; long > 0; long -= view.Interval {
		b.clock.Step(view.Interval)
		tracker.Look()
		_, _ = b.Reconcile(b.t.Context(), demo)
	}
}

func (b *bench) reason() string { return b.condition(api.ConditionInitialized).Reason }

func TestTheFirstNodeInitialises(t *testing.T) {
	b := newBench(t, one()...)
	tracker := b.withViews(1)
	b.reconcile()
	if s := b.status().Status; s.Initialized || b.reason() != view.ReasonNotInitialized {
		t.Fatalf("no node has joined: initialized %t, %s", s.Initialized, b.reason())
	}
	b.join()
	b.reconcile()
	if b.reason() != view.ReasonStabilising {
		t.Errorf("the first node has just joined: %+v", b.condition(api.ConditionInitialized))
	}
	b.pass(tracker, view.Stabilisation-view.Interval)
	if b.status().Status.Initialized {
		t.Errorf("initialised before %s have passed", view.Stabilisation)
	}
	b.pass(tracker, 2*view.Interval)
	s := b.status()
	if !s.Status.Initialized || s.Status.Initialization == nil || s.Status.Initialization.FirstHostID != stage.UUID("h0") || s.Status.Initialization.Recovered || b.reason() != view.ReasonInitialized {
		t.Fatalf("status %+v, %+v", s.Status.Initialization, b.condition(api.ConditionInitialized))
	}
	if e := strings.Join(b.events(), "\n"); strings.Count(e, "InitStarted ScyllaDBStatusReport/demo: demo-r1-0 has joined") != 1 || strings.Contains(e, "InitFailed") {
		t.Errorf("events %s", e)
	}
	if e := strings.Join(b.events(), "\n"); !strings.Contains(e, "InitCompleted ScyllaDBStatusReport/demo: the cluster has had its first node, "+stage.UUID("h0")) {
		t.Errorf("events %s", e)
	}
	at := s.Status.Initialization.At

	// It stays so: the node is gone, with its disk, and a new process with empty memory reads the report.
	b.say("demo-r1-0", "")
	b.annotate(nil)
	b.withViews(2)
	b.reconcile()
	if s := b.status().Status; !s.Initialized || !s.Initialization.At.Equal(&at) {
		t.Errorf("initialized %t, %+v", s.Initialized, s.Initialization)
	}
	if c := b.condition(api.ConditionInitializedButEmpty); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "kubectl scylla init reset demo -n demo") {
		t.Errorf("condition %+v", c)
	}
	b.reconciler.o.Views = nil
	b.reconcile()
	if s := b.status().Status; !s.Initialized || !s.Initialization.At.Equal(&at) {
		t.Errorf("initialized %t, %+v", s.Initialized, s.Initialization)
	}
	b.withViews(3)
	b.join()
	b.reconcile()
	if c := b.condition(api.ConditionInitializedButEmpty); c.Type != "" {
		t.Errorf("a member has joined, and there is still %+v", c)
	}
}

// A node that is not UP without a break does not initialise the cluster.
func TestAFirstNodeThatIsNotWell(t *testing.T) {
	tests := map[string]string{
		"starts":                     strings.Replace(firstWell, "NORMAL", "STARTING", 1),
		"owns no tokens":             stage.UUIDs(`{"observedNodes":[],"hostID":"h0","operationMode":"JOINING","ownsTokens":false,"coordinator":"h0"}`) + "\n",
		"knows no leader of group 0": strings.Replace(firstWell, stage.UUIDs(`,"coordinator":"h0"`), "", 1),
		"says nothing":               "",
	}
	for name, row := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, one()...)
			tracker := b.withViews(1)
			b.reconcile()
			b.join()
			b.say("demo-r1-0", row)
			b.pass(tracker, 3*view.Stabilisation)
			if b.status().Status.Initialized {
				t.Errorf("initialised by a node that %s", name)
			}
			if e := strings.Join(b.events(), "\n"); strings.Contains(e, "Init") {
				t.Errorf("events %s", e)
			}
			// It was well for a moment.
			b.say("demo-r1-0", firstWell)
			b.pass(tracker, view.Interval)
			b.say("demo-r1-0", row)
			b.pass(tracker, view.Interval)
			if e := strings.Join(b.events(), "\n"); strings.Count(e, "InitStarted") != 1 || strings.Count(e, "InitFailed ScyllaDBStatusReport/demo: the first node was not healthy for long enough: ") != 1 {
				t.Errorf("events %s", e)
			}
			// Once it is UP the whole time has to pass again.
			b.say("demo-r1-0", firstWell)
			b.pass(tracker, view.Stabilisation-view.Interval)
			if b.status().Status.Initialized {
				t.Error("initialised by the time before it was well")
			}
			b.pass(tracker, 2*view.Interval)
			if !b.status().Status.Initialized {
				t.Error("not initialised")
			}
		})
	}
}

// The report is lost, or the cluster was handed over, while its nodes run.
func TestARecoveredCluster(t *testing.T) {
	b := newBench(t, one()...)
	b.join()
	tracker := b.withViews(1)
	b.reconcile()
	if b.reason() != view.ReasonRecovering {
		t.Fatalf("nodes had joined before anybody looked: %+v", b.condition(api.ConditionInitialized))
	}
	b.pass(tracker, view.Stabilisation/2)
	tracker = b.withViews(2) // the new process loses nothing that matters
	b.pass(tracker, 2*view.Stabilisation)
	if s := b.status().Status; !s.Initialized || !s.Initialization.Recovered || s.Initialization.FirstHostID != stage.UUID("h0") || b.reason() != view.ReasonRecovered {
		t.Errorf("status %+v, %+v", s.Initialization, b.condition(api.ConditionInitialized))
	}
}

// Each request that the controller makes while the cluster becomes initialised may be its last, or be refused: in the end the cluster is initialised,
// once, and no written field is reverted.
func TestInitialisationSurvivesACrashAtEachPoint(t *testing.T) {
	// The requests of a run without a crash, from the moment at which it is due.
	due := func() (*bench, *views.Tracker) {
		b := newBench(t, one()...)
		tracker := b.withViews(1)
		b.reconcile()
		b.join()
		b.reconcile()
		b.pass(tracker, view.Stabilisation-view.Interval)
		// The rows change in the same moment, so that every kind of write occurs.
		b.say("demo-r1-0", strings.Replace(firstWell, `"status":"UP"`, `"status":"UP","state":"LEAVING"`, 1))
		b.writes = nil
		return b, tracker
	}
	b, tracker := due()
	b.pass(tracker, view.Stabilisation)
	requests := b.writes
	want := b.status().Status.Initialization
	if len(requests) < 3 || want == nil || !strings.Contains(strings.Join(requests, " "), "apply ") {
		t.Fatalf("requests %q, initialised %+v", requests, want)
	}
	for point := range requests {
		b, tracker := due()
		made := 0
		b.fail = func(string, client.Object) error {
			if made++; made > point {
				return errors.New("the process has ended")
			}
			return nil
		}
		b.pass(tracker, 3*view.Interval)
		was := b.status().Status.Initialization
		b.fail = nil
		tracker = b.withViews(2)
		b.pass(tracker, 2*view.Stabilisation)
		s := b.status().Status
		if !s.Initialized || s.Initialization == nil || s.Initialization.Recovered || s.Initialization.FirstHostID != want.FirstHostID {
			t.Errorf("crash before request %d (%s): initialised %t, %+v", point, requests[point], s.Initialized, s.Initialization)
		}
		if was != nil {
			if diff := cmp.Diff(was, s.Initialization); diff != "" {
				t.Errorf("crash before request %d (%s): what was written has changed:\n%s", point, requests[point], diff)
			}
		}
	}
}

// Initialisation is written even when other writes fail.
func TestInitialisationIsWrittenBeforeWhatFails(t *testing.T) {
	b := newBench(t, one()...)
	tracker := b.withViews(1)
	b.reconcile()
	b.join()
	b.reconcile()
	b.fail = func(verb string, _ client.Object) error {
		if verb != "apply" {
			return errors.New("refused")
		}
		return nil
	}
	b.pass(tracker, 2*view.Stabilisation)
	if !b.status().Status.Initialized {
		t.Error("it was not written, because something else was refused")
	}
}
