// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// KubernetesNode is the known state of a Pod's Kubernetes node.
type KubernetesNode struct {
	Name string `json:"name"`
	// State is as in the STATUS column of "kubectl get nodes", or Gone if the node does not exist;
	// empty if it was not read.
	State string `json:"state,omitempty"`
}

// States of a Kubernetes node.
const (
	KubernetesNodeReady    = "Ready"
	KubernetesNodeNotReady = "NotReady"
	KubernetesNodeGone     = "Gone"
	cordoned               = ",SchedulingDisabled"
)

// KubernetesNodeReadiness returns the node's Ready condition; empty if the node has none.
func KubernetesNodeReadiness(n *corev1.Node) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}

// KubernetesNodeState returns the state of an existing Kubernetes node.
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

// String returns the name, with the state if it is known and not Ready.
func (n KubernetesNode) String() string {
	if n.State == "" || n.State == KubernetesNodeReady {
		return n.Name
	}
	return n.Name + " (" + n.State + ")"
}

// Ready reports whether the Kubernetes node was read and is Ready, even if it is cordoned.
func (n KubernetesNode) Ready() bool {
	return n.State == KubernetesNodeReady || n.State == KubernetesNodeReady+cordoned
}

// Lost reports whether the Kubernetes node exists and is not Ready.
func (n KubernetesNode) Lost() bool {
	return n.State == KubernetesNodeNotReady || n.State == KubernetesNodeNotReady+cordoned
}

// KubernetesNode returns the Kubernetes node of a Pod; its name is empty if the Pod has none.
func (o *Objects) KubernetesNode(pod *corev1.Pod) KubernetesNode {
	if pod == nil {
		return KubernetesNode{}
	}
	return KubernetesNode{Name: pod.Spec.NodeName, State: o.Machines[pod.Spec.NodeName]}
}

// volumeNode returns the Kubernetes node of the member's volume. pinned is true if its
// PersistentVolume can be used only there; else it is the node that the scheduler chose first.
// moves is true if the volume can be used on other nodes.
func (c *Cluster) volumeNode(member string) (n KubernetesNode, pinned, moves bool) {
	pvc := c.ix.pvcs[c.ix.pvcName(member)]
	if pvc == nil {
		return n, false, false
	}
	nodes, read := c.Volumes[pvc.Spec.VolumeName]
	selected := pvc.Annotations[SelectedNode]
	n.Name = selected
	if pinned = read && len(nodes) == 1; pinned {
		n.Name = nodes[0]
	}
	n.State = c.Machines[n.Name]
	if n.State == KubernetesNodeGone && selected != "" && c.Machines[selected] != KubernetesNodeGone {
		n.State = "" // the Kubernetes node for which the volume was created may exist
	}
	return n, pinned, read && !pinned
}

// SelectedNode is the PVC annotation with the Kubernetes node for which the volume was created; the
// scheduler writes it.
const SelectedNode = "volume.kubernetes.io/selected-node"

// NodeLost reports whether the Pod's Kubernetes node is not responding: by its own state if that
// was read, else by the Pod's conditions. A node that no longer exists never responds again, so
// nothing waits for it. False if the Pod names none.
func (o *Objects) NodeLost(pod *corev1.Pod) bool {
	n := o.KubernetesNode(pod)
	return n.Name != "" && (n.Lost() || n.State == "" && nodeLost(pod))
}

// Fact returns the state as a fact; zero if it is unknown.
func (n KubernetesNode) Fact() words.Message {
	if n.Name == "" || n.State == "" {
		return words.Message{}
	}
	return words.New(words.KubernetesNodeIs, "kubernetesNode", n.Name, "state", n.State)
}
