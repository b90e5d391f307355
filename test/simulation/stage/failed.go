// SPDX-License-Identifier: Apache-2.0

package stage

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Replacing is a member whose dead node our controller is replacing: claim and Pod are new, and ScyllaDB on it runs but has not joined.
func (c *Cluster) Replacing(name string) *Cluster {
	c.Down(name)
	n, svc, pod := c.Node(name), c.Service(name), c.Pod(name)
	set := c.Set(n.Datacenter, n.Rack)
	svc.Labels[api.LabelReplace], svc.Labels[api.LabelReplacingNodeHostID] = "", n.HostID
	for k, v := range map[string]string{
		api.AnnotationReplaceOriginalHostID: n.HostID, api.AnnotationReplaceRequest: "request-1", api.AnnotationReplaceAccepted: "request-1",
		api.AnnotationReplacePVCUIDs: "old-claim", api.AnnotationReplacePodUID: "old-pod", api.AnnotationReplaceAttempt: "1",
	} {
		svc.Annotations[k] = v
	}
	pod.UID = "new-pod"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: new(true)}}
	pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: api.ContainerScyllaDB, State: running(Now)}
	return c.Add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.Namespace, Name: "data-" + name, UID: types.UID("new-claim"), Labels: map[string]string{api.LabelCluster: c.Name},
	}})
}

// Exited is a member whose ScyllaDB ends with that exit code again and again.
func (c *Cluster) Exited(name string, code int32) *Cluster {
	c.Pod(name).Status.ContainerStatuses[0] = corev1.ContainerStatus{
		Name: api.ContainerScyllaDB, RestartCount: 4,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
	}
	return c
}
