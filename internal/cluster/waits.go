// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// barrierWait is the annotation of a Pod that waits in its barrier; nil where it does not wait, or the annotation cannot be read: it adds detail to a wait that is seen
// without it.
func barrierWait(pod *corev1.Pod) *api.BarrierWait {
	value, ok := pod.Annotations[api.AnnotationBarrier]
	if !ok || !waitsInBarrier(pod) {
		return nil
	}
	w, err := api.DecodeBarrierWait(value)
	if err != nil {
		return nil
	}
	return w
}

// Named is the node that a barrier names by its host ID, or where it has none by its member's name.
func (c *Cluster) Named(id string) matrix.Ref {
	if id == "" {
		return matrix.Ref{}
	}
	if at, ok := c.all.Index(hostid.Known(id)); ok {
		return c.all.Nodes()[at].Ref
	}
	if ref, ok := c.ix.refs[id]; ok {
		return ref
	}
	return matrix.Ref{HostID: hostid.Known(id)}
}
