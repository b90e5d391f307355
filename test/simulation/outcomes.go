// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

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

// observe is one second.
func (w *world) observe() {
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

// observeWait counts how long a new node waits from the first second in which it could have joined.
func (w *world) observeWait(p *pod) {
	c, known := w.eye.could[p.name]
	switch runs := waitsOrRuns(p); {
	case known && p.claim.disk.complete:
		delete(w.eye.could, p.name)
		w.result.Waits = append(w.result.Waits, w.now.Sub(c.at))
	case known && !runs && !c.lost:
		delete(w.eye.could, p.name)
	case !known && runs && w.couldJoin(p):
		w.eye.could[p.name] = could{at: w.now}
	}
}

// waitsOrRuns: its Pod is at its barrier or beyond, on a running machine.
func waitsOrRuns(p *pod) bool {
	return p != nil && !p.deleting && p.stage >= atBarrier && !p.machine.off
}

// couldJoin: a new node that waits or runs has not asked with its volume yet, its cluster has a coordinator, no operation is queued or under way, and every other member
// is in reach but the one that it replaces and those that it ignores.
func (w *world) couldJoin(p *pod) bool {
	if p.claim.disk.asked || p.claim.disk.group != nil || len(w.groups) == 0 {
		return false
	}
	g := w.groups[0]
	if g.leader == nil || g.current != nil || len(g.queue) > 0 {
		return false
	}
	but := w.excepted(p)
	return !slices.ContainsFunc(g.order, func(id string) bool {
		return g.members[id] != normal || !g.down[id].IsZero() && !slices.Contains(but, id)
	})
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
		w.violate(&w.result.Twice, "two processes: ScyllaDB of %s starts with host ID %s, which runs", s.pod.name, short(s.disk.id))
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
			b.away[id] = s.pod.launcher.ended.Sub(since) // what supervisord starts again nothing judges
			if at := w.eye.known[id]; !at.IsZero() {
				b.known[id] = s.pod.launcher.ended.Sub(at)
			}
			if b.known[id] > knowable || b.away[id] > bound {
				known = append(known, id)
			}
		}
	}
	w.eye.began[s] = b
	if b.guarded && len(known) > 0 {
		w.violate(&w.result.KnownStarts, "known start: ScyllaDB of %s, let through at %s as %s, starts while %s has been DOWN for the coordinator for more than %s, or out of reach for more than %s",
			s.pod.name, o.at.Sub(start).Round(time.Second), o.decision, shorts(known), knowable, bound)
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
	if b.guarded && age == Longer {
		w.violate(&w.result.Unsafe, "unsafe join: %s was let through at %s as %s, and started at %s, while one of %s had been out of reach for more than %s, and it is lost",
			r.opened.member, r.opened.at.Sub(start).Round(time.Second), r.opened.decision, r.proc.since.Sub(start).Round(time.Second), shorts(dead), bound)
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

// Total of many runs.
type Total struct {
	Seeds, Failed int
	Counts
}

// Add a run.
func (t *Total) Add(r *Result) {
	t.Seeds++
	if r.Failed() {
		t.Failed++
	}
	add(reflect.ValueOf(&t.Counts).Elem(), reflect.ValueOf(&r.Counts).Elem())
}

// add sums numbers, and appends lists.
func add(to, of reflect.Value) {
	switch to.Kind() {
	case reflect.Int:
		to.SetInt(to.Int() + of.Int())
	case reflect.Slice:
		to.Set(reflect.AppendSlice(to, of))
	case reflect.Array:
		for i := range to.Len() {
			add(to.Index(i), of.Index(i))
		}
	case reflect.Struct:
		for i := range to.NumField() {
			add(to.Field(i), of.Field(i))
		}
	}
}

// RunManyOf runs the same options with n seeds.
func RunManyOf(o Options, first uint64, n int) []Result {
	out := make([]Result, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range out {
		o.Seed = first + uint64(i)
		of := o
		g.Go(func() error {
			out[i] = Run(of)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
	return out
}

// Part of a whole, of one seed: joins that were lost, of those that ended.
type Part struct{ Of, Whole int }

// Share of a whole, and between which values it lies with a probability of 95 %.
type Share struct{ Is, Low, High float64 }

// Apart is true for two shares whose ranges do not overlap.
func (s Share) Apart(o Share) bool { return s.Low > o.High || o.Low > s.High }

// ShareOf is the sum of all parts, of the sum of all wholes. What happens in one seed hangs together, so the spread is a bootstrap over the seeds. Where nothing happened there is nothing to
// draw from: then it is the rule of three (0 of n: at most 3/n), for all as for none.
func ShareOf(parts []Part) Share {
	sum := Part{}
	for _, p := range parts {
		sum.Of, sum.Whole = sum.Of+p.Of, sum.Whole+p.Whole
	}
	switch three := min(1, 3/float64(sum.Whole)); {
	case sum.Of == 0:
		return Share{0, 0, three}
	case sum.Of == sum.Whole:
		return Share{1, 1 - three, 1}
	}
	return Spread(len(parts), func(drawn []int) float64 {
		sum := Part{}
		for _, i := range drawn {
			sum.Of, sum.Whole = sum.Of+parts[i].Of, sum.Whole+parts[i].Whole
		}
		return float64(sum.Of) / float64(sum.Whole)
	})
}

// Spread is a statistic of n seeds, and its range by a bootstrap over them. Draws of seeds in which nothing happened say nothing.
func Spread(n int, of func(seeds []int) float64) Share {
	drawn := make([]int, n)
	for i := range drawn {
		drawn[i] = i
	}
	out := Share{Is: of(drawn)}
	rng := rand.New(rand.NewPCG(uint64(n), 0xb007)) // the same seeds have the same spread
	var all []float64
	for range 1000 {
		for i := range drawn {
			drawn[i] = rng.IntN(n)
		}
		if x := of(drawn); !math.IsNaN(x) {
			all = append(all, x)
		}
	}
	slices.Sort(all)
	out.Low, out.High = all[at(0.025, len(all))], all[at(0.975, len(all))]
	return out
}

// at is the index of a quantile in n sorted values.
func at(p float64, n int) int { return int(math.Round(p * float64(n-1))) }

// Quantile of durations that need not be sorted; 0 of none.
func Quantile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[at(p, len(all))]
}
