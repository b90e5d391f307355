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

type rule struct {
	rule simulation.Rule
	name string
}

var rules = []rule{
	{simulation.AlwaysOpen, "no barrier"}, {simulation.Delay, "a minute's delay"}, {simulation.Operator, "Scylla Operator"},
	{simulation.Reports, "ours, `reports`"}, {simulation.Permits, "ours, `permits`"},
}

// world is a world with its first seed, and how many.
type world struct {
	name  string
	of    simulation.Options
	first uint64
	n     int
	ours  int // and of ours, which loses so little that it takes more of them
}

var worlds = []world{
	{"adversarial", simulation.Options{}, 1, 150, 250},
	{"year of 6", simulation.Options{World: "year-6"}, 1, 16, 40},
	{"year of 30", simulation.Options{World: "year-30"}, 1, 2, 3},
	{"week of 300", simulation.Options{World: "year-300"}, 1, 1, 1},
}

// seeds is how many run.
func (w *world) seeds(percent int, rule simulation.Rule) int {
	n := w.n
	if rule == simulation.Permits || rule == simulation.Reports {
		n = w.ours
	}
	return max(1, n*percent/100)
}

func (w *world) run(percent int, rule simulation.Rule, off ...simulation.Off) []simulation.Result {
	o := w.of
	o.Rule, o.Off = rule, off
	began := time.Now()
	n := w.seeds(percent, rule)
	out := simulation.RunManyOf(o, w.first, n)
	fmt.Fprintf(os.Stderr, "%s, %s without %q: %d seeds in %.1f s\n", w.name, rule, off, n, time.Since(began).Seconds())
	if len(off) == 0 && (rule == simulation.Permits || rule == simulation.Reports) {
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
	name string
	of   func([]simulation.Result) string
	// happens, if set, is whether it happened in a seed: a row of zeros says no more than a line.
	happens func(*simulation.Result) bool
}

func (o *outcome) occurs(all []*simulation.Result) bool {
	return o.happens == nil || slices.ContainsFunc(all, o.happens)
}

// inSeeds is the percentage of seeds in which something happens.
func inSeeds(name string, happens func(*simulation.Result) bool) outcome {
	return outcome{name, seedsWith(happens), happens}
}

// perThousand joins that ended.
func perThousand(of func(*simulation.Result) int) func([]simulation.Result) string {
	return func(all []simulation.Result) string { return ranged(thousandth(all, of), 1000) }
}

func thousandth(all []simulation.Result, of func(*simulation.Result) int) simulation.Share {
	var parts []simulation.Part
	for i := range all {
		parts = append(parts, simulation.Part{Of: of(&all[i]), Whole: all[i].Ended})
	}
	return simulation.ShareOf(parts)
}

// seedsWith is the percentage of seeds in which something is.
func seedsWith(is func(*simulation.Result) bool) func([]simulation.Result) string {
	return func(all []simulation.Result) string {
		parts := make([]simulation.Part, len(all))
		for i := range all {
			if parts[i].Whole = 1; is(&all[i]) {
				parts[i].Of = 1
			}
		}
		return ranged(simulation.ShareOf(parts), 100)
	}
}

func waited(all []simulation.Result, p float64) simulation.Share {
	return simulation.Spread(len(all), func(drawn []int) float64 {
		var waits []time.Duration
		for _, i := range drawn {
			waits = append(waits, all[i].Waits...)
		}
		return simulation.Quantile(waits, p).Minutes()
	})
}

func minutes(p float64) func([]simulation.Result) string {
	return func(all []simulation.Result) string { return ranged(waited(all, p), 1) }
}

func people(all []simulation.Result) string {
	return ranged(simulation.Spread(len(all), func(drawn []int) float64 {
		sum := 0
		for _, i := range drawn {
			sum += all[i].Commands
		}
		return float64(sum) * simulation.PerCommand.Minutes() / float64(len(drawn))
	}), 1)
}

var outcomes = []outcome{
	{"joins lost, of 1,000", perThousand(func(r *simulation.Result) int { return r.Outcomes.Lost() }), nil},
	{"of these known at the start, of 1,000", perThousand(func(r *simulation.Result) int { return r.Known }), nil},
	inSeeds("seeds with a second cluster, %", func(r *simulation.Result) bool { return r.SecondClusters > 0 }),
	inSeeds("with two processes of one host ID, %", func(r *simulation.Result) bool { return r.Twice > 0 }),
	inSeeds("with a wrong deletion, %", func(r *simulation.Result) bool { return r.WrongDeletions > 0 }),
	inSeeds("with an endless wait, %", func(r *simulation.Result) bool { return r.EndlessWaits > 0 }),
	{"minutes to join, median", minutes(0.5), nil},
	{"minutes to join, 99 %", minutes(0.99), nil},
	{"a person's minutes in a seed", people, nil},
	inSeeds("failed seeds, %", (*simulation.Result).Failed),
}

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

// rulesPart compares the rules.
func rulesPart(percent int) []byte {
	var b bytes.Buffer
	var every []*simulation.Result
	all := map[string]map[simulation.Rule][]simulation.Result{}
	for i := range worlds {
		w := &worlds[i]
		all[w.name] = map[simulation.Rule][]simulation.Result{}
		for _, r := range rules {
			found := w.run(percent, r.rule)
			for i := range found {
				every = append(every, &found[i])
			}
			all[w.name][r.rule] = found
		}
		fmt.Fprintf(&b, "%s: %d seeds from %d, ours %d. ", w.name, w.seeds(percent, simulation.AlwaysOpen), w.first, w.seeds(percent, simulation.Permits))
	}
	b.WriteString("In brackets: the range that has the rate with a probability of 95 %.\n\n")
	titles := []string{"outcome", "world"}
	for _, r := range rules {
		titles = append(titles, r.name)
	}
	head(&b, titles...)
	var never []string
	for _, o := range outcomes {
		if !o.occurs(every) {
			never = append(never, o.name)
			continue
		}
		for i := range worlds {
			cells := []string{o.name, worlds[i].name}
			if i > 0 {
				cells[0] = ""
			}
			for _, r := range rules {
				cells = append(cells, o.of(all[worlds[i].name][r.rule]))
			}
			row(&b, cells...)
		}
	}
	if len(never) > 0 {
		fmt.Fprintf(&b, "\nIn no world, by no rule: %s.\n", strings.Join(never, "; "))
	}
	b.WriteByte('\n')
	ages(&b, all)
	b.WriteByte('\n')
	worse(&b, all)
	return b.Bytes()
}

// ages of what cost ours a join.
func ages(b *bytes.Buffer, all map[string]map[simulation.Rule][]simulation.Result) {
	head(b, "lost, of 1,000, and how long the cause had been out of reach at the start", "policy", "the new node itself", "not yet", "< 5 s", "< 30 s", "< 83 s", "longer")
	for i := range worlds {
		for _, r := range rules {
			if r.rule != simulation.Reports && r.rule != simulation.Permits {
				continue
			}
			cells := []string{worlds[i].name, "`" + string(r.rule) + "`"}
			for age := range simulation.Ages {
				cells = append(cells, perThousand(func(r *simulation.Result) int { return r.By[age] })(all[worlds[i].name][r.rule]))
			}
			row(b, cells...)
		}
	}
}

// worse says how many times as much no barrier loses, of what could be known.
func worse(b *bytes.Buffer, all map[string]map[simulation.Rule][]simulation.Result) {
	known := func(r *simulation.Result) int { return r.Known }
	for i := range worlds {
		by := all[worlds[i].name]
		none := thousandth(by[simulation.AlwaysOpen], known)
		most := max(thousandth(by[simulation.Reports], known).High, thousandth(by[simulation.Permits], known).High)
		fmt.Fprintf(b, "- %s: without a barrier at least %.0f times as many joins are lost that could be known, and %s %% of the seeds fail.\n",
			worlds[i].name, none.Low/most, seedsWith((*simulation.Result).Failed)(by[simulation.AlwaysOpen]))
	}
}
