// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kubectl-scylla/kubectl-scylla/controller/keep"
	"github.com/kubectl-scylla/kubectl-scylla/controller/views"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Policy permits: the controller that leads, with the real tracker of views, and the election by which another one takes its place.

var clusterKey = types.NamespacedName{Namespace: namespace, Name: clusterName}

// leader is one process of the controller, from its election to its end.
type leader struct {
	name    string
	began   time.Time
	tracker *views.Tracker
	queue   *queued
	// cache is what its watches have delivered; seen is the version of that.
	cache   cluster.Objects
	seen    int
	reading *reading  // of the cache; nil before
	next    time.Time // no assembly before
	proof   *keep.Proof
	started time.Time       // of the last assembly that was written or found equal
	issued  map[string]bool // members with a permit in the last view that it made
}

// queued is the queue of the loop that writes: all that matters is whether anything is in it.
type queued struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	is bool
}

func (q *queued) Add(reconcile.Request) { q.is = true }

var silent = slog.New(slog.DiscardHandler)

const (
	electionLease = 15 * time.Second // what others wait before they take over
	renewDeadline = 10 * time.Second // after which a leader that cannot renew ends itself
	reports       = 2 * time.Second  // MinInterval of package reports
	loopDead      = 3 * time.Minute  // after which the kubelet ends a process whose loop stands still
)

// two is true where the controller has a second replica that waits to lead.
func (w *world) two() bool { return w.Seed%2 == 0 }

// most is how many may join at once.
func (w *world) most() int {
	if w.Seed%5 == 0 {
		return 2
	}
	return 1
}

// name of the process that leads, whose clock its words have.
func (c *controller) name() string {
	if c.leads == nil {
		return "controller-0"
	}
	return c.leads.name
}

var errSucceeded = errors.New("another process holds the Lease")

// elected makes a process the leader.
func (w *world) elected() {
	c := &w.control
	c.terms++
	c.transitions++
	most := w.most()
	if w.without(OffOne) {
		most = 8
	}
	l := &leader{name: fmt.Sprintf("controller-%d", c.terms), began: w.now, queue: &queued{}, proof: keep.NewProof(leaseDuration, w.now)}
	l.tracker = views.New(views.Options{
		Clock: processClock{w: w, who: l.name}, Log: silent, MaxPermits: most, Window: view.Stabilisation, Heartbeats: &beats{w: w, who: l.name},
		Epoch: func(context.Context) (int64, error) {
			if c.leads != l {
				return 0, errSucceeded
			}
			return c.transitions + 1, nil
		},
	})
	_ = l.tracker.Source().Start(context.Background(), l.queue) // it only takes the queue
	c.leads, c.loopStalls, c.renewed, c.answered = l, time.Time{}, time.Time{}, w.now
	w.tracef("%s leads, transition %d", l.name, c.transitions)
}

// ended: the process is gone. Another one leads when the Lease of the election has run out, and when there is one.
func (w *world) endController(waits time.Duration) {
	c := &w.control
	if c.leads == nil {
		return
	}
	c.leads, c.way.since = nil, time.Time{}
	c.takeOver = w.now.Add(waits)
}

func (w *world) crashController() {
	if w.control.leads == nil {
		return
	}
	w.tracef("FAULT %s is killed", w.control.leads.name)
	again := electionLease + w.net.between(0, 2*time.Second)
	if !w.two() {
		again += w.net.between(0, time.Minute) // its Pod has to be made again
	}
	w.endController(again)
}

// freezeController stops a process, as SIGSTOP does. One that is frozen for so long that another one leads meanwhile does not know that, until it asks.
func (w *world) freezeController(d time.Duration) {
	l := w.control.leads
	if l == nil {
		return
	}
	w.tracef("FAULT %s is frozen for %s", l.name, d.Round(time.Second))
	if d <= renewDeadline {
		w.control.stopped = w.now.Add(d)
		return
	}
	waits := electionLease + w.net.between(0, 2*time.Second)
	if !w.two() {
		waits = d + electionLease
	}
	w.endController(waits)
	w.after(d, func() { w.haunt(l) })
}

