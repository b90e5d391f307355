// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/controller/scope"
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
	{"the API server is away", apiServerGone},
	{"no Pod can be created", quotaExceeded},
	{"the controller is away", controllerAway},
	{"a datacenter is cut off", datacenterCutOff},
	{"the other Kubernetes cluster is not readable", farUnread},
	{"reports of the other Kubernetes cluster are late", farLate},
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
		x.far.unread, x.far.late = time.Time{}, time.Time{}
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
