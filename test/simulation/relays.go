// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Reporters hand on the controller's view to barriers that do not see it advance. It may close a barrier, and never opens one.

const mostRelays = 8

// relays is what a barrier has heard from them, each kept apart: one that is forged, with a stamp as high as it likes, hides what no other says.
type relays struct {
	views  map[string]*view.Relayed
	report types.UID
	asked  time.Time
	// truth is the invariant's own: the newest view that each reporter that does not lie has handed to this barrier, and when it was last stood by.
	truth map[string]told
}

type told struct {
	report types.UID
	view   *api.StatusReportView
	at     time.Time
}

// of says which cluster report the API server has now.
func (r *relays) of(report types.UID) {
	r.report = report
	for _, v := range r.views { // all of them: the order does not matter
		v.Of(report)
	}
}

func (r *relays) by(member string) *view.Relayed {
	if r.views[member] == nil {
		if r.views == nil {
			r.views, r.truth = map[string]*view.Relayed{}, map[string]told{}
		}
		r.views[member] = &view.Relayed{}
		r.views[member].Of(r.report)
	}
	return r.views[member]
}

// followView is what a reporter does at each poll: it asks the controller, or reads what the API server has.
func (w *world) followView(p *pod) {
	n, r := &w.net, &p.reporter
	if l := w.control.leads; l != nil && !w.now.Before(w.control.stopped) && !n.chance(0.1) {
		if served, err := l.tracker.Served(clusterKey); err == nil {
			v := served.StatusReportView
			asked := w.now.Add(-n.between(0, time.Second))
			if r.views.Of(w.reportOf(served.ReportUID), time.Time{}) {
				r.views.Handed(&v, served.Age(), asked)
			}
			return
		}
	}
	if status := w.read(); status != nil && !w.away(p) && r.views.Of(w.reportOf(status.UID), status.CreationTimestamp.Time) {
		r.views.Adopt(status.Status.View, w.now)
	}
}

// handsOn is the view that a reporter has, of which report it is, and its age; nil where it has none that was confirmed a moment ago, and where it does not answer.
func (w *world) handsOn(q *pod, to string, draw *rand.Rand) (*api.StatusReportView, types.UID, time.Duration) {
	r := &q.reporter
	if q.machine == nil || q.machine.off || w.now.Before(r.crashed) || w.now.Before(r.hung) && r.frozen || draw.Float64() < 0.05 {
		return nil, "", 0
	}
	if w.lies(q.name) {
		return forged(w, to), w.reportOf(w.highest.report), 0
	}
	age, known := r.views.Age(w.now)
	if !known || age > healthpolicy.MostViewLimit {
		return nil, "", 0
	}
	return r.views.Latest(), r.views.Report(), age
}

// liar is true in a world in which reporters relay forged views that let every asking barrier start. In every second of them those of one rack alone do.
func (w *world) liar() bool { return w.Seed%11 == 0 }

func (w *world) lies(member string) bool {
	return w.liar() && (w.Seed/11%2 == 0 || strings.HasPrefix(member, clusterName+"-"+datacenter+"-rack1-"))
}

func forged(w *world, to string) *api.StatusReportView {
	v := &api.StatusReportView{Epoch: w.highest.stamp.Epoch + 1, Seq: int64(w.now.Sub(start)/time.Second) + 1, ObservedAt: metav1.NewTime(w.now), Policy: api.PolicyPermits, Founder: to}
	kind := api.PermitJoin
	if len(w.groups) == 0 {
		kind = api.PermitForm
	}
	if svc := w.service[to]; svc != nil && svc.Labels[api.LabelReplacingNodeHostID] != "" {
		kind = api.PermitReplace
	}
	if p := w.pods[to]; p != nil {
		v.Permits = []api.StatusReportViewPermit{{Kind: kind, Member: to, PVCUID: p.claim.obj.UID, PodUID: p.obj.UID}}
	}
	return v
}

// askRelays asks the other members' reporters, unless that was done within pause.
func (w *world) askRelays(p *pod, pause time.Duration, draw *rand.Rand) {
	r := &p.barrier.leave.relays
	if !r.asked.IsZero() && w.now.Sub(r.asked) < pause {
		return
	}
	r.asked = w.now
	asked := 0
	for _, name := range w.podNames.of(w.pods) {
		q := w.pods[name]
		if q == p || asked == mostRelays {
			continue
		}
		asked++
		v, report, age := w.handsOn(q, p.name, draw)
		if v == nil || r.report != "" && report != r.report {
			continue // of a report that is not there any more, or that this barrier has not been shown yet
		}
		from := w.relayOf(name)
		r.by(from).Adopt(v, age, w.now)
		if !w.lies(name) {
			r.truth[name] = told{report, v, w.now.Add(-age)}
		}
		if w.Rule == RelaysOpen {
			p.barrier.leave.views.Handed(v, age, w.now)
		}
		if draw.Float64() < 0.05 { // the answer comes once more, later
			b := p.barrier
			w.after(time.Second+time.Duration(draw.Int64N(int64(time.Minute))), func() {
				if again := &b.leave.relays; again.report == report {
					again.by(from).Adopt(v, age, w.now)
				}
			})
		}
	}
}

// relayOf is by what a barrier keeps apart what it is told.
func (w *world) relayOf(member string) string {
	if w.Rule == RelaysMerged {
		return "" // a planted bug
	}
	return member
}

// turned are why a view that was handed on, and that the API server has not, does not let the member start.
func (w *world) turned(p *pod, x bootstrap.Permission, blockers func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	// What the API server has may be behind, however young it looks: this member is about to start by it.
	w.askRelays(p, gate.AskRelays, w.extra)
	direct, r := x.View, &p.barrier.leave.relays
	x.Old = words.Message{}
	for _, member := range sortedKeys(r.views) {
		if x.View = r.views[member].Against(direct, w.now, w.limits.ViewLimit.Duration); x.View == nil {
			continue
		}
		if list := blockers(&x); len(list) > 0 {
			w.tracef("%s: %s hands on view %v, which holds it back, the API server has %v", p.name, member, view.StampOf(x.View), view.StampOf(direct))
			return list
		}
	}
	return nil
}

// judgeRelays: no member starts that got a moment ago, from a reporter that does not lie, a newer view than the API server's without its permit.
func (w *world) judgeRelays(p *pod) {
	l := &p.barrier.leave
	direct := view.StampOf(l.views.Latest())
	for _, name := range sortedKeys(l.relays.truth) {
		t := l.relays.truth[name]
		if t.report != l.views.Report() || w.now.Sub(t.at) > w.limits.ViewLimit.Duration || !view.StampOf(t.view).Newer(direct) {
			continue
		}
		if !slices.ContainsFunc(t.view.Permits, func(x api.StatusReportViewPermit) bool { return x.Member == p.name }) {
			w.unpermittedStart("%s starts by view %v, and %s had told it of view %v, which has no permit for it", p.name, direct, name, view.StampOf(t.view))
			return
		}
	}
}
