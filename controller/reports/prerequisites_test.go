// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"context"
	"errors"
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
	b.create(&eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Regarding: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "demo-r1-0", UID: uid},
		Type: corev1.EventTypeWarning, Reason: "FailedMount", Note: note, DeprecatedLastTimestamp: metav1.NewTime(at),
	})
}

// TestRow5PrerequisitesMissing: a missing Secret that a Pod mounts is named, without an error and without a right on Secrets; once the Pod starts the
// condition is gone.
func TestRow5PrerequisitesMissing(t *testing.T) {
	b, pod := unstarted(t)
	b.reconcile()
	b.says(api.ConditionPrerequisitesMissing, absent)
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
	b.says(api.ConditionPrerequisitesMissing, metav1.ConditionTrue, ": configmap/demo-scylla and "+
		"secret/demo-local-serving-certs do not exist in namespace demo, and demo-r1-0 does not start without them: create them; the rest is automatic\n")
	b.writes = nil
	for range 5 {
		b.clock.Step(askEvents)
		b.reconcile()
	}
	if len(b.writes) > 0 {
		t.Errorf("nothing has changed, and written were %q", b.writes)
	}
	b.said(1, "PrerequisitesMissing StatefulSet/demo-r1: ")

	updateStatus(b, pod.Name, func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].State = running(true).State })
	b.clock.Step(askEvents)
	b.reconcile()
	b.says(api.ConditionPrerequisitesMissing, absent)
}

// A container's own state names it too, and Events that cannot be read are no error.
func TestPrerequisitesByTheStateOfAContainer(t *testing.T) {
	b, pod := unstarted(t)
	b.reconciler.o.Live = noEvents{b.reconciler.o.Live}
	b.reconcile()
	b.says(api.ConditionPrerequisitesMissing, absent)
	updateStatus(b, pod.Name, func(p *corev1.Pod) {
		p.Status.InitContainerStatuses[0].State.Waiting = &corev1.ContainerStateWaiting{
			Reason: "CreateContainerConfigError", Message: `secret "demo-root" not found`,
		}
	})
	b.reconcile()
	b.says(api.ConditionPrerequisitesMissing, metav1.ConditionTrue, ": secret/demo-root does not exist in namespace demo")
}

type noEvents struct{ client.Reader }

func (n noEvents) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, events := list.(*eventsv1.EventList); events {
		return errors.New("forbidden")
	}
	return n.Reader.List(ctx, list, opts...)
}
