// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestVolumeGone: only objects that show where the data was are evidence; what was not read, or contradicts itself, is none.
func TestVolumeGone(t *testing.T) {
	const member, pvc, pv = "demo-rack2-0", "data-demo-rack2-0", "pv"
	type facts struct {
		phase    corev1.PersistentVolumeClaimPhase
		volumes  map[string][]string
		machines map[string]string
		pending  bool
		node     string
		selected string
	}
	local := map[string][]string{pv: {"disk"}}
	gone := map[string]string{"disk": KubernetesNodeGone, "worker": KubernetesNodeReady}
	tests := map[string]struct {
		facts
		want words.Code
	}{
		"the PVC is Lost":                                  {facts{phase: corev1.ClaimLost}, words.ClaimIsLost},
		"its Kubernetes node was deleted":                  {facts{volumes: local, machines: gone, pending: true}, words.VolumeOfGoneNode},
		"the one that was selected for it was deleted too": {facts{volumes: local, machines: map[string]string{"disk": KubernetesNodeGone, "name": KubernetesNodeGone}, pending: true, selected: "name"}, words.VolumeOfGoneNode},
		"the one that was selected for it exists":          {facts{volumes: local, machines: gone, pending: true, selected: "worker"}, ""},
		"with its Pod on it":                               {facts{volumes: local, machines: gone, node: "disk"}, words.VolumeOfGoneNode},
		"its Pod runs on another Kubernetes node":          {facts{volumes: local, machines: gone, node: "worker"}, ""},
		"the volume can move":                              {facts{volumes: map[string][]string{pv: nil}, machines: gone, node: "disk"}, ""},
		"it can be used on two Kubernetes nodes":           {facts{volumes: map[string][]string{pv: {"disk", "worker"}}, machines: gone, pending: true}, ""},
		"the volume was not read":                          {facts{machines: gone, node: "disk"}, ""},
		"Kubernetes nodes were not read":                   {facts{volumes: local, pending: true}, ""},
		"its Kubernetes node is not Ready":                 {facts{volumes: local, machines: map[string]string{"disk": KubernetesNodeNotReady}, pending: true}, ""},
		"the PVC is bound, and its Kubernetes node exists": {facts{phase: corev1.ClaimBound, volumes: local, machines: map[string]string{"disk": KubernetesNodeReady}, pending: true}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			st := settled(t)
			p := st.Pods[member]
			if p.Spec.NodeName = tc.node; tc.pending {
				p.Status.Phase, p.Status.ContainerStatuses, p.Status.Conditions = corev1.PodPending, nil, nil
			}
			o := st.objects()
			o.PVCs = append(o.PVCs, corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: pvc, Labels: map[string]string{api.LabelCluster: o.Name}, Annotations: map[string]string{SelectedNode: tc.selected}},
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: pv}, Status: corev1.PersistentVolumeClaimStatus{Phase: tc.phase},
			})
			o.Volumes, o.Machines = tc.volumes, tc.machines
			if got := New(o, SourceReport, start).VolumeGone(member).Code; got != tc.want {
				t.Errorf("evidence %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLogOf: a printed `kubectl logs` names a container that has run, with --previous if only its last run has a log.
func TestLogOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodFailed}).Draw(t, "phase")}}
		status := func(name string) corev1.ContainerStatus {
			st := corev1.ContainerStatus{Name: name}
			ended := &corev1.ContainerStateTerminated{ExitCode: rapid.SampledFrom([]int32{0, 1, 137}).Draw(t, "code")}
			switch rapid.IntRange(0, 3).Draw(t, "state") {
			case 0:
				st.State.Running = &corev1.ContainerStateRunning{}
			case 1:
				st.State.Terminated = ended
			case 2:
				st.State.Waiting = &corev1.ContainerStateWaiting{Reason: rapid.SampledFrom([]string{"PodInitializing", "CrashLoopBackOff", "ImagePullBackOff"}).Draw(t, "reason")}
			}
			if rapid.Bool().Draw(t, "ran before") {
				st.LastTerminationState.Terminated = ended
			}
			return st
		}
		always := corev1.ContainerRestartPolicyAlways
		for _, name := range []string{"reporter", "query", api.ContainerBarrier} {
			c := corev1.Container{Name: name}
			if name == "reporter" {
				c.RestartPolicy = &always
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
			if rapid.IntRange(0, 4).Draw(t, "has a status") > 0 {
				pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status(name))
			}
		}
		pod.Spec.Containers = []corev1.Container{{Name: "scylla"}}
		if rapid.IntRange(0, 4).Draw(t, "has a status") > 0 {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status("scylla"))
		}
		looping := len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].LastTerminationState.Terminated == nil &&
			pod.Status.ContainerStatuses[0].State.Waiting != nil && pod.Status.ContainerStatuses[0].State.Waiting.Reason == "CrashLoopBackOff"
		l := LogOf(pod, "scylla")
		if looping && (!l.None || l.Container != "scylla") {
			t.Fatalf("%+v of a ScyllaDB that loops, and whose last run is gone", l)
		}
		if l.None {
			return
		}
		for _, st := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			if st.Name != l.Container {
				continue
			}
			now := st.State.Running != nil || st.State.Terminated != nil
			before := st.LastTerminationState.Terminated != nil
			if now == l.Previous || !now && !before {
				t.Fatalf("%+v of a container with state %+v, before %+v", l, st.State, st.LastTerminationState)
			}
			return
		}
		t.Fatalf("%+v names a container without a status", l)
	})
}
