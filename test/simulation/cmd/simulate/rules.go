// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/simulation"
)

var (
	rules = []simulation.Rule{simulation.AlwaysOpen, simulation.Delay, simulation.Operator, simulation.Reports, simulation.Permits}
	names = []string{"no barrier", "a minute's delay", "Scylla Operator", "ours, `reports`", "ours, `permits`"}
	ours  = []simulation.Rule{simulation.Reports, simulation.Permits}
)

// world is a world with its first seed, and how many.
type world struct {
	name  string
	of    simulation.Options
	first uint64
	n     int
	ours  int // and of ours, which loses so little that it takes more of them
}

var (
	small = []world{
		{"adversarial", simulation.Options{}, 1, 150, 250},
		{"year of 6", simulation.Options{World: "year-6"}, 1, 24, 200},
	}
	yearOf30  = []world{{"year of 30", simulation.Options{World: "year-30"}, 1, 10, 42}}
	weekOf300 = []world{{"week of 300", simulation.Options{World: "year-300"}, 1, 1, 1}}
)

// seeds is how many run.
func (w *world) seeds(rule simulation.Rule) int {
	if slices.Contains(ours, rule) {
		return w.ours
	}
	return w.n
}

func (w *world) run(rule simulation.Rule, off ...simulation.Off) []simulation.Result {
	o := w.of
	o.Rule, o.Off = rule, off
	began := time.Now()
	out := simulation.RunManyOf(o, w.first, w.seeds(rule))
	fmt.Fprintf(os.Stderr, "%s, %s without %q: %d seeds in %.1f s\n", w.name, rule, off, len(out), time.Since(began).Seconds())
	if len(off) == 0 && slices.Contains(ours, rule) {
		for _, r := range out {
			for _, v := range r.Violations {
				fmt.Fprintf(os.Stderr, "%s, %s, seed %d %s\n", w.name, rule, r.Seed, v)
			}
		}
	}
	return out
}

// outcome is one number of a sample, as it stands in a table.
type outcome struct {
	name  string
	times float64 // of what the table has
	of    func([]simulation.Result) simulation.Share
	// happens, if set, is whether it happened in a seed: a row of zeros says no more than a line.
	happens func(*simulation.Result) bool
}

func (o *outcome) cell(all []simulation.Result) string { return ranged(o.of(all), o.times) }

// inSeeds is the percentage of seeds in which something happens.
func inSeeds(name string, happens func(*simulation.Result) bool) outcome {
	return outcome{name, 100, func(all []simulation.Result) simulation.Share {
		return share(all, func(r *simulation.Result) simulation.Part {
			if happens(r) {
				return simulation.Part{Of: 1, Whole: 1}
			}
			return simulation.Part{Whole: 1}
		})
	}, happens}
}

func share(all []simulation.Result, of func(*simulation.Result) simulation.Part) simulation.Share {
	parts := make([]simulation.Part, len(all))
	for i := range all {
		parts[i] = of(&all[i])
	}
	return simulation.ShareOf(parts)
}

// perThousand joins that ended.
func perThousand(name string, of func(*simulation.Result) int) outcome {
	return outcome{name: name, times: 1000, of: func(all []simulation.Result) simulation.Share {
		return share(all, func(r *simulation.Result) simulation.Part { return simulation.Part{Of: of(r), Whole: r.Ended} })
	}}
}

func minutes(name string, p float64) outcome {
	return outcome{name: name, times: 1, of: func(all []simulation.Result) simulation.Share {
		return simulation.Spread(len(all), func(drawn []int) float64 {
			var waits []time.Duration
			for _, i := range drawn {
				waits = append(waits, all[i].Waits...)
			}
			return simulation.Quantile(waits, p).Minutes()
		})
	}}
}

func person(all []simulation.Result) simulation.Share {
	return simulation.Spread(len(all), func(drawn []int) float64 {
		sum := 0
		for _, i := range drawn {
			sum += all[i].Commands
		}
		return float64(sum) * simulation.PerCommand.Minutes() / float64(len(drawn))
	})
}

