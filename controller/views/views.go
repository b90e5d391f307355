// SPDX-License-Identifier: Apache-2.0

// Package views keeps the view of each cluster: it polls the members at intervals and passes the
// view to the writer of the cluster report. internal/view judges a poll and combines polls. It must
// not read or write the API server itself.
package views

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

// refresh is the largest age of a cluster's data before it is read again.
const refresh = 6 * time.Second

// Options of a Tracker.
type Options struct {
	Clock clock.WithTicker
	Log   *slog.Logger
	// Epoch reads the number of this leadership term, from 1, from the election's Lease.
	Epoch func(context.Context) (int64, error)
	// MaxPermits is how many nodes may join in parallel if their versions allow it, default 1.
	// Window is how long all conditions must hold continuously before a permit is granted.
	MaxPermits int
	Window     time.Duration
	// Heartbeats polls the members' reporters; with nil there is never a heartbeat.
	Heartbeats Heartbeats
	// Observe is called with the state of a cluster's heartbeats after each poll; may be nil. It
	// must not block.
	Observe func(key types.NamespacedName, h metrics.Heartbeats)
	// ObserveView is called with the state of a cluster's view after each poll; may be nil. It must
	// not block.
	ObserveView func(key types.NamespacedName, v metrics.View)
}

// Heartbeats polls reporters. It must not block its caller, whatever the members do.
type Heartbeats interface {
	// Ask starts a poll of each target, and forgets all other members.
	Ask(ctx context.Context, all []heartbeats.Target)
	// Heard returns a member's current heartbeat.
	Heard(pod types.NamespacedName) view.Heartbeat
	// Wait returns when no request is in progress.
	Wait()
}

// Tracker keeps the state of the members of each cluster. It is safe for concurrent use.
type Tracker struct {
	o Options

	mu       sync.Mutex
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	epoch    int64
	known    bool // epoch is known
	clusters map[types.NamespacedName]*state
	// least is the newest stamp of all forgotten clusters. A cluster that is recreated continues
	// from there, because a receiver may still have its views.
	least view.Stamp
}

// state is the state of a cluster. All of it may be lost except the stored view.
type state struct {
	epoch    int64         // of this process's views of the cluster; zero before the first
	seq      int64         // of the latest poll or view
	stored   view.Receiver // the newest view that was read or computed: a cache may go back in time
	evidence []view.Sighting
	hold     string
	read     time.Time // when evidence was read
	looked   time.Time // time of the latest poll
	members  map[string]view.Debounced
	digests  map[string]digest
	shown    *api.StatusReportView
	written  view.Stamp // of this process's latest view in the API server, complete or not

	leads   bool                  // this process computed its views at the last assembly
	offered *api.StatusReportView // the served view, which is the written one; nil for none
	report  types.UID             // UID of the report with offered
	held    time.Time             // when the content of offered was last verified

	permits permits

	// The cluster's health policy, and from it: how long all conditions must hold, and how long the
	// first node must be healthy.
	health       api.StatusReportHealthPolicy
	window, well time.Duration
	// ask is true if the members are due for a poll: the cluster is new, or look ran since the last
	// one.
	ask bool

	// The state of group 0's log at the latest poll.
	log view.Log

	initialised bool       // from the stored status
	first       matrix.Ref // candidate for the first node, unchanged from since on
	since       time.Time
}

type digest struct {
	of api.RowText
	is string
}

// New returns a Tracker without any state.
func New(o Options) *Tracker {
	return &Tracker{o: o, clusters: map[types.NamespacedName]*state{}}
}

// Source passes the writing loop's queue to the tracker, so that it can request an assembly if a
// view would change.
func (t *Tracker) Source() source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.queue = q
		return nil
	})
}

