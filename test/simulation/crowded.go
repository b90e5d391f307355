// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// crowd ends ScyllaDB of a node for minutes, three times in a seed, and scales the cluster up meanwhile. It draws from a source of its own.
func (w *world) crowd() {
	if w.Hole || w.Lag || w.Story != nil || w.yearly() {
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
