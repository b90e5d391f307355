// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"k8s.io/utils/clock"
)

// mostSkew is how far a clock may be off, to either side.
const mostSkew = 4 * time.Minute

// person is the name of the people's clock.
const person = "person"

// clock is the time of an actor's clock: a machine's, a controller's, a person's. It runs as the world's does, and is off by what is drawn for it once. Moments
// that are only ever compared with moments of the same process are the world's own. With the Scylla Operator's rule, and in every third seed, all clocks agree.
func (w *world) clock(who string) time.Time {
	if w.Rule == Operator || w.Seed%3 == 0 || w.yearly() {
		return w.now.Add(w.wider.jumped[who])
	}
	off, known := w.skew[who]
	if !known {
		h := fnv.New64a()
		_, _ = h.Write([]byte(who)) // a hash never fails
		off = time.Duration(rand.New(rand.NewPCG(w.Seed, h.Sum64())).Int64N(int64(2*mostSkew))) - mostSkew
		w.skew[who] = off
	}
	return w.now.Add(off + w.wider.jumped[who])
}

// clock of the machine that the Pod is on.
func (p *pod) clock(w *world) time.Time {
	if p.machine == nil {
		return w.now
	}
	return w.clock(p.machine.name)
}

// processClock is the clock of one process. Nothing in a simulation waits by it.
type processClock struct {
	clock.WithTicker
	w   *world
	who string
}

func (c processClock) Now() time.Time                  { return c.w.clock(c.who) }
func (c processClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
