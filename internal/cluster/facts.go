// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Single facts about single members.

// Service returns the Service of a member, nil if there is none.
func (c *Cluster) Service(member string) *corev1.Service { return c.ix.services[member] }

// Pod returns the Pod of a member, nil if there is none.
func (c *Cluster) Pod(member string) *corev1.Pod { return c.ix.pods[member] }

// StatefulSet returns the StatefulSet that creates a member's Pod, nil if it was not read.
func (c *Cluster) StatefulSet(member string) *appsv1.StatefulSet { return c.ix.set(member) }

// Containers returns the names of the containers in which the members' ScyllaDB runs.
func (c *Cluster) Containers() matrix.Containers { return c.ix.scyllaDB }

// Place returns a member's place by its labels, with the host ID that its Service records.
func (c *Cluster) Place(member string) matrix.Ref { return c.ix.refs[member] }

// Claims returns the existing PVCs of a member, in the order of its StatefulSet's templates; only
// "data" if the templates are unknown.
func (c *Cluster) Claims(member string) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for _, name := range c.ix.claimNames(member) {
		if p := c.ix.pvcs[name]; p != nil {
			out = append(out, p)
		}
	}
	return out
}

func (ix *index) claimNames(member string) []string {
	set := ix.set(member)
	if set == nil {
		return []string{"data-" + member}
	}
	var out []string
	for i := range set.Spec.VolumeClaimTemplates {
		out = append(out, set.Spec.VolumeClaimTemplates[i].Name+"-"+member)
	}
	return out
}

// Said returns the report of a member's node: its own answer if it gave one, else the annotation of
// its Pod. Nil if there is neither or the annotation is not readable.
func (c *Cluster) Said(member string) *api.NodeStatusReport {
	if r := c.Live[member]; r != nil && r.Error == nil {
		return r
	}
	return c.annotations[member].report
}

// Joined returns the joined annotation of a member Service, nil if absent or not a boolean.
func Joined(svc *corev1.Service) *bool { return joined(svc) }

// PodWaiting completes "it waits for ..." for a Pod whose ScyllaDB is not ready; zero if it is
// ready.
func PodWaiting(pod *corev1.Pod) words.Message {
	what, _ := podWaiting(pod)
	return what
}

// PodReady reports whether the Pod's condition Ready is true.
func PodReady(pod *corev1.Pod) bool {
	return conditionTrue(pod, corev1.PodReady)
}

func conditionTrue(pod *corev1.Pod, t corev1.PodConditionType) bool {
	c := podCondition(pod, t)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Initialising reports whether the Pod is scheduled and not all its init containers have ended, so
// ScyllaDB was not started in it.
func Initialising(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending || !podScheduled(pod) {
		return false
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := containerStatus(pod.Status.InitContainerStatuses, c.Name)
		if !isSidecar(c) && (st == nil || st.State.Terminated == nil || st.State.Terminated.ExitCode != 0) {
			return true
		}
	}
	return false
}

// Forces reports whether the object's force annotation opens barriers: only "true" does.
func Forces(o metav1.Object) bool {
	return o.GetAnnotations()[api.AnnotationForceProceed] == api.ForceProceedValue
}

// Rolling reports whether Kubernetes replaces a StatefulSet's Pods by Pods of a new revision. With
// update strategy OnDelete it replaces none, with a partition only Pods with the highest ordinals.
func Rolling(set *appsv1.StatefulSet) bool {
	st, strategy := &set.Status, &set.Spec.UpdateStrategy
	if st.UpdateRevision == "" || st.UpdateRevision == st.CurrentRevision ||
		strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return false
	}
	r := strategy.RollingUpdate
	return r == nil || ptr.Deref(r.Partition, 0) == 0 || st.UpdatedReplicas < st.Replicas-*r.Partition
}

// ScyllaDBStatus returns the status of ScyllaDB's container in a Pod, nil while the kubelet has not
// reported one.
func ScyllaDBStatus(pod *corev1.Pod) *corev1.ContainerStatus {
	c := ScyllaDBContainer(&pod.Spec)
	if c == nil {
		return nil
	}
	return containerStatus(pod.Status.ContainerStatuses, c.Name)
}
