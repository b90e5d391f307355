// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// blind answers a gate's readings without what is switched off. What there is to know, the judge sees all the same.
type blind struct {
	*watched
	turn  int64                     // of views that seem newer than all before
	real  view.Stamp                // of the view that was answered last
	first *api.ScyllaDBStatusReport // of the last reading of everything
}

func (b *blind) Cluster() (*cluster.Cluster, *matrix.Blocker) {
	c, trouble := b.watched.Cluster()
	if c == nil {
		return c, trouble
	}
	o := c.Objects
	b.w.leftOut(&o, b.p.name)
	o.StatusReport = b.newer(o.StatusReport, b.w.without(OffFirst))
	b.first = o.StatusReport
	return cluster.New(o, cluster.SourceReport, b.Now()), nil
}

func (b *blind) Report() (*api.ScyllaDBStatusReport, *matrix.Blocker) {
	r, trouble := b.watched.Report()
	switch {
	case b.w.without(OffSecond) && b.first != nil:
		return b.first, nil
	case r == nil:
		return r, trouble
	}
	o := cluster.Objects{StatusReport: r}
	b.w.leftOut(&o, b.p.name)
	return b.newer(o.StatusReport, false), trouble
}

// newer has a view that seems newer than all before, and in a forged one the member may start.
func (b *blind) newer(r *api.ScyllaDBStatusReport, forge bool) *api.ScyllaDBStatusReport {
	if r == nil || r.Status.View == nil || !b.w.without(OffAge) && !b.w.without(OffFirst) {
		return r
	}
	out := *r
	b.real = view.StampOf(r.Status.View)
	if out.Status.View = r.Status.View.DeepCopy(); forge {
		out.Status.View = forged(b.w, b.p.name)
		out.Status.View.Founder = r.Status.View.Founder
	}
	b.stamp(out.Status.View)
	return &out
}

func (b *blind) stamp(v *api.StatusReportView) {
	b.turn++
	v.Epoch, v.Seq = 1<<40, b.turn
}

func (b *blind) Lease() (*coordinationv1.Lease, words.Message) {
	l, unread := b.watched.Lease()
	switch {
	case b.w.without(OffLease):
		l, unread = &coordinationv1.Lease{}, words.Message{}
		l.Spec.HolderIdentity, l.Spec.RenewTime = ptr.To("controller"), ptr.To(metav1.NewMicroTime(b.w.now))
	case l == nil || !b.w.without(OffKept):
		return l, unread
	default:
		l = l.DeepCopy()
	}
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationKeeps, api.KeepMark(namespace, clusterName))
	return l, unread
}

func (b *blind) Claim(name string) (types.UID, bool, *matrix.Blocker) {
	uid, deleting, x := b.watched.Claim(name)
	if m := b.permit(); m != nil && b.w.without(OffClaim) {
		return m.PVCUID, false, nil
	}
	return uid, deleting, x
}

func (b *blind) PodUID() (types.UID, *matrix.Blocker) {
	uid, x := b.watched.PodUID()
	if m := b.permit(); m != nil && b.w.without(OffClaim) {
		return m.PodUID, nil
	}
	return uid, x
}

func (b *blind) Pods(of *cluster.Cluster) (cluster.Objects, map[string]string, *matrix.Blocker) {
	o, digests, x := b.watched.Pods(of)
	if b.w.without(OffPods) {
		b.w.wellRows(&o, b.p.name)
	}
	return o, digests, x
}

func (b *blind) Neighbours() (cluster.Neighbourhood, *matrix.Blocker) {
	if b.w.without(OffNeighbours) {
		return cluster.Neighbourhood{}, nil
	}
	return b.watched.Neighbours()
}

func (b *blind) Confirm(of []*cluster.Member, digests map[string]string) []error {
	if b.w.without(OffDigest) {
		digests = map[string]string{}
		for name, q := range b.w.pods { // a map: the order does not matter
			digests[name] = q.reporter.beat.digest
		}
	}
	out := b.watched.Confirm(of, digests)
	if b.w.without(OffReporters) {
		return make([]error, len(of))
	}
	return out
}

func (b *blind) Views(relays []gate.Relay) []gate.Told {
	out := b.watched.Views(relays)
	for i := range out {
		switch v := out[i].View; {
		case v == nil:
		case b.w.without(OffRelays):
			out[i] = gate.Told{Answered: true}
		case b.w.without(OffAge) || b.w.without(OffFirst):
			newer := view.StampOf(v).Newer(b.real)
			if out[i].View = v.DeepCopy(); newer {
				b.stamp(out[i].View)
			}
		}
	}
	return out
}
