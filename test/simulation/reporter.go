// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter/publish"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

type reporterState int

const (
	reporterStarts reporterState = iota
	reporterWell
	reporterSilent // hangs: its readiness says so
	reporterDead   // its container does not run
)

// reporter is the sidecar of a Pod.
type reporter struct {
	round   int // of this start; older loops end
	polled  time.Time
	hung    time.Time // until then it hangs
	crashed time.Time // until then its container does not run
	slow    time.Duration
	row     publish.State
	base    *corev1.Pod // as it was read or written last
	// sending is true while a write is on its way, which the loop waits for.
	sending bool
	mum     bool // it does not say that its row is unwritten
	beat    beat
	views   view.Receiver // what it hands on
	frozen  bool          // it hangs altogether, so that it does not answer either
	said    *api.NodeStatusReport
	text    string          // of said
	known   map[string]bool // host IDs that it has listed
}

func (r *reporter) begin(w *world, p *pod) {
	r.round++
	r.beat.start()
	r.views = view.Receiver{}
	r.row, r.mum = publish.State{}, w.Mum
	r.polled = time.Time{}
	w.poll(p, r.round, w.between(time.Second, 3*time.Second))
}

func (r *reporter) state(now time.Time) reporterState {
	switch {
	case now.Before(r.crashed):
		return reporterDead
	case r.polled.IsZero():
		return reporterStarts
	}
	unwritten := r.row.Unwritten()
	if r.mum {
		unwritten = time.Time{}
	}
	if !publish.Ready(r.polled, unwritten, now, reportInterval) {
		return reporterSilent
	}
	return reporterWell
}

// poll asks ScyllaDB after d, and again each interval.
func (w *world) poll(p *pod, round int, d time.Duration) {
	var again func()
	again = func() {
		if p.removed || p.reporter.round != round || p.machine.off || p.machine.gone {
			return
		}
		if !w.now.Before(p.reporter.hung) && !w.now.Before(p.reporter.crashed) {
			w.report(p)
		}
		w.after(reportInterval, again)
	}
	w.after(d, again)
}

// report is one poll; the write takes a moment.
func (w *world) report(p *pod) {
	r := &p.reporter
	r.polled = w.now
	if w.permits() {
		w.followView(p)
	}
	row := w.row(p)
	if !r.row.Restored() {
		if !r.row.Due(w.now) {
			return
		}
		if w.away(p) {
			r.row.Failed(w.now)
			return
		}
		r.readBack(w, p)
		r.row.Restore()
	}
	r.row.Stamp(&row, p.clock(w))
	if w.Rule != Operator {
		r.row.Keep(&row)
		row.Heartbeat = &api.ReportHeartbeat{Port: beatPort, Fingerprint: p.fingerprint()}
	}
	text := r.encode(&row)
	r.beat.say(text, row.Error == nil)
	if r.sending {
		return
	}
	next, away := r.row.Next(text, w.now), w.away(p)
	switch {
	case next == publish.Rest:
		return
	case away && next == publish.Check:
		r.row.Unchecked(w.now)
		return
	case away:
		if next == publish.Write {
			r.row.Doubt(w.now)
		}
		r.row.Failed(w.now)
		return
	case next != publish.Write:
		if r.readBack(w, p); r.row.Has(text) {
			return
		}
	}
	w.send(p, &message{text: text, row: &row, tries: 3}, w.between(50*time.Millisecond, time.Second)+r.slow)
}

// encode writes a row as it stands in the annotation; mostly that is what was written last.
func (r *reporter) encode(row *api.NodeStatusReport) string {
	if r.said == nil || !sameRow(r.said, row) {
		text, err := api.EncodeNodeStatusReport(row)
		if err != nil {
			panic(err) // strings and times always marshal
		}
		r.said, r.text = row, text
	}
	return r.text
}

