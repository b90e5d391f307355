// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Rollout is a StatefulSet of the cluster that is not at rest.
type Rollout struct {
	StatefulSet string
	// Cause is RolloutRevision or RolloutNotReady with its numbers.
	Cause words.Message
	// Rolling is true while its Pods are replaced by others of a new revision.
	Rolling bool
}

// Rollouts are the StatefulSets that are not at rest: with Pods of another revision than the newest, or with fewer ready Pods than members that have joined. A node that restarts
// in the middle of a join rolls the join back. Not counted are newcomers, as they have not joined; members that are replaced, leave or were removed; and with self that member and
// the dead nodes that its replacement ignores. newcomer is nil where the caller asks for the whole cluster.
func (c *Cluster) Rollouts(newcomer *Member) []Rollout {
	var out []Rollout
	var dead []hostid.ID
	var own *appsv1.StatefulSet // self's, whose rollout waits for self
	var self *corev1.Service
	if newcomer != nil {
		self, dead = newcomer.Service, newcomer.IgnoredDead()
		if set := c.ix.set(self.Name); set != nil && ofOldRevision(&set.Status) && c.holder(set, self) != "" {
			own = set
		}
	}
	members := map[string]int32{}
	for i := range c.Services {
		v := &c.Services[i]
		if j := joined(v); j == nil || !*j || c.going(v) || self != nil && v.Name == self.Name ||
			slices.Contains(dead, recordedHostID(v)) {
			continue
		}
		if set := c.ix.set(v.Name); set != nil {
			members[set.Name]++
		}
	}
	for i := range c.StatefulSets {
		set := &c.StatefulSets[i]
		status := &set.Status
		switch {
		case status.UpdateRevision == "":
			// Saved without status, or not yet read by the StatefulSet controller: nothing is known of a rollout.
		case set.Generation > status.ObservedGeneration && status.ObservedGeneration > 0, ofOldRevision(status):
			if own != nil && set.Name == own.Name || (own != nil || replaces(self)) && c.goesFirst(self, set) {
				continue
			}
			out = append(out, Rollout{StatefulSet: set.Name, Cause: words.New(words.PodsOfOldRevision,
				"statefulSet", set.Name, "updated", status.UpdatedReplicas, "replicas", status.Replicas)})
		case status.ReadyReplicas < members[set.Name]:
			pods, gate := c.notReady(set)
			out = append(out, Rollout{StatefulSet: set.Name, Rolling: c.rolling(set), Cause: words.New(words.FewerPodsReady,
				"statefulSet", set.Name, "ready", status.ReadyReplicas, "joined", members[set.Name], "pods", pods, "gate", gate)})
		}
	}
	return out
}

// rolling is Rolling, unless each Pod that exists is of the newest revision: what is not ready then is no rollout. A Pod without the label counts as of another.
func (c *Cluster) rolling(set *appsv1.StatefulSet) bool {
	if !Rolling(set) {
		return false
	}
	exists := false
	for _, name := range MemberNames(set) {
		m := c.Member(name)
		if m.Pod != nil && !m.Current() {
			return true
		}
		exists = exists || m.Pod != nil
	}
	return !exists
}

// notReady are a StatefulSet's Pods that are not Ready, and the readiness gate of the first one all of whose containers are.
func (c *Cluster) notReady(set *appsv1.StatefulSet) (pods []string, gate string) {
	for _, name := range MemberNames(set) {
		m := c.Member(name)
		if m.Pod == nil || m.Ready() {
			continue
		}
		if pods = append(pods, name); gate == "" {
			gate = failingGate(m.Pod)
		}
	}
	return pods, gate
}

// failingGate is the readiness gate that keeps a Pod from being Ready although its containers are; empty where there is none.
func failingGate(pod *corev1.Pod) string {
	if c := podCondition(pod, corev1.ContainersReady); c == nil || c.Status != corev1.ConditionTrue {
		return ""
	}
	for _, g := range pod.Spec.ReadinessGates {
		if c := podCondition(pod, g.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			return string(g.ConditionType)
		}
	}
	return ""
}

// ofOldRevision is true while there are Pods of another revision than the newest.
func ofOldRevision(status *appsv1.StatefulSetStatus) bool {
	return status.CurrentRevision != status.UpdateRevision && status.UpdatedReplicas < status.Replicas
}

