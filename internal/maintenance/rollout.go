// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Rollout is a StatefulSet of the cluster that is not at rest.
type Rollout struct {
	StatefulSet string
	// Cause is PodsOfOldRevision or FewerPodsReady with its numbers.
	Cause words.Message
	// Rolling is true while its Pods are being replaced by Pods of a new revision.
	Rolling bool
}

// Rollouts returns the StatefulSets that are not at rest: with Pods that a rollout will replace, or
// with fewer ready Pods than joined members. A node that restarts in the middle of a join rolls the
// join back. Not counted are:
//   - new nodes, because they have not joined
//   - members that are replaced, leave or were removed
//   - self and the dead nodes that its replacement ignores; nil for the whole cluster
//   - a rollout that restarts no node
func Rollouts(c *cluster.Cluster, self *cluster.Member) []Rollout {
	var out []Rollout
	var dead []hostid.ID
	var own *appsv1.StatefulSet // self's StatefulSet
	waits := false              // its rollout waits for self
	if self != nil {
		dead, own = self.IgnoredDead(), self.StatefulSet
		waits = own != nil && ofOldRevision(own) && holder(c, own, self, nil) != nil
	}
	joined := map[string]int32{}
	for _, m := range c.Serviced() {
		if m.StatefulSet != nil && m.HasJoined() && !m.Going() && (self == nil || m.Member != self.Member) &&
			!slices.Contains(dead, m.RecordedID()) {
			joined[m.StatefulSet.Name]++
		}
	}
	nodes := nodesBySet(c, self)
	for i := range c.StatefulSets {
		set := &c.StatefulSets[i]
		status := &set.Status
		switch {
		case status.UpdateRevision == "":
			// Saved without status, or not yet read by the StatefulSet controller: no rollout is
			// known.
		case unobserved(set), ofOldRevision(set):
			switch {
			case (waits || byHostID(self)) && goesFirst(c, self, set):
				continue
			case own == nil || set.Name != own.Name:
				if !nodes[set.Name] {
					continue
				}
			case waits, len(nodes) == 0 && !unobserved(set):
				// Until the first node has joined, no Pod becomes Ready, and a rollout does not
				// pass a Pod that is not.
				continue
			}
			out = append(out, Rollout{StatefulSet: set.Name, Cause: words.New(causeOf(set),
				"statefulSet", set.Name, "updated", status.UpdatedReplicas, "replicas", status.Replicas)})
		case status.ReadyReplicas < joined[set.Name]:
			pods, gate := notReady(c, set)
			cause := words.New(words.FewerPodsReady, "statefulSet", set.Name, "ready", status.ReadyReplicas, "joined",
				int(joined[set.Name]), "pods", pods, "gate", gate)
			if len(pods) > 0 {
				cause.Params["why"] = c.SidecarTrouble(pods[0])
			}
			out = append(out, Rollout{StatefulSet: set.Name, Rolling: rolling(c, set), Cause: cause})
		}
	}
	return out
}

// nodesBySet returns the StatefulSets with a Pod, other than self's, that runs a node or may start
// one: it has joined, records a host ID, or its barrier has opened.
func nodesBySet(c *cluster.Cluster, self *cluster.Member) map[string]bool {
	nodes := map[string]bool{}
	members := c.Members()
	for i := range members {
		m := &members[i]
		if m.StatefulSet != nil && (self == nil || m.Member != self.Member) &&
			(m.EverJoined() || m.RecordedID() != "" || m.HostID != "" || m.PastBarrier()) {
			nodes[m.StatefulSet.Name] = true
		}
	}
	return nodes
}

// byInject reports whether `kubectl scylla inject` replaces the Pods one by one.
func byInject(set *appsv1.StatefulSet) bool {
	_, is := set.Annotations[api.AnnotationRolling]
	return is && onDelete(set)
}

func onDelete(set *appsv1.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
}

// causeOf distinguishes the rollouts that `kubectl rollout status` shows from those of inject.
func causeOf(set *appsv1.StatefulSet) words.Code {
	if byInject(set) {
		return words.PodsOfOldTemplate
	}
	return words.PodsOfOldRevision
}

// unobserved reports whether a change of the StatefulSet may have started a rollout that its status
// does not show yet. Without a rollout strategy no change starts one.
func unobserved(set *appsv1.StatefulSet) bool {
	return set.Generation > set.Status.ObservedGeneration && set.Status.ObservedGeneration > 0 &&
		(!onDelete(set) || byInject(set))
}

// rolling is cluster.Rolling, unless each existing Pod is of the newest revision: then Pods that
// are not Ready are not a rollout. A Pod without the label counts as old.
func rolling(c *cluster.Cluster, set *appsv1.StatefulSet) bool {
	if !cluster.Rolling(set) {
		return false
	}
	exists := false
	for _, name := range cluster.MemberNames(set) {
		m := c.Member(name)
		if m.Pod != nil && !m.Current() {
			return true
		}
		exists = exists || m.Pod != nil
	}
	return !exists
}

