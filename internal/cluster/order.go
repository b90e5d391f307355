// SPDX-License-Identifier: Apache-2.0

package cluster

import appsv1 "k8s.io/api/apps/v1"

// HeldByOrder returns the lowest ordinal that keeps a member's Pod from being created. The member
// has no Pod, its StatefulSet creates Pods in order, and the lower ordinal has no Ready Pod. Empty
// otherwise, or if the Pods were not read.
func (c *Cluster) HeldByOrder(member string) string {
	set := c.ix.set(member)
	if set == nil || c.ix.pods[member] != nil || set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement ||
		len(c.Pods) == 0 && c.Read&KindPods == 0 {
		return ""
	}
	_, ordinal, ok := cutOrdinal(member)
	first, n := Ordinals(set)
	if !ok || int(ordinal) >= first+n {
		return ""
	}
	for o := first; o < int(ordinal); o++ {
		lower := memberName(set.Name, o)
		if pod := c.ix.pods[lower]; pod == nil || !PodReady(pod) {
			return lower
		}
	}
	return ""
}
