// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// schedule draws what goes wrong, and when all of it is over.
func (w *world) schedule() {
	if w.Hole {
		for i := range 5 {
			w.after(time.Duration(4+5*i)*time.Minute, w.hole)
		}
		w.after(healAt, w.heal)
		return
	}
	n := 3 + w.IntN(9)
	for range n {
		w.after(w.between(20*time.Second, healAt-2*time.Minute), w.fault)
	}
	for range 1 + w.IntN(4) {
		w.after(w.between(10*time.Second, healAt), w.scaleUp)
	}
	w.apiFaults()
	w.after(healAt, w.heal)
}

func (w *world) fault() {
	w.result.Faults++
	drawn := func(do func(*world, *rand.Rand) bool) func() { return func() { do(w, w.Rand) } }
	crash, restart, silence := drawn(scyllaCrashes(2*time.Second)), drawn(podDeleted(false)), drawn(reporterHangs)
	faults := []func(){
		crash, crash, w.killContainer, restart, restart, drawn(podDeleted(true)), w.rollOut, w.rollOut, w.partition, w.cutOff,
		w.loseDisk, w.loseDisk, w.reboot, w.reboot, w.loseMachine, w.powerFailure, silence, silence, w.crashReporter, w.slowReporter,
		w.stopController, w.stopController, w.deleteSets, w.removeDown,
	}
	pick(w, faults)()
}

func (w *world) somePod(rng *rand.Rand) *pod {
	names := w.podNames.of(w.pods)
	if len(names) == 0 {
		return nil
	}
	return w.pods[pickBy(rng, names)]
}

// mayStop is false for a node that a crash would lose for ever where the cluster cannot bear it: one that is a member and has not noted it yet (5.4).
func (w *world) mayStop(p *pod) bool {
	s := p.proc
	if s == nil || s.group == nil || s.disk.complete || s.group.members[s.id] == "" {
		return true
	}
	if s.group.members[s.id] != normal || s.replace == "" && len(s.group.order) == 1 {
		return s.group.members[s.id] != normal && len(s.group.order) > 1
	}
	return w.mayLose(p.name)
}

// mayLose is true while the cluster keeps its majority without the member.
func (w *world) mayLose(member string) bool {
	if len(w.groups) == 0 {
		return false
	}
	g := w.groups[0]
	total, away := 0, 0
	for _, id := range g.order {
		if g.members[id] == joining || g.members[id] == rules.Replacing {
			continue
		}
		total++
		if s := w.running(id); s == nil || !s.disk.complete || s.pod.name == member {
			away++
		}
	}
	for name := range w.lost { // a count: the order does not matter
		if p := w.pods[name]; name != member && p != nil && p.proc != nil && p.proc.disk.complete {
			away++
		}
	}
	return total >= 3 && 2*(total-away) > total && len(w.lost) < 2 && (len(w.lost) == 0 || total >= 5)
}

func (w *world) killContainer() {
	if p := w.somePod(w.Rand); p != nil && p.stage == running && w.mayStop(p) {
		w.tracef("FAULT ScyllaDB's container is killed in %s; it starts again in the same Pod", p.name)
		w.kill(p, false)
		w.restartContainer(p, w.between(time.Second, 20*time.Second))
	}
}

// restartContainer starts ScyllaDB's container, with its launcher, anew in its Pod. Init containers do not run again.
func (w *world) restartContainer(p *pod, after time.Duration) {
	p.restarts++
	p.stage, p.args, p.launcher = launching, nil, launcher{next: w.now.Add(after)}
}

func (w *world) rollOut() {
	all := w.chance(0.4)
	one := pick(w, w.sets)
	for _, s := range w.sets {
		if (all || s == one) && !s.away {
			w.changeTemplate(s)
		}
	}
}

func (w *world) changeTemplate(s *set) {
	s.revision++
	edit(w, &s.obj, func(o *appsv1.StatefulSet) { o.Generation++ })
	w.tracef("FAULT rollout of %s to revision %d", s.obj.Name, s.revision)
}

func (w *world) scaleUp() { w.scaleUpSet(pick(w, w.sets)) }

func (w *world) scaleUpSet(s *set) {
	if s.away || s.replicas >= w.mostReplicas() {
		return
	}
	w.setReplicas(s, s.replicas+1)
}

func (w *world) setReplicas(s *set, n int32) {
	s.replicas = n
	edit(w, &s.obj, func(o *appsv1.StatefulSet) { o.Generation, o.Spec.Replicas = o.Generation+1, &n })
	w.tracef("%s is scaled to %d", s.obj.Name, n)
}

