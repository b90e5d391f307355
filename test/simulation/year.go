// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A year is a world in which each fault has the rate that somebody has published, or one that is assumed. Its events are
// drawn first. Time in which every member is well and nothing is in progress is cut out after `settled`: only then does the
// next event follow. So the ages of objects that stand still are shorter than in a year of days; no rule of the product
// reads an age of hours. Messages are lost only while an event says so, and all clocks agree.

// Size of a cluster in a year: three racks of one datacenter.
type size struct {
	perRack int32
	weeks   int // of the year that are simulated
	rates   []rate
}

const week = 7 * 24 * time.Hour

// years are the worlds that are a year, or a part of one.
var years = map[string]size{
	"year-6":    {2, 52, rates},
	"year-30":   {10, 52, rates},
	"year-300":  {100, 1, rates},
	PeopleWorld: {2, 1, troubles},
}

// rate is how often one kind of event happens in a year, and what it does. It does nothing, and returns false, where the
// cluster could not survive it: then no rule could help either.
type rate struct {
	kind                         string
	perNode, perRack, perCluster float64
	do                           func(*world, *rand.Rand) bool
}

// Sources: Dean is "Software engineering advice" and "The joys of real hardware", Google I/O 2008: the first year of a
// cluster of 1,800 machines, here in racks of 40. Backblaze is "Drive stats 2024": 1.57 % of drives a year. GKE is its
// documentation of cluster upgrades: three minor versions a year, patches as often as weekly. ScyllaDB is its version
// support policy: 2025.1 to 2025.4 in one year. EKS is its service level: 99.95 %, which is 4.4 h a year.
var rates = []rate{
	{"a machine fails", 0.5, 0, 0, machineFails},                                     // Dean: 1,000 of 1,800; one in ten for good, assumed
	{"a disk fails", 0.0157, 0, 0, diskFails},                                        // Backblaze
	{"a rack fails", 0, 0.44, 0, rackFails},                                          // Dean: 20 of 45 racks
	{"a rack loses packets", 0, 0.11, 0, rackLosesPackets},                           // Dean: 5 of 45 racks, half of all packets
	{"random connectivity losses", 0, 0, 4, connectivityLosses},                      // Dean: 4, of about 30 minutes
	{"a rack is cut off", 0, 0, 3, rackIsCutOff},                                     // Dean: 3 router failures, of up to an hour
	{"Kubernetes nodes are upgraded", 0, 0, 12, machinesUpgraded},                    // GKE: 3, and patches; monthly, assumed
	{"the API server is away", 0, 0, 13, apiServerAway(time.Minute, 40*time.Minute)}, // EKS: 13 times 20 minutes; their length is assumed
	{"ScyllaDB is upgraded", 0, 0, 12, rolledOut},                                    // ScyllaDB: 4, and 8 patch releases, assumed
	{"a setting is changed", 0, 0, 12, rolledOut},                                    // assumed
	{"ScyllaDB crashes", 0.5, 0, 0, scyllaCrashes(30 * time.Second)},                 // assumed
	{"a Pod is evicted", 1, 0, 0, podDeleted(false)},                                 // assumed
	{"a reporter hangs", 0.5, 0, 0, reporterHangs},                                   // assumed
	{"the controller restarts", 0, 0, 24, controllerRestarts},                        // assumed: its nodes are upgraded too, and its image
	{"scaled up", 0, 0, 4, scaledUp},                                                 // assumed
	{"scaled and changed", 0, 0, 2, scaledAndChanged},                                // assumed: replicas and template in one kubectl apply
}

// year is the course of one.
type year struct {
	size    size
	events  []yearEvent
	skipped time.Duration // quiet time that was cut out
	formed  bool          // the cluster has been made: the year begins
	until   time.Time     // no event that has begun lasts longer
	rolling bool          // Kubernetes nodes are upgraded
	quiet   time.Time     // since when every member is well; zero while one is not
	unquiet time.Time     // since when not
}

type yearEvent struct {
	at   time.Duration // in the year
	rate *rate
	rng  *rand.Rand // of its own: the same year under every rule
}

// yearly is true in a world that is a year, or a part of one.
func (w *world) yearly() bool { return w.year.size.weeks > 0 }

// settled is how long every member has to be well before time is cut out: longer than any row, view or Lease needs.
const settled = 2 * time.Minute

func (w *world) mostReplicas() int32 {
	if !w.yearly() {
		return cmp.Or(w.PerRack, 3)
	}
	return w.year.size.perRack + 2 + w.year.size.perRack/4
}

// beginYear draws the year.
func (w *world) beginYear() {
	y := &w.year
	w.healed = true // no message is lost but by an event
	length := time.Duration(y.size.weeks) * week
	rng := rand.New(rand.NewPCG(w.Seed, 0x9ea2))
	for i := range y.size.rates {
		r := &y.size.rates[i]
		perYear := r.perNode*float64(3*y.size.perRack) + r.perRack*3 + r.perCluster
		for at := 0.0; ; {
			at += rng.ExpFloat64() * float64(52*week) / perYear
			if at >= float64(length) {
				break
			}
			y.events = append(y.events, yearEvent{time.Duration(at), r, rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))})
		}
	}
	slices.SortStableFunc(y.events, func(a, b yearEvent) int { return cmp.Compare(a.at, b.at) })
	y.unquiet = w.now
	w.every(10*time.Second, w.yearTick)
}

