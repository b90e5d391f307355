// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// Reporters hand on the controller's view to barriers that do not see it advance. It may close a barrier, and never opens one.

const (
	mostRelays = 8
	askRelays  = 5 * time.Second
)

// relays is what a barrier has heard from them.
type relays struct {
	views view.Relayed
	asked time.Time
}

// followView is what a reporter does at each poll: it asks the controller, or reads what the API server has.
func (w *world) followView(p *pod) {
	n, r := &w.net, &p.reporter
	if l := w.control.leads; l != nil && !w.now.Before(w.control.stopped) && !n.chance(0.1) {
		if served, err := l.tracker.Served(clusterKey); err == nil {
			v := served.StatusReportView
			r.views.Handed(&v, served.Age(), w.now.Add(-n.between(0, time.Second)))
			return
		}
	}
	if status := w.read(); status != nil && !w.away(p) {
		r.views.Adopt(status.Status.View, w.now)
	}
}

// handsOn is the view that a reporter has, and its age; nil where it has none that anybody stood by a moment ago, and where it does not answer.
func (w *world) handsOn(q *pod, to string) (*api.StatusReportView, time.Duration) {
	r := &q.reporter
	if q.machine == nil || q.machine.off || w.now.Before(r.crashed) || w.now.Before(r.hung) && r.frozen || w.net.chance(0.05) {
		return nil, 0
	}
	if w.liar() {
		return forged(w, to), 0
	}
	age, known := r.views.Age(w.now)
	if !known || age > bootstrap.ViewLimit {
		return nil, 0
	}
	return r.views.Latest(), age
}

// liar is true in a world whose reporters hand on what no controller has said: that whoever asks may start.
func (w *world) liar() bool { return w.Seed%11 == 0 }

func forged(w *world, to string) *api.StatusReportView {
	v := &api.StatusReportView{Epoch: w.highest.Epoch + 1, Seq: int64(w.now.Sub(start)/time.Second) + 1, ObservedAt: metav1.NewTime(w.now), Policy: api.PolicyPermits, Founder: to}
	kind := api.PermitJoin
	if len(w.groups) == 0 {
		kind = api.PermitForm
	}
	if p := w.pods[to]; p != nil {
		v.Permits = []api.StatusReportViewPermit{{Kind: kind, Member: to, PVCUID: p.claim.obj.UID}}
	}
	return v
}

// askRelays asks the other members' reporters, unless that was done a moment ago.
func (w *world) askRelays(p *pod) {
	r := &p.barrier.leave.relays
	if !r.asked.IsZero() && w.now.Sub(r.asked) < askRelays {
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
		v, age := w.handsOn(q, p.name)
		if v == nil {
			continue
		}
		r.views.Adopt(v, age, w.now)
		if w.Rule == RelaysOpen {
			p.barrier.leave.views.Handed(v, age, w.now)
		}
		if w.net.chance(0.05) { // the answer comes once more, later
			b := p.barrier
			w.after(w.net.between(time.Second, time.Minute), func() { b.leave.relays.views.Adopt(v, age, w.now) })
		}
	}
}

// turned are why a view that was handed on, and that the API server has not, does not let the member start.
func (w *world) turned(p *pod, x bootstrap.Permission, blockers func(*bootstrap.Permission) []matrix.Blocker) []matrix.Blocker {
	direct := x.View
	if x.View = p.barrier.leave.relays.views.Against(direct, w.now); x.View == nil {
		return nil
	}
	list := blockers(&x)
	if len(list) > 0 {
		w.tracef("%s: a relay holds it back by view %v, the API server has %v", p.name, view.StampOf(x.View), view.StampOf(direct))
	}
	return list
}
