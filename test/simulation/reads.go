// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// reads is what the gate of a Pod reads in this world, with the boundaries around each kind of reading. What is switched off it answers as if there were nothing
// to protect from: what there is to know, the judge sees all the same.
type reads struct {
	w *world
	p *pod
	// until then requests of the present judgement are answered.
	until time.Time
	told  []told // in the present judgement, for the invariants
	record

	// Of what is switched off.
	turn    int64                     // of views that seem newer than all before
	real    view.Stamp                // of the view that was answered last
	earlier *api.ScyllaDBStatusReport // of the last reading of everything
}

// judgeTimeout bounds the requests of one judgement, as internal/agent/barrier does.
const judgeTimeout = 30 * time.Second

// read crosses the boundary before one kind of reading, and what it returns that after it.
func (r *reads) read(of source) func() {
	r.w.cross(r.p, before(of))
	return func() {
		r.note(of)
		r.w.cross(r.p, after(of))
	}
}

// isCut is true where the Pod does not reach the API server, or its judgement has no time left.
func (r *reads) isCut() bool { return r.w.isCut(r.p) || r.w.now.After(r.until) }

// unreachable is the answer of an API server that a Pod does not reach.
func unreachable() *matrix.Blocker {
	return &matrix.Blocker{Reason: words.APIUnreachable, Detail: errSilent.Error()}
}

// cut is why the Pod does not reach the API server; nil if it does.
func (r *reads) cut() *matrix.Blocker {
	if r.isCut() {
		return unreachable()
	}
	return nil
}

func (r *reads) Now() time.Time { return r.p.clock(r.w) }

// answered has the view and the identity that an API server answers, which may be behind, and all else as it is.
func (r *reads) answered() *api.ScyllaDBStatusReport {
	w, a := r.w, &r.w.adversary
	if w.status == nil || r.isCut() {
		return nil
	}
	read := w.status
	if w.permits() {
		read = cmp.Or(w.read(), read)
	}
	if a.pinned != nil && w.now.Before(a.pinnedX) {
		read = a.pinned
	}
	if read == w.status {
		return read
	}
	out := *w.status
	out.UID, out.CreationTimestamp, out.Status.View = read.UID, read.CreationTimestamp, read.Status.View
	return &out
}

func (r *reads) Cluster() (*cluster.Cluster, *matrix.Blocker) {
	defer r.read(readCluster)()
	if x := r.cut(); x != nil {
		return nil, x
	}
	report := r.answered()
	r.answer(report)
	c := r.w.cluster(kindsOfBarrier, cluster.SourceReport, r.Now(), report)
	if len(r.w.Off) == 0 {
		return c, nil
	}
	o := c.Objects
	r.w.leftOut(&o, r.p.name)
	o.StatusReport = r.newer(o.StatusReport, r.w.without(OffFirst))
	r.earlier = o.StatusReport
	return cluster.New(o, cluster.SourceReport, r.Now()), nil
}

func (r *reads) Report() (*api.ScyllaDBStatusReport, *matrix.Blocker) {
	defer r.read(readReport)()
	report := r.answered()
	r.answer(report)
	switch {
	case r.w.without(OffSecond) && r.earlier != nil:
		return r.earlier, nil
	case report == nil:
		return nil, unreachable()
	}
	o := cluster.Objects{StatusReport: report}
	r.w.leftOut(&o, r.p.name)
	return r.newer(o.StatusReport, false), nil
}

// newer has a view that seems newer than all before, and in a forged one the member may start.
func (r *reads) newer(report *api.ScyllaDBStatusReport, forge bool) *api.ScyllaDBStatusReport {
	if report == nil || report.Status.View == nil || !r.w.without(OffAge) && !r.w.without(OffFirst) {
		return report
	}
	out := *report
	r.real = view.StampOf(report.Status.View)
	if out.Status.View = report.Status.View.DeepCopy(); forge {
		out.Status.View = forged(r.w, r.p.name)
		out.Status.View.Founder = report.Status.View.Founder
	}
	r.stamp(out.Status.View)
	return &out
}

func (r *reads) stamp(v *api.StatusReportView) {
	r.turn++
	v.Epoch, v.Seq = 1<<40, r.turn
}

func (r *reads) LeaseName() string { return "kubectl-scylla/" + api.LeaseName }

