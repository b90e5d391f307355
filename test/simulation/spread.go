// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Part of a whole, of one seed: joins that were lost, of those that ended.
type Part struct{ Of, Whole int }

// Share of a whole, and between which values it lies with a probability of 95 %.
type Share struct{ Is, Low, High float64 }

// Apart is true for two shares whose ranges do not overlap.
func (s Share) Apart(o Share) bool { return s.Low > o.High || o.Low > s.High }

// resamples of a bootstrap.
const resamples = 1000

// ShareOf is the sum of all parts, of the sum of all wholes. What happens in one seed hangs together, so the spread is a bootstrap over the seeds. Where nothing happened there is nothing to
// draw from: then it is the rule of three (0 of n: at most 3/n), for all as for none.
func ShareOf(parts []Part) Share {
	sum := func(next func(i int) int) (of, whole float64) {
		for i := range parts {
			p := parts[next(i)]
			of, whole = of+float64(p.Of), whole+float64(p.Whole)
		}
		return of, whole
	}
	of, whole := sum(func(i int) int { return i })
	if whole == 0 {
		return Share{0, 0, 1}
	}
	out := Share{Is: of / whole}
	switch three := min(1, 3/whole); of {
	case 0:
		out.High = three
		return out
	case whole:
		out.Low, out.High = 1-three, 1
		return out
	}
	rng := rand.New(rand.NewPCG(uint64(len(parts)), 0xb007)) // the same seeds have the same spread
	drawn := make([]float64, 0, resamples)
	for range resamples {
		if of, whole := sum(func(int) int { return rng.IntN(len(parts)) }); whole > 0 {
			drawn = append(drawn, of/whole)
		}
	}
	slices.Sort(drawn)
	out.Low, out.High = drawn[at(0.025, len(drawn))], drawn[at(0.975, len(drawn))]
	return out
}

// Spread is a statistic of n seeds, and its range by a bootstrap over them.
func Spread(n int, of func(seeds []int) float64) Share {
	drawn := make([]int, n)
	for i := range drawn {
		drawn[i] = i
	}
	out := Share{Is: of(drawn)}
	rng := rand.New(rand.NewPCG(uint64(n), 0x5eed))
	all := make([]float64, resamples/5)
	for k := range all {
		for i := range drawn {
			drawn[i] = rng.IntN(n)
		}
		all[k] = of(drawn)
	}
	slices.Sort(all)
	out.Low, out.High = all[at(0.025, len(all))], all[at(0.975, len(all))]
	return out
}

// at is the index of a quantile in n sorted values.
func at(p float64, n int) int { return int(math.Round(p * float64(n-1))) }

// Quantile of durations that need not be sorted; 0 of none.
func Quantile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[at(p, len(all))]
}
