// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// StuckOldPod returns the policy of the StatefulSet with which Kubernetes never replaces the
// member's Pod, although it is not Ready and a new Pod would have another template: OrderedReady
// (kubernetes issue 67250) or OnDelete. It is empty if deleting the Pod would not help or could
// harm:
//   - Kubernetes replaces the Pod itself, or deletes it already
//   - a Pod of that template is not Ready either
//   - a PVC of the Pod is being deleted, and would be deleted with it
//   - a new node runs in it, whose join would be cancelled
func (c *Cluster) StuckOldPod(member string) string {
	pod, set := c.ix.pods[member], c.StatefulSet(member)
	if pod == nil || set == nil || set.Status.ObservedGeneration != set.Generation || PodReady(pod) ||
		pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || c.NodeLost(pod) ||
		!c.KeepsClaims(member) {
		return ""
	}
	revision, next := podRevision(pod), nextRevision(set, member)
	if revision == "" || next == "" || revision == next {
		return ""
	}
	if m := c.Member(member); m != nil && !m.HasJoined() && !m.StartedAt().IsZero() && !m.WaitsInBarrier() {
		return ""
	}
	for _, name := range MemberNames(set) {
		if p := c.ix.pods[name]; p != nil && podRevision(p) == next && !PodReady(p) {
			return ""
		}
	}
	switch {
	case set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		return string(appsv1.OnDeleteStatefulSetStrategyType)
	case set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement:
		return ""
	}
	return string(appsv1.OrderedReadyPodManagement)
}

func podRevision(p *corev1.Pod) string { return p.Labels[appsv1.ControllerRevisionHashLabelKey] }

// nextRevision returns the revision that a new Pod of that name gets; below the partition of a
// rolling update it is the present one.
func nextRevision(set *appsv1.StatefulSet, name string) string {
	first, _ := Ordinals(set)
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil &&
		set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		if _, ordinal, ok := cutOrdinal(name); ok && int(ordinal) < first+int(*r.Partition) {
			return set.Status.CurrentRevision
		}
	}
	return set.Status.UpdateRevision
}
