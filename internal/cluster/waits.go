// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/memory"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// barrierWait returns the annotation of a Pod that waits in its barrier or launcher; nil if it does
// not wait or the annotation is not readable. It only adds detail to a wait.
func barrierWait(pod *corev1.Pod) *api.BarrierWait {
	value, ok := pod.Annotations[api.AnnotationBarrier]
	if !ok || !waitsInBarrier(pod) && !waitsInLauncher(pod) {
		return nil
	}
	w, err := waits.Read(value, api.DecodeBarrierWait)
	if err != nil {
		return nil
	}
	return w
}

// waits has the annotations of waiting Pods, which several facts of each member come from.
var waits memory.Of[*api.BarrierWait]

// Named returns the node that a barrier names by host ID or, without one, by member name.
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
