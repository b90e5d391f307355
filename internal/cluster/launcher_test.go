// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// TestAPodWhoseLauncherWaits is one in its barrier for every reader: ScyllaDB's container runs, and ScyllaDB does not.
func TestAPodWhoseLauncherWaits(t *testing.T) {
	running, ended := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	for name, tc := range map[string]struct {
		barrier    corev1.ContainerState
		annotation string
		deleted    bool
		waits      bool
	}{
		"the launcher waits":             {ended, `{"launcher":true}`, false, true},
		"ScyllaDB runs":                  {ended, "", false, false},
		"left by the barrier":            {ended, `{"emptyVolume":true}`, false, false},
		"not readable":                   {ended, `{"launcher":"yes"`, false, false},
		"of a Pod that is being deleted": {ended, `{"launcher":true}`, true, false},
		"the barrier waits":              {running, `{"launcher":true}`, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			pod.Annotations = map[string]string{api.AnnotationBarrier: tc.annotation}
			if tc.annotation == "" {
				pod.Annotations = nil
			}
			if tc.deleted {
				pod.DeletionTimestamp = &metav1.Time{}
			}
			pod.Spec.InitContainers = []corev1.Container{{Name: api.ContainerBarrier}}
			pod.Spec.Containers = []corev1.Container{{Name: api.ContainerScyllaDB}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerBarrier, State: tc.barrier}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: api.ContainerScyllaDB, State: running}}
			m := &Member{Pod: pod}
			if m.WaitsInBarrier() != tc.waits || m.PastBarrier() == (tc.waits || tc.deleted) || (m.Barrier().Phase == BarrierWaiting) != tc.waits || (m.BarrierWait() != nil) != tc.waits {
				t.Errorf("waits %v, past %v, phase %s, says %v", m.WaitsInBarrier(), m.PastBarrier(), m.Barrier().Phase, m.BarrierWait())
			}
			if tc.barrier == ended && m.Started() == (tc.waits || tc.deleted) {
				t.Errorf("started: %v", m.Started())
			}
		})
	}
}
