// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
)

// imageVersion is the version in the tag of the member's ScyllaDB image, by its Pod, or where that was not read by its StatefulSet; unknown otherwise.
func (c *Cluster) imageVersion(member string) release.Version {
	var spec *corev1.PodSpec
	if p := c.ix.pods[member]; p != nil {
		spec = &p.Spec
	} else if set := c.ix.set(member); set != nil {
		spec = &set.Spec.Template.Spec
	} else {
		return release.Version{}
	}
	return versionOf(spec)
}

// versionOf is the version in the tag of ScyllaDB's image; unknown for a digest alone, or latest: nothing is concluded from it.
func versionOf(spec *corev1.PodSpec) release.Version {
	container := ScyllaDBContainer(spec)
	if container == nil {
		return release.Version{}
	}
	v, err := release.OfImage(container.Image)
	if err != nil {
		return release.Version{}
	}
	return v
}

// runningImage is the version in the tag of a Pod's image, once its ScyllaDB has been started.
func runningImage(pod *corev1.Pod) release.Version {
	if !started(pod) {
		return release.Version{}
	}
	return versionOf(&pod.Spec)
}

// started is true where the Pod's ScyllaDB has been started: no barrier holds it back any more.
func started(pod *corev1.Pod) bool {
	if pod == nil || pod.DeletionTimestamp != nil {
		return false
	}
	container := ScyllaDBContainer(&pod.Spec)
	if container == nil {
		return false
	}
	st := containerStatus(pod.Status.ContainerStatuses, container.Name)
	return st != nil && st.State.Running != nil
}

// waitsInBarrier is true where the Pod's barrier runs.
func waitsInBarrier(pod *corev1.Pod) bool {
	st := containerStatus(pod.Status.InitContainerStatuses, api.ContainerBarrier)
	return st != nil && st.State.Running != nil && pod.DeletionTimestamp == nil
}