// sameRow leaves to package reflect only what most rows have none of.
func sameRow(a, b *api.NodeStatusReport) bool {
	rest := *b
	rest.OwnsTokens, rest.Heartbeat, rest.ObservedNodes = a.OwnsTokens, a.Heartbeat, a.ObservedNodes
	return ptr.Equal(a.OwnsTokens, b.OwnsTokens) && ptr.Equal(a.Heartbeat, b.Heartbeat) &&
		slices.EqualFunc(a.ObservedNodes, b.ObservedNodes, func(x, y api.ObservedNodeStatusReport) bool {
			since := x.Since.Equal(y.Since)
			x.Since, y.Since = nil, nil
			return since && x == y
		}) && reflect.DeepEqual(a, &rest)
}

// row is what ScyllaDB answers (1.2 to 1.5), put together as package scylla does.
func (w *world) row(p *pod) api.NodeStatusReport {
	s := p.proc
	failed := func(text string) api.NodeStatusReport {
		return api.NodeStatusReport{Error: &text, Fault: api.FaultScyllaDB}
	}
	if s == nil {
		row := failed("connection refused")
		row.Process = p.ended
		return row
	}
	row := api.NodeStatusReport{HostID: hostid.ID(s.id), OperationMode: s.mode, ScyllaVersion: s.version.String() + "-0.20260801.5d1c7e09ab34"}
	if !s.gossips {
		if !s.disk.complete {
			row.OwnsTokens = new(false)
		}
		text := "The gossiper is not ready yet"
		row.Error, row.Fault = &text, api.FaultScyllaDB
		return row
	}
	row.OwnsTokens = new(s.seen.states[s.id] == normal && (p.set == nil || p.set.tokens))
	ids := s.seen.ids
	if w.wider.at != nil {
		ids, row.Complete = w.listed(p)
	}
	row.ObservedNodes = slices.Grow(row.ObservedNodes, len(ids))
	for _, id := range ids {
		st := s.seen.states[id]
		o := api.ObservedNodeStatusReport{HostID: hostid.ID(id), Status: api.NodeStatusDown}
		if w.alive(s, id) {
			o.Status = api.NodeStatusUp
		} else if w.Rule != Operator && len(row.Places) < api.MaxPlaces {
			row.Places = append(row.Places, api.NodePlace{HostID: o.HostID, Datacenter: w.places[id].Datacenter, Rack: w.places[id].Rack})
		}
		o.State = printed[st]
		row.ObservedNodes = append(row.ObservedNodes, o)
	}
	// One that is NORMAL has system.local flushed, so that a hard crash does not make it look new (3.4).
	if s.mode == rules.ModeNormal && !s.disk.flushed {
		s.disk.flushed, s.disk.row = true, true
	}
	if g := s.group; w.Rule != Operator && g != nil && g.leader != nil && (s == g.leader || w.connected(g.leader, s)) {
		row.Coordinator = hostid.ID(g.leader.id)
	}
	if g := s.group; g != nil && g.leader != nil && (s == g.leader || w.connected(g.leader, s)) {
		row.Operations = g.operations()
	}
	return row
}

// listed leaves out what a reporter never gets to see of ScyllaDB up to 2025.2: one of two members at one address (1.3), here the one that was there first. A host ID that it has listed once it keeps. The ring tells whether
// one that owns tokens is left out, and gossip of 2025.2 whether any is.
func (w *world) listed(p *pod) (out []string, complete bool) {
	at, r, seen := w.wider.at, &p.reporter, p.proc.seen
	if r.known == nil {
		r.known = map[string]bool{}
	}
	complete = p.proc.mode == rules.ModeNormal
	for _, id := range seen.ids {
		hidden := slices.ContainsFunc(seen.ids, func(other string) bool {
			return at[other].address == at[id].address && at[other].since.After(at[id].since)
		})
		complete = complete && (!hidden || !at[id].tokens && !p.proc.version.GossipByHostID())
		if r.known[id] = r.known[id] || !hidden; r.known[id] {
			out = append(out, id)
		}
	}
	return out, complete
}

