// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

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
		w.wrote()
	})
	return true
}

// apiServerGone answers nobody. Not while a copy of a volume waits, which starts then: docs/internals.md has that limit.
func apiServerGone(w *world, rng *rand.Rand) bool {
	if slices.ContainsFunc(w.claimNames.of(w.claims), func(name string) bool { return w.claims[name].disk.copied }) {
		return false
	}
	w.net.gone = w.now.Add(lasts(rng, 30*time.Second, 5*time.Minute))
	w.control.way.dropped = w.net.gone
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