// haunt is what a process does that wakes up and does not know yet that it leads no more: what it had in mind, and once more what its watches tell it now.
func (w *world) haunt(l *leader) {
	w.tracef("%s wakes up", l.name)
	w.consume(l)
	l.tracker.Look()
	w.assemblePermits(l)
	w.after(w.net.between(100*time.Millisecond, 2*time.Second), func() {
		l.observe(w)
		l.tracker.Look()
		w.assemblePermits(l)
		w.consume(l)
	})
}

// lead is one second of the process that leads.
func (w *world) lead() {
	c, y := &w.control, &w.control.way
	if w.now.Before(c.stopped) {
		return
	}
	if c.leads == nil {
		if w.now.Before(c.takeOver) || w.now.Before(y.dropped) || w.now.Before(y.heldLease) {
			return
		}
		w.elected()
	}
	l := c.leads
	if w.now.Before(y.dropped) {
		w.unheeded()
		return
	}
	y.since = time.Time{}
	hears := w.hears()
	if hears && l.seen != w.version {
		l.observe(w)
		w.memberServices()
	}
	if int(w.now.Sub(l.began)/time.Second)%int(w.limits.LookInterval.Duration/time.Second) == 0 {
		l.tracker.Look()
		l.tracker.Ask(context.Background())
	}
	stalls := w.now.Before(c.loopStalls)
	if stalls && w.now.Sub(l.started) > loopDead {
		w.tracef("%s is ended by its watchdog", l.name)
		w.endController(electionLease)
		return
	}
	if !stalls && !w.now.Before(l.next) && l.queue.is {
		l.queue.is = false
		switch l.next = w.now.Add(reports); w.assemblePermits(l) {
		case written:
			l.proof.Assembled(clusterKey, w.now, nil)
			l.started = w.now
			if w.status != nil { // else there is no cluster to have a view of
				l.tracker.Written(clusterKey, w.status.UID, w.status.Status.View)
			}
		case refused:
			l.proof.Assembled(clusterKey, w.now, errRefused)
			l.started, l.queue.is = time.Time{}, true
		case conflict:
			l.queue.is = true
		}
	}
	w.prove(l.proof, l.queue)
}

// own is what the controller writes and reads nothing from but the view, and what shows that it has been written.
const own = cluster.KindReports | cluster.KindStatusReport

// observe takes over what the watches deliver. What was read of all other objects stays, where only its own were written.
func (l *leader) observe(w *world) {
	if m := l.reading; m != nil && w.since(l.seen)&^own == 0 && w.status != nil && w.status.UID == m.status.UID {
		m.stored, m.same = &w.status.Status, sameObject(m.reports, w.reports) && sameObject(lasting(m.status), lasting(w.status))
		m.scene = view.SceneOf(m.judged, m.stored, m.claims, l.tracker.MaxPermits())
	} else {
		l.reading = nil
	}
	l.seen, l.cache, l.queue.is = w.version, w.objects(everything), true
	if w.without(OffHold) {
		calm(&l.cache)
	}
}

// unheeded is a second of a leader none of whose requests arrives.
func (w *world) unheeded() {
	y := &w.control.way
	if y.since.IsZero() {
		y.since = w.now
	}
	if w.now.Sub(y.since) <= renewDeadline {
		return
	}
	w.cannotRenew()
}

// cannotRenew ends a leader whose renewals have had no answer for too long.
func (w *world) cannotRenew() {
	c, y := &w.control, &w.control.way
	w.tracef("%s cannot renew, and ends", c.name())
	if w.two() {
		y.dropped, y.heldLease, y.since = time.Time{}, time.Time{}, time.Time{} // the other replica's way is another one
	}
	w.endController(electionLease - renewDeadline)
}

type outcome int

const (
	written  outcome = iota // or found equal
	refused                 // not written
	conflict                // another writer has written since the cache was filled
)

