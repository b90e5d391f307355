// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// TestB1OrderedReadyIsSaidWherePeopleLook: the missing Pod cannot report anything, so the StatefulSet and the Pod that it waits for get an Event with
// the remedy, once.
func TestB1OrderedReadyIsSaidWherePeopleLook(t *testing.T) {
	held := func(change func(s *appsv1.StatefulSet, lower *corev1.Pod)) []client.Object {
		s := set("demo-r1", "dc1", "r1", 2)
		s.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
		lower := member("demo-r1-0", "dc1", "r1", 0, stage.UUID("h0"), `{"error":"connection refused"}`)
		higher := member("demo-r1-1", "dc1", "r1", 1, stage.UUID("h1"), "")
		pod := lower[1].(*corev1.Pod)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: api.ContainerBarrier})
		pod.Status.Phase = corev1.PodPending
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, api.AnnotationBarrier, `{"emptyVolume":true}`)
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{
			Name: api.ContainerBarrier, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
		if change != nil {
			change(s, pod)
		}
		return append([]client.Object{s, lower[0], pod, higher[0]}, append([]client.Object{set("demo-r2", "dc1", "r2", 1)},
			member("demo-r2-0", "dc1", "r2", 0, stage.UUID("h2"), allUp)...)...)
	}
	for name, tc := range map[string]struct {
		change func(s *appsv1.StatefulSet, lower *corev1.Pod)
		want   []string
	}{
		"in order": {nil, []string{"Pod/demo-r1-0", "StatefulSet/demo-r1"}},
		"in parallel": {func(s *appsv1.StatefulSet, _ *corev1.Pod) {
			s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}, nil},
		"the lower one restarts": {func(_ *appsv1.StatefulSet, lower *corev1.Pod) { delete(lower.Annotations, api.AnnotationBarrier) }, nil},
		"the lower one does not wait": {func(_ *appsv1.StatefulSet, lower *corev1.Pod) {
			lower.Status.InitContainerStatuses[1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, held(tc.change)...)
			for range 3 {
				b.reconcile()
			}
			var got []string
			for _, e := range b.events() {
				if about, ok := strings.CutPrefix(e, "PodHeldByOrder "); ok {
					object, note, _ := strings.Cut(about, ": ")
					got = append(got, object)
					if want := "kubectl delete statefulset demo-r1 --cascade=orphan -n demo"; !strings.Contains(note, want) {
						t.Errorf("%q does not say %q", note, want)
					}
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("Events about %q, want %q", got, tc.want)
			}
		})
	}
}
