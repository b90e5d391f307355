// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Wide is the value of Options.World that adds to the adversarial world what happens around a cluster.
const Wide = "wide"

// wideFaults are what is drawn there, three to six times in a seed. Each returns false where it changes nothing.
var wideFaults = []struct {
	kind string
	do   func(*world, *rand.Rand) bool
}{
	{"a link works one way", oneWay},
	{"a member loses packets", losesPackets},
	{"links are slow", slowLinks},
	{"a disk is slow", slowDisk},
	{"a volume is restored", volumeRestored},
	{"a volume is cloned from another member", volumeCloned},
	{"a StatefulSet is deleted with its claims", setAndClaims},
	{"tablets delay joins", tabletsDelay},
	{"scaled down", scaledDown},
	{"removed while a join waits", removedMeanwhile},
	{"ScyllaDB is upgraded", upgraded},
	{"Kubernetes nodes are drained", machinesUpgraded},
	{"a clock jumps", clockJumps},
	{"etcd is restored", etcdRestored},
	{"the API server is away", apiServerAway(30*time.Second, 5*time.Minute)},
	{"no Pod can be created", quotaExceeded},
	{"the controller is away", controllerAway},
	{"a datacenter is cut off", datacenterCutOff},
	{"the other Kubernetes cluster is not readable", farUnread},
	{"a node of the other Kubernetes cluster dies", farDies},
}

// home is where a node has started last.
type home struct {
	address string
	tokens  bool // it owns some
	since   time.Time
}

// wider is the state of what only this world has.
type wider struct {
	rng     *rand.Rand         // of places and addresses; nil in other worlds
	oneWay  map[[2]string]bool // from, to: members
	slowly  time.Duration      // how much longer it takes to notice that a node is UP
	arbiter bool               // the last rack is of zero-token nodes
	image   int                // of versions
	at      map[string]home    // by host ID, where a version has one host ID for each address
	drains  time.Time          // until then tablets migrate
	quota   time.Time          // until then no Pod is created
	freed   []string           // addresses of Pods that are gone
	jumped  map[string]time.Duration
	// upgraded: not all nodes have one version.
	upgraded bool

	far *far
}

func (w *world) wide() bool { return w.World == Wide }

// widen draws what goes wrong.
func (w *world) widen() {
	if !w.wide() {
		return
	}
	rng := rand.New(rand.NewPCG(w.Seed, 0x31de))
	for i := range 3 + rng.IntN(4) {
		f, of := &wideFaults[rng.IntN(len(wideFaults))], rand.New(rand.NewPCG(rng.Uint64(), uint64(i)))
		w.after(lasts(rng, 2*time.Minute, healAt-4*time.Minute), func() {
			kind := f.kind
			w.tracef("FAULT %s", kind)
			if len(w.pods) == 0 || !f.do(w, of) {
				kind = "without effect: " + kind
			}
			w.result.Kinds[kind]++
			w.result.Faults++
		})
	}
}

// healWide ends all of it but what has an end of its own.
func (w *world) healWide() {
	x := &w.wider
	clear(x.oneWay)
	x.slowly, x.drains, x.quota = 0, time.Time{}, time.Time{}
	for _, m := range w.machine {
		m.slow = 0
	}
	if x.far != nil {
		x.far.unread = time.Time{}
	}
}

// racks are those of one to three datacenters; the last one may be of zero-token nodes.
func (w *world) racks() []scope.Place {
	if !w.wide() {
		return []scope.Place{placeOf("rack1"), placeOf("rack2"), placeOf("rack3")}
	}
	x := &w.wider
	x.rng, x.oneWay, x.jumped = rand.New(rand.NewPCG(w.Seed, 0xdc)), map[[2]string]bool{}, map[string]time.Duration{}
	of := [][]string{{"dc1", "dc1", "dc1"}, {"dc1", "dc1", "dc2"}, {"dc1", "dc2", "dc2"}, {"dc1", "dc2", "dc3"}}[x.rng.IntN(4)]
	var out []scope.Place
	for i, dc := range of {
		at := placeOf([]string{"rack1", "rack2", "rack3"}[i])
		at.Datacenter = dc
		out = append(out, at)
	}
	w.result.Kinds["datacenters: "+of[2][2:]]++
	if x.arbiter = x.rng.IntN(4) == 0; x.arbiter {
		w.result.Kinds["a rack of zero-token nodes"]++
	}
	if rng := rand.New(rand.NewPCG(w.Seed, 0x20252)); rng.IntN(8) == 0 {
		x.image, x.at = byIP+rng.IntN(2), map[string]home{}
		w.result.Kinds["one host ID for each address"]++
		w.after(lasts(rng, 3*time.Minute, 10*time.Minute), func() { w.addressTaken(rng) })
	}
	w.chooseFar()
	return out
}

