// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// KubernetesNode is the known state of a Pod's Kubernetes node.
type KubernetesNode struct {
	Name string `json:"name"`
	// State is as in the STATUS column of "kubectl get nodes", or Gone for one that does not exist; empty where it was not read.
	State string `json:"state,omitempty"`
}

// States of a Kubernetes node.
const (
	KubernetesNodeReady    = "Ready"
	KubernetesNodeNotReady = "NotReady"
	KubernetesNodeGone     = "Gone"
	cordoned               = ",SchedulingDisabled"
)

// KubernetesNodeReadiness is the node's Ready condition; empty where the node has none.
func KubernetesNodeReadiness(n *corev1.Node) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// KubernetesNodeState is the state of a Kubernetes node that exists.
func KubernetesNodeState(n *corev1.Node) string {
	state := KubernetesNodeNotReady
	if KubernetesNodeReadiness(n).Status == corev1.ConditionTrue {
		state = KubernetesNodeReady
	}
	if n.Spec.Unschedulable {
		state += cordoned
	}
	return state
}

// String is the name, with the state where that is known and other than Ready.
func (n KubernetesNode) String() string {
	if n.State == "" || n.State == KubernetesNodeReady {
		return n.Name
	}
	return n.Name + " (" + n.State + ")"
}

// Lost is true for one that exists and is not ready.
func (n KubernetesNode) Lost() bool {
	return n.State == KubernetesNodeNotReady || n.State == KubernetesNodeNotReady+cordoned
}

// KubernetesNode is the one that a Pod is on; without a name where it has none.
func (o *Objects) KubernetesNode(pod *corev1.Pod) KubernetesNode {
	if pod == nil {
		return KubernetesNode{}
	}
	return KubernetesNode{Name: pod.Spec.NodeName, State: o.Machines[pod.Spec.NodeName]}
}

// volumeNode is the Kubernetes node that the volume of a member is on. pinned is true where its PersistentVolume can be used nowhere else; else the node is only the one that the scheduler
// chose first. moves is true where the volume can be used elsewhere.
func (c *Cluster) volumeNode(member string) (n KubernetesNode, pinned, moves bool) {
	pvc := c.ix.pvcs[c.ix.pvcName(member)]
	if pvc == nil {
		return n, false, false
	}
	nodes, read := c.Volumes[pvc.Spec.VolumeName]
	name := pvc.Annotations[SelectedNode]
	if pinned = read && len(nodes) == 1; pinned {
		name = nodes[0]
	}
	return KubernetesNode{Name: name, State: c.Machines[name]}, pinned, read && !pinned
}

// SelectedNode is the annotation of a PersistentVolumeClaim with the Kubernetes node for which its volume was made, written by the scheduler.
const SelectedNode = "volume.kubernetes.io/selected-node"

// NodeLost is true while the Kubernetes node of a Pod does not answer: by the Pod's own conditions, and by the Kubernetes node's where that was read. A node that no longer exists
// will not answer again, and is not waited for.
func (o *Objects) NodeLost(pod *corev1.Pod) bool {
	n := o.KubernetesNode(pod)
	return n.State != KubernetesNodeGone && (n.Lost() || nodeLost(pod))
}

// Fact is the state as a fact; zero where it is not known.
func (n KubernetesNode) Fact() words.Message {
	if n.Name == "" || n.State == "" {
		return words.Message{}
	}
	return words.New(words.KubernetesNodeIs, "kubernetesNode", n.Name, "state", n.State)
}