// assemblePermits does what package reports does where there are views, on what the process has in its cache.
func (w *world) assemblePermits(l *leader) outcome {
	o := l.cache
	if len(o.StatefulSets) == 0 {
		if o.StatusReport != w.status {
			return conflict
		}
		l.tracker.Forget(clusterKey)
		if w.status != nil || len(w.reports) > 0 {
			w.dropReports() // no member is left to report on
		}
		return written
	}
	m := w.reading(l)
	status := new(*m.status)
	w.withView(l, m, status)
	w.judgeView(l, status.Status.View)
	w.cross(nil, Writes)
	if m.same && sameObject(changing(status), changing(o.StatusReport)) {
		return written
	}
	if o.StatusReport != w.status {
		return conflict
	}
	if !w.writeReports(m.reports, status) {
		return refused
	}
	return written
}

// reading is what a process makes of its cache. It is made anew after a while: nodes that are DOWN become ones that are so for long.
type reading struct {
	at      time.Time
	reports []api.ScyllaDBDatacenterNodesStatusReport
	same    bool // as they are written, and the status but for what changes while a reading lasts
	status  *api.ScyllaDBStatusReport
	stored  *api.ScyllaDBStatusReportStatus
	judged  *cluster.Cluster
	claims  map[string]types.UID
	scene   view.JoinCandidates
}

func (w *world) reading(l *leader) *reading {
	if l.reading != nil && w.now.Sub(l.reading.at) < 20*time.Second {
		return l.reading
	}
	c := cluster.New(l.cache, cluster.SourceAnnotation, w.clock(l.name))
	m := &reading{at: w.now, stored: &api.ScyllaDBStatusReportStatus{}}
	m.reports, m.status = w.assembled(c)
	m.status.Status.HealthPolicy = w.Policy
	identify(m.status, l.cache.StatusReport)
	if sameObject(m.reports, l.cache.Reports) {
		m.reports = l.cache.Reports // so that they are seen to be the same
		m.same = l.cache.StatusReport != nil && sameObject(lasting(m.status), lasting(l.cache.StatusReport))
	}
	m.judged = c.WithOwn(m.status)
	if is := l.cache.StatusReport; is != nil {
		m.stored = &is.Status
	}
	claims := map[string]types.UID{}
	for _, a := range m.judged.JoinCandidates() {
		if a.PodUID() == "" {
			continue
		}
		if claims[a.PVCName] = ""; w.claims[a.PVCName] != nil {
			claims[a.PVCName] = w.claims[a.PVCName].obj.UID
		}
	}
	m.claims, m.scene = claims, view.SceneOf(m.judged, m.stored, claims, l.tracker.MaxPermits())
	l.reading = m
	return m
}

// changing is what withView puts into a status; lasting is all else, which is the same for as long as a reading is.
func changing(r *api.ScyllaDBStatusReport) api.ScyllaDBStatusReportStatus {
	s := &r.Status
	return api.ScyllaDBStatusReportStatus{Initialized: s.Initialized, Initialization: s.Initialization, View: s.View, Conditions: s.Conditions}
}

func lasting(r *api.ScyllaDBStatusReport) *api.ScyllaDBStatusReport {
	out := *r
	s := &out.Status
	s.Initialized, s.Initialization, s.View, s.Conditions = false, nil, nil, nil
	return &out
}

// withView puts the view and the initialisation into the status, as package reports does.
func (w *world) withView(l *leader, m *reading, status *api.ScyllaDBStatusReport) {
	s, stored := &status.Status, m.stored
	init := l.tracker.Status(context.Background(), clusterKey, m.judged, stored, m.scene, s)
	s.Conditions = slices.Clone(stored.Conditions)
	for _, t := range init.Absent {
		meta.RemoveStatusCondition(&s.Conditions, t)
	}
	for _, x := range init.Conditions {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: x.Type, Status: x.Status, Reason: x.Reason, Message: words.Text(x.Message), LastTransitionTime: metav1.NewTime(w.clock(l.name)),
		})
	}
}
