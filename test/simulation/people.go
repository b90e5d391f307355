// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// reaction is how long something has to be wrong before a person runs the printed command.
const reaction = time.Minute

// people look every quarter of a minute.
func (w *world) people() {
	switch {
	case w.Rule != Operator:
		w.followStatus()
	case !w.now.Before(w.net.gone):
		w.followManual()
	}
}

// well is true for a member that serves, reports, and is not being replaced.
func (w *world) well(name string) bool {
	p, svc := w.pods[name], w.service[name]
	if p == nil || svc == nil || p.deleting || p.proc == nil || !p.proc.serves || !p.status.ready || p.status.reporter != reporterWell {
		return false
	}
	rec := replace.ReadRecord(svc.Labels, svc.Annotations)
	return !rec.Requested && !rec.Open() && p.revision == p.set.revisionName()
}

// lost is true for a Pod whose machine is gone for ever, or which finds none because its volume is on such a one.
func (p *pod) lost() bool {
	at := p.machine
	if at == nil && p.claim != nil {
		at = p.claim.machine
	}
	return at != nil && at.gone
}

// member is true for a host ID that the cluster lists.
func (w *world) member(id string) bool {
	return slices.ContainsFunc(w.groups, func(g *group) bool { return id != "" && g.members[id] != "" })
}

// discard is kubectl delete pvc, by a person.
func (w *world) discard(c *claim) {
	w.harmOfDeletion(c)
	w.deleteClaim(c)
}

func (w *world) wipe(p *pod) {
	p.failed = ""
	w.discard(p.claim)
	w.deletePod(p, false)
}

// write is what kubectl makes of KEY=VALUE and KEY-.
func write(m map[string]string, terms []string) {
	for _, word := range terms {
		if k, v, is := strings.Cut(word, "="); is {
			m[k] = v
			continue
		}
		delete(m, strings.TrimSuffix(word, "-"))
	}
}

// forgetLoss: a node that was lost has been removed. Until then it is one that others have to ignore.
func (w *world) forgetLoss(id string) {
	for name := range w.lost { // deletion alone: the order does not matter
		if svc := w.service[name]; svc != nil && svc.Annotations[api.AnnotationHostID] == id {
			delete(w.lost, name)
		}
	}
}

// dead are other members whose data is gone too: they must be ignored, or the replacements wait for each other.
func (w *world) otherLost(name string) []string {
	var out []string
	for _, other := range sortedKeys(w.lost) {
		svc := w.service[other]
		if svc == nil || other == name {
			continue
		}
		if id := svc.Annotations[api.AnnotationHostID]; w.member(id) && w.running(id) == nil { // else it is the new node
			out = append(out, id)
		}
	}
	return out
}

func (w *world) requestReplace(name string, skip ...string) {
	id := fmt.Sprintf("person-%d", w.version)
	w.tracef("kubectl scylla replace %s ignoring %q skipping %q", name, shorts(w.otherLost(name)), skip)
	w.annotate(name, func(labels, annotations map[string]string) {
		if w.Rule == Operator {
			labels[api.LabelReplace] = ""
			return
		}
		replace.RequestPatch(id, w.otherLost(name), skip).Apply(&labels, &annotations)
	})
}

func (w *world) setOf(name string) *set {
	for _, s := range w.sets {
		if strings.HasPrefix(name, s.obj.Name+"-") {
			return s
		}
	}
	return nil
}

func (w *world) applyParallel(name string) {
	edit(w, &w.setOf(name).obj, func(o *appsv1.StatefulSet) { o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement })
}

// Followed is what came of the commands that people ran.
type Followed struct {
	// Harmful commands: each is a violation, and says which.
	Harmful int
	// Steps of status that a person followed. Circles are troubles that many of them do not end.
	Steps, Circles int
	// Healed troubles, in which a person did something, HealSteps in all, and Unhealed ones at the end.
	Healed, HealSteps, Unhealed int
}

// harm is what a person did by a printed command and should never have been told to do.
func (w *world) harm(format string, args ...any) {
	if w.careless || w.Rule == Operator {
		return
	}
	w.violate(&w.result.Harmful, "a person's step harms: "+format, args...)
}

// harmOfDeletion: the claim holds the data of a member that could start with it.
func (w *world) harmOfDeletion(c *claim) {
	d := c.disk
	if d.group == nil || c.deleting || !w.intact(c) || d.group.banned[d.id] {
		return
	}
	switch d.group.members[d.id] {
	case normal, rules.BeingReplaced, rules.Removing:
		w.harm("claim %s is deleted, with the data of %s, which is a member", c.obj.Name, short(d.id))
	}
}

// intact is true for a volume with which its node can start.
func (w *world) intact(c *claim) bool {
	return c.disk.complete && !c.disk.copied && (c.machine == nil || !c.machine.gone)
}

// harmOfBan: the node lives, or could start with its volume.
func (w *world) harmOfBan(g *group, id string) {
	if g.banned[id] || g.left[id] {
		return
	}
	if s := w.running(id); s != nil {
		w.harm("%s is banned, which runs in %s", short(id), s.pod.name)
		return
	}
	for _, name := range w.claimNames.of(w.claims) {
		if c := w.claims[name]; c.disk.id == id && !c.deleting && w.intact(c) {
			w.harm("%s is banned, whose data is on %s", short(id), name)
		}
	}
}

// harmOfForgetting: nothing shows any more that this node, a member, must be UP.
func (w *world) harmOfForgetting(member string) {
	id := w.service[member].Annotations[api.AnnotationHostID]
	if slices.ContainsFunc(w.groups, func(g *group) bool { return g.members[id] == normal }) {
		w.harm("the host ID of %s is forgotten, %s, which is a member", member, short(id))
	}
}

// harmOfForce: a person opened a barrier, and the join is lost because of a node that the
// coordinator had as DOWN already. The barrier does not open over one that the force does not name.
func (w *world) harmOfForce(r *request, b began, dead []string) {
	if o := r.opened; o == nil || o.decision != bootstrap.DecisionForced {
		return
	}
	if i := slices.IndexFunc(dead, func(id string) bool { return b.known[id] > knowable }); i >= 0 {
		w.harm("%s was forced, and its join is lost because of %s, which was out of reach for %s", r.proc.pod.name, short(dead[i]), b.away[dead[i]])
	}
}

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
	if all := w.losable(func(q *pod) bool { return q != p }); len(all) > 0 {
		q := pickBy(rng, all)
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
