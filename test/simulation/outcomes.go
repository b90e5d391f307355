// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

// PerCommand is what each command costs that a person runs: to read what is printed, to decide, to
// type it, and to see what comes of it.
const PerCommand = 5 * time.Minute

// knowable is how long the coordinator's gossip must have had a node as DOWN when a process starts,
// so that every rule could know it: one poll of a reporter and its slowest write.
const knowable = reportInterval + 5*time.Second

// Age of the trouble that cost a join: for how long the node had been out of reach when the new
// node's process started. What happened after the start, or to the new node itself, nobody could
// know.
type Age int

// Values of Age.
const (
	Itself  Age = iota // the new node ended, or was cut off
	After              // the node was in reach at the start
	Under5s            // it was not, for less than 5 s
	Under30s
	UnderBound
	Longer // than bound: a barrier could know, whatever it reads
	Ages
)

// Outcomes are what people pay for, and get.
type Outcomes struct {
	// Ended joins and replacements: became members, or were cancelled or rolled back, by Age.
	Ended int
	By    [Ages]int
	// Known of these were lost by a node that was DOWN for the coordinator itself when they started,
	// for longer than knowable. KnownStarts are starts like that, whatever came of them.
	Known, KnownStarts int
	// Twice: starts with the host ID of a process that runs. WrongDeletions: PVCs of data that is used.
	Twice, WrongDeletions int
	// Waits of new nodes, from when ScyllaDB would have let them join until they were members.
	Waits []time.Duration
	// Commands that a person ran.
	Commands int
	Followed
}

// Lost is all of By.
func (o *Outcomes) Lost() int {
	n := 0
	for _, by := range o.By {
		n += by
	}
	return n
}

func (o *Outcomes) add(b *Outcomes) {
	o.Ended += b.Ended
	for i, n := range b.By {
		o.By[i] += n
	}
	o.Known += b.Known
	o.KnownStarts += b.KnownStarts
	o.Twice += b.Twice
	o.WrongDeletions += b.WrongDeletions
	o.Waits = append(o.Waits, b.Waits...)
	o.Commands += b.Commands
	o.Followed.add(&b.Followed)
}

// observer sees what nobody in the world does, once a second.
type observer struct {
	known map[string]time.Time // host ID -> since when the coordinator's gossip has it as DOWN
	could map[string]could     // member -> when it could have joined
	began map[*process]began
}

// could have joined, for the first time, at that moment. The wait goes on through a lost attempt.
type could struct {
	at   time.Time
	lost bool
}

// began is what was out of reach when a process started, and for how long; known of it is by gossip.
type began struct {
	away, known map[string]time.Duration
	guarded     bool
}

func newObserver() observer {
	return observer{known: map[string]time.Time{}, could: map[string]could{}, began: map[*process]began{}}
}

// observe is one second.
func (w *world) observe() {
	w.rememberWell()
	for _, g := range w.groups {
		for _, id := range g.order {
			switch down := !g.down[id].IsZero() && (g.leader == nil || !w.alive(g.leader, id)); {
			case !down:
				delete(w.eye.known, id)
			case w.eye.known[id].IsZero() && g.leader != nil:
				w.eye.known[id] = w.now
			}
		}
	}
	for _, name := range w.podNames.of(w.pods) {
		w.observeWait(w.pods[name])
	}
	for name, c := range w.eye.could { // deletion alone: the order does not matter
		if w.pods[name] == nil && !c.lost {
			delete(w.eye.could, name)
		}
	}
}

// observeWait: a new node could have joined from the first second in which its Pod is at its barrier
// or beyond, on a running machine and a volume with which it has not asked yet, its cluster has a
// coordinator, no operation is queued or under way, and every other member is in reach but the one
// that it replaces and those that it ignores.
func (w *world) observeWait(p *pod) {
	c, known := w.eye.could[p.name]
	if known && p.claim.disk.complete {
		delete(w.eye.could, p.name)
		w.result.Waits = append(w.result.Waits, w.now.Sub(c.at))
		return
	}
	if p.deleting || p.stage < atBarrier || p.machine.off {
		if known && !c.lost {
			delete(w.eye.could, p.name)
		}
		return
	}
	d := p.claim.disk
	if known || d.asked || d.group != nil || len(w.groups) == 0 {
		return
	}
	g := w.groups[0]
	if g.leader == nil || g.current != nil || len(g.queue) > 0 {
		return
	}
	but := w.excepted(p)
	for _, id := range g.order {
		if g.members[id] != normal || !g.down[id].IsZero() && !slices.Contains(but, id) {
			return
		}
	}
	w.eye.could[p.name] = could{at: w.now}
}

// excepted are the nodes that a member's replacement does without.
func (w *world) excepted(p *pod) []string {
	svc := w.service[p.name]
	if svc == nil {
		return nil
	}
	args, err := argumentsOf(svc)
	if err != nil {
		return nil
	}
	return append(args.ignore, args.replace)
}

// observeStart notes what was out of reach when the process of a new node starts.
func (w *world) observeStart(s *process) {
	if slices.ContainsFunc(w.procs, func(q *process) bool { return q != s && q.id != "" && q.id == s.disk.id }) {
		w.result.Twice++
		w.violate("two processes: ScyllaDB of %s starts with host ID %s, which runs", s.pod.name, short(s.disk.id))
	}
	if s.disk.asked || s.disk.group != nil || w.known(s.disk.id) {
		return
	}
	o := s.pod.opened
	b := began{map[string]time.Duration{}, map[string]time.Duration{}, o != nil && o.decision != bootstrap.DecisionForced}
	var known []string
	for _, g := range w.groups {
		for _, id := range g.order {
			since, down := g.down[id]
			if !down || id == s.replace || slices.Contains(s.ignore, id) {
				continue
			}
			b.away[id] = w.now.Sub(since)
			if at := w.eye.known[id]; !at.IsZero() {
				b.known[id] = s.pod.launcher.ended.Sub(at) // what supervisord starts again nothing judges
			}
			if b.known[id] > knowable {
				known = append(known, id)
			}
		}
	}
	w.eye.began[s] = b
	if b.guarded && len(known) > 0 {
		w.result.KnownStarts++
		w.violate("known start: ScyllaDB of %s, let through at %s as %s, starts while %s has been DOWN for the coordinator for more than %s",
			s.pod.name, o.at.Sub(start).Round(time.Second), o.decision, shorts(known), knowable)
	}
}

// observeEnd counts a join or replacement that is over, and why it was lost.
func (w *world) observeEnd(r *request, lost bool, dead []string) {
	b := w.eye.began[r.proc]
	delete(w.eye.began, r.proc)
	w.result.Ended++
	if !lost {
		return
	}
	if c, known := w.eye.could[r.proc.pod.name]; known {
		c.lost = true
		w.eye.could[r.proc.pod.name] = c
	}
	w.harmOfForce(r, b, dead)
	age, known := Itself, time.Duration(0)
	for _, id := range dead {
		age, known = max(age, ageOf(b.away, id)), max(known, b.known[id])
	}
	w.result.By[age]++
	if b.guarded && known > knowable {
		w.result.Known++
	}
}

func ageOf(away map[string]time.Duration, id string) Age {
	switch d, was := away[id]; {
	case !was:
		return After
	case d < 5*time.Second:
		return Under5s
	case d < 30*time.Second:
		return Under30s
	case d <= bound:
		return UnderBound
	}
	return Longer
}
