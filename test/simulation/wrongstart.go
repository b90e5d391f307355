// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// Wrong start: a gate opens for a new node, and what it read last, or could have read, forbids it. Each fact has one reading that must be the last one of its
// kind before an opening, in this order: what the API server has of sets and reports, by reports the Lease, the Pods' rows, the reporters' answers, the view, the claim,
// the Pod. A fact is judged as it was at that reading; where the gate has left the reading out, or made it too early, as it is at the opening. What happens
// after that reading nobody can know.
//
// The facts are the world's own. None is taken from package gate, nor from the packages that it decides by.

// record is what a gate has read so far.
type record struct {
	n     int // readings
	began int // of them when the present judgement began
	last  map[source]int
	wrong map[source]string // what forbade a start at the last reading of that kind; "" for nothing

	// The newest view that was answered, since when, and whether an older one of its report was answered before.
	view     *api.StatusReportView
	report   types.UID
	newest   view.Stamp
	since    time.Time
	advanced bool
	// The Lease likewise.
	lease   *coordinationv1.Lease
	renewed time.Time
	renewal bool
	// since when nothing that was read has forbidden a start, and the first reading; zero before it
	good, first time.Time
	just        bool // a launcher right after its barrier has opened, whose window counts
}

// answer notes a view that the API server has answered, if it is the newest one so far: a server may be behind.
func (x *reads) answer(r *api.ScyllaDBStatusReport) {
	if r == nil || madeAs(r.UID) < madeAs(x.report) {
		return
	}
	s := view.StampOf(r.Status.View)
	switch {
	case r.UID != x.report:
		x.report, x.advanced = r.UID, false
	case !s.Newer(x.newest):
		return
	default:
		x.advanced = true
	}
	x.record.view, x.newest, x.since = r.Status.View, s, x.w.now
}

func (x *reads) renews(l *coordinationv1.Lease) {
	if x.lease == nil || l == nil || !x.lease.Spec.RenewTime.Equal(l.Spec.RenewTime) {
		x.renewal, x.renewed = x.lease != nil, x.w.now
	}
	x.lease = l
}

// turns is the order of the last readings before an opening.
var turns = map[source]int{readCluster: 1, readLease: 2, readPods: 3, readConfirm: 4, readReport: 5, readClaim: 6, readPodUID: 6}

func (x *reads) note(r source) {
	x.n++
	if x.last == nil {
		x.last, x.wrong = map[source]int{}, map[source]string{}
	}
	x.last[r] = x.n
	if turns[r] == 0 {
		return
	}
	x.wrong[r] = x.forbids(r)
	switch {
	case x.first.IsZero():
		x.first, x.good = x.w.now, x.w.now
	case x.wrong[r] != "" && turns[r] < turns[readReport] && r != readLease:
		x.good = x.w.now
	}
}

// counts is true for a reading of this judgement with none after it that has to be made before it.
func (x *reads) counts(r source) bool {
	at := x.last[r]
	if at <= x.began {
		return false
	}
	for other, n := range x.last { // a search: the order does not matter
		if turns[other] != 0 && turns[other] < turns[r] && n > at {
			return false
		}
	}
	return true
}

func (w *world) judgeOpening(p *pod, v bootstrap.Verdict) {
	x := p.barrier.reads
	switch m := x.permit(); {
	case !v.Decision.Guarded() || w.Mum:
		return
	case w.permits() && m != nil && m.Kind != v.Decision.Permit():
		w.violate(&w.result.WrongStarts, "a wrong start: %s is let through as %s, and its permit is to %s", p.name, v.Decision, m.Kind)
		return
	}
	of := []source{readCluster, readLease, readPods, readConfirm}
	if w.permits() {
		of = []source{readCluster, readPods, readConfirm, readReport, readClaim, readPodUID}
	}
	for _, r := range of {
		why := x.wrong[r]
		if !x.counts(r) {
			why = x.forbids(r)
		}
		if why != "" {
			w.violate(&w.result.WrongStarts, "a wrong start: %s is let through as %s, and by %s %s", p.name, v.Decision, r, why)
			return
		}
	}
	if gone := w.now.Sub(x.good); !w.permits() && v.Decision.Stabilises() && (!x.just || !x.good.Equal(x.first)) && gone < view.Stabilisation {
		w.violate(&w.result.WrongStarts, "a wrong start: %s is let through as %s, and all was well for %s only", p.name, v.Decision, gone)
	}
}

