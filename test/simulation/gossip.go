// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// link is what one process' gossip thinks of another: was, until at+delay, and now is what is physically so (4.5).
type link struct {
	was, now bool
	at       time.Time
	delay    time.Duration
}

func (l *link) up(now time.Time) bool {
	if now.Before(l.at.Add(l.delay)) {
		return l.was
	}
	return l.now
}

// reach is true when nothing but a ban keeps the first process from the second.
func (w *world) reach(a, b *process) bool {
	return !a.ended && !b.ended && w.part[a.pod.name] == w.part[b.pod.name] && !w.wider.oneWay[[2]string{a.pod.name, b.pod.name}]
}

func (w *world) connected(a, b *process) bool {
	return w.reach(a, b) && !a.banned() && !b.banned()
}

func (s *process) banned() bool { return s.group != nil && rules.Banned(s.group, s.id) }

// alive is what a process' own gossip says of a host ID.
func (w *world) alive(s *process, id string) bool {
	if s.id == id {
		return true
	}
	for _, q := range w.bearers[id] {
		if l := s.links[q]; l != nil && l.up(w.now) {
			return true
		}
	}
	for _, l := range w.ghosts[id] {
		if l.from == s && l.up(w.now) {
			return true
		}
	}
	return false
}

// ghost is the link to a process that has ended, while others have not noticed.
type ghost struct {
	link
	from *process
}

// gossip begins; every node that reaches it hears of it within seconds.
func (w *world) gossip(s *process) {
	s.gossips = true
	w.reconnect()
}

// reconnect brings all links to what is physically so. The time of noticing is drawn once per change.
func (w *world) reconnect() {
	for _, a := range w.procs {
		for _, b := range w.procs {
			if a == b || !a.gossips || !b.gossips || a.group != b.group {
				continue
			}
			l := a.links[b]
			if l == nil {
				l = &link{}
				a.links[b] = l
			}
			ok := w.connected(a, b)
			if ok == l.now {
				continue
			}
			l.was, l.now, l.at = l.up(w.now), ok, w.now
			if ok {
				l.delay = w.between(time.Second, 3*time.Second) + w.wider.slowly
			} else {
				l.delay = w.detection()
			}
		}
	}
}

// detection is how long a death goes unnoticed; a second one at the same time may take up to twice as long.
func (w *world) detection() time.Duration {
	if w.chance(0.1) {
		return w.between(rules.LastDown, rules.LastDownOfTwo)
	}
	return w.between(rules.FirstDown, rules.LastDown)
}

// unlink: a process has ended. One that says so is down at once, another only when its peers miss it.
func (w *world) unlink(s *process, says bool) {
	for _, a := range w.procs {
		l := a.links[s]
		if l == nil {
			continue
		}
		delete(a.links, s)
		if up := l.up(w.now); up && (!says || w.part[a.pod.name] != w.part[s.pod.name]) {
			left := w.detection()
			if !l.now {
				left = l.at.Add(l.delay).Sub(w.now) // it was out of reach before
			}
			w.ghosts[s.id] = append(w.ghosts[s.id], &ghost{link{was: true, at: w.now, delay: left}, a})
		}
	}
	s.links = nil
	live := w.ghosts[s.id][:0]
	for _, g := range w.ghosts[s.id] {
		if g.up(w.now) {
			live = append(live, g)
		}
	}
	w.ghosts[s.id] = live
}