// goesFirst is true for a newcomer that does not wait for the rollout of another StatefulSet, because that rollout waits for a newcomer of its own. Two newcomers that each hold up
// their own rollout would wait for each other's: the first by name goes first. A replacement goes before every plain newcomer, which has to wait for the dead node anyway.
func (c *Cluster) goesFirst(self *corev1.Service, set *appsv1.StatefulSet) bool {
	other := c.holder(set, nil)
	if other == "" {
		return false
	}
	mine, its := replaces(self), replaces(c.ix.services[other])
	return mine && !its || mine == its && self.Name < other
}

func replaces(v *corev1.Service) bool {
	return v != nil && v.Labels[api.LabelReplacingNodeHostID] != ""
}

// holder is the newcomer that the rollout of a StatefulSet waits for, so that no member is restarted before it is ready; empty where there is none. A rolling update deletes Pods
// from the largest ordinal down, and stops at one that is not ready; above the holder no Pod of an old revision is left. self, where it is set, is the newcomer in question.
// Without it, the holder must not have begun to join: its end would let the rollout go on.
func (c *Cluster) holder(set *appsv1.StatefulSet, self *corev1.Service) string {
	if set.Generation > set.Status.ObservedGeneration && set.Status.ObservedGeneration > 0 {
		return "" // how many Pods are of the newest revision is not known yet
	}
	first, n := Ordinals(set)
	missing := 0
	if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		missing = max(0, n-int(set.Status.Replicas)) // Pods are created one after the other: those of the highest ordinals do not exist yet
	}
	top := first + n - 1 - missing
	if top < first {
		return ""
	}
	if missing > 0 && set.Status.ReadyReplicas == set.Status.Replicas-1 {
		// It creates its Pods one after the other and one is not ready: until that one is ready it creates and deletes no other, whatever their revisions are.
		return c.firstHolder(set, self, first, top)
	}
	return c.firstHolder(set, self, top, max(first, top-int(set.Status.UpdatedReplicas)))
}

// firstHolder is holder among the Pods from one ordinal to another, both included, in that order; from may be the larger one.
func (c *Cluster) firstHolder(set *appsv1.StatefulSet, self *corev1.Service, from, to int) string {
	step := cmp.Or(cmp.Compare(to, from), 1)
	for at := from; at != to+step; at += step {
		name := fmt.Sprintf("%s-%d", set.Name, at)
		v := c.ix.services[name]
		j := joined(v)
		switch {
		case self != nil && name == self.Name:
			return name
		case self != nil || j != nil && *j && !c.going(v):
		case v == nil || !c.joining(v):
			return name
		default:
			return ""
		}
	}
	return ""
}

// joining is true for a newcomer that may be joining: the rows list its recorded host ID, or an operation is open with its host ID or with none.
func (c *Cluster) joining(v *corev1.Service) bool {
	id := recordedHostID(v)
	if id == "" {
		return false
	}
	// A node that was removed is in no row: its member, with an empty volume, is a newcomer that waits.
	if at, listed := c.all.Index(id); listed && !c.all.Nodes()[at].Removed && !c.recordsReplaced(v, id) {
		return true
	}
	operations, _ := c.Operations()
	return slices.ContainsFunc(operations, func(op api.NodeOperation) bool {
		return OperationOpen(op) && (op.HostID == "" || op.HostID == id)
	})
}

// recordsReplaced is true while a member Service still records the node that is to be replaced, or is being replaced: that host ID is the dead node's, not the newcomer's.
func (c *Cluster) recordsReplaced(v *corev1.Service, id hostid.ID) bool {
	original, open := v.Labels[api.LabelReplacingNodeHostID]
	_, asked := v.Labels[api.LabelReplace]
	return open && hostid.Known(original) == id || asked && !open
}

// going is true for a member that is not expected to be ready: it is replaced, leaves, or was removed.
func (c *Cluster) going(v *corev1.Service) bool {
	for _, label := range []string{api.LabelReplace, api.LabelReplacingNodeHostID, api.LabelDecommissioned} {
		if _, ok := v.Labels[label]; ok {
			return true
		}
	}
	at, ok := c.all.Index(recordedHostID(v))
	return ok && c.all.Nodes()[at].Removed
}
