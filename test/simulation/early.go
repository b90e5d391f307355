// SPDX-License-Identifier: Apache-2.0

package simulation

import "time"

// early is ScyllaDB that fails at each first start until a person has fixed what it needs: fs.aio-max-nr, a flag, memory.
// All that is drawn for it comes from a source of its own.
type early struct {
	dice  // none in a seed without it
	disks map[*disk]*breakage
}

// breakage is why ScyllaDB does not start on a new volume.
type breakage struct {
	until  time.Time // when it is fixed
	writes bool      // ScyllaDB has written its host ID when it fails
	ends   bool      // the container ends with ScyllaDB, as one that is out of memory; else supervisord gives up, and the liveness probe ends it
	tries  int       // of this container
	starts int       // of containers
}

func (w *world) earlyFaults() {
	if !w.Hole && !w.yearly() {
		w.early = early{dice: newDice(&w.Options, 0xea71), disks: map[*disk]*breakage{}}
	}
}

// cutLauncher keeps the machine of a tenth of the Pods whose barrier opens from the API server, while another node goes DOWN.
func (w *world) cutLauncher(p *pod) {
	e := &w.early
	if e.Rand == nil || w.healed || w.cut[p.name] || !e.chance(0.1) {
		return
	}
	lasts := e.between(bound+time.Minute, 6*time.Minute)
	w.result.Faults++
	w.cutFor(p, lasts)
	w.dieBefore(w.now.Add(lasts))
}

// breaks draws once for each volume whether the first start on it fails. Returns nil where it does not, or does no longer, and for a Pod elsewhere.
func (w *world) breaks(p *pod) *breakage {
	e, d := &w.early, p.claim.disk
	if e.Rand == nil || p.machine == nil || d.asked || d.group != nil || w.healed {
		return nil
	}
	b, known := e.disks[d]
	if !known {
		if e.chance(0.35) {
			b = &breakage{until: w.now.Add(e.between(20*time.Second, 12*time.Minute)), writes: e.chance(0.3), ends: e.chance(0.5)}
			w.result.Faults++
			w.dieBefore(b.until)
		}
		e.disks[d] = b
	}
	if b == nil || !w.now.Before(b.until) {
		return nil
	}
	return b
}

// dieBefore has in every second case another node be DOWN, for long enough that all know it, when the fault is fixed.
func (w *world) dieBefore(fixed time.Time) {
	e := &w.early
	at, lasts := fixed.Add(-bound-e.between(5*time.Second, time.Minute)).Sub(w.now), bound+e.between(90*time.Second, 4*time.Minute)
	if n := e.IntN(1 << 16); n%2 == 0 && at > 0 {
		w.after(at, func() { w.dieFor(lasts, n/2) })
	}
}

// losable are the Pods whose ScyllaDB serves, and may end.
func (w *world) losable(also func(*pod) bool) []*pod {
	return w.podsThat(func(p *pod) bool { return p.proc != nil && p.proc.serves && also(p) && w.mayLose(p.name) })
}

// dieFor ends ScyllaDB of a member that serves, for a while.
func (w *world) dieFor(lasts time.Duration, n int) {
	all := w.losable(func(p *pod) bool { return p.proc.disk.complete })
	if len(all) == 0 || w.healed {
		return
	}
	p := all[n%len(all)]
	w.tracef("FAULT ScyllaDB in %s ends for %s", p.name, lasts.Round(time.Second))
	w.kill(p, false)
	p.next = w.now.Add(lasts)
}

// failEarly ends a process right after its start. Nothing but its container's restart, or supervisord's few tries, follows.
func (w *world) failEarly(s *process, b *breakage) {
	p, args := s.pod, s.pod.args
	w.tracef("%s: FAULT ScyllaDB fails before it asks to join, until %s", p.name, b.until.Sub(start).Round(time.Second))
	w.after(w.early.between(100*time.Millisecond, 900*time.Millisecond), func() {
		if s.ended {
			return
		}
		w.end(s, false)
		b.tries++
		const tries = 4 // the first start and three more, with pauses of as many seconds
		if !b.ends && b.tries < tries {
			p.next = w.now.Add(time.Duration(b.tries) * time.Second)
			return
		}
		pause := min(10*time.Second<<min(b.starts, 5), 5*time.Minute) // the kubelet's
		if !b.ends {
			pause += w.early.between(20*time.Second, 2*time.Minute) // until the liveness probe ends it
		}
		b.tries = 0
		b.starts++
		p.next = w.now.Add(time.Hour)
		w.after(pause, func() {
			if !p.removed && !p.deleting && p.stage == running && p.proc == nil && p.args == args && !p.machine.off {
				w.tracef("%s: ScyllaDB's container starts again in the same Pod", p.name)
				w.restartContainer(p, w.early.between(time.Second, 3*time.Second))
			}
		})
	})
}