// Links between nodes that are not simply there or gone.

// oneWay drops what one member opens towards another, as a firewall's rule does. Each node opens its own connections for its echoes (4.5): the first one has the second as DOWN, and is UP for it.
func oneWay(w *world, rng *rand.Rand) bool {
	names := w.podNames.of(w.pods)
	link := [2]string{pickBy(rng, names), pickBy(rng, names)}
	if link[0] == link[1] {
		return false
	}
	w.wider.oneWay[link] = true
	w.reconnect()
	w.after(lasts(rng, 30*time.Second, 5*time.Minute), func() {
		delete(w.wider.oneWay, link)
		w.reconnect()
	})
	return true
}

// losesPackets cuts one member off for seconds, again and again.
func losesPackets(w *world, rng *rand.Rand) bool {
	return w.flaps(rng, []*pod{w.pods[pickBy(rng, w.podNames.of(w.pods))]}, lasts(rng, time.Minute, 4*time.Minute))
}

// slowLinks make gossip notice later that a node is UP, and the API server's answers slow.
func slowLinks(w *world, rng *rand.Rand) bool {
	w.wider.slowly = lasts(rng, 2*time.Second, 20*time.Second)
	for _, p := range w.pods { // each alone: the order does not matter
		p.reporter.slow = 3 * time.Second
	}
	w.after(lasts(rng, time.Minute, 5*time.Minute), func() {
		w.wider.slowly = 0
		for _, p := range w.pods { // each alone: the order does not matter
			p.reporter.slow = 0
		}
	})
	return true
}

// datacenterCutOff cuts one datacenter off from the others.
func datacenterCutOff(w *world, rng *rand.Rand) bool {
	dc := pickBy(rng, w.sets).place.Datacenter
	if len(w.part) > 0 {
		return false
	}
	w.isolate(w.podsThat(func(p *pod) bool { return p.set.place.Datacenter == dc })...)
	w.after(lasts(rng, 10*time.Second, 5*time.Minute), w.mend)
	return true
}

// Volumes that are slow, or not what they were.

// slowDisk makes every start on one machine take minutes: the commit log is replayed first (3.4).
func slowDisk(w *world, rng *rand.Rand) bool {
	m, d := pickBy(rng, w.machine), lasts(rng, 20*time.Second, 3*time.Minute)
	m.slow = d
	w.after(lasts(rng, 2*time.Minute, 10*time.Minute), func() { m.slow = 0 })
	return !m.gone
}

// slowly is how much longer ScyllaDB takes on the Pod's disk.
func (p *pod) slowly() time.Duration {
	if p.machine == nil {
		return 0
	}
	return p.machine.slow
}

// volumeRestored: a member's volume fails, and a person creates its claim again from a snapshot of the same volume of minutes ago.
func volumeRestored(w *world, rng *rand.Rand) bool {
	p := w.one(rng)
	if p == nil || p.claim.disk.id == "" {
		return false
	}
	of, at := *p.claim.disk, p.name
	w.after(lasts(rng, time.Minute, 6*time.Minute), func() { w.restoreVolume(at, &of, of.complete) })
	return true
}

// volumeCloned: a person restores the volume of a member that was lost from the snapshot of another one. ScyllaDB has no guard against it (12).
func volumeCloned(w *world, rng *rand.Rand) bool {
	p, q := w.one(rng), w.one(rng)
	if p == nil || q == nil || p == q || p.claim.disk.id == "" || !q.claim.disk.flushed || w.silent() || w.isCut(p) {
		return false // of a volume that returns no host ID nobody can tell: docs/internals.md, "Bootstrapped?"
	}
	of := *q.claim.disk
	of.copied = true
	return w.restoreVolume(p.name, &of, false)
}

// restoreVolume has a member's claim and Pod created again, with that on the volume. own: it is what the member had.
func (w *world) restoreVolume(member string, of *disk, own bool) bool {
	p := w.pods[member]
	if p == nil || p.deleting || p.claim.deleting || p.claim.disk.id == "" || !w.mayLose(member) || w.busy() || p.lost() {
		return false
	}
	if !own || p.claim.disk.id != of.id {
		w.noteLoss(p)
		w.after(time.Minute, func() { w.mendVolume(member, of) })
	}
	w.tracef("the volume of %s is restored: it has host ID %s", member, short(of.id))
	old := p.claim
	w.deletePod(p, true)
	o := old.obj.DeepCopy()
	o.UID, o.DeletionTimestamp, o.Spec.VolumeName = types.UID(w.uid()), nil, ""
	w.claims[o.Name] = &claim{obj: o, disk: of}
	w.claimNames.changed()
	w.wrote(cluster.KindPVCs | cluster.KindPods)
	return true
}

