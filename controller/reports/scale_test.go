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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// handed is a StatefulSet of three; with wanted, its count is handed to our controller.
func handed(rack, wanted string) *appsv1.StatefulSet {
	s := set("demo-"+rack, "dc1", rack, 3)
	if wanted != "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, api.AnnotationWantedReplicas, wanted)
	}
	return s
}

// waiting is a member that has not joined, with a Service of that age; its Pod waits in its barrier, or has passed it.
func waiting(rack string, ordinal int, age time.Duration) []client.Object {
	name := fmt.Sprintf("demo-%s-%d", rack, ordinal)
	o := member(name, "dc1", rack, ordinal, "", "")
	o[0].SetAnnotations(nil)
	o[0].SetCreationTimestamp(metav1.NewTime(time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC).Add(-age)))
	pod := o[1].(*corev1.Pod)
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: api.ContainerBarrier})
	pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: api.ContainerBarrier, State: running(true).State})
	return o
}

func past(o []client.Object) []client.Object {
	pod := o[1].(*corev1.Pod)
	pod.Status.InitContainerStatuses[len(pod.Status.InitContainerStatuses)-1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	return o
}

// counts compares the replicas of all StatefulSets.
func (b *bench) counts(want string) {
	b.t.Helper()
	var sets appsv1.StatefulSetList
	b.must(b.client.List(b.t.Context(), &sets))
	var out []string
	for _, s := range sets.Items {
		out = append(out, fmt.Sprintf("%s %d", strings.TrimPrefix(s.Name, "demo-"), *s.Spec.Replicas))
	}
	if got := strings.Join(out, ", "); got != want {
		b.t.Errorf("%s, want %s", got, want)
	}
}

// TestRow2OneMemberUntilInitialised: the StatefulSets that are handed over have one member in all, the one with the oldest Service, until the cluster
// is initialised.
func TestRow2OneMemberUntilInitialised(t *testing.T) {
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"no member yet":                {objects: []client.Object{handed("r1", "3"), handed("r2", "3")}, want: "r1 1, r2 0"},
		"the oldest Service is of r2":  {objects: append(append([]client.Object{handed("r1", "3"), handed("r2", "3")}, waiting("r1", 0, 0)...), waiting("r2", 0, time.Minute)...), want: "r1 0, r2 1"},
		"the oldest has an ordinal":    {objects: append(append([]client.Object{handed("r1", "3"), handed("r2", "3")}, waiting("r1", 1, time.Hour)...), waiting("r1", 0, 0)...), want: "r1 2, r2 0"},
		"nothing is handed over":       {objects: []client.Object{handed("r1", ""), handed("r2", "")}, want: "r1 3, r2 3"},
		"one is not handed over":       {objects: append([]client.Object{handed("r1", ""), handed("r2", "3")}, waiting("r1", 0, 0)...), want: "r1 3, r2 0"},
		"a number that is none":        {objects: []client.Object{handed("r1", "three"), handed("r2", "3")}, want: "r1 3, r2 1"},
		"another has begun":            {objects: append(append([]client.Object{handed("r1", "3"), handed("r2", "3")}, waiting("r1", 0, time.Hour)...), past(waiting("r2", 0, 0))...), want: "r1 3, r2 3"},
		"the oldest has begun":         {objects: append(append([]client.Object{handed("r1", "3"), handed("r2", "3")}, past(waiting("r1", 0, time.Hour))...), waiting("r2", 0, 0)...), want: "r1 1, r2 0"},
		"a node has joined, unlooked":  {objects: append([]client.Object{handed("r1", "3"), handed("r2", "3")}, member("demo-r2-2", "dc1", "r2", 2, stage.UUID("h0"), "")...), want: "r1 3, r2 3"},
		"the wanted count is zero":     {objects: []client.Object{handed("r1", "0"), handed("r2", "3")}, want: "r1 0, r2 1"},
		"of the Scylla Operator's own": {objects: []client.Object{operators(handed("r1", "3"))}, want: "r1 3"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.objects...)
			b.withViews(1)
			b.reconcile()
			b.counts(tc.want)
			for range 3 {
				b.clock.Step(view.Interval)
				b.reconcile()
			}
			b.counts(tc.want)
		})
	}
}

func operators(s *appsv1.StatefulSet) *appsv1.StatefulSet {
	s.Labels[api.LabelManagedBy] = api.ManagedByOperator
	return s
}

// TestRow2RaisedRackByRack: after initialisation each rack gets its count once all existing members have joined, and no count is ever lowered.
func TestRow2RaisedRackByRack(t *testing.T) {
	o := one()
	o[0] = handed("r1", "2")
	b, tracker := viewed(t, append(o, handed("r2", "1"))...)
	b.counts("r1 1, r2 0") // before
	b.join()
	b.reconcile()
	b.counts("r1 1, r2 0") // joined, and not initialised yet
	b.pass(tracker, 2*view.Stabilisation)
	b.counts("r1 2, r2 0") // initialised
	b.pass(tracker, 4*view.Interval)
	b.counts("r1 2, r2 0") // the second of the first rack has not joined
	b.create(member("demo-r1-1", "dc1", "r1", 1, stage.UUID("h1"), "")...)
	b.pass(tracker, 4*view.Interval)
	b.counts("r1 2, r2 1") // all have joined
	// A smaller count lowers nothing: nodes must be decommissioned first.
	update(b, "demo-r1", func(s *appsv1.StatefulSet) { s.Annotations[api.AnnotationWantedReplicas] = "1" })
	b.pass(tracker, 4*view.Interval)
	b.counts("r1 2, r2 1") // a smaller number is wanted
	b.said(1, "ReplicasSet StatefulSet/demo-r1: demo-r1 is scaled from 1 to 2 replicas")
}

// The member with the Form permit is the one to which a new cluster is capped, while a StatefulSet may have it: else all counts were zero for ever.
func TestTheFounderIsTheOneMember(t *testing.T) {
	t.Parallel()
	b, tracker := viewed(t, append(waiting("r1", 0, time.Hour), handed("r1", "3"), handed("r2", "3"))...)
	b.pass(tracker, 2*view.Stabilisation)
	if v := b.status().Status.View; v.Founder != "demo-r1-0" {
		t.Fatalf("founder %q", v.Founder)
	}
	b.drop(waiting("r1", 0, time.Hour)...)
	b.scale("demo-r1", 0)
	b.again("demo-r2-0", "claim", waiting("r2", 0, time.Minute))
	b.pass(tracker, 2*view.Stabilisation)
	b.counts("r1 1, r2 0") // the founder's rack was scaled to none
	b.scale("demo-r1", 0)
	b.drop(handed("r1", "3"))
	b.pass(tracker, 2*view.Stabilisation)
	b.counts("r2 1") // the founder's rack no longer exists
	b.permits()      // a second member would bootstrap the cluster again
}

func (b *bench) scale(name string, n int32) {
	b.t.Helper()
	update(b, name, func(s *appsv1.StatefulSet) { s.Spec.Replicas = &n })
}
