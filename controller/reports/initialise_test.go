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
	update(b, "demo-r1-0", func(s *corev1.Service) { s.Annotations = a })
}

// initialised fails unless the cluster is initialised, or is not.
func (b *bench) initialised(want bool, reason string) {
	b.t.Helper()
	c := b.condition(api.ConditionInitialized)
	if b.status().Status.Initialized != want || reason != "" && c.Reason != reason {
		b.t.Errorf("initialised is not %t, with %q: %+v", want, reason, c)
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

func TestTheFirstNodeInitialises(t *testing.T) {
	b, tracker := viewed(t, one()...)
	b.initialised(false, view.ReasonNotInitialized)
	b.join()
	b.reconcile()
	b.initialised(false, view.ReasonStabilising)
	b.pass(tracker, view.Stabilisation-view.Interval)
	b.initialised(false, "")
	b.pass(tracker, 2*view.Interval)
	b.initialised(true, view.ReasonInitialized)
	s := b.status()
	if i := s.Status.Initialization; i == nil || i.FirstHostID != stage.UUID("h0") || i.Recovered {
		t.Fatalf("initialisation %+v", i)
	}
	b.said(1, "InitStarted ScyllaDBStatusReport/demo: demo-r1-0 has joined")
	b.said(0, "InitFailed")
	b.said(1, "InitCompleted ScyllaDBStatusReport/demo: the cluster has had its first node, "+stage.UUID("h0"))
	at := s.Status.Initialization.At

	// It stays so: the node is gone, with its disk, and a new process with empty memory reads the report.
	b.say("demo-r1-0", "")
	b.annotate(nil)
	b.withViews(2)
	b.reconcile()
	if s := b.status().Status; !s.Initialized || !s.Initialization.At.Equal(&at) {
		t.Errorf("initialized %t, %+v", s.Initialized, s.Initialization)
	}
	b.says(api.ConditionInitializedButEmpty, metav1.ConditionTrue, "kubectl scylla init reset demo -n demo")
	b.reconciler.o.Views = nil
	b.reconcile()
	if s := b.status().Status; !s.Initialized || !s.Initialization.At.Equal(&at) {
		t.Errorf("initialized %t, %+v", s.Initialized, s.Initialization)
	}
	b.withViews(3)
	b.join()
	b.reconcile()
	b.says(api.ConditionInitializedButEmpty, absent)
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
			b, tracker := viewed(t, one()...)
			b.join()
			b.say("demo-r1-0", row)
			b.pass(tracker, 3*view.Stabilisation)
			b.initialised(false, "")
			b.said(0, "Init")
			// It was well for a moment.
			b.say("demo-r1-0", firstWell)
			b.pass(tracker, view.Interval)
			b.say("demo-r1-0", row)
			b.pass(tracker, view.Interval)
			b.said(1, "InitStarted")
			b.said(1, "InitFailed ScyllaDBStatusReport/demo: the first node was not healthy for long enough: ")
			// Once it is UP the whole time has to pass again.
			b.say("demo-r1-0", firstWell)
			b.pass(tracker, view.Stabilisation-view.Interval)
			b.initialised(false, "")
			b.pass(tracker, 2*view.Interval)
			b.initialised(true, "")
		})
	}
}

// The report is lost, or the cluster was handed over, while its nodes run.
func TestARecoveredCluster(t *testing.T) {
	b := newBench(t, one()...)
	b.join()
	tracker := b.withViews(1)
	b.reconcile()
	b.initialised(false, view.ReasonRecovering)
	b.pass(tracker, view.Stabilisation/2)
	tracker = b.withViews(2) // the new process loses nothing that matters
	b.pass(tracker, 2*view.Stabilisation)
	b.initialised(true, view.ReasonRecovered)
	if i := b.status().Status.Initialization; !i.Recovered || i.FirstHostID != stage.UUID("h0") {
		t.Errorf("initialisation %+v", i)
	}
}

// Each request that the controller makes while the cluster becomes initialised may be its last, or be refused: in the end the cluster is initialised,
// once, and no written field is reverted.
func TestInitialisationSurvivesACrashAtEachPoint(t *testing.T) {
	// The requests of a run without a crash, from the moment at which it is due.
	due := func() (*bench, *views.Tracker) {
		b, tracker := viewed(t, one()...)
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
	b, tracker := viewed(t, one()...)
	b.join()
	b.reconcile()
	b.fail = func(verb string, _ client.Object) error {
		if verb != "apply" {
			return errors.New("refused")
		}
		return nil
	}
	b.pass(tracker, 2*view.Stabilisation)
	b.initialised(true, "") // though everything else was refused
}
