// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"time"
)

// --when-controller-silent=Peers: while no controller leads, a barrier goes by the members' own rows.

// peers is true in a world whose barriers have that flag. Its reporters have heartbeats, or the flag would do nothing.
func (w *world) peers() bool {
	return w.permits() && w.Seed%13 == 0 && w.Seed%7 != 0
}

// absentControllers lets no controller lead for longer than a barrier of this flag waits, twice in a seed, and scales the cluster up meanwhile. It draws from a source of its own.
func (w *world) absentControllers() {
	if !w.peers() || w.Hole {
		return
	}
	rng := rand.New(rand.NewPCG(w.Seed, 0x9ee5))
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(rng.Int64N(int64(high-low))) }
	for i := range 2 {
		at := time.Duration(3+13*i)*time.Minute + between(0, 5*time.Minute)
		lasts := between(3*time.Minute, 7*time.Minute)
		set := rng.IntN(3)
		w.after(at, func() {
			w.result.Faults++
			w.tracef("FAULT no controller leads for %s", lasts.Round(time.Second))
			w.endController(lasts)
		})
		w.after(at+between(20*time.Second, 90*time.Second), func() { w.scaleUpSet(w.sets[set%len(w.sets)]) })
	}
}