// partition of ScyllaDB's own network.
func (w *world) partition() {
	if len(w.part) > 0 {
		return
	}
	side := w.podsThat(func(*pod) bool { return w.chance(0.35) })
	w.tracef("FAULT partition: %s do not reach the others", strings.Join(namesOf(side), ","))
	w.isolate(side...)
	w.after(w.between(5*time.Second, 4*time.Minute), w.mend)
}

// isolate puts Pods on the other side of ScyllaDB's network.
func (w *world) isolate(all ...*pod) {
	for _, p := range all {
		w.part[p.name] = 1
	}
	w.reconnect()
}

func (w *world) rejoin(all ...*pod) {
	for _, p := range all {
		delete(w.part, p.name)
	}
	w.reconnect()
}

func namesOf(all []*pod) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.name)
	}
	return out
}

func (w *world) mend() {
	w.tracef("the partition is over")
	clear(w.part)
	w.reconnect()
}

// cutOff keeps one machine from the API server; ScyllaDB's network works.
func (w *world) cutOff() {
	p := w.somePod(w.Rand)
	if p == nil || w.cut[p.name] {
		return
	}
	w.cutFor(p, w.between(10*time.Second, 4*time.Minute))
}

func (w *world) cutFor(p *pod, lasts time.Duration) {
	if p.claim.disk.copied {
		return // as apiServerAway
	}
	w.tracef("FAULT the machine of %s does not reach the API server", p.name)
	w.cut[p.name], w.cutAt[p.name] = true, w.now
	w.after(lasts, func() {
		delete(w.cut, p.name)
		w.tracef("the machine of %s reaches the API server again", p.name)
	})
}

func (w *world) loseDisk() {
	p := w.somePod(w.Rand)
	if p == nil || p.claim.disk.id == "" || !w.mayLose(p.name) || w.busy() || p.machine == nil || p.machine.off {
		return
	}
	w.tracef("FAULT %s loses its volume: claim and Pod are deleted", p.name)
	w.noteLoss(p)
	w.deleteClaim(p.claim)
	w.deletePod(p, w.chance(0.5))
}

// noteLoss remembers that the data of a member is gone, if it was one.
func (w *world) noteLoss(p *pod) {
	if g := p.claim.disk.group; g != nil && g.members[p.claim.disk.id] != "" {
		w.lost[p.name] = true
	}
}

// someRemoved is true while a member Service records a node that was removed. A second one may leave fewer members than removed ones, and then the rows
// that are left do not tell a removal from a split: see the limits in docs/internals.md.
func (w *world) someRemoved() bool {
	return slices.ContainsFunc(w.serviceNames.of(w.service), func(name string) bool {
		return w.service[name].Annotations[api.AnnotationNodeJoined] == "true" && w.removed(w.service[name].Annotations[api.AnnotationHostID])
	})
}

// busy is true while a replacement has banned a node: the loss of another then would be one too many.
func (w *world) busy() bool {
	for _, g := range w.groups {
		for _, id := range g.order {
			if g.banned[id] {
				return true
			}
		}
	}
	return false
}

func (w *world) reboot() {
	w.machinesFail([]*machine{pick(w, w.machine)}, func() time.Duration {
		if away := w.between(10*time.Second, 3*time.Minute); !w.chance(0.2) {
			return away
		}
		return w.between(6*time.Minute, 9*time.Minute)
	})
}

func (w *world) powerFailure() {
	w.machinesFail(w.machine, func() time.Duration { return w.between(20*time.Second, 3*time.Minute) })
}

// machinesFail ends all of the list, each for a time of its own: all containers of their Pods start anew, init containers included.
func (w *world) machinesFail(all []*machine, away func() time.Duration) bool {
	if slices.ContainsFunc(all, func(m *machine) bool { return !w.mayStopAll(m) }) {
		return false
	}
	for _, m := range all {
		if !m.off {
			w.tracef("FAULT machine %s is off", m.name)
			w.off(m)
			w.after(away(), func() { w.on(m) })
		}
	}
	return true
}

func (w *world) mayStopAll(m *machine) bool {
	return !slices.ContainsFunc(w.podsOn(m), func(p *pod) bool { return !w.mayStop(p) })
}

func (w *world) off(m *machine) {
	m.off, m.since = true, w.now
	for _, p := range w.podsOn(m) {
		w.kill(p, false)
		p.reporter.round++
	}
}

func (w *world) on(m *machine) {
	if m.gone || !m.off {
		return
	}
	w.tracef("machine %s is back", m.name)
	m.off = false
	for _, p := range w.podsOn(m) {
		if !p.deleting {
			w.sandbox(p)
		}
	}
}

// loseMachine takes one away for ever, with its volumes; another one is bought.
func (w *world) loseMachine() {
	if p := w.somePod(w.Rand); p != nil && p.machine != nil && !p.machine.off {
		w.machineLost(p)
	}
}

