// SPDX-License-Identifier: Apache-2.0

package scope

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Stale says why nobody keeps the row of a member up to date, given its Pod (nil when it is gone); empty when the reporter runs.
func Stale(pod *corev1.Pod) string {
	switch {
	case pod == nil:
		return "pod is gone"
	case pod.DeletionTimestamp != nil:
		return "pod is being deleted"
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return "pod has ended"
	}
	// When a Kubernetes node stops answering, its kubelet's last word about containers stays, and the node controller only turns the
	// Pod's Ready to false: ready containers in a Pod that is not ready are containers that nobody has heard of lately.
	ready, containersReady := condition(pod, corev1.PodReady), condition(pod, corev1.ContainersReady)
	if len(pod.Spec.ReadinessGates) == 0 && ready == corev1.ConditionFalse && containersReady == corev1.ConditionTrue {
		return "kubernetes node does not answer"
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range list {
			if s.Name != api.ContainerReporter {
				continue
			}
			switch {
			case s.State.Running == nil:
				return "reporter does not run"
			case !s.Ready:
				return "reporter is not ready"
			}
			return ""
		}
	}
	return "pod has no container " + api.ContainerReporter + " that runs"
}

// Serving is true while ScyllaDB's container in the Pod is ready: it answers CQL, which a node does only once it has joined.
func Serving(pod *corev1.Pod) bool {
	if pod == nil {
		return false
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == api.ContainerScyllaDB {
			return s.Ready
		}
	}
	return false
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) corev1.ConditionStatus {
	for _, c := range pod.Status.Conditions {
		if c.Type == t {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