// Start polls until ctx ends. The manager starts it on the leader only.
func (t *Tracker) Start(ctx context.Context) error {
	tick := t.o.Clock.NewTicker(healthpolicy.LeastLook)
	defer tick.Stop()
	if t.o.Heartbeats != nil {
		defer t.o.Heartbeats.Wait()
	}
	for {
		t.Ask(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			t.look((*state).due)
		}
	}
}

// due reports whether the cluster's interval has passed since the latest poll, with the ticker's
// precision.
func (s *state) due(now time.Time) bool {
	return now.Sub(s.looked) >= s.health.LookInterval.Duration-healthpolicy.LeastLook/2
}

// Ask starts a poll of every reporter with a heartbeat, in clusters that are new or were judged
// since, and returns at once. The following look uses the responses received by then.
func (t *Tracker) Ask(ctx context.Context) {
	if t.o.Heartbeats == nil {
		return
	}
	var all []heartbeats.Target
	t.mu.Lock()
	for key, s := range t.clusters {
		idle := !s.ask
		s.ask = false
		for i := range s.evidence {
			e := &s.evidence[i]
			if h, address := e.Heartbeat(), e.HeartbeatAt(); address != "" {
				all = append(all, heartbeats.Target{
					Pod: types.NamespacedName{Namespace: key.Namespace, Name: e.Ref.Member}, Cluster: key.Name,
					Address:     address,
					Fingerprint: h.Fingerprint, Digest: e.Digest, Limit: e.Limit, UID: e.Pod.UID,
					Idle: idle,
				})
			}
		}
	}
	t.mu.Unlock()
	t.o.Heartbeats.Ask(ctx, all)
}

// heard returns a function that returns a member's current heartbeat.
func (t *Tracker) heard(namespace string) func(member string) view.Heartbeat {
	return func(member string) view.Heartbeat {
		if t.o.Heartbeats == nil {
			return view.Heartbeat{}
		}
		return t.o.Heartbeats.Heard(types.NamespacedName{Namespace: namespace, Name: member})
	}
}

// Look judges the members of every cluster once.
func (t *Tracker) Look() { t.look(func(*state, time.Time) bool { return true }) }

func (t *Tracker) look(due func(*state, time.Time) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.o.Clock.Now()
	for key, s := range t.clusters {
		if !due(s, now) {
			continue
		}
		if h := s.look(now, t.heard(key.Namespace)); t.o.Observe != nil {
			t.o.Observe(key, h)
		}
		v := t.make(s, now)
		s.confirm(v, now)
		if t.o.ObserveView != nil {
			t.o.ObserveView(key, s.measure(now))
		}
		due := s.renew(v, now) || !s.initialised && s.first.Member != "" && now.Sub(s.since) >= s.well
		if t.queue != nil && (due || now.Sub(s.read) >= refresh || !view.Same(v, s.shown)) {
			t.queue.Add(reconcile.Request{NamespacedName: key})
		}
	}
}

