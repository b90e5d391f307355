// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// ReplaceHintAfter is how long a node must have been DOWN before any output suggests replacing it:
// most nodes that go DOWN recover without help.
const ReplaceHintAfter = healthpolicy.Dead

// Serving reports whether ScyllaDB's container in the Pod is ready; false without a Pod.
func Serving(pod *corev1.Pod) bool { return serving(pod) }

// Starting reports whether the Pod is starting: it is being deleted and will be recreated, runs its
// init containers, or runs ScyllaDB that is not ready yet. It is false for a Pod that is ready,
// crashes, has no Kubernetes node, or whose Kubernetes node is not responding.
func Starting(pod *corev1.Pod) bool {
	switch {
	case pod == nil || nodeLost(pod) || serving(pod) && pod.DeletionTimestamp == nil:
		return false
	case pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return false
	case pod.DeletionTimestamp != nil:
		return true
	case !podScheduled(pod):
		return false
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; !isSidecar(c) &&
			crashed(containerStatus(pod.Status.InitContainerStatuses, c.Name)) {
			return false
		}
	}
	return !crashed(ScyllaDBStatus(pod))
}

// crashed reports whether the container ended with an error, or the kubelet waits to restart it.
func crashed(st *corev1.ContainerStatus) bool {
	if st == nil {
		return false
	}
	if t := st.State.Terminated; t != nil {
		return t.ExitCode != 0
	}
	return st.State.Waiting != nil && failing(st.State.Waiting.Reason)
}

// Cause is a cause of a DOWN node that a replacement does not remove, as far as the objects show
// one.
type Cause uint8

const (
	CauseNone              Cause = iota
	CauseDecommissionLabel       // its Service has the label of a decommissioned node
	CauseLeaving                 // the Scylla Operator decommissions it
	CauseLeftOut                 // it has no tokens, and the operator's report omits it
	CauseOrder                   // its Pod is not created before a Pod of a lower ordinal is Ready
	CauseKubernetesNode          // the Kubernetes node of its Pod or volume is not responding
	CauseCordon                  // the Kubernetes node of its volume is cordoned
	CauseUnscheduled             // its Pod is unschedulable, and its volume can be used
	CauseDataGone                // its volume is empty, and no other node has the data
	CausePod                     // Kubernetes does not run its containers, for a known reason
	CauseHalted                  // ScyllaDB does not start without help while its container runs
	CauseStarting                // it is starting
)

// Cause returns the cause for a host ID of a member here, with its object: the member of a lower
// ordinal, or the Kubernetes node.
func (c *Cluster) Cause(id hostid.ID) (cause Cause, object string) {
	if !c.all.Options().Fates[id].Passes {
		return CauseNone, ""
	}
	return c.cause(c.ix.hosts[id])
}

func (c *Cluster) cause(member string) (cause Cause, object string) {
	if svc := c.ix.services[member]; svc != nil {
		switch asked, leaves := svc.Labels[api.LabelDecommissioned]; {
		case asked == api.DecommissionedDone:
			return CauseDecommissionLabel, ""
		case leaves && c.Operator:
			return CauseLeaving, ""
		case c.leftOut(member):
			return CauseLeftOut, ""
		}
	}
	pod := c.ix.pods[member]
	switch {
	case pod == nil:
		if lower := c.HeldByOrder(member); lower != "" {
			return CauseOrder, lower
		}
		if !c.notCreated(member).IsZero() {
			return CausePod, ""
		}
		return CauseNone, ""
	case c.NodeLost(pod):
		return CauseKubernetesNode, pod.Spec.NodeName
	case c.DataGone(member):
		return CauseDataGone, ""
	case unscheduled(pod):
		return c.unscheduled(member)
	case c.KubernetesNode(pod).State != KubernetesNodeGone && !c.Trouble(member).IsZero():
		return CausePod, ""
	case !c.Halted(member).IsZero():
		return CauseHalted, ""
	case Starting(pod):
		return CauseStarting, ""
	}
	return CauseNone, ""
}