var (
	lost   = perThousand("joins lost, of 1,000", func(r *simulation.Result) int { return r.Outcomes.Lost() })
	known  = perThousand("of these known at the start, of 1,000", func(r *simulation.Result) int { return r.Known })
	wait   = minutes("minutes to join, median", 0.5)
	failed = inSeeds("failed seeds, %", (*simulation.Result).Failed)

	outcomes = []outcome{
		lost, known,
		inSeeds("seeds with a second cluster, %", func(r *simulation.Result) bool { return r.SecondClusters > 0 }),
		inSeeds("with two processes of one host ID, %", func(r *simulation.Result) bool { return r.Twice > 0 }),
		inSeeds("with a wrong deletion, %", func(r *simulation.Result) bool { return r.WrongDeletions > 0 }),
		inSeeds("with an endless wait, %", func(r *simulation.Result) bool { return r.EndlessWaits > 0 }),
		wait, minutes("minutes to join, 99 %", 0.99),
		{"a person's minutes in a seed", 1, person, nil}, failed,
	}
)

// ranged is a share with its range.
func ranged(s simulation.Share, times float64) string {
	n := func(x float64) string {
		switch x *= times; {
		case x >= 100:
			return fmt.Sprintf("%.0f", x)
		case x >= 10 || x == 0:
			return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0")
		}
		return strings.TrimSuffix(fmt.Sprintf("%.2f", x), ".00")
	}
	switch {
	case s.Low == s.High:
		return n(s.Is)
	case s.Is == 0:
		return "0 (≤ " + n(s.High) + ")"
	}
	return n(s.Is) + " (" + n(s.Low) + " to " + n(s.High) + ")"
}

func row(b *bytes.Buffer, cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

func head(b *bytes.Buffer, cells ...string) {
	row(b, cells...)
	b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
}

// rulesPart compares the rules in these worlds.
func rulesPart(worlds []world) []byte {
	var b bytes.Buffer
	all := map[string]map[simulation.Rule][]simulation.Result{}
	happens := map[string]bool{}
	for i := range worlds {
		w := &worlds[i]
		all[w.name] = map[simulation.Rule][]simulation.Result{}
		for _, r := range rules {
			all[w.name][r] = w.run(r)
			for _, o := range outcomes {
				happens[o.name] = happens[o.name] || o.happens == nil ||
					slices.ContainsFunc(all[w.name][r], func(r simulation.Result) bool { return o.happens(&r) })
			}
		}
		fmt.Fprintf(&b, "%s: seeds from %d, %d of each rule, ours %d. ", w.name, w.first, w.n, w.ours)
	}
	b.WriteString("In brackets: the range that has the rate with a probability of 95 %.\n\n")
	head(&b, append([]string{"outcome", "world"}, names...)...)
	var never []string
	for _, o := range outcomes {
		if !happens[o.name] {
			never = append(never, o.name)
			continue
		}
		name := o.name
		for i := range worlds {
			cells := []string{name, worlds[i].name}
			for _, r := range rules {
				cells = append(cells, o.cell(all[worlds[i].name][r]))
			}
			row(&b, cells...)
			name = ""
		}
	}
	if len(never) > 0 {
		fmt.Fprintf(&b, "\nIn no world, by no rule: %s.\n", strings.Join(never, "; "))
	}
	// What cost ours a join, by its age.
	b.WriteByte('\n')
	head(&b, "lost, of 1,000, and how long the cause had been out of reach at the start", "policy", "the new node itself", "not yet", "< 5 s", "< 30 s", "< 83 s", "longer")
	for i := range worlds {
		for _, r := range ours {
			cells := []string{worlds[i].name, "`" + string(r) + "`"}
			for age := range simulation.Ages {
				by := perThousand("", func(r *simulation.Result) int { return r.By[age] })
				cells = append(cells, by.cell(all[worlds[i].name][r]))
			}
			row(&b, cells...)
		}
	}
	// How many times as much no barrier loses.
	b.WriteByte('\n')
	for i := range worlds {
		by, none := all[worlds[i].name], all[worlds[i].name][simulation.AlwaysOpen]
		times := func(o outcome) float64 {
			return o.of(none).Low / max(o.of(by[simulation.Reports]).High, o.of(by[simulation.Permits]).High)
		}
		if times(lost) == 0 {
			continue
		}
		fmt.Fprintf(&b, "- %s: without a barrier at least %.0f times as many joins are lost", worlds[i].name, times(lost))
		if n := times(known); n > 0 {
			fmt.Fprintf(&b, ", %.0f times as many that could be known", n)
		}
		fmt.Fprintf(&b, ", and %s %% of the seeds fail.\n", failed.cell(none))
	}
	return b.Bytes()
}
