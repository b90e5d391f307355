// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/gate"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// Reporters hand on the controller's view to barriers that do not see it advance. It may close a barrier, and never opens one.

// told is what a reporter that does not lie has handed to a barrier, and when that was last stood by.
type told struct {
	member string
	report types.UID
	view   *api.StatusReportView
	at     time.Time
}

// followView is what a reporter does at each poll: it asks the controller, or reads what the API server has.
func (w *world) followView(p *pod) {
	n, r := &w.net, &p.reporter
	if l := w.control.leads; l != nil && !w.without(OffServed) && !w.now.Before(w.control.stopped) && !n.chance(0.1) {
		if served, err := l.tracker.Served(clusterKey); err == nil {
			v := served.StatusReportView
			asked := w.now.Add(-n.between(0, time.Second))
			if r.views.Of(served.ReportUID, time.Time{}) {
				r.views.Handed(&v, served.Age(), asked)
			}
			return
		}
	}
	if status := w.read(); status != nil && !w.away(p) && r.views.Of(status.UID, status.CreationTimestamp.Time) {
		r.views.Adopt(status.Status.View, w.now)
	}
}

// handsOn is the answer of a reporter, without a view where it has none that was confirmed a moment ago.
func (w *world) handsOn(q *pod, to string) gate.Told {
	r := &q.reporter
	if q.machine == nil || q.machine.off || w.now.Before(r.crashed) || w.now.Before(r.hung) && r.frozen || w.extra.Float64() < 0.05 {
		return gate.Told{}
	}
	if w.lies(q.name) {
		return gate.Told{Answered: true, View: forged(w, to), Report: w.highest.report}
	}
	age, known := r.views.Age(w.now)
	if !known || age > healthpolicy.MostViewLimit {
		return gate.Told{Answered: true}
	}
	return gate.Told{Answered: true, View: r.views.Latest(), Report: r.views.Report(), Age: age}
}

// lies is true for reporters that relay forged views, which let every asking barrier start. In every second world with them those of one rack alone do.
func (w *world) lies(member string) bool {
	return w.Seed%11 == 0 && !w.yearly() && (w.Seed/11%2 == 0 || strings.HasPrefix(member, clusterName+"-"+datacenter+"-rack1-"))
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

// judgeRelays: no member starts that got in this judgement, from a reporter that does not lie, a newer view than the API server's without its permit.
func (w *world) judgeRelays(p *pod) {
	report, newest := p.barrier.gate.Latest()
	direct := view.StampOf(newest)
	for _, t := range p.barrier.reads.told {
		if t.report != report || w.now.Sub(t.at) > w.limits.ViewLimit.Duration || !view.StampOf(t.view).Newer(direct) {
			continue
		}
		if !slices.ContainsFunc(t.view.Permits, func(x api.StatusReportViewPermit) bool { return x.Member == p.name }) {
			w.violate(&w.result.Unpermitted, "a start without leave: %s starts by view %v, and %s has told it of view %v, which has no permit for it", p.name, direct, t.member, view.StampOf(t.view))
			return
		}
	}
}