// notReady returns a StatefulSet's Pods that are not Ready, and the failing readiness gate of the
// first one that has all containers ready.
func notReady(c *cluster.Cluster, set *appsv1.StatefulSet) (pods []string, gate string) {
	for _, name := range cluster.MemberNames(set) {
		m := c.Member(name)
		if m.Pod == nil || m.Ready() {
			continue
		}
		if pods = append(pods, name); gate == "" {
			gate = m.FailingGate()
		}
	}
	return pods, gate
}

// ofOldRevision reports whether a rollout in progress has Pods left to replace. A user's OnDelete
// and the Pods below a partition are no rollout: they stay until the user deletes them.
func ofOldRevision(set *appsv1.StatefulSet) bool {
	return (cluster.Rolling(set) || byInject(set) && set.Status.CurrentRevision != set.Status.UpdateRevision) &&
		set.Status.UpdatedReplicas < set.Status.Replicas
}

// goesFirst reports whether a new node need not wait for the rollout of another StatefulSet,
// because that rollout waits for a new node of its own. Two new nodes that each block their own
// rollout would wait for each other: the first by name starts first. A replacement starts before
// every plain new node, which must wait for the dead node anyway. It also starts before a rollout
// that waits for a dead node that it ignores: that node's own replacement begins after this one.
func goesFirst(c *cluster.Cluster, self *cluster.Member, set *appsv1.StatefulSet) bool {
	other := holder(c, set, nil, self.IgnoredDead())
	if other == nil {
		return false
	}
	mine, its := byHostID(self), byHostID(other)
	return mine && !its || mine == its && self.Member < other.Member
}

func byHostID(m *cluster.Member) bool { return m != nil && m.Label(api.LabelReplacingNodeHostID) != "" }

// holder returns the new node that the rollout of a StatefulSet waits for, so that no member is
// restarted before it is Ready; nil if there is none. A rolling update deletes Pods from the
// largest ordinal down, and stops at a Pod that is not Ready; above the holder there is no Pod of
// an old revision. self, if set, is the new node in question. Without self, the holder must not
// have started to join: its end would let the rollout continue. A member with a host ID of dead is
// a holder too.
func holder(c *cluster.Cluster, set *appsv1.StatefulSet, self *cluster.Member, dead []hostid.ID) *cluster.Member {
	if unobserved(set) {
		return nil // the number of Pods of the newest revision is unknown
	}
	first, n := cluster.Ordinals(set)
	missing := 0
	if set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		// Pods are created one after the other: the highest ordinals do not exist yet
		missing = max(0, n-int(set.Status.Replicas))
	}
	top := first + n - 1 - missing
	if top < first {
		return nil
	}
	if missing > 0 && set.Status.ReadyReplicas == set.Status.Replicas-1 {
		// It creates its Pods one after the other and one is not Ready: until that Pod is Ready it
		// creates and deletes no other, of any revision.
		return firstHolder(c, set, self, dead, first, top)
	}
	return firstHolder(c, set, self, dead, top, max(first, top-int(set.Status.UpdatedReplicas)))
}

// firstHolder is holder among the Pods from ordinal from to ordinal to, inclusive, in that order;
// from may be larger.
func firstHolder(c *cluster.Cluster, set *appsv1.StatefulSet, self *cluster.Member, dead []hostid.ID,
	from, to int) *cluster.Member {
	step := cmp.Or(cmp.Compare(to, from), 1)
	for at := from; at != to+step; at += step {
		name := fmt.Sprintf("%s-%d", set.Name, at)
		// with too many replicas, the last are not members
		m := cmp.Or(c.Member(name), &cluster.Member{Ref: matrix.Ref{Member: name}})
		switch {
		case self != nil && m.Member == self.Member, slices.Contains(dead, m.RecordedID()):
			return m
		case self != nil || m.HasJoined() && !m.Going():
		case !joining(c, m):
			return m
		default:
			return nil
		}
	}
	return nil
}

// joining reports whether a new node may be joining: the rows list its recorded host ID, or an
// operation is open with its host ID or with none.
func joining(c *cluster.Cluster, m *cluster.Member) bool {
	id := m.RecordedID()
	if id == "" {
		return false
	}
	// A removed node is in no row: its member, with an empty volume, is a new node that waits.
	if at, listed := c.Matrix().Index(id); listed && !c.Matrix().Nodes()[at].Removed && !m.RecordsReplaced() {
		return true
	}
	operations, _ := c.Operations()
	return slices.ContainsFunc(Open(operations), func(op api.NodeOperation) bool {
		return op.HostID == "" ||
			op.HostID == id
	})
}