// yearTick begins what is due. While every member is well it cuts the time until then out.
func (w *world) yearTick() {
	y := &w.year
	if len(w.unwell()) > 0 || y.rolling || w.now.Before(y.until) {
		patient := cmp.Or(w.Patience, patience)
		if !y.formed {
			patient += time.Duration(3*y.size.perRack) * 2 * time.Minute // one node after the other
		}
		if y.quiet = (time.Time{}); w.now.Sub(y.unquiet) > patient && w.now.Sub(y.until) > patient {
			w.giveUp()
			return
		}
	} else if y.unquiet = w.now; y.quiet.IsZero() {
		y.quiet = w.now
	}
	quiet := !y.quiet.IsZero() && w.now.Sub(y.quiet) >= settled
	if quiet && len(y.events) == 0 {
		w.over = true
	} else if quiet {
		y.skipped, y.formed = y.skipped+max(0, y.gap(w.now)), true
	}
	for y.formed && len(y.events) > 0 && y.gap(w.now) <= 0 {
		e := y.events[0]
		y.events = y.events[1:]
		w.tracef("week %d: %s", int(e.at/week)+1, e.rate.kind)
		kind := e.rate.kind
		if !e.rate.do(w, e.rng) {
			kind = "not survivable: " + kind
		}
		w.result.Kinds[kind]++
		w.result.Faults++
		y.quiet = time.Time{}
	}
}

// gap is how far away the next event is.
func (y *year) gap(now time.Time) time.Duration {
	return y.events[0].at - y.skipped - now.Sub(start)
}

func lasts(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)+1))
}

// uneventful is how long an outage is simulated in which no other event begins: longer than any delay of kubelets, node
// controller and people.
const uneventful = 10 * time.Minute

// outage is how long one is simulated. The rest of its time is cut out.
func (w *world) outage(d time.Duration) time.Duration {
	y := &w.year
	if d <= uneventful || len(y.events) > 0 && y.gap(w.now) < d {
		return d
	}
	y.skipped += d - uneventful
	return uneventful
}

// during does something that lasts, and then ends it.
func (w *world) during(d time.Duration, ends func()) bool {
	if until := w.now.Add(d); until.After(w.year.until) {
		w.year.until = until
	}
	w.after(d, ends)
	return true
}

func (w *world) one(rng *rand.Rand) *pod {
	p := w.somePod(rng)
	if p == nil || p.machine == nil || p.machine.off || !w.mayStop(p) {
		return nil
	}
	return p
}

func (w *world) ofRack(rng *rand.Rand) (rack string, all []*pod) {
	rack = pickBy(rng, w.sets).place.Rack
	return rack, w.podsThat(func(p *pod) bool { return p.set.place.Rack == rack })
}