// forbids is why a start of the Pod's new node is wrong by one kind of reading now.
func (x *reads) forbids(r source) string {
	w, p := x.w, x.p
	switch r {
	case readCluster:
		return w.unrest(p)
	case readLease:
		return x.unled()
	case readPods:
		return w.rowsAgainst(p, func(q *pod) *api.NodeStatusReport { return q.row })
	case readConfirm:
		return w.reportersAgainst(p)
	case readReport:
		return x.viewAgainst()
	case readClaim:
		return x.claimAgainst()
	case readPodUID:
		if m := x.permit(); m != nil && m.PodUID != p.obj.UID {
			return "its permit is for another Pod"
		}
	}
	return ""
}

// membersBut are the Pods of nodes that are members for good and recorded, but for the Pod's own node and those that it replaces or ignores.
func (w *world) membersBut(p *pod) map[string]*pod {
	dead, out := w.excepted(p), map[string]*pod{}
	for _, q := range w.pods { // a set: the order does not matter
		d, svc := q.claim.disk, w.service[q.name]
		recorded := svc != nil && svc.Annotations[api.AnnotationHostID] == d.id && svc.Annotations[api.AnnotationNodeJoined] == "true"
		if recorded && q != p && d.complete && d.group != nil && d.group.members[d.id] == normal && !slices.Contains(dead, d.id) {
			out[d.id] = q
		}
	}
	return out
}

// unrest: another set is rolled out, or has fewer ready Pods than members. A rollout of a set without Pods restarts no node.
func (w *world) unrest(p *pod) string {
	populated := map[*set]bool{}
	for _, name := range w.podNames.of(w.pods) {
		q := w.pods[name]
		if q != p && (q.waits() || !q.claim.disk.complete || w.removed(q.claim.disk.id)) {
			return "" // a rollout may wait for that one
		}
		populated[q.set] = true
	}
	joined := map[*set]int32{}
	for _, q := range w.membersBut(p) { // counts: the order does not matter
		if _, replaced := w.service[q.name].Labels[api.LabelReplace]; !replaced && w.service[q.name].Labels[api.LabelReplacingNodeHostID] == "" {
			joined[q.set]++
		}
	}
	for _, s := range w.sets {
		st := &s.obj.Status
		if s == p.set || s.away || st.UpdateRevision == "" {
			continue
		}
		if populated[s] && (s.obj.Generation > st.ObservedGeneration || st.CurrentRevision != st.UpdateRevision && st.UpdatedReplicas < st.Replicas) {
			return s.obj.Name + " is being rolled out"
		}
		if st.ReadyReplicas < joined[s] {
			return s.obj.Name + " has a Pod that is not ready"
		}
	}
	return ""
}

// unled: no controller renews the Lease for this cluster.
func (x *reads) unled() string {
	switch l := x.lease; {
	case l == nil:
		return "there is no Lease"
	case l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "":
		return "nobody holds the Lease"
	case !x.renewal:
		return "the Lease was not seen renewed"
	case x.w.now.Sub(x.renewed) > 2*leaseDuration:
		return "the Lease has not been renewed for long"
	case l.Annotations[api.AnnotationKeeps] != api.KeepMark(namespace, clusterName):
		return "the Lease does not name the cluster"
	}
	return ""
}

// rowsAgainst: a member's row does not have another member as UP.
func (w *world) rowsAgainst(p *pod, rowOf func(*pod) *api.NodeStatusReport) string {
	all := w.membersBut(p)
	for _, observer := range sortedKeys(all) {
		row := rowOf(all[observer])
		if row == nil || row.Error != nil {
			return "there is no row of " + all[observer].name
		}
		for _, o := range row.ObservedNodes {
			if q := all[string(o.HostID)]; q != nil && o.Status != api.NodeStatusUp {
				return all[observer].name + " has " + q.name + " as " + string(o.Status)
			}
		}
	}
	return ""
}

// reportersAgainst: a member's reporter does not answer, has another row than its Pod, or has a member as DOWN.
func (w *world) reportersAgainst(p *pod) string {
	all := w.membersBut(p)
	for _, id := range sortedKeys(all) {
		q := all[id]
		switch b := &q.reporter.beat; {
		case q.machine == nil || q.machine.off || q.reporter.state(w.now) != reporterWell:
			return "the reporter of " + q.name + " does not answer"
		case b.row != q.obj.Annotations[api.AnnotationNodeStatusReport]:
			return "the reporter of " + q.name + " has another row than its Pod"
		}
	}
	return w.rowsAgainst(p, func(q *pod) *api.NodeStatusReport { return q.reporter.said })
}

func (x *reads) permit() *api.StatusReportViewPermit {
	v := x.record.view
	if v == nil {
		return nil
	}
	for i := range v.Permits {
		if v.Permits[i].Member == x.p.name {
			return &v.Permits[i]
		}
	}
	return nil
}

