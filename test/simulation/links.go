// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"time"
)

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
	return w.flaps(rng, []string{pickBy(rng, w.podNames.of(w.pods))}, lasts(rng, time.Minute, 4*time.Minute))
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
	for _, name := range w.podNames.of(w.pods) {
		if w.pods[name].set.place.Datacenter == dc {
			w.part[name] = 1
		}
	}
	w.reconnect()
	w.after(lasts(rng, 10*time.Second, 5*time.Minute), w.mend)
	return true
}
