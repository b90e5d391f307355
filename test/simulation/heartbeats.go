// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

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
	if p == nil || p.removed || p.machine == nil || p.machine.off || t.Address != beatAddress(p) || t.Fingerprint != p.fingerprint() {
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

func beatAddress(p *pod) string { return p.obj.Status.PodIP + ":9181" }
