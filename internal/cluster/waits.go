// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// held are the blockers that the member's own barrier reports beyond those of the objects: nil where it does not run, or reports nothing that can be read. They come from the Pod,
// so only known reasons count, without their steps: commands are ours.
func (c *Cluster) held(member string) []matrix.Blocker {
	pod := c.ix.pods[member]
	if pod == nil {
		return nil
	}
	w := barrierWait(pod)
	if w == nil {
		return nil
	}
	var held []matrix.Blocker
	for _, r := range w.Refusals {
		if reason := words.Code(r.Reason); slices.Contains(matrix.Reasons(), reason) {
			held = append(held, c.refusal(member, reason, r))
		}
	}
	if len(held) == 0 && w.StableSince != nil && w.StableFor.Duration > 0 {
		elapsed := time.Duration(0)
		if !c.TakenAt.IsZero() {
			elapsed = max(0, c.TakenAt.Sub(w.StableSince.Time)) // two machines' clocks: the rest is never more than the whole window
		}
		held = append(held, bootstrap.Stabilising(w.StableFor.Duration, elapsed))
	}
	return held
}

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

// refusal is a blocker of the barrier. Its cause is within another one, so that nobody takes a code and names of the Pod's for facts of the objects.
func (c *Cluster) refusal(member string, reason words.Code, r api.BarrierRefusal) matrix.Blocker {
	b := matrix.Blocker{Reason: reason, Observed: c.named(r.Observed), Observer: c.named(r.Observer), Detail: cmp.Or(r.Detail, r.Words), Hearsay: true}
	switch reason {
	case words.ReporterSilent:
		b.Observer = matrix.Ref{}
	case words.NoOtherSeed, words.SeedsOfAnotherCluster:
		b.Observed, b.Observer = c.ix.refs[member], matrix.Ref{}
	}
	if !r.Cause.IsZero() {
		b.Cause, b.Detail = words.New(words.BarrierFound, "why", r.Cause), ""
	}
	return b
}

// named is the node that a barrier names by its host ID, or where it has none by its member's name.
func (c *Cluster) named(id string) matrix.Ref {
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
