// SPDX-License-Identifier: Apache-2.0

// Command bench runs every benchmark of the repository with allocations and prints one table: a line for each benchmark, a column
// for each cluster size. With -write it makes docs/performance.md of them, and with -base it compares this tree with a commit.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
		os.Exit(1)
	}
}

type options struct{ benchtime, pattern, root string }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.benchtime, "benchtime", "0.2s", "how long, or with a trailing x how often, each benchmark runs")
	flags.StringVar(&o.pattern, "bench", ".", "benchmarks to run, a regular expression")
	flags.StringVar(&o.root, "root", ".", "the repository")
	makePage := flags.Bool("write", false, "make "+pagePath)
	base := flags.String("base", "", "commit to compare with; fails if a benchmark is more than 20 % worse")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *base != "" {
		return o.compareWith(ctx, *base, stdout, stderr)
	}
	machine := here(ctx, o.root, time.Now()) // before the benchmarks, which are a load too
	packages, err := packagesWithBenchmarks(o.root)
	if err != nil {
		return fmt.Errorf("look for benchmarks in %s: %w", o.root, err)
	}
	if len(packages) == 0 {
		return fmt.Errorf("no benchmarks in %s: run this in the repository's root", o.root)
	}
	var results []result
	for _, pkg := range packages {
		if _, err := fmt.Fprintln(stderr, "==", pkg); err != nil {
			return err
		}
		list, err := o.benchmark(ctx, o.root, pkg, "go", "-", "test", pkg)
		if err != nil {
			return fmt.Errorf("run the benchmarks of %s: %w", pkg, err)
		}
		results = append(results, list...)
	}
	if err := write(stdout, results); err != nil || !*makePage {
		return err
	}
	ourStart, kubectl, err := starts(ctx, o.root)
	if err != nil {
		return err
	}
	text, err := page(machine, results, ourStart, kubectl)
	if err != nil {
		return fmt.Errorf("make %s: %w", pagePath, err)
	}
	return os.WriteFile(filepath.Join(o.root, pagePath), []byte(text), 0o644)
}

// packagesWithBenchmarks finds them by their source, so that no package is compiled for nothing. Other modules and testdata are left out.
func packagesWithBenchmarks(root string) ([]string, error) {
	found := map[string]struct{}{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if path == root {
				return nil
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(source), "\nfunc Benchmark") {
			dir, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			found["./"+filepath.ToSlash(dir)] = struct{}{}
		}
		return nil
	})
	return slices.Sorted(maps.Keys(found)), err
}

// benchmark runs the benchmarks of pkg by a command in a folder. dash precedes the names of its flags.
func (o *options) benchmark(ctx context.Context, dir, pkg, command, dash string, args ...string) ([]result, error) {
	args = append(args, dash+"run=^$", dash+"bench="+o.pattern, dash+"benchmem", dash+"benchtime="+o.benchtime, dash+"timeout=30m")
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return parse(pkg, strings.NewReader(string(out)))
}

// result is one line of `go test -bench -benchmem`.
type result struct {
	key
	nanoseconds float64
	bytes       int64
	allocs      int64
	page        int64 // bytes of the page that it draws; 0 for others
}

// key identifies a benchmark.
type key struct {
	pkg, name string // name without Benchmark, size and GOMAXPROCS
	size      int    // 0 for a benchmark without sizes
}

var (
	line = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([0-9.e+]+) ns/op(.*)$`)
	size = regexp.MustCompile(`/N=(\d+)$`)
)

// parse reads the output of the benchmarks of pkg.
func parse(pkg string, out io.Reader) ([]result, error) {
	var results []result
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		r := result{key: key{pkg: strings.TrimPrefix(pkg, "./"), name: m[1]}}
		if s := size.FindStringSubmatch(r.name); s != nil {
			n, err := strconv.Atoi(s[1])
			if err != nil {
				return nil, fmt.Errorf("read the size in %q: %w", lines.Text(), err)
			}
			r.size, r.name = n, strings.TrimSuffix(r.name, s[0])
		}
		var err error
		if r.nanoseconds, err = strconv.ParseFloat(m[2], 64); err != nil {
			return nil, fmt.Errorf("read the time in %q: %w", lines.Text(), err)
		}
		fields := strings.Fields(m[3])
		for i := 0; i+1 < len(fields); i++ {
			switch fields[i+1] {
			case "B/op":
				r.bytes, err = strconv.ParseInt(fields[i], 10, 64)
			case "allocs/op":
				r.allocs, err = strconv.ParseInt(fields[i], 10, 64)
			case "page-B":
				var size float64
				size, err = strconv.ParseFloat(fields[i], 64)
				r.page = int64(size)
			}
			if err != nil {
				return nil, fmt.Errorf("read the numbers in %q: %w", lines.Text(), err)
			}
		}
		results = append(results, r)
	}
	return results, lines.Err()
}

// write prints time, bytes and allocations of each benchmark, in the order of the results, a column for each size.
func write(w io.Writer, results []result) error {
	var sizes []int
	for _, r := range results {
		if r.size > 0 && !slices.Contains(sizes, r.size) {
			sizes = append(sizes, r.size)
		}
	}
	slices.Sort(sizes)
	var order []key
	rows := map[key]map[int]result{}
	for _, r := range results {
		k := key{pkg: r.pkg, name: r.name}
		if rows[k] == nil {
			rows[k] = map[int]result{}
			order = append(order, k)
		}
		rows[k][r.size] = r
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(a.pkg, b.pkg) })

	const title = "time / bytes / allocations"
	width := len(title)
	for _, k := range order {
		width = max(width, len(k.pkg), len("  "+k.name))
	}
	var t strings.Builder
	fmt.Fprintf(&t, "%-*s\t", width, title)
	for _, n := range sizes {
		fmt.Fprintf(&t, "N=%d\t", n)
	}
	t.WriteByte('\n')
	pkg := ""
	for _, k := range order {
		if k.pkg != pkg {
			pkg = k.pkg
			fmt.Fprintf(&t, "%-*s\t%s\n", width, pkg, strings.Repeat("\t", len(sizes)))
		}
		fmt.Fprintf(&t, "%-*s\t", width, "  "+k.name)
		if r, ok := rows[k][0]; ok {
			fmt.Fprintf(&t, "%s\t", r)
			t.WriteByte('\n')
			continue
		}
		for _, n := range sizes {
			text := "-"
			if r, ok := rows[k][n]; ok {
				text = r.String()
			}
			fmt.Fprintf(&t, "%s\t", text)
		}
		t.WriteByte('\n')
	}
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(aligned, t.String()); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return aligned.Flush()
}

func (r result) String() string {
	text := duration(r.nanoseconds) + " / " + quantity(r.bytes, "B") + " / " + strconv.FormatInt(r.allocs, 10)
	if r.page > 0 {
		text += " (page " + quantity(r.page, "B") + ")"
	}
	return text
}

// duration prints three significant digits.
func duration(ns float64) string {
	units := []struct {
		name string
		size float64
	}{{"s", float64(time.Second)}, {"ms", float64(time.Millisecond)}, {"us", float64(time.Microsecond)}}
	for _, u := range units {
		if ns >= u.size {
			return strconv.FormatFloat(ns/u.size, 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(ns, 'f', 0, 64) + "ns"
}

func quantity(n int64, unit string) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1fM%s", float64(n)/1e6, unit)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk%s", float64(n)/1e3, unit)
	}
	return fmt.Sprintf("%d%s", n, unit)
}
