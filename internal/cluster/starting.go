// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// SettledDown is how long a node must have been DOWN before any output suggests to replace it: most nodes that go DOWN come back by themselves.
const SettledDown = healthpolicy.Dead

// Serving is true while ScyllaDB's container in the Pod is ready; false without a Pod.
func Serving(pod *corev1.Pod) bool { return serving(pod) }

// Starting is true for a Pod on its way to serving: it is being deleted and will be created anew, runs its init containers, or runs ScyllaDB that is not ready yet. It is false for
// a Pod that serves, that crashes, that has no Kubernetes node, or whose Kubernetes node does not answer.
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
		if c := &pod.Spec.InitContainers[i]; !isSidecar(c) && crashed(containerStatus(pod.Status.InitContainerStatuses, c.Name)) {
			return false
		}
	}
	return !crashed(ScyllaDBStatus(pod))
}

// crashed is true for a container that ended with an error, or that the kubelet waits to start again.
func crashed(st *corev1.ContainerStatus) bool {
	if st == nil {
		return false
	}
	if t := st.State.Terminated; t != nil {
		return t.ExitCode != 0
	}
	return st.State.Waiting != nil && failing(st.State.Waiting.Reason)
}

// passing is the next step for a member whose node is DOWN for a reason that passes; zero for any other.
func (c *Cluster) passing(member string) words.Message {
	pod := c.ix.pods[member]
	switch {
	case pod == nil:
		return c.inOrder(member)
	case c.NodeLost(pod):
		return mendStep(pod.Spec.NodeName)
	case c.DataGone(member):
		return words.New(words.BeginAnew).Do(c.beginAnew()...)
	case unscheduled(pod):
		return c.scheduleStep(member, pod)
	}
	if _, step := c.Halted(member); !step.IsZero() {
		return step
	}
	if Starting(pod) {
		return words.New(words.WaitForStart, "waits", PodWaiting(pod)).Do(words.Kubectl(c.Namespace, "get", "pod", member))
	}
	return words.Message{}
}

// DataGone is true for the only member that has ever joined, once its barrier has found its volume empty: waiting cannot help.
func (c *Cluster) DataGone(member string) bool {
	pod, j := c.ix.pods[member], joined(c.ix.services[member])
	if pod == nil || j == nil || !*j {
		return false
	}
	w, recorded := barrierWait(pod), c.Recorded()
	return w != nil && w.EmptyVolume && len(recorded) == 1 && c.otherDatacenter().IsZero() && recorded[0].Labels[api.LabelReplacingNodeHostID] == ""
}

func (c *Cluster) beginAnew() []words.Command {
	if c.Operator {
		return nil
	}
	return []words.Command{words.Scylla(c.Namespace, "init", "reset", c.Name)}
}

func mendStep(machine string) words.Message {
	return words.New(words.MendKubernetesNode, "kubernetesNode", machine).Do(words.Kubectl("", "describe", "node", machine))
}

// unscheduled is true for a Pod that waits for a Kubernetes node. Containers with a state have been on one.
func unscheduled(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending && !podScheduled(pod) && len(pod.Status.ContainerStatuses) == 0
}

// scheduleStep is for a Pod that waits for a Kubernetes node: its volume is there, so nothing is replaced. Zero only where the one Kubernetes node that has the volume was deleted.
func (c *Cluster) scheduleStep(member string, pod *corev1.Pod) words.Message {
	n, pinned, _ := c.volumeNode(member)
	switch {
	case pinned && n.State == KubernetesNodeGone:
		return words.Message{}
	case pinned && n.Lost():
		return mendStep(n.Name)
	case n.State == KubernetesNodeReady+cordoned:
		return words.New(words.UncordonNode, "kubernetesNode", n.Name).Do(words.Kubectl("", "uncordon", n.Name))
	}
	return words.New(words.SeeSchedule).Do(words.Kubectl(c.Namespace, "describe", "pod", pod.Name))
}

// OnlyUnscheduled is the step for a member whose Pod waits for a Kubernetes node while that with its volume is Ready, or the volume can move: it is not to be replaced. Zero for any
// other, and where neither is known.
func (c *Cluster) OnlyUnscheduled(member string) words.Message {
	pod := c.ix.pods[member]
	if pod == nil || !unscheduled(pod) {
		return words.Message{}
	}
	if n, pinned, moves := c.volumeNode(member); !moves && (!pinned || n.State != KubernetesNodeReady) && n.State != KubernetesNodeReady+cordoned {
		return words.Message{}
	}
	return c.scheduleStep(member, pod)
}

// orReplace is the step once the Kubernetes node of a member has not been ready for the health policy's time: it may not return. Zero before, and where that is not known.
func (c *Cluster) orReplace(member string, id hostid.ID) words.Message {
	pod := c.ix.pods[member]
	if pod == nil {
		return words.Message{}
	}
	name := pod.Spec.NodeName
	if unscheduled(pod) {
		n, _, _ := c.volumeNode(member)
		name = n.Name
	}
	since := c.NotReadySince[name]
	if since.IsZero() || c.TakenAt.IsZero() || c.TakenAt.Sub(since) < c.HealthPolicy().Dead.Duration {
		return words.Message{}
	}
	return words.New(words.MendOrReplace, "kubernetesNode", name).Do(words.Kubectl("", "describe", "node", name), words.Scylla(c.Namespace, "replace", string(id)))
}

// notReadySince is since when a Pod has not been ready, or has not had a Kubernetes node; zero when neither is known.
func notReadySince(pod *corev1.Pod) time.Time {
	if podCondition(pod, corev1.PodReady) != nil {
		return podTransition(pod, corev1.PodReady)
	}
	return podTransition(pod, corev1.PodScheduled)
}

// patience adds to the fates of nodes their passing reasons, and since when their Pods have not been ready. An existing fate, as of a replacement, is kept.
func (c *Cluster) patience(fates map[hostid.ID]matrix.Fate) {
	for id, member := range c.ix.hosts {
		if _, known := fates[id]; known {
			continue
		}
		fate := matrix.Fate{Step: c.passing(member)}
		if fate.Step.Code == words.MendKubernetesNode {
			fate.OrReplace = c.orReplace(member, id)
		}
		if pod := c.ix.pods[member]; pod != nil {
			fate.NotReadySince = notReadySince(pod)
		}
		if !fate.Step.IsZero() || !fate.NotReadySince.IsZero() {
			fates[id] = fate
		}
	}
}
