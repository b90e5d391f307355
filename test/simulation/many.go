// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"runtime"
	"sync"
)

// Total of many runs.
type Total struct {
	Seeds, Failed, Faults, LetThrough, Joined, Lost, Unsafe, SecondClusters, EndlessWaits, Backwards, Unpermitted, Together, Recreated, FailEarly, UnsafeStarts, WrongStarts int
	Outcomes
}

// Add a run.
func (t *Total) Add(r *Result) {
	t.Seeds++
	if r.Failed() {
		t.Failed++
	}
	t.Faults += r.Faults
	t.LetThrough += r.LetThrough
	t.Joined += r.Joined
	t.Lost += r.Lost
	t.Unsafe += r.Unsafe
	t.SecondClusters += r.SecondClusters
	t.EndlessWaits += r.EndlessWaits
	t.Backwards += r.Backwards
	t.Unpermitted += r.Unpermitted
	t.Together += r.Together
	t.Recreated += r.Recreated
	t.FailEarly += r.FailEarly
	t.UnsafeStarts += r.UnsafeStarts
	t.WrongStarts += r.WrongStarts
	t.Outcomes.add(&r.Outcomes)
}

// RunMany runs n seeds, as many at once as there are cores: each is a world of its own. Results are in the order of the seeds.
func RunMany(rule Rule, first uint64, n int) []Result {
	return RunManyOf(Options{Rule: rule}, first, n)
}

// RunManyOf runs the same options with n seeds.
func RunManyOf(o Options, first uint64, n int) []Result {
	out := make([]Result, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				of := o
				of.Seed = first + uint64(i)
				out[i] = Run(of)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}
