// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

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

// held is a member whose Pod is not created while a lower ordinal waits in its barrier. That
// barrier waits for the member, so neither can start.
type held struct {
	Member string
	Set    *appsv1.StatefulSet
	Lower  *corev1.Pod
}

func (c *Cluster) going(v *corev1.Service) bool {
	for _, label := range []string{api.LabelReplace, api.LabelReplacingNodeHostID, api.LabelDecommissioned} {
		if _, ok := v.Labels[label]; ok {
			return true
		}
	}
	at, ok := c.all.Index(recordedHostID(v))
	return ok && c.all.Nodes()[at].Removed
}

// BlockedByPodOrder returns the members that podManagementPolicy OrderedReady keeps from
// restarting, by name. Without Pods they cannot report it.
func (c *Cluster) BlockedByPodOrder() []held {
	var out []held
	for i := range c.Services {
		v := &c.Services[i]
		if j := joined(v); j == nil || !*j || c.going(v) {
			continue
		}
		if lower := c.WaitsBefore(v.Name); lower != nil {
			out = append(out, held{Member: v.Name, Set: c.ix.set(v.Name), Lower: lower})
		}
	}
	return out
}

// WaitsBefore returns the Pod of HeldByOrder while it waits in its barrier or launcher; else nil.
func (c *Cluster) WaitsBefore(member string) *corev1.Pod {
	lower := c.ix.pods[c.HeldByOrder(member)]
	if lower == nil || !waitsInBarrier(lower) && !waitsInLauncher(lower) {
		return nil
	}
	return lower
}