// viewAgainst: the view that was answered last lets nobody start, or not this member, or may be old.
func (x *reads) viewAgainst() string {
	v, m := x.record.view, x.permit()
	switch {
	case v == nil:
		return "there is no view"
	case m == nil:
		return "its view has no permit for it"
	case v.Policy != api.PolicyPermits:
		return "its view gives no permits"
	case v.Hold != "":
		return "its view holds"
	case !x.advanced:
		return "its view was not seen to advance"
	case x.w.now.Sub(x.since) > x.w.limits.ViewLimit.Duration:
		return "its view has not advanced for " + x.w.now.Sub(x.since).String()
	}
	return x.w.statesAgainst(x.p, v)
}

// statesAgainst: a view does not have a member as UP; as DOWN, where the Pod's node replaces or ignores it.
func (w *world) statesAgainst(p *pod, v *api.StatusReportView) string {
	dead := w.excepted(p)
	for i := range v.Members {
		m, want := &v.Members[i], api.NodeStatusUp
		if slices.Contains(dead, m.HostID) {
			want = api.NodeStatusDown
		}
		if m.State != want {
			return "its view has " + m.Name + " as " + string(m.State)
		}
	}
	return ""
}

func (x *reads) claimAgainst() string {
	c := x.w.claims[x.p.claim.obj.Name]
	switch m := x.permit(); {
	case c == nil:
		return "its claim is gone"
	case c.deleting:
		return "its claim is being deleted"
	case m != nil && m.PVCUID != c.obj.UID:
		return "its permit is for another claim"
	}
	return ""
}

// Wrong permit: a view lets a member start although that view, or those of the last seconds, forbid it. A barrier would not use most of them: each reading is
// judged by itself, so that what one withholds does not hide what another lets pass.

// sighted is when the controller of a term made a view that has a member as not UP, and what its own clock said, which may jump.
type sighted struct {
	epoch    int64
	at, said time.Time
}

// judgeView that a controller has made, whether or not it is written: a permit stays until it is used, also one that was in a view before whose write failed.
// A view that was made of an older cluster report is not judged: its write meets a conflict. Nor is the view of a later leader, which one that has been
// succeeded leaves as it is; it makes none where there is none.
func (w *world) judgeView(l *leader, v *api.StatusReportView) {
	if r := l.cache.StatusReport; v == nil || r != w.status || l != w.control.leads && r != nil && view.StampOf(v) == view.StampOf(r.Status.View) {
		return
	}
	before := l.issued
	l.issued = map[string]bool{}
	for i := range v.Permits {
		x := &v.Permits[i]
		_, had := w.granted[x.Member]
		had = had || before[x.Member]
		l.issued[x.Member] = true
		p := w.pods[x.Member]
		read := l.stageOf(x)
		if p == nil || had && (p.opened != nil || read > atBarrier || p.obj.UID != x.PodUID) {
			continue // it has started, or its Pod is gone and the controller does not know yet
		}
		why := w.permitAgainst(p, v, had)
		if why == "" && !had && read < atBarrier {
			why = "its barrier does not run"
		}
		if why != "" {
			w.violate(&w.result.WrongStarts, "a wrong permit: %s may %s, and %s", x.Member, x.Kind, why)
		}
	}
	for i := range v.Members {
		if m := &v.Members[i]; m.State != api.NodeStatusUp {
			w.notUp[m.HostID] = sighted{v.Epoch, w.now, v.ObservedAt.Time}
		}
	}
}

func (w *world) permitAgainst(p *pod, v *api.StatusReportView, had bool) string {
	if why := w.statesAgainst(p, v); why != "" || had {
		return why
	}
	for i := range v.Members {
		m := &v.Members[i]
		away := w.notUp[m.HostID]
		ago := max(w.now.Sub(away.at), v.ObservedAt.Sub(away.said))
		if m.State == api.NodeStatusUp && away.epoch == v.Epoch && ago < w.limits.Stabilisation.Duration-time.Second {
			return m.Name + " was not UP " + ago.String() + " ago"
		}
	}
	switch together := len(v.Permits); {
	case together > w.most():
		return "more members than may start at once have a permit"
	case together > 1 && slices.ContainsFunc(v.Permits, func(o api.StatusReportViewPermit) bool { return o.Kind != api.PermitJoin }):
		return "it is not alone, and not all of them join"
	}
	return ""
}

// stageOf is how far the Pod of a permit is, as the controller's cache has it.
func (l *leader) stageOf(x *api.StatusReportViewPermit) stage {
	for i := range l.cache.Pods {
		o := &l.cache.Pods[i]
		isBarrier := func(s corev1.ContainerStatus) bool {
			return s.Name == api.ContainerBarrier && s.State.Running != nil
		}
		switch {
		case o.UID != x.PodUID:
		case o.Status.Phase == corev1.PodRunning:
			return running
		case slices.ContainsFunc(o.Status.InitContainerStatuses, isBarrier):
			return atBarrier
		}
	}
	return querying
}
