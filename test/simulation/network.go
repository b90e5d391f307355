// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// network is what goes wrong with single messages, with our controller's election, and between controller and reporters.
type network struct {
	dice
	// unheard are members whose heartbeats do not reach the controller until then; unheardAll is all of them.
	unheard    map[string]time.Time
	unheardAll time.Time
	// mute: until then no reporter reaches the API server, while all other clients do.
	mute time.Time
	// gone: until then the API server answers nobody.
	gone time.Time
	// published are the cluster reports of the last half minute: a reading may get one of them.
	published []publication
}

type publication struct {
	at     time.Time
	status *api.ScyllaDBStatusReport
}

// networkFaults draws what goes wrong under our own rules in the half hour of a seed.
func (w *world) networkFaults() {
	n := &w.net
	n.dice, n.unheard = newDice(&w.Options, 0x9e37), map[string]time.Time{}
	if !w.permits() || w.Hole || w.Story != nil || w.Schedule != nil || w.yearly() {
		return
	}
	for range 1 + n.IntN(6) {
		w.after(n.between(20*time.Second, healAt-2*time.Minute), w.networkFault)
	}
}

func (w *world) networkFault() {
	n := &w.net
	w.result.Faults++
	until := w.now.Add(n.between(5*time.Second, 4*time.Minute))
	switch n.IntN(9) {
	case 0, 1:
		w.crashController()
	case 2, 3:
		w.freezeController(n.between(2*time.Second, 2*time.Minute))
	case 4:
		w.tracef("FAULT the controller's loop stalls until %s", until.Sub(start).Round(time.Second))
		w.control.loopStalls = until
	case 5:
		if names := w.podNames.of(w.pods); len(names) > 0 {
			name := names[n.IntN(len(names))]
			w.tracef("FAULT the controller does not hear %s until %s", name, until.Sub(start).Round(time.Second))
			n.unheard[name] = until
		}
	case 6:
		w.tracef("FAULT the controller hears no heartbeat until %s", until.Sub(start).Round(time.Second))
		n.unheardAll = until
	case 7:
		w.muteReporters(until)
	default:
		// The Lease of the election is deleted and created anew: its count begins again.
		w.tracef("FAULT the Lease of the election is deleted")
		w.control.transitions = -1
		w.crashController()
	}
}

// muteReporters cuts the reporters, and no other client, off from the API server.
func (w *world) muteReporters(until time.Time) {
	w.tracef("FAULT no reporter reaches the API server until %s", until.Sub(start).Round(time.Second))
	w.net.mute = until
}

// hole is the gap of policy reports: all rows are UP, and stay so, while a node dies and no reporter can write it.
func (w *world) hole() {
	all := w.losable(func(*pod) bool { return true })
	if len(all) == 0 {
		w.scaleUp()
		return
	}
	const lasts = 4 * time.Minute
	w.result.Faults++
	w.muteReporters(w.now.Add(lasts))
	p := pick(w, all)
	w.after(w.between(10*time.Second, 20*time.Second), func() {
		w.tracef("FAULT ScyllaDB in %s dies", p.name)
		w.kill(p, false)
		p.next = w.now.Add(lasts)
	})
	w.after(bound+w.between(15*time.Second, time.Minute), w.scaleUp)
}

// clear ends all of it.
func (n *network) clear() {
	clear(n.unheard)
	n.unheardAll, n.mute = time.Time{}, time.Time{}
}

// message is one write of a reporter.
type message struct {
	text  string
	row   *api.NodeStatusReport
	base  *corev1.Pod // the version of the Pod that it is for
	tries int
}

// away is true while the Pod's machine, or every reporter, does not reach the API server.
func (w *world) away(p *pod) bool { return w.isCut(p) || w.now.Before(w.net.mute) }

// isCut is true while nothing on the Pod's machine reaches the API server.
func (w *world) isCut(p *pod) bool { return w.cut[p.name] || w.now.Before(w.net.gone) }

// readBack is what a reporter does that does not know what its Pod says.
func (r *reporter) readBack(w *world, p *pod) {
	r.base = p.obj
	r.row.Read(p.obj.Annotations[api.AnnotationNodeStatusReport], w.now.Add(publish.CheckEvery))
}

