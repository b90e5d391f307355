// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// PeopleWorld has one trouble after the other, each when all is well again: nearly all of them need
// a person. It is a year without its quiet time, with other rates: about two of each kind in a run.
const PeopleWorld = "people"

const twice = 2 * 52 // in the one week that is simulated

var troubles = []rate{
	{"a volume is lost", 0, 0, twice, diskFails},
	{"two volumes are lost", 0, 0, twice, twoDisksFail},
	{"a Kubernetes node is lost for good", 0, 0, twice, nodeLostForGood},
	{"a Kubernetes node is away", 0, 0, twice, machineFails},
	{"a new node's volume is lost while it joins", 0, 0, twice, lostAfter(0, 40*time.Second)},
	{"a new node's volume is lost when it has joined", 0, 0, twice, lostAfter(40*time.Second, 3*time.Minute)},
	{"a node ends while another one joins", 0, 0, twice, endsWhileOneJoins},
	{"a volume is lost, and the new node's too", 0, 0, twice, lostAgain},
	{"a volume is lost, and a node ends while it is replaced", 0, 0, twice, endsWhileOneReplaces},
	{"somebody removes a node that is down", 0, 0, twice, removedWhileDown},
	{"a StatefulSet is deleted and applied again", 0, 0, twice, setsDeleted},
	{"the controller is away, and a new node's volume is lost", 0, 0, twice, lostUnrecorded},
}

func twoDisksFail(w *world, rng *rand.Rand) bool {
	first := diskFails(w, rng)
	return first && diskFails(w, rng)
}

func nodeLostForGood(w *world, rng *rand.Rand) bool {
	p := w.one(rng)
	return p != nil && w.machineLost(p)
}

func setsDeleted(w *world, _ *rand.Rand) bool {
	w.deleteSets()
	return w.during(4*time.Minute, func() {})
}

// whileIn calls do once, as soon as a request of that kind is under way.
func (w *world) whileIn(kind rules.Kind, do func(p *pod)) bool {
	until := w.now.Add(20 * time.Minute)
	var look func()
	look = func() {
		for _, g := range w.groups {
			if r := g.current; r != nil && r.kind == kind && r.proc != nil && !r.proc.ended {
				do(r.proc.pod)
				return
			}
		}
		if w.now.Before(until) {
			w.after(time.Second, look)
		}
	}
	look()
	return true
}

func (w *world) loseVolume(p *pod) {
	if p.machine == nil || p.machine.off || !w.mayLose(p.name) {
		return
	}
	w.noteLoss(p)
	w.deleteClaim(p.claim)
	w.deletePod(p, true)
}

// lostAfter: a new node's volume is lost so long after its join has begun.
func lostAfter(low, high time.Duration) func(*world, *rand.Rand) bool {
	return func(w *world, rng *rand.Rand) bool {
		w.scaleUpAny()
		wait := lasts(rng, low, high)
		return w.whileIn(rules.Join, func(p *pod) { w.after(wait, func() { w.loseVolume(p) }) })
	}
}

func lostUnrecorded(w *world, rng *rand.Rand) bool {
	wait, away := lasts(rng, 40*time.Second, 2*time.Minute), lasts(rng, 3*time.Minute, 10*time.Minute)
	w.scaleUpAny()
	return w.whileIn(rules.Join, func(p *pod) {
		w.controllerEnds(away)
		w.after(wait, func() { w.loseVolume(p) })
	})
}

// endOther ends ScyllaDB of another member for a few minutes.
func (w *world) endOther(rng *rand.Rand, p *pod) {
	all := slices.DeleteFunc(slices.Clone(w.podNames.of(w.pods)), func(name string) bool {
		q := w.pods[name]
		return q == p || q.proc == nil || !q.proc.serves || !w.mayLose(name)
	})
	if len(all) > 0 {
		q := w.pods[pickBy(rng, all)]
		w.kill(q, false)
		q.next = w.now.Add(lasts(rng, time.Minute, 5*time.Minute))
	}
}

func endsWhileOneJoins(w *world, rng *rand.Rand) bool {
	w.scaleUpAny()
	return w.whileIn(rules.Join, func(p *pod) { w.endOther(rng, p) })
}

func endsWhileOneReplaces(w *world, rng *rand.Rand) bool {
	return diskFails(w, rng) && w.whileIn(rules.Replace, func(p *pod) { w.endOther(rng, p) })
}

func lostAgain(w *world, rng *rand.Rand) bool {
	wait := lasts(rng, 0, 2*time.Minute)
	return diskFails(w, rng) && w.whileIn(rules.Replace, func(p *pod) { w.after(wait, func() { w.loseVolume(p) }) })
}

// removedWhileDown is somebody who does what no step says.
func removedWhileDown(w *world, rng *rand.Rand) bool {
	p := w.one(rng)
	if p == nil || p.proc == nil || !p.proc.serves || !w.mayLose(p.name) {
		return false
	}
	w.kill(p, false)
	p.next = w.now.Add(5 * time.Minute)
	return w.during(2*time.Minute, w.removeDown)
}