func pickBy[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

func machineFails(w *world, rng *rand.Rand) bool {
	p, forever, away := w.one(rng), rng.IntN(10) == 0, w.outage(lasts(rng, 3*time.Minute, 20*time.Minute))
	if p == nil {
		return false
	}
	m := p.machine
	if forever {
		return w.machineLost(p)
	}
	w.off(m)
	return w.during(away, func() { w.on(m) })
}

func (w *world) machineLost(p *pod) bool {
	m := p.machine
	if w.busy() || len(w.podsOn(m)) != 1 || !w.mayLose(p.name) {
		return false
	}
	w.tracef("FAULT machine %s of %s is lost for ever", m.name, p.name)
	w.noteLoss(p)
	w.lost[p.name] = true
	w.off(m)
	m.gone = true
	w.machine = append(w.machine, &machine{name: m.name + "x", place: m.place})
	return true
}

func diskFails(w *world, rng *rand.Rand) bool {
	p := w.one(rng)
	if p == nil || w.busy() || p.claim.disk.id == "" || !w.mayLose(p.name) {
		return false
	}
	w.loseVolume(p)
	return true
}

func rackFails(w *world, rng *rand.Rand) bool {
	rack, _ := w.ofRack(rng)
	away := w.outage(lasts(rng, time.Hour, 6*time.Hour))
	all := slices.DeleteFunc(slices.Clone(w.machine), func(m *machine) bool { return m.place.Rack != rack })
	return w.machinesFail(all, func() time.Duration { return away }) && w.during(away, func() {})
}

// flaps cuts members of the list off for seconds, again and again.
func (w *world) flaps(rng *rand.Rand, all []*pod, d time.Duration) bool {
	until := w.now.Add(d)
	var again func()
	again = func() {
		if !w.now.Before(until) {
			return
		}
		p, away := pickBy(rng, all), lasts(rng, 5*time.Second, 40*time.Second)
		w.isolate(p)
		w.after(away, func() {
			w.rejoin(p)
			w.after(lasts(rng, 5*time.Second, 40*time.Second), again)
		})
	}
	again()
	return w.during(d+time.Minute, func() {})
}

func rackLosesPackets(w *world, rng *rand.Rand) bool {
	_, pods := w.ofRack(rng)
	return w.flaps(rng, pods, lasts(rng, 10*time.Minute, time.Hour))
}

func connectivityLosses(w *world, rng *rand.Rand) bool {
	return w.flaps(rng, w.podsThat(func(*pod) bool { return true }), 30*time.Minute)
}

func rackIsCutOff(w *world, rng *rand.Rand) bool {
	_, pods := w.ofRack(rng)
	w.isolate(pods...)
	return w.during(w.outage(lasts(rng, 2*time.Minute, time.Hour)), func() { w.rejoin(pods...) })
}

// machinesUpgraded drains the machines one after the other: the next one follows when every member is well, as a
// PodDisruptionBudget has it, or after an hour, which is as long as GKE respects that.
func machinesUpgraded(w *world, rng *rand.Rand) bool {
	if w.year.rolling {
		return false
	}
	w.year.rolling = true
	todo := slices.DeleteFunc(slices.Clone(w.machine), func(m *machine) bool { return m.gone || len(w.podsOn(m)) == 0 })
	const patient = time.Hour
	waited := w.now
	var next func()
	next = func() {
		if len(todo) == 0 {
			w.year.rolling = false
			return
		}
		m := todo[0]
		if !m.gone && (m.off || !w.mayStopAll(m) || len(w.unwell()) > 0 && w.now.Sub(waited) < patient) {
			w.after(10*time.Second, next)
			return
		}
		todo, waited = todo[1:], w.now
		if m.gone {
			next()
			return
		}
		for _, p := range w.podsOn(m) {
			w.deletePod(p, false)
		}
		w.after(10*time.Second, func() { w.off(m) })
		w.after(lasts(rng, time.Minute, 4*time.Minute), func() { w.on(m); w.after(20*time.Second, next) })
	}
	next()
	return true
}

// apiServerAway answers nobody. Not while a copy of a volume waits, which starts then: docs/internals.md has that limit.
func apiServerAway(least, most time.Duration) func(*world, *rand.Rand) bool {
	return func(w *world, rng *rand.Rand) bool {
		if slices.ContainsFunc(w.claimNames.of(w.claims), func(name string) bool { return w.claims[name].disk.copied }) {
			return false
		}
		d := w.outage(lasts(rng, least, most))
		w.net.gone = w.now.Add(d)
		w.control.way.dropped = w.net.gone
		return w.during(d, func() {})
	}
}

func rolledOut(w *world, _ *rand.Rand) bool {
	for _, s := range w.sets {
		w.changeTemplate(s)
	}
	return true
}

// scyllaCrashes: its supervisor starts it again after at most that long.
func scyllaCrashes(most time.Duration) func(*world, *rand.Rand) bool {
	return func(w *world, rng *rand.Rand) bool {
		p := w.one(rng)
		if p == nil || p.proc == nil {
			return false
		}
		w.tracef("FAULT kill -9 of ScyllaDB in %s; its supervisor starts it again", p.name)
		w.kill(p, false)
		p.next = w.now.Add(lasts(rng, time.Second, most))
		return true
	}
}

func podDeleted(force bool) func(*world, *rand.Rand) bool {
	return func(w *world, rng *rand.Rand) bool {
		p := w.somePod(rng)
		if p == nil || !w.mayStop(p) || force && p.machine != nil && p.machine.off {
			return false
		}
		w.tracef("FAULT Pod %s is deleted, by force: %t", p.name, force)
		w.deletePod(p, force)
		return true
	}
}

func reporterHangs(w *world, rng *rand.Rand) bool {
	p := w.somePod(rng)
	if p == nil {
		return false
	}
	d := lasts(rng, 20*time.Second, 5*time.Minute)
	p.reporter.hung, p.reporter.frozen = w.now.Add(d), w.net.chance(0.5)
	w.tracef("FAULT the reporter of %s hangs for %s", p.name, d.Round(time.Second))
	return w.during(d, func() {})
}

// controllerEnds: the process that leads is gone for a while, by either policy.
func (w *world) controllerEnds(d time.Duration) {
	if w.permits() {
		w.endController(d)
	} else {
		w.control.stopped = w.now.Add(d)
	}
}

func controllerRestarts(w *world, rng *rand.Rand) bool {
	d := lasts(rng, 5*time.Second, 2*time.Minute)
	w.controllerEnds(d)
	return w.during(d, func() {})
}

func scaledUp(w *world, rng *rand.Rand) bool {
	for range 1 + rng.IntN(3) {
		w.scaleUpSet(slices.MinFunc(w.sets, func(a, b *set) int { return cmp.Compare(a.replicas, b.replicas) }))
	}
	return true
}

func scaledAndChanged(w *world, rng *rand.Rand) bool {
	scaledUp(w, rng)
	return rolledOut(w, rng)
}

func kindsOf(kinds map[string]int) string {
	var out []string
	for _, k := range sortedKeys(kinds) {
		out = append(out, fmt.Sprintf("%s: %d", k, kinds[k]))
	}
	return strings.Join(out, "\n")
}
