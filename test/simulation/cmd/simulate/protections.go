// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/simulation"
)

// places are where each protection is switched off.
var places = []world{
	{"adversarial", simulation.Options{}, 1, 20, 20},
	{"rows cannot be written", simulation.Options{Hole: true}, 1, 20, 20},
	{"rows cannot be written, unsaid", simulation.Options{Hole: true, Mum: true}, 1, 20, 20},
}

// found is what changes where a protection is off.
type found struct {
	rule          simulation.Rule
	world         *world
	with, without sample
	seed          uint64 // shows it
}

// badness is the rank of the worst that changes: 0 for nothing.
func (f *found) badness() (rank, n int, what string) {
	for i, h := range simulation.Harms {
		if n := h.Of(&f.without.total) - h.Of(&f.with.total); n > 0 {
			return 100 - i, n, h.Name
		}
	}
	const few = 10 // seeds: their range says nothing
	switch {
	case f.without.total.Seeds < few:
	case f.without.lost.Apart(f.with.lost) && f.without.lost.Is > f.with.lost.Is:
		return 3, 0, "more joins lost"
	case !f.with.wait.Apart(f.without.wait):
	case f.without.wait.Is > f.with.wait.Is:
		return 2, 0, "longer waits"
	default:
		return 1, 0, "shorter waits"
	}
	return 0, 0, ""
}

// sample is what the runs of a world came to.
type sample struct {
	total      simulation.Total
	lost, wait simulation.Share
	fails      map[uint64]bool
}

func sampleOf(all []simulation.Result) sample {
	s := sample{fails: map[uint64]bool{}}
	for i := range all {
		if s.total.Add(&all[i]); all[i].Failed() {
			s.fails[all[i].Seed] = true
		}
	}
	s.lost, s.wait = lost.of(all), wait.of(all)
	return s
}

// protectionsPart switches off each protection, and the pairs.
func protectionsPart() []byte {
	for i := range places {
		places[i].of.Patience = 90 * time.Minute
	}
	base := map[simulation.Rule][]sample{}
	for _, rule := range ours {
		for i := range places {
			base[rule] = append(base[rule], sampleOf(places[i].run(rule)))
		}
	}
	var b bytes.Buffer
	var none []string
	head(&b, "without", "how", "what changes most", "in: policy, world, a seed", "lost, of 1,000", "failed seeds", "median wait, minutes", "a case")
	for _, p := range simulation.Protections() {
		f, found := search(&p, base)
		cases := shown(p.Off)
		if !found && cases == "" {
			none = append(none, said(p.Off))
			continue
		}
		cells := []string{said(p.Off), p.How, "", "", "", "", "", cases}
		if _, n, what := f.badness(); found {
			if cells[2] = what; n > 0 {
				cells[2] = fmt.Sprintf("%s: %d", what, n)
			}
			cells[3] = fmt.Sprintf("`%s`, %s", f.rule, f.world.name)
			if f.seed > 0 {
				cells[3] += fmt.Sprintf(", %d", f.seed)
			}
			cells[4], cells[6] = change(f.with.lost, f.without.lost, 1000), change(f.with.wait, f.without.wait, 1)
			cells[5] = fmt.Sprintf("%d of %d", f.without.total.Failed, f.without.total.Seeds)
		}
		row(&b, cells...)
	}
	fmt.Fprintf(&b, "\nNo effect found: %s.\n", strings.Join(none, "; "))
	b.WriteString("\nSeeds of each policy: ")
	for i := range places {
		w := &places[i]
		fmt.Fprintf(&b, "%s %d from %d", w.name, w.seeds(simulation.Permits), w.first)
		b.WriteString(map[bool]string{true: ".\n", false: "; "}[i == len(places)-1])
	}
	return b.Bytes()
}

// shown is what the cheapest case without these protections comes to.
func shown(off []simulation.Off) string {
	for _, c := range simulation.Cases() {
		if !slices.Equal(c.Off, off) {
			continue
		}
		text := fmt.Sprintf("`%s`, seed %d", c.Of.Rule, c.Of.Seed)
		if len(c.Of.Schedule) > 0 {
			text += ", " + simulation.Said(c.Of.Schedule)
		}
		return text + ": " + c.Shows
	}
	return ""
}

// search finds the world in which the worst changes.
func search(p *simulation.Protection, base map[simulation.Rule][]sample) (worst found, ok bool) {
	for _, rule := range []simulation.Rule{simulation.Permits, simulation.Reports} {
		if rule == simulation.Reports && p.Permits {
			continue
		}
		for i := range places {
			if rule == simulation.Reports && places[i].of.Mum {
				continue // a hole that only permits close
			}
			f := found{rule: rule, world: &places[i], with: base[rule][i], without: sampleOf(places[i].run(rule, p.Off...))}
			for seed := range f.without.fails {
				if !f.with.fails[seed] && (f.seed == 0 || seed < f.seed) {
					f.seed = seed
				}
			}
			rank, n, _ := f.badness()
			best, most, _ := worst.badness()
			if ok = ok || rank > 0; rank > best || rank == best && n > most {
				worst = f
			}
		}
	}
	return worst, ok
}

func change(from, to simulation.Share, times float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", from.Is*times), ".0") + " → " + ranged(to, times)
}

func said(off []simulation.Off) string {
	names := make([]string, len(off))
	for i, o := range off {
		names[i] = string(o)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return strings.Join(names, " + ")
}