// DataGone reports whether this is the only member that has ever joined, and its barrier found its
// volume empty: waiting cannot help.
func (c *Cluster) DataGone(member string) bool {
	pod, j := c.ix.pods[member], joined(c.ix.services[member])
	if pod == nil || j == nil || !*j {
		return false
	}
	if w := barrierWait(pod); w == nil || !w.EmptyVolume {
		return false
	}
	recorded := c.Recorded()
	return len(recorded) == 1 && c.otherDatacenter().IsZero() && recorded[0].Labels[api.LabelReplacingNodeHostID] == ""
}

// Unschedulable reports whether the scheduler has found no Kubernetes node for the Pod.
func Unschedulable(pod *corev1.Pod) bool {
	c := podCondition(pod, corev1.PodScheduled)
	return unscheduled(pod) && c != nil && c.Reason == corev1.PodReasonUnschedulable
}

// unscheduled reports whether the Pod waits for a Kubernetes node. Containers with a status were on
// a node.
func unscheduled(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending && !podScheduled(pod) &&
		len(pod.Status.ContainerStatuses) == 0
}

// unscheduled returns the cause for a Pod that waits for a Kubernetes node: its volume exists, so
// nothing is replaced. It is CauseNone only if the volume is pinned to a Kubernetes node that was
// deleted.
func (c *Cluster) unscheduled(member string) (cause Cause, object string) {
	n, pinned, _ := c.volumeNode(member)
	switch {
	case pinned && n.State == KubernetesNodeGone, c.claimLost(member):
		return CauseNone, ""
	case pinned && n.Lost():
		return CauseKubernetesNode, n.Name
	case n.State == KubernetesNodeReady+cordoned:
		return CauseCordon, n.Name
	}
	return CauseUnscheduled, ""
}

// Unscheduled returns the cause for a member whose Pod waits for a Kubernetes node; CauseNone for
// any other, or if its volume is gone. usable is true if the Kubernetes node of its volume is known
// to be Ready, or the volume can move: such a member must not be replaced.
func (c *Cluster) Unscheduled(member string) (cause Cause, object string, usable bool) {
	pod := c.ix.pods[member]
	if pod == nil || !unscheduled(pod) {
		return CauseNone, "", false
	}
	n, pinned, moves := c.volumeNode(member)
	cause, object = c.unscheduled(member)
	return cause, object, moves || pinned && n.State == KubernetesNodeReady || n.State == KubernetesNodeReady+cordoned
}

// notReadySince returns since when a Pod has not been Ready, or has had no Kubernetes node; zero if
// neither is known.
func notReadySince(pod *corev1.Pod) time.Time {
	if podCondition(pod, corev1.PodReady) != nil {
		return podTransition(pod, corev1.PodReady)
	}
	return podTransition(pod, corev1.PodScheduled)
}

// StartingSince returns since when the member's Pod has been starting: since its containers, its
// init containers or the Pod itself got that far; zero if unknown.
func (m *Member) StartingSince() time.Time {
	if !m.WaitingSince.IsZero() || m.Pod == nil {
		return m.WaitingSince
	}
	since := m.StartedAt()
	if c := podCondition(m.Pod, corev1.PodInitialized); c != nil && c.LastTransitionTime.After(since) {
		since = c.LastTransitionTime.Time
	}
	if at := notReadySince(m.Pod); at.After(since) {
		since = at
	}
	return since
}

// addTransientSteps adds to the nodes' fates whether their cause is known, and since when their
// Pods have not been Ready. It keeps an existing fate, for example of a replacement, and adds to
// it only that ScyllaDB refuses the volume.
func (c *Cluster) addTransientSteps(fates map[hostid.ID]matrix.NodeFacts) {
	for id, member := range c.ix.hosts {
		fate, known := fates[id]
		if !known {
			cause, _ := c.cause(member)
			fate = matrix.NodeFacts{Passes: cause != CauseNone, Explained: cause == CauseOrder}
			if pod := c.ix.pods[member]; pod != nil {
				wait := barrierWait(pod)
				fate.NotReadySince, fate.Explained = notReadySince(pod), wait != nil && wait.EmptyVolume
			}
		}
		fate.Explained = fate.Explained || c.refusesVolume(member)
		if fate != (matrix.NodeFacts{}) {
			fates[id] = fate
		}
	}
}
