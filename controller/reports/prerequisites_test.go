// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// unstarted is a cluster whose only Pod is scheduled, and none of its containers has run.
func unstarted(t *testing.T) (*bench, *corev1.Pod) {
	t.Helper()
	o := one()
	pod := o[2].(*corev1.Pod)
	pod.UID, pod.Spec.NodeName = "uid-of-the-pod", "kube-1"
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{
		{Name: api.ContainerReporter, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}},
	}}
	return newBench(t, o...), pod
}

func (b *bench) kubeletSays(name string, uid types.UID, at time.Time, note string) {
	b.t.Helper()
	err := b.client.Create(b.t.Context(), &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "demo-r1-0", UID: uid},
		Type: corev1.EventTypeWarning, Reason: "FailedMount", Note: note, DeprecatedLastTimestamp: metav1.NewTime(at),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestRow5PrerequisitesMissing: a missing Secret that a Pod mounts is named, without an error and without a right on Secrets; once the Pod starts the
// condition is gone.
func TestRow5PrerequisitesMissing(t *testing.T) {
	b, pod := unstarted(t)
	b.reconcile()
	if c := b.condition(api.ConditionPrerequisitesMissing); c.Type != "" {
		t.Fatalf("nothing is known to be missing: %+v", c)
	}
	b.clock.Step(askEvents)
	now := b.clock.Now()
	b.kubeletSays("a", "uid-of-the-pod", now, `MountVolume.SetUp failed for volume "tls" : secret "demo-local-serving-certs" not found`)
	b.kubeletSays("b", "uid-of-the-pod", now, `MountVolume.SetUp failed for volume "conf" : configmap "demo-scylla" not found`)
	b.kubeletSays("c", "uid-of-the-pod", now.Add(-time.Hour), `MountVolume.SetUp failed for volume "old" : secret "long-there" not found`)
	b.kubeletSays("d", "uid-of-the-pod-before", now, `MountVolume.SetUp failed for volume "old" : secret "of-another-pod" not found`)
	result, err := b.Reconcile(t.Context(), demo)
	if err != nil || result.RequeueAfter == 0 || result.RequeueAfter > askEvents {
		t.Fatalf("%+v, %v", result, err)
	}
	c := b.condition(api.ConditionPrerequisitesMissing)
	want := "configmap/demo-scylla and secret/demo-local-serving-certs do not exist in namespace demo, and demo-r1-0 does not start without them: create them; the rest is automatic"
	if c.Status != metav1.ConditionTrue || c.Message != want {
		t.Errorf("condition %+v", c)
	}
	b.writes = nil
	for range 5 {
		b.clock.Step(askEvents)
		b.reconcile()
	}
	if len(b.writes) > 0 {
		t.Errorf("nothing has changed, and written were %q", b.writes)
	}
	if e := strings.Join(b.events(), "\n"); strings.Count(e, "PrerequisitesMissing StatefulSet/demo-r1: ") != 1 {
		t.Errorf("events %s", e)
	}

	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.InitContainerStatuses[0].State = running(true).State
	if err := b.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	b.clock.Step(askEvents)
	b.reconcile()
	if c := b.condition(api.ConditionPrerequisitesMissing); c.Type != "" {
		t.Errorf("the Pod has started, and there is %+v", c)
	}
}

// A container's own state names it too, and Events that cannot be read are no error.
func TestPrerequisitesByTheStateOfAContainer(t *testing.T) {
	b, pod := unstarted(t)
	b.reconciler.o.Live = noEvents{b.reconciler.o.Live}
	b.reconcile()
	if c := b.condition(api.ConditionPrerequisitesMissing); c.Type != "" {
		t.Errorf("condition %+v", c)
	}
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.InitContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: `secret "demo-root" not found`}
	if err := b.client.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	if c := b.condition(api.ConditionPrerequisitesMissing); !strings.HasPrefix(c.Message, "secret/demo-root does not exist in namespace demo") {
		t.Errorf("condition %+v", c)
	}
}

type noEvents struct{ client.Reader }

func (n noEvents) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, events := list.(*eventsv1.EventList); events {
		return errors.New("forbidden")
	}
	return n.Reader.List(ctx, list, opts...)
}