// mendVolume is what the barrier prints of a volume that is another node's: the person who restored it knows that the member's own data is lost.
func (w *world) mendVolume(member string, of *disk) {
	p := w.pods[member]
	if p != nil && p.claim.disk != of {
		return
	}
	if p != nil && p.waits() && slices.ContainsFunc(p.barrier.verdict.Blockers, func(b matrix.Blocker) bool { return b.Reason == words.ForeignVolume }) {
		svc := w.service[member]
		if rec := replace.ReadRecord(svc.Labels, svc.Annotations); !w.member(svc.Annotations[api.AnnotationHostID]) {
			w.wipe(p)
		} else if !rec.Requested && !rec.Open() {
			w.requestReplace(member)
		}
	}
	w.after(time.Minute, func() { w.mendVolume(member, of) })
}

// setAndClaims deletes a StatefulSet and the claim of its last member, and applies it again.
func setAndClaims(w *world, rng *rand.Rand) bool {
	s := pickBy(rng, w.sets)
	p := w.pods[podName(s, s.replicas-1)]
	if s.away || p == nil || p.claim.disk.id == "" || w.busy() || !w.mayLose(p.name) || w.silent() || !w.mayStopAny() {
		return false
	}
	w.noteLoss(p)
	w.deleteClaim(p.claim)
	w.deleteSet(s)
	w.after(lasts(rng, 20*time.Second, 3*time.Minute), func() { w.applyAgain(s) })
	return true
}

// Faults of Kubernetes' own: objects that go back, Pods that are not created, clocks, and a controller that is away for long.

// etcdRestored has member Services, reports and the Lease be what they were minutes ago. Pods and claims, which kubelets and volumes follow, stay.
func etcdRestored(w *world, rng *rand.Rand) bool {
	services, reports, status, lease := maps.Clone(w.service), w.reports, w.status, w.lease
	w.after(lasts(rng, 30*time.Second, 6*time.Minute), func() {
		w.tracef("etcd is restored")
		for name := range w.service { // deletion alone: the order does not matter
			if services[name] == nil {
				delete(w.service, name)
			}
		}
		maps.Copy(w.service, services)
		w.serviceNames.changed()
		// Barriers refuse a report that another one has followed, until their Pods are created again.
		if status != nil && w.status != nil && status.UID == w.status.UID {
			w.reports, w.status = reports, status
		}
		w.lease = lease
		if w.status != nil && w.status.Status.View != nil {
			clear(w.granted)
			for _, x := range w.status.Status.View.Permits {
				w.granted[x.Member] = x.PVCUID
			}
		}
		w.control.way.reports++
		w.control.way.lease++
		w.highest, w.watcher = order{}, watcher{}
		w.wrote(everything | cluster.KindPVCs)
	})
	return true
}

// quotaExceeded: the API server refuses to create Pods.
func quotaExceeded(w *world, rng *rand.Rand) bool {
	w.wider.quota = w.now.Add(lasts(rng, time.Minute, 8*time.Minute))
	return true
}

// clockJumps moves the clock of a machine, or of the controller, by up to an hour, for good.
func clockJumps(w *world, rng *rand.Rand) bool {
	who := w.control.name()
	if rng.IntN(3) > 0 {
		who = pickBy(rng, w.machine).name
	}
	w.wider.jumped[who] += lasts(rng, 0, 2*time.Hour) - time.Hour
	return true
}

// controllerAway ends the process that leads: none follows for minutes, or for a day in which nothing else happens.
func controllerAway(w *world, rng *rand.Rand) bool {
	d, long := lasts(rng, 2*time.Minute, 15*time.Minute), lasts(rng, time.Hour, 24*time.Hour)
	if rng.IntN(3) > 0 {
		long = 0
	}
	w.controllerEnds(d)
	if long > 0 {
		w.after(d/2, func() {
			w.sleep(long)
			w.control.takeOver = w.control.takeOver.Add(long)
		})
	}
	return true
}

// sleep moves all clocks on by a time in which nothing happens.
func (w *world) sleep(d time.Duration) {
	w.now = w.now.Add(d)
	for i := range w.queue {
		w.queue[i].at += d
	}
	for _, q := range w.pods { // each alone: the order does not matter
		q.reporter.polled, q.probed = w.now, w.now
	}
}
