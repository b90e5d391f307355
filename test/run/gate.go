// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/covers"
)

const (
	endToEnd = "test/e2e"
	// story is the test that plays what `make demo DEMO=once` shows.
	story = "TestStory"
	// rehearsed are measured alone, by the proof.
	rehearsed = "TestRehearsals"

	// notInGate are the tests that only the proof runs: they bound memory one at a time, run
	// thousands of seeds, compile the module once more, or need a browser.
	notInGate = "LittleMemory$|^TestSeeds$|^TestGoInstall$|" + browserTests
	// browserTests start Chromium.
	browserTests = "^TestCommandsAndNamesAreBrokenAtSpacesAlone$|^TestPageInBrowser$"

	gateSeeds = 100
	// seedsProved is the last of the seeds that pass by both policies.
	seedsProved = 10000

	podsPerCore = 4 // as in test/e2e
	// startsIn is how long the three Kubernetes nodes with the controller take to be there.
	startsIn = 45 * time.Second
	// usually is how long an end-to-end test takes of which nothing is known; most take less.
	usually = 3 * time.Minute
)

// gate is `make test`.
type gate struct {
	out         io.Writer
	unitOnly    bool
	aim, budget time.Duration
	began       time.Time
}

func (g *gate) step(name string) {
	fmt.Fprintf(g.out, "\n-- %s (at %s)\n", name, time.Since(g.began).Round(time.Second))
}

func (g *gate) run(ctx context.Context) (int, error) {
	g.began = time.Now()
	if g.budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.budget)
		defer cancel()
	}
	in, err := readInputs(ctx, ".")
	if err != nil {
		return exitError, err
	}
	log, err := logFile(testPath)
	if err != nil {
		return exitError, err
	}
	defer log.Close()
	t := newTally(g.out, log)
	if !g.unitOnly {
		// First and alone: the tests that start a Kubernetes would all wait for one of them to
		// build it.
		g.step("Kubernetes")
		if err := buildKubernetes(ctx, g.out); err != nil {
			return exitError, err
		}
	}
	type stage struct {
		name string
		run  func() error
	}
	stages := []stage{
		{"unit tests", func() error { return errors.Join(t.run(ctx, unitTests(in, false)), t.run(ctx, unitTests(in, true))) }},
		{fmt.Sprintf("%d seeds by each policy", gateSeeds), func() error { return t.run(ctx, seedTests(in)) }},
	}
	if !g.unitOnly {
		stages = append(stages,
			stage{"a real API server", func() error { return t.run(ctx, serverTests(in)) }},
			stage{"real Pods", func() error { return g.endToEnd(ctx, in, t) }})
	}
	for i, s := range stages {
		if ctx.Err() != nil {
			for _, s := range stages[i:] {
				t.failed++
				t.failures = append(t.failures, s.name+": did not run: the time is over")
			}
			break
		}
		g.step(s.name)
		if err := s.run(); err != nil {
			return exitError, err
		}
	}
	g.step("result")
	return t.sum(), nil
}

// needsServer is true of a package whose tests start an API server or Kubernetes nodes.
func needsServer(name string, p *listed) bool {
	return strings.HasPrefix(name, "test/cluster") || slices.ContainsFunc(slices.Concat(p.TestImports, p.XTestImports), func(i string) bool {
		return i == module+"/test/e2e/plane" || i == module+"/test/cluster"
	})
}

// importPaths are the packages with the module's path, as go test names them.
func importPaths(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = module + "/" + n
	}
	return out
}

// compiles are the packages whose tests call the go command: go test does not see what that reads,
// so a result from its cache could be that of another source.
var compiles = []string{"test/e2e/doors", "test/house", "test/run/mutants", "test/house/release", "test/run"}

// unitTests has no flag that keeps go test from using its results again: no race detector and no
// random order, which the proof has. Lint runs go vet.
func unitTests(in *inputs, compiling bool) goTest {
	g := goTest{cgo: "0", args: []string{"-vet=off", "-timeout=20m", "-skip=" + notInGate}}
	if compiling {
		g.args = append(g.args, "-count=1")
	}
	g.packages = importPaths(in.tested(func(name string, p *listed) bool {
		return name != endToEnd && !needsServer(name, p) && slices.Contains(compiles, name) == compiling
	}))
	return g
}

// seedTests runs other seeds after each change of what the simulation is made of.
func seedTests(in *inputs) goTest {
	n, _ := strconv.ParseUint(in.ofTests("seeds", "test/simulation"), 16, 64) // 16 hexadecimal digits
	return goTest{cgo: "0", args: []string{"-vet=off", "-timeout=20m", "-run=^TestSeeds$", "./test/simulation",
		fmt.Sprintf("-seeds=%d", gateSeeds), fmt.Sprintf("-first=%d", 1+n%(seedsProved-gateSeeds+1))}}
}

// serverTests start control planes, which mostly wait: a package for each core runs at a time.
func serverTests(in *inputs) goTest {
	servers := in.tested(func(name string, p *listed) bool {
		return needsServer(name, p) && name != endToEnd && !strings.HasPrefix(name, "test/cluster")
	})
	return goTest{cgo: "0", args: []string{"-vet=off", "-timeout=20m", "-skip=" + notInGate}, packages: importPaths(servers)}
}