// operations are those that the task manager lists, with the host ID of the requesting node while they are open, as 2026.1 to 2026.3 do (1.7).
func (g *group) operations() []api.NodeOperation {
	var out []api.NodeOperation
	all := g.queue
	if g.current != nil {
		all = append([]*request{g.current}, all...)
	}
	for _, r := range all {
		o := api.NodeOperation{Type: string(r.kind), State: "running"}
		if g.leader.version.TaskEntity() != rules.TaskEntityNever {
			o.HostID = hostid.ID(r.id)
		}
		out = append(out, o)
	}
	return append(out, g.failed...)
}

// beat is what a reporter serves: its row, and a number that advances with every poll that ScyllaDB answered.
type beat struct {
	starts int    // of the container: each makes a key and a certificate
	print  string // of the certificate
	number int64
	row    string
	digest string
}

// start is that of the reporter's container.
func (b *beat) start() { *b = beat{starts: b.starts + 1} }

func (b *beat) say(row string, alive bool) {
	if row != b.row {
		b.row, b.digest = row, api.ReportDigest(row)
	}
	if alive {
		b.number++
	}
}

// fingerprint of a certificate that exists once.
func (p *pod) fingerprint() string {
	b := &p.reporter.beat
	if b.print == "" {
		digest := api.ReportDigest(p.uid + "/" + string(rune('a'+b.starts%26)))
		b.print = digest + digest + digest + digest
	}
	return b.print
}

// beats asks reporters as package heartbeats does: the looks that are lost on the way, the answers of another certificate, and the numbers that stand still.
type beats struct {
	w       *world
	who     string // asks
	members map[types.NamespacedName]*asked
}

// asked is what a controller remembers of one member.
type asked struct {
	target heartbeats.Target
	pulse  view.HeartbeatCounter
}

func (b *beats) Wait() {}

func (b *beats) Heard(pod types.NamespacedName) view.Heartbeat {
	if m := b.members[pod]; m != nil {
		return m.pulse.Heartbeat()
	}
	return view.Heartbeat{}
}

func (b *beats) Ask(_ context.Context, all []heartbeats.Target) {
	known := b.members
	b.members = make(map[types.NamespacedName]*asked, len(all))
	for _, t := range all {
		m := known[t.Pod]
		if m == nil || !m.target.SameReporter(&t) {
			m = &asked{}
		}
		m.target, b.members[t.Pod] = t, m
		number, ok := b.w.answer(&t)
		if b.w.without(OffHeartbeats) {
			number, ok = int64(b.w.now.Sub(start)), true
		}
		if !ok {
			m.pulse.Miss()
			continue
		}
		m.pulse.Record(number, t.Digest, b.w.clock(b.who), 0)
	}
}

// answer is what a member's reporter says when it is asked; false for one that does not answer in time, is another one, or has another row.
func (w *world) answer(t *heartbeats.Target) (int64, bool) {
	net := &w.net
	if net.chance(0.02) || w.now.Before(net.unheard[t.Pod.Name]) || w.now.Before(net.unheardAll) {
		return 0, false // lost on the way, or the answer comes too late
	}
	return w.says(t)
}

// says is the answer of a member's reporter to every client that reaches it.
func (w *world) says(t *heartbeats.Target) (int64, bool) {
	net := &w.net
	p := w.pods[t.Pod.Name]
	if p == nil || p.removed || p.machine == nil || p.machine.off || t.Address != p.obj.Status.PodIP+":9181" || t.Fingerprint != p.fingerprint() {
		return 0, false
	}
	r := &p.reporter
	if s := r.state(w.now); s == reporterDead || s == reporterSilent || w.now.Before(r.hung) && r.frozen || r.beat.row == "" || r.beat.digest != t.Digest {
		return 0, false
	}
	if number := r.beat.number; number > 0 && net.chance(0.005) {
		return number - 1, true // an answer of before arrives once more
	}
	return r.beat.number, true
}

const beatPort = 9181
