// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	// rounds is how often each side runs, in turn with the other one. The lowest figures count: other programs only make a benchmark slower.
	rounds = 3
	// worst is the largest ratio to the base that passes.
	worst = 1.2
)

func (k key) String() string {
	text := k.pkg + " " + k.name
	if k.size > 0 {
		text += fmt.Sprintf("/N=%d", k.size)
	}
	return text
}

// lowest returns the lowest figures of each benchmark.
func lowest(results []result) map[key]result {
	out := map[key]result{}
	for _, r := range results {
		if old, ok := out[r.key]; ok {
			r.nanoseconds, r.bytes, r.allocs = min(r.nanoseconds, old.nanoseconds), min(r.bytes, old.bytes), min(r.allocs, old.allocs)
		}
		out[r.key] = r
	}
	return out
}

// change is a benchmark on both sides; was or now is nil where only the other side has it.
type change struct {
	key
	was, now *result
	worse    []string // figures that are worse by more than a fifth, with their ratios
}

// compare returns every benchmark of either side, in order.
func compare(base, here map[key]result) []change {
	var out []change
	for k, was := range base {
		c := change{key: k, was: &was}
		if now, ok := here[k]; ok {
			c.now = &now
			for _, f := range []struct {
				name            string
				was, now, least float64 // an increase up to least is noise
			}{
				{"time", was.nanoseconds, now.nanoseconds, 1000},
				{"bytes", float64(was.bytes), float64(now.bytes), 1000},
				{"allocations", float64(was.allocs), float64(now.allocs), 4},
			} {
				switch {
				case f.name == "allocations" && f.was == 0 && f.now > 0: // none at all is a promise
					c.worse = append(c.worse, fmt.Sprintf("%s %.0f, not 0", f.name, f.now))
				case f.now > worst*f.was && f.now-f.was > f.least:
					c.worse = append(c.worse, fmt.Sprintf("%s x%.2f", f.name, f.now/f.was))
				}
			}
		}
		out = append(out, c)
	}
	for k, now := range here {
		if _, ok := base[k]; !ok {
			out = append(out, change{key: k, now: &now})
		}
	}
	slices.SortFunc(out, func(a, b change) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// report prints the changes. The error names each benchmark that is worse.
func report(w io.Writer, base string, changes []change) error {
	var bad []string
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "time / bytes / allocations\t%s\there\t\n", base)
	for _, c := range changes {
		switch {
		case c.now == nil:
			fmt.Fprintf(table, "%s\t%s\t-\tonly in %s\n", c.key, c.was, base)
		case c.was == nil:
			fmt.Fprintf(table, "%s\t-\t%s\tonly here\n", c.key, c.now)
		default:
			note := strings.Join(c.worse, ", ")
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.key, c.was, c.now, strings.TrimSpace(fmt.Sprintf("x%.2f ", c.now.nanoseconds/c.was.nanoseconds)+note))
			if note != "" {
				bad = append(bad, c.String()+": "+note)
			}
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	if len(bad) > 0 {
		return fmt.Errorf("more than %.0f %% worse than %s:\n  %s", 100*(worst-1), base, strings.Join(bad, "\n  "))
	}
	return nil
}

// side is one commit's benchmarks, compiled.
type side struct {
	root     string
	packages []string
	folder   string // of the binaries
	results  []result
}

// compareWith runs the benchmarks of commit base and of the files in root, in turn.
func (o *options) compareWith(ctx context.Context, base string, stdout, stderr io.Writer) (err error) {
	temp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	tree := filepath.Join(temp, "base")
	git := func(ctx context.Context, args ...string) error {
		if out, err := exec.CommandContext(ctx, "git", append([]string{"-C", o.root}, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	if err := git(ctx, "worktree", "add", "--detach", "--quiet", tree, base); err != nil {
		return err
	}
	// also after an interrupt
	defer func() { err = errors.Join(err, git(context.WithoutCancel(ctx), "worktree", "remove", "--force", tree)) }()

	sides := []*side{{root: tree, folder: filepath.Join(temp, "a")}, {root: o.root, folder: filepath.Join(temp, "b")}}
	for _, s := range sides {
		if s.packages, err = packagesWithBenchmarks(s.root); err != nil {
			return err
		}
		for _, pkg := range s.packages {
			fmt.Fprintln(stderr, "== compile", pkg)
			cmd := exec.CommandContext(ctx, "go", "test", "-c", "-o", s.binary(pkg), pkg)
			cmd.Dir = s.root
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("compile %s: %w\n%s", pkg, err, out)
			}
		}
	}
	all := slices.Concat(sides[0].packages, sides[1].packages)
	slices.Sort(all)
	for _, pkg := range slices.Compact(all) {
		for round := range rounds {
			for _, s := range sides {
				if !slices.Contains(s.packages, pkg) {
					continue
				}
				fmt.Fprintf(stderr, "== %s of %s, %d of %d\n", pkg, map[bool]string{true: base, false: "here"}[s == sides[0]], round+1, rounds)
				list, err := o.benchmark(ctx, filepath.Join(s.root, pkg), pkg, s.binary(pkg), "-test.")
				if err != nil {
					return fmt.Errorf("run the benchmarks of %s: %w", pkg, err)
				}
				s.results = append(s.results, list...)
			}
		}
	}
	return report(stdout, base, compare(lowest(sides[0].results), lowest(sides[1].results)))
}

func (s *side) binary(pkg string) string {
	return filepath.Join(s.folder, strings.ReplaceAll(strings.TrimPrefix(pkg, "./"), "/", "-")+".test")
}
