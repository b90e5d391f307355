// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// claimBlockers returns the nodes that run on a volume whose PVC is being deleted. A deletion
// cannot be undone, and Kubernetes keeps the PVC only while the Pod exists. These blockers do not
// block new nodes, but a cluster with one is not healthy.
func (c *Cluster) claimBlockers() []matrix.Blocker {
	var out []matrix.Blocker
	for _, name := range c.ix.names() {
		pod, pvc := c.ix.pods[name], c.ix.pvcs[c.ix.pvcName(name)]
		if pvc == nil || pvc.DeletionTimestamp == nil || !c.isRunningIn(pod, name) {
			continue
		}
		out = append(out, matrix.Blocker{
			Reason: words.ClaimDeleting, Observed: c.ix.refs[name], Since: pvc.DeletionTimestamp.Time,
			Cause: words.New(words.ClaimIsBeingDeleted, "claim", pvc.Name, "pod", name),
		})
	}
	return out
}

// isRunningIn reports whether a node runs in the Pod: its ScyllaDB is Ready, or runs and is seen
// UP. A Pod that is being deleted cannot be kept.
func (c *Cluster) isRunningIn(pod *corev1.Pod, member string) bool {
	if pod == nil || pod.DeletionTimestamp != nil || c.NodeLost(pod) {
		return false
	}
	at, known := c.all.Index(c.ix.refs[member].HostID)
	if known && c.all.Nodes()[at].State == matrix.StateDecommissioned {
		return false // its data is on the other nodes
	}
	if serving(pod) {
		return true
	}
	return known && c.ix.refs[member].HostID != "" && ContainerRuns(pod, c.ix.scyllaDB.Container(member)) &&
		c.all.Nodes()[at].SeenUp > 0
}

// ClaimName returns the name of the member's data PVC, whether or not it exists.
func (c *Cluster) ClaimName(member string) string { return c.ix.pvcName(member) }