// View returns a copy of the view of a cluster after an assembly. It is the stored view if the
// content is unchanged, or if another controller has written a newer one: then this controller no
// longer leads.
func (t *Tracker) View(ctx context.Context, key types.NamespacedName, c *cluster.Cluster,
	stored *api.StatusReportView) *api.StatusReportView {
	var now epoch
	if t.unsettled(key, stored) {
		now.is, now.err = t.o.Epoch(ctx) // without the lock: a slow API server must not block polls
		now.asked = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view(t.state(key, stored), c, stored.DeepCopy(), now).DeepCopy()
}

// epoch is the API server's response about the term, if it was requested.
type epoch struct {
	asked bool
	is    int64
	err   error
}

// state returns the state of a cluster, created from the stored view if missing. The caller holds
// mu.
func (t *Tracker) state(key types.NamespacedName, stored *api.StatusReportView) *state {
	s := t.clusters[key]
	if s == nil {
		s = &state{members: map[string]view.Debounced{}, digests: map[string]digest{}, looked: t.o.Clock.Now(),
			seq:    t.least.Seq,
			health: healthpolicy.Of(nil), window: t.o.Window, well: view.Stabilisation, ask: true}
		if stored != nil {
			for _, m := range stored.Members {
				e := view.Sighting{
					Member: &cluster.Member{Ref: matrix.Ref{HostID: hostid.Known(m.HostID), Member: m.Name}}}
				s.members[e.Key()] = view.Restored(m)
			}
		}
		t.clusters[key] = s
	}
	return s
}

func (t *Tracker) view(s *state, c *cluster.Cluster, stored *api.StatusReportView, epoch epoch) *api.StatusReportView {
	now := t.o.Clock.Now()
	s.stored.Adopt(stored, now)
	s.permits.from = stored
	s.policy(c.StatusReport)
	if s.leads = t.lead(s, epoch); !s.leads {
		return s.stored.Latest()
	}
	s.assembled(c, now)
	v := t.make(s, now)
	if !s.renew(v, now) {
		if view.Same(v, stored) {
			s.shown = stored
			return stored
		}
		// The written view came back with fewer fields: the installed CRD is older. A view with the
		// same stamp that this process has not seen written is another process's late write.
		// Readers have that view, and accept no other one with that stamp.
		if stamp := view.StampOf(stored); s.shown != nil && stamp == view.StampOf(s.shown) && stamp == s.written &&
			view.Same(v, s.shown) {
			return s.shown
		}
	}
	s.seq++
	v.Seq = s.seq
	s.shown, s.permits.made = v, now
	s.stored.Adopt(v, now)
	return v
}

// Initialisation returns the change of a cluster's status after an assembly, for the part about the
// first node.
func (t *Tracker) Initialisation(key types.NamespacedName, c *cluster.Cluster,
	stored *api.ScyllaDBStatusReportStatus) view.Initialisation {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, now := t.state(key, stored.View), t.o.Clock.Now()
	if s.initialised = stored.Initialized; s.initialised {
		s.first = matrix.Ref{}
	} else if first := view.First(c); first.Member != s.first.Member || first.HostID != s.first.HostID {
		s.first, s.since = first, now
	}
	return view.Initialise(c, stored, s.first, s.since, now)
}

// Forget drops a deleted cluster.
func (t *Tracker) Forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.clusters[key]; s != nil {
		for _, stamp := range []view.Stamp{s.made(), view.StampOf(s.stored.Latest())} {
			if stamp.Newer(t.least) {
				t.least = stamp
			}
		}
	}
	delete(t.clusters, key)
}

// unsettled reports whether the term must be read: at first, and if a stored view is newer than
// this process's last one. It may have the same epoch: after the Lease was deleted, two terms begin
// with the epoch after the stored view's, until one of them has written.
func (t *Tracker) unsettled(key types.NamespacedName, stored *api.StatusReportView) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.clusters[key]
	switch {
	case !t.known:
		return true
	case s == nil || s.epoch == 0:
		return view.StampOf(stored).Epoch >= t.epoch && stored != nil
	}
	return view.StampOf(stored).Newer(s.made()) || view.StampOf(s.stored.Latest()).Newer(s.made())
}

// made is the stamp of the last view that this process has made of the cluster.
func (s *state) made() view.Stamp { return view.Stamp{Epoch: s.epoch, Seq: s.seq} }

// lead decides the epoch of this process's views of a cluster, and returns whether it may compute
// any. The caller holds mu.
func (t *Tracker) lead(s *state, now epoch) bool {
	latest := view.StampOf(s.stored.Latest())
	switch {
	case now.err != nil:
		t.o.Log.Warn("no controller view is created: cannot read the number of leader transitions", "error", now.err)
		return false
	case !t.known && now.asked:
		t.epoch, t.known = now.is, true
	case now.asked && now.is != t.epoch:
		t.o.Log.Warn("controller view unchanged: another controller leads", "epoch", t.epoch, "leads", now.is)
		return false
	}
	switch {
	case s.epoch == 0 && (s.stored.Latest() == nil || latest.Epoch < t.epoch):
		s.epoch = max(t.epoch, t.least.Epoch)
	case s.epoch == 0 || latest.Newer(s.made()):
		if !now.asked {
			return false // requested at the next assembly
		}
		s.epoch = max(latest.Epoch+1, t.least.Epoch) // no Lease, or a recreated one
	}
	return true
}

