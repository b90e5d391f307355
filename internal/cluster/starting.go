// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// SettledDown is how long a node must have been DOWN before any output suggests to replace it: most nodes that go DOWN come back by themselves.
const SettledDown = healthpolicy.Dead

// Next steps of nodes that are DOWN for a passing reason. A replacement would wipe an intact volume.
const (
	StepWaitForStart code.Code = "WaitForStart" // waits; command: get the Pod
	// StepWaitForLeaving is for a member that the Scylla Operator has removed from its report while it still leaves.
	StepWaitForLeaving code.Code = "WaitForLeaving" // command: its log
	// StepSeeDecommissioned is for a member whose Service says that it has left while rows list it.
	StepSeeDecommissioned  code.Code = "SeeDecommissioned"  // commands: nodetool status, get the Service
	StepMendKubernetesNode code.Code = "MendKubernetesNode" // kubernetesNode; command: describe the Kubernetes node
)

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
func (c *Cluster) passing(member string) code.Message {
	pod := c.ix.pods[member]
	switch {
	case pod == nil:
		return c.inOrder(member)
	case c.NodeLost(pod):
		return code.New(StepMendKubernetesNode, "kubernetesNode", pod.Spec.NodeName).Do(code.Kubectl("", "describe", "node", pod.Spec.NodeName))
	case Starting(pod):
		return code.New(StepWaitForStart, "waits", PodWaiting(pod)).Do(code.Kubectl(c.Namespace, "get", "pod", member))
	}
	return code.Message{}
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
		if pod := c.ix.pods[member]; pod != nil {
			fate.NotReadySince = notReadySince(pod)
		}
		if !fate.Step.IsZero() || !fate.NotReadySince.IsZero() {
			fates[id] = fate
		}
	}
}