func (g *gate) endToEnd(ctx context.Context, in *inputs, t *tally) error {
	tests, err := covers.Read(endToEnd)
	if err != nil {
		return err
	}
	known, err := readBook(ledgerPath, proofPath)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tests, func(t covers.Test) bool { return t.Name == story })
	if i < 0 {
		return fmt.Errorf("choose end-to-end tests: %s is not in %s", story, endToEnd)
	}
	capacity := podsPerCore * runtime.GOMAXPROCS(0)
	remains := g.aim - time.Since(g.began) - startsIn
	c := choice{changed: changed(ctx, known.lastCommit()), book: known, capacity: capacity, longest: remains}
	left := remains - c.cost(tests[i])
	chosen, rest := c.choose(slices.DeleteFunc(slices.Clone(tests), func(t covers.Test) bool { return t.Name == story || t.Name == rehearsed }), left)
	fmt.Fprintf(g.out, "%s and %d of %d end-to-end tests, in the %s that are left; make proof runs all\n", story, len(chosen), len(chosen)+len(rest), max(0, left).Round(time.Second))
	t.on = keepEndToEnd(ctx, in, tests)
	defer func() { t.on = nil }()
	return t.run(ctx, endToEndTests(append([]covers.Test{tests[i]}, chosen...), 15*time.Minute))
}

// endToEndTests are run by one process, which starts one Kubernetes; the tests limit themselves
// by their Pods.
func endToEndTests(tests []covers.Test, timeout time.Duration, binary ...string) goTest {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.Name
	}
	return goTest{cgo: "0", packages: importPaths([]string{endToEnd}), binary: binary, args: []string{
		"-vet=off", "-count=1", "-parallel=64", "-timeout=" + timeout.String(), "-run=^(" + strings.Join(names, "|") + ")$"}}
}

// keepEndToEnd keeps each result of an end-to-end test for the proof.
func keepEndToEnd(ctx context.Context, in *inputs, tests []covers.Test) func(result) {
	commit, host := head(ctx), machine()
	keys := map[string]string{}
	for _, t := range tests {
		keys[t.Name] = in.ofEndToEnd("e2e", endToEnd, t)
	}
	return func(r result) {
		if k := keys[r.Test]; k != "" && r.Package == endToEnd && (r.Verdict == pass || r.Verdict == fail) {
			_ = write(proofPath, entry{commit, "e2e " + r.Test, k, r.Seconds, r.Verdict, host}) // the test's own result counts
		}
	}
}

// choice is what end-to-end tests are chosen by.
type choice struct {
	changed  func(pkg string) bool
	book     book
	capacity int           // Pods at a time
	longest  time.Duration // of one test: its Pods may be few, and it would still be the last to end
}

// last is when a test has passed last, as a place in the book, and its seconds; -1 for never.
func (c choice) last(t covers.Test) (place int, took time.Duration) {
	place, took = -1, usually
	for i, e := range c.book {
		if e.Unit == "e2e "+t.Name && e.Verdict == pass {
			place, took = i, time.Duration(e.Seconds*float64(time.Second))
		}
	}
	return place, took
}

// cost is the time that a test takes from the others: its share of the Pods that run at a time.
func (c choice) cost(t covers.Test) time.Duration {
	_, took := c.last(t)
	if !t.Parallel {
		return took
	}
	return took * time.Duration(min(max(t.Pods, 1), c.capacity)) / time.Duration(c.capacity)
}

// choose takes the tests whose packages have changed, the cheapest first, then those whose last
// pass is oldest, as long as there is time.
func (c choice) choose(tests []covers.Test, left time.Duration) (chosen, rest []covers.Test) {
	affected := func(t covers.Test) bool { return slices.ContainsFunc(t.Packages, c.changed) }
	slices.SortStableFunc(tests, func(a, b covers.Test) int {
		if x, y := affected(a), affected(b); x != y {
			if x {
				return -1
			}
			return 1
		} else if x {
			return cmp.Compare(c.cost(a), c.cost(b))
		}
		x, _ := c.last(a)
		y, _ := c.last(b)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(c.cost(a), c.cost(b)))
	})
	for _, t := range tests {
		_, took := c.last(t)
		if cost := c.cost(t); cost <= left && took <= c.longest {
			left -= cost
			chosen = append(chosen, t)
		} else {
			rest = append(rest, t)
		}
	}
	return chosen, rest
}

// changed reports whether a package differs from a commit; every package does where the commit
// is not known here.
func changed(ctx context.Context, commit string) func(string) bool {
	commit = strings.TrimSuffix(commit, "+")
	diff, err := exec.CommandContext(ctx, "git", "diff", "--name-only", commit, "--").Output()
	others, err2 := exec.CommandContext(ctx, "git", "ls-files", "--others", "--exclude-standard").Output()
	if commit == "" || err != nil || err2 != nil {
		return func(string) bool { return true }
	}
	packages := map[string]bool{}
	for f := range strings.FieldsSeq(string(diff) + string(others)) {
		dir, _, _ := strings.Cut(path.Dir(f), "/testdata")
		packages[dir] = true
	}
	return func(pkg string) bool { return packages[pkg] }
}

func buildKubernetes(ctx context.Context, out io.Writer) error {
	_, err := build.Kubernetes(ctx, out)
	return err
}

func logFile(name string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, fmt.Errorf("make folder for results: %w", err)
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	return f, nil
}
