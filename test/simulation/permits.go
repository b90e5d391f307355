// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// permits is true under policy permits.
func (w *world) permits() bool { return w.Rule == Permits }

// judgeOrder: the views that a barrier goes by never go back.
func (w *world) judgeOrder(p *pod) {
	b := p.barrier
	report, v := b.gate.Latest()
	if v == nil {
		return
	}
	if s := view.StampOf(v); !b.last.goes(report, s) {
		w.violate(&w.result.Backwards, "a view goes backwards: the barrier of %s goes by view %v of report %s after %v of report %s", p.name, s, report, b.last.stamp, b.last.report)
	}
}

// published is told of every view that the API server gets.
func (w *world) published(status *api.ScyllaDBStatusReport) {
	if status == nil || status.Status.View == nil {
		return
	}
	v := status.Status.View
	for name := range w.granted { // all of them: the order does not matter
		if !slices.ContainsFunc(v.Permits, func(x api.StatusReportViewPermit) bool { return x.Member == name }) {
			w.withdrawn[name] = w.now
			delete(w.granted, name)
		}
	}
	for _, x := range v.Permits {
		w.granted[x.Member] = x.PVCUID
	}
	w.stood = w.now
	h, s := &w.highest, view.StampOf(v)
	newer := h.report != status.UID || s.Newer(h.stamp)
	switch {
	case newer && h.goes(status.UID, s):
		w.highestView, w.written[status.UID] = v, s
		w.tracef("view %d/%d: %s", s.Epoch, s.Seq, said(v))
	case newer || s != h.stamp || !view.Same(v, w.highestView):
		w.violate(&w.result.Backwards, "a view goes backwards: view %v is written after %v", s, h.stamp)
	}
}

// behind is how old what an API server answers may be.
const behind = 30 * time.Second

// judgePermit: no node starts for the first time without an existing permit, or one that existed a moment ago, in a view that was confirmed a moment ago; and where one may join at
// once, no node starts while another one is joining.
func (w *world) judgePermit(p *pod, d bootstrap.Decision) {
	if !w.permits() || d.Permit() == "" {
		return
	}
	if w.judgeGranted(p); w.now.Sub(w.stood) > w.limits.ViewLimit.Duration+behind {
		w.violate(&w.result.Unpermitted, "a start without leave: %s starts by a view that nobody has stood by for %s", p.name, w.now.Sub(w.stood).Round(time.Second))
	}
	w.judgeRelays(p)
	w.judgeTogether(p)
}

// judgeLaunch is judgePermit when the launcher starts ScyllaDB, by whatever view was written last. A process that has run may have founded the cluster unseen: where nobody
// has a permit and there is no cluster, the launcher takes it for the only member, and its start can harm nobody.
func (w *world) judgeLaunch(p *pod) {
	o, d := p.opened, p.claim.disk
	if p.barrier.verdict.Decision == bootstrap.DecisionRestart && len(w.granted) == 0 && len(w.groups) == 0 {
		return
	}
	if w.permits() && o != nil && o.decision.Permit() != "" && !d.asked && d.group == nil {
		w.judgeGranted(p)
		w.judgeTogether(p)
	}
}

func (w *world) judgeGranted(p *pod) {
	switch claim, granted := w.granted[p.name]; {
	case granted && claim != p.claim.obj.UID && w.Schedule == nil: // a schedule may change it after it was read
		w.violate(&w.result.Unpermitted, "a start without leave: %s starts on claim %s, and its permit is for %s", p.name, p.claim.obj.UID, claim)
	case !granted && w.now.Sub(w.withdrawn[p.name]) > behind+time.Second:
		w.violate(&w.result.Unpermitted, "a start without leave: %s starts without a permit, and had none for %s", p.name, w.now.Sub(w.withdrawn[p.name]).Round(time.Second))
	}
}

// judgeTogether: where one may join at once, no new node starts while another one is on its way in. One whose launcher waits for a permit anew is not.
func (w *world) judgeTogether(p *pod) {
	for _, name := range w.podNames.of(w.pods) {
		q := w.pods[name]
		if _, granted := w.granted[name]; q.stage == launching && !granted {
			continue
		}
		if q != p && q.stage >= launching && !q.deleting && q.opened != nil && q.opened.decision.Permit() != "" && !q.claim.disk.complete && w.most() == 1 {
			w.violate(&w.result.Together, "two at once: %s starts while %s, let through at %s, is on its way in", p.name, name, q.opened.at.Sub(start).Round(time.Second))
		}
	}
}

func said(v *api.StatusReportView) string {
	text := ""
	for i := range v.Members {
		if m := &v.Members[i]; m.State != api.NodeStatusUp {
			text += m.Name + " is " + string(m.State) + ", "
		}
	}
	for _, p := range v.Permits {
		text += p.Member + " may " + string(p.Kind) + ", "
	}
	for _, q := range v.Queue {
		text += q.Member + " waits for " + q.Reason + ", "
	}
	return text + v.Hold
}

// watcher is an outside reader of the views, from any source that answers: the API server, one of its servers that is behind, or a controller that
// believes to lead.
type watcher struct {
	views view.Receiver
	last  order
}

// consume takes what a process serves, if it does.
func (w *world) consume(l *leader) {
	c := &w.watcher
	asked := w.now.Add(-w.net.between(0, time.Second))
	if served, err := l.tracker.Served(clusterKey); err == nil {
		v := served.StatusReportView
		if c.views.Of(served.ReportUID, time.Time{}) {
			c.views.Handed(&v, served.Age(), asked)
		}
	}
	w.seen()
}

// follow is a look of that watcher.
func (w *world) follow() {
	c := &w.watcher
	if l := w.control.leads; l != nil && w.net.chance(0.5) {
		w.consume(l)
		return
	}
	if r := w.read(); r != nil && c.views.Of(r.UID, r.CreationTimestamp.Time) {
		c.views.Adopt(r.Status.View, w.now)
	}
	w.seen()
}

// seen checks that the watcher's view never goes back, and that no source serves more than was written.
func (w *world) seen() {
	c := &w.watcher
	if c.views.Latest() == nil {
		return
	}
	switch s := view.StampOf(c.views.Latest()); {
	case !c.last.goes(c.views.Report(), s):
		w.violate(&w.result.Backwards, "a view goes backwards: a watcher goes by view %v of report %s after %v of report %s", s, c.views.Report(), c.last.stamp, c.last.report)
	case s.Newer(w.written[c.views.Report()]):
		w.violate(&w.result.Backwards, "a view goes backwards: a watcher was handed view %v, and the latest that was written is %v", s, w.written[c.views.Report()])
	}
}