// assembled stores the current data of a cluster. A row with DOWN counts at once.
func (s *state) assembled(c *cluster.Cluster, now time.Time) {
	s.evidence, s.hold, s.read = view.Of(c), view.Hold(c), now
	there := make(map[string]bool, len(s.evidence))
	for i := range s.evidence {
		e := &s.evidence[i]
		k := e.Key()
		there[k] = true
		if e.Look == view.SaidDown {
			s.members[k] = s.members[k].Next(view.SaidDown, now, int(s.health.MissedLooks))
		}
		if d, row := s.digests[k], e.Row(); d.of != row || d.is == "" {
			s.digests[k] = digest{of: row, is: row.Digest()}
		}
		e.Digest = s.digests[k].is
	}
	for k := range s.members {
		if !there[k] {
			delete(s.members, k)
		}
	}
	for k := range s.digests {
		if !there[k] {
			delete(s.digests, k)
		}
	}
}

// look judges each member once.
func (s *state) look(now time.Time, heard func(member string) view.Heartbeat) (h metrics.Heartbeats) {
	s.seq++
	s.looked, s.ask = now, true
	old := now.Sub(s.read) > s.health.Contact.Duration
	s.log = view.LogOf(s.evidence, heard, now)
	h.Trailing, h.TrailingKnown = s.log.Most()
	for i := range s.evidence {
		e := &s.evidence[i]
		l, beat := view.Missed, heard(e.Ref.Member)
		if !old {
			l = e.Seen(beat, now)
		}
		if l == view.Heard && s.log.Behind[e.Key()] > s.health.Trailing {
			l = view.Trails
		}
		switch {
		case e.Heartbeat() == nil:
			h.None++
		case !e.Beats(beat, now):
			h.Missing++
		}
		if e.Heartbeat() != nil && !beat.Advanced.IsZero() {
			h.Oldest = max(h.Oldest, now.Sub(beat.Advanced))
		}
		if old || (l == view.Missed || l == view.Trails) && e.Heartbeat() != nil && e.Ref.Member == s.first.Member {
			s.first = matrix.Ref{} // unknown whether it was healthy in between
		}
		s.members[e.Key()] = s.members[e.Key()].Next(l, now, int(s.health.MissedLooks))
	}
	return h
}

// summary returns the view to write now, without seq and permits.
func (s *state) summary(now time.Time) *api.StatusReportView {
	v := &api.StatusReportView{Epoch: s.epoch, ObservedAt: metav1.NewTime(now.UTC().Truncate(time.Second)),
		Hold: s.hold}
	stalled := now.Sub(s.looked) > time.Duration(s.health.MissedLooks)*s.health.LookInterval.Duration
	for i := range s.evidence {
		e := &s.evidence[i]
		d := s.members[e.Key()]
		m := api.StatusReportViewMember{
			Name: e.Ref.Member, HostID: string(e.HostID), Datacenter: e.Datacenter, Rack: e.Rack, State: d.State(),
			Digest: e.Digest, Contact: e.Contact(),
		}
		if since := d.DownSince(); !since.IsZero() {
			at := metav1.NewTime(since.UTC().Truncate(time.Second))
			m.DownSince = &at
		}
		if d.Trailing() {
			m.Cause = api.CauseTrailing
		}
		// No poll for as long as it takes until a member is UNKNOWN.
		if stalled && m.State == api.NodeStatusUp {
			m.State = api.NodeStatusUnknown
		}
		v.Members = append(v.Members, m)
	}
	return v
}