// send takes a while. The message may be lost, arrive after the reporter has given it up, or twice.
func (w *world) send(p *pod, m *message, takes time.Duration) {
	n, r := &w.net, &p.reporter
	m.base, r.sending = r.base, true
	w.after(takes, func() {
		r.sending = false
		x := 1.0
		if w.Rule != Operator && !w.healed {
			x = n.Float64()
		}
		switch {
		case p.removed:
		case w.away(p), x < 0.03:
			r.row.Doubt(w.now)
			r.row.Failed(w.now)
			if !w.away(p) && x >= 0.02 {
				w.after(n.between(time.Second, 40*time.Second), func() { w.arrives(p, m) })
			}
		case w.arrives(p, m):
			r.base = p.obj
			r.row.Wrote(m.text)
			if x < 0.04 {
				w.after(n.between(time.Second, 30*time.Second), func() { w.arrives(p, m) })
			}
		default:
			if r.readBack(w, p); r.row.Has(m.text) {
				return
			}
			if m.tries == 1 {
				r.row.Failed(w.now)
			} else {
				w.send(p, &message{text: m.text, row: m.row, tries: m.tries - 1}, n.between(50*time.Millisecond, time.Second))
			}
		}
	})
}

// arrives is false for a message that is for another version of the Pod than the one that there is.
func (w *world) arrives(p *pod, m *message) bool {
	if p.removed || w.Rule != Operator && p.obj != m.base {
		return false
	}
	edit(w, &p.obj, func(o *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, api.AnnotationNodeStatusReport, m.text)
	})
	p.row, p.wrote = m.row, w.now
	return true
}

// remember keeps the published objects for readers of a server that is behind.
func (w *world) remember() {
	n := &w.net
	for len(n.published) > 0 && w.now.Sub(n.published[0].at) > 30*time.Second {
		n.published = n.published[1:]
	}
	n.published = append(n.published, publication{w.now, w.status})
}

// read is the cluster report as a reading gets it: mostly the one of now, at times one that a server which is behind still has.
func (w *world) read() *api.ScyllaDBStatusReport {
	n := &w.net
	if len(n.published) > 0 && !w.healed && n.chance(0.05) {
		i := n.IntN(len(n.published))
		if last := i + 1; last < len(n.published) && w.now.Sub(n.published[last].at) > behind {
			return w.status // no server is that far behind
		}
		return n.published[i].status
	}
	return w.status
}

// A deleted cluster report is created anew under another UID, while barriers and reporters hold views of the one before. Views have one order for each report.

// reportFaults deletes the cluster report once or twice in the half hour of a seed.
func (w *world) reportFaults() {
	if !w.permits() || w.Seed%6 != 4 || w.yearly() || w.Hole {
		return
	}
	for range 1 + w.extra.IntN(2) {
		w.after(time.Minute+time.Duration(w.extra.Int64N(int64(healAt-4*time.Minute))), func() {
			if w.status == nil {
				return
			}
			w.result.Faults++
			w.tracef("FAULT somebody deletes the cluster report")
			w.control.way.reports++
			w.status = nil
			w.wrote(cluster.KindStatusReport)
		})
	}
}

// dropReports deletes all reports. Nothing that is held back can bring one back: it is for an object that is gone.
func (w *world) dropReports() {
	w.control.way.reports++
	w.reports, w.status = nil, nil
	w.wrote(cluster.KindStatusReport | cluster.KindReports)
}

// order is the invariant's own: of each report the stamps never go back, and after a view of a report comes none of a report that was made before it.
type order struct {
	report types.UID
	stamp  view.Stamp
}

// madeAs is the how manyth of all reports one is; 0 for none.
func madeAs(report types.UID) int {
	_, number, _ := strings.Cut(string(report), "-")
	n, _ := strconv.Atoi(number)
	return n
}

// goes takes the next view, and is false where it goes back.
func (o *order) goes(report types.UID, s view.Stamp) bool {
	if is, was := madeAs(report), madeAs(o.report); is < was || is == was && o.stamp.Newer(s) {
		return false
	}
	o.report, o.stamp = report, s
	return true
}