func (w *world) crashReporter() {
	if p := w.somePod(w.Rand); p != nil {
		p.reporter.beat.start()
		p.reporter.views = view.Receiver{}
		p.reporter.crashed = w.now.Add(w.between(10*time.Second, 5*time.Minute))
		w.tracef("FAULT the reporter of %s crashes for %s", p.name, p.reporter.crashed.Sub(w.now).Round(time.Second))
	}
}

func (w *world) slowReporter() {
	if p := w.somePod(w.Rand); p != nil {
		p.reporter.slow = w.between(time.Second, 5*time.Second)
		w.after(5*time.Minute, func() { p.reporter.slow = 0 })
	}
}

func (w *world) stopController() {
	if w.permits() {
		w.freezeController(w.between(5*time.Second, 5*time.Minute))
		return
	}
	w.control.stopped = w.now.Add(w.between(5*time.Second, 5*time.Minute))
	w.tracef("FAULT the controller is stopped for %s", w.control.stopped.Sub(w.now).Round(time.Second))
}

// deleteSets deletes StatefulSets with their Pods, and applies them again. Services without an owner stay, and so do claims.
func (w *world) deleteSets() {
	if w.silent() {
		return // the report goes with its StatefulSets, and the last rows with the report: then only a person knows the volumes' nodes
	}
	all, one := w.chance(0.5), pick(w, w.sets)
	if !w.mayStopAny() {
		return
	}
	for _, s := range w.sets {
		if s.away || !all && s != one {
			continue
		}
		w.deleteSet(s)
		w.after(w.between(20*time.Second, 3*time.Minute), func() { w.applyAgain(s) })
	}
}

func (w *world) mayStopAny() bool { return len(w.podsThat(w.mayStop)) == len(w.pods) }

func (w *world) deleteSet(s *set) {
	w.tracef("FAULT StatefulSet %s is deleted", s.obj.Name)
	s.away = true
	w.wrote(cluster.KindStatefulSets)
	for _, p := range w.podsThat(func(p *pod) bool { return p.set == s }) {
		w.deletePod(p, false)
	}
}

func (w *world) applyAgain(s *set) {
	if !s.away {
		return
	}
	s.away = false
	edit(w, &s.obj, func(o *appsv1.StatefulSet) { o.UID = "again-" + o.UID })
	w.tracef("StatefulSet %s is applied again", s.obj.Name)
}

// removeDown is a person who removes a node that happens to be down: it can never come back.
func (w *world) removeDown() {
	for _, name := range w.podNames.of(w.pods) {
		p := w.pods[name]
		g := p.claim.disk.group
		if p.proc == nil && g != nil && g.members[p.claim.disk.id] == normal && !w.lost[name] && !w.busy() && !w.someRemoved() && w.mayLose(name) {
			w.careless = true
			done := w.removeNode(g, p.claim.disk.id, w.otherLost(name))
			if w.careless = false; done {
				return
			}
		}
	}
}

// heal ends every fault. What was lost for ever stays lost: that is for people.
func (w *world) heal() {
	w.tracef("all faults are over")
	w.healed = true
	w.mend()
	clear(w.cut)
	w.control.stopped = time.Time{}
	w.control.way.clear()
	w.control.loopStalls = time.Time{}
	w.net.clear()
	w.healWide()
	for _, m := range w.machine {
		w.on(m)
	}
	for _, s := range w.sets {
		w.applyAgain(s)
	}
	for _, name := range w.podNames.of(w.pods) {
		r := &w.pods[name].reporter
		r.hung, r.crashed, r.slow = time.Time{}, time.Time{}, 0
	}
	w.after(cmp.Or(w.Patience, patience), w.giveUp)
}

// crowd ends ScyllaDB of a node for minutes, three times in a seed, and scales the cluster up meanwhile. It draws from a source of its own.
func (w *world) crowd() {
	if w.Hole {
		return
	}
	rng := rand.New(rand.NewPCG(w.Seed, 0xc0de))
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(rng.Int64N(int64(high-low))) }
	for i := range 3 {
		at, lasts, n := time.Duration(4+8*i)*time.Minute+between(0, 3*time.Minute), between(3*time.Minute, 5*time.Minute), rng.IntN(1<<16)
		w.after(at, func() {
			w.result.Faults++
			w.dieFor(lasts, n)
		})
		w.after(at+between(rules.LastDown, 100*time.Second), w.scaleUpAny)
	}
}

// scaleUpAny scales up the first StatefulSet that is not at its most.
func (w *world) scaleUpAny() {
	for _, s := range w.sets {
		if !s.away && s.replicas < w.mostReplicas() {
			w.scaleUpSet(s)
			return
		}
	}
}