func (r *reads) Lease() (*coordinationv1.Lease, words.Message) {
	defer r.read(readLease)()
	l, cut := r.w.lease, r.isCut()
	if !cut {
		r.renews(l)
	}
	switch {
	case r.w.without(OffLease):
		l = &coordinationv1.Lease{}
		l.Spec.HolderIdentity, l.Spec.RenewTime = ptr.To("controller"), ptr.To(metav1.NewMicroTime(r.w.now))
	case cut:
		return nil, words.New(words.LeaseUnread, "lease", r.LeaseName(), "error", errSilent.Error())
	case l == nil || !r.w.without(OffKept):
		return l, words.Message{}
	default:
		l = l.DeepCopy()
	}
	metav1.SetMetaDataAnnotation(&l.ObjectMeta, api.AnnotationKeeps, api.KeepMark(namespace, clusterName))
	return l, words.Message{}
}

func (r *reads) Claim(name string) (types.UID, bool, *matrix.Blocker) {
	defer r.read(readClaim)()
	if m := r.permit(); m != nil && r.w.without(OffClaim) {
		return m.PVCUID, false, nil
	}
	c := r.w.claims[name]
	if x := r.cut(); c == nil || x != nil {
		return "", false, x
	}
	return c.obj.UID, c.deleting, nil
}

func (r *reads) PodUID() (types.UID, *matrix.Blocker) {
	defer r.read(readPodUID)()
	if m := r.permit(); m != nil && r.w.without(OffClaim) {
		return m.PodUID, nil
	}
	return r.p.obj.UID, nil
}

func (r *reads) Ran() hostid.ID {
	if r.isCut() {
		return ""
	}
	return r.p.row.LastHostID()
}

func (r *reads) Pods(of *cluster.Cluster) (cluster.Objects, map[string]string, *matrix.Blocker) {
	defer r.read(readPods)()
	objects, digests, x := cluster.Objects{}, map[string]string(nil), r.cut()
	if x == nil {
		now := r.w.objects(everything)
		objects, digests = of.Objects, map[string]string{}
		objects.Pods, objects.Decoder, objects.Read = now.Pods, now.Decoder, objects.Read|cluster.KindPods
		for i := range now.Pods {
			digests[now.Pods[i].Name] = api.ReportDigest(now.Pods[i].Annotations[api.AnnotationNodeStatusReport])
		}
	}
	if r.w.without(OffPods) {
		r.w.wellRows(&objects, r.p.name)
	}
	return objects, digests, x
}

func (r *reads) Neighbours() (cluster.Neighbourhood, *matrix.Blocker) {
	if r.w.without(OffNeighbours) {
		return cluster.Neighbourhood{}, nil
	}
	all := r.w.objects(everything)
	return cluster.Neighbourhood{Services: all.Services, Pods: all.Pods}, r.cut()
}

var errSilent = errors.New("no answer")

// Confirm has the pinned answers of reporters. Mum reporters do not tell their row, and every answer of theirs confirms it.
func (r *reads) Confirm(reporters []*cluster.Member, digests map[string]string) []error {
	defer r.read(readConfirm)()
	out := make([]error, len(reporters))
	if r.w.without(OffReporters) {
		return out
	}
	for i, m := range reporters {
		h, q := m.Heartbeat(), r.w.pods[m.Ref.Member]
		if h == nil || r.w.now.After(r.until) || q == nil || q.machine == nil || q.machine.off || q.reporter.state(r.w.now) != reporterWell ||
			!r.w.Mum && (q.fingerprint() != h.Fingerprint || q.reporter.beat.digest != digests[m.Ref.Member] && !r.w.without(OffDigest)) {
			out[i] = errSilent
		}
	}
	return out
}

func (r *reads) Relays(members []string) (found []gate.Relay) {
	if r.isCut() {
		return nil
	}
	for _, name := range members {
		q := r.w.pods[name]
		if q == nil {
			continue
		}
		if address, fingerprint, serves := cluster.ServedAt(q.obj); serves {
			found = append(found, gate.Relay{Member: name, Address: address, Fingerprint: fingerprint})
		}
	}
	return found
}

// Views has what the reporters hand on, each by the certificate that it had when the gate looked.
func (r *reads) Views(relays []gate.Relay) []gate.Told {
	defer r.read(readViews)()
	out := make([]gate.Told, len(relays))
	for i, q := range relays {
		m := r.w.pods[q.Member]
		if m == nil || m.fingerprint() != q.Fingerprint {
			continue
		}
		out[i] = r.w.handsOn(m, r.p.name)
		v := out[i].View
		if v == nil {
			continue
		}
		if !r.w.lies(q.Member) {
			r.told = append(r.told, told{q.Member, out[i].Report, v, r.w.now.Add(-out[i].Age)})
		}
		switch {
		case r.w.without(OffRelays):
			out[i] = gate.Told{Answered: true}
		case r.w.without(OffAge) || r.w.without(OffFirst):
			newer := view.StampOf(v).Newer(r.real)
			if out[i].View = v.DeepCopy(); newer {
				r.stamp(out[i].View)
			}
		}
	}
	return out
}
