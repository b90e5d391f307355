// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	// rehearsed and soaked run alone, by the proof.
	rehearsed = "TestRehearsals"
	soaked    = "TestSoak"

	// notInGate are the tests that only the proof runs: they bound memory one at a time, run
	// thousands of seeds, compile the module once more, or need a browser.
	notInGate = "LittleMemory$|^TestSeeds$|^TestGoInstall$|" + browserTests
	// browserTests start Chromium.
	browserTests = "^TestCommandsAndNamesAreBrokenAtSpacesAlone$|^TestPageInBrowser$"

	gateSeeds = 300
	// seedsProved is the last of the seeds that pass by both policies.
	seedsProved = 1000

	// Of the world "wide" likewise.
	gateWide   = 30
	wideProved = 150

	podsPerCore = 4  // as in test/e2e
	orders      = 50 // of the tests, of which the longest is taken
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
		{fmt.Sprintf("%d seeds by each policy", gateSeeds), func() error {
			return errors.Join(t.run(ctx, seedTests(in, "", gateSeeds, seedsProved)), t.run(ctx, seedTests(in, "wide", gateWide, wideProved)))
		}},
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

// seedTests runs other seeds after each change of what the simulation is made of: so many of those that pass.
func seedTests(in *inputs, world string, seeds, proved uint64) goTest {
	n, _ := strconv.ParseUint(in.ofTests("seeds", "test/simulation"), 16, 64) // 16 hexadecimal digits
	return goTest{cgo: "0", args: []string{"-vet=off", "-timeout=20m", "-run=^TestSeeds$", "./test/simulation",
		"-world=" + world, fmt.Sprintf("-seeds=%d", seeds), fmt.Sprintf("-first=%d", 1+n%(proved-seeds+1))}}
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
	left := g.aim - time.Since(g.began) - startsIn
	turn := func(t covers.Test) string { return in.ofEndToEnd("turn", endToEnd, t) }
	c := choice{changed: changed(ctx, known.lastCommit()), turn: turn, book: known, capacity: podsPerCore * runtime.GOMAXPROCS(0)}
	others := slices.DeleteFunc(slices.Clone(tests), func(t covers.Test) bool { return t.Name == story || t.Name == rehearsed || t.Name == soaked })
	chosen := c.choose(tests[i], others, left)
	fmt.Fprintf(g.out, "%s and %d of %d end-to-end tests, which take about %s of the %s that are left; make proof runs all\n",
		story, len(chosen)-1, len(others), c.span(chosen).Round(time.Second), max(0, left).Round(time.Second))
	t.on = keepEndToEnd(ctx, in, tests)
	defer func() { t.on = nil }()
	return t.run(ctx, endToEndTests(chosen, 15*time.Minute))
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
	turn     func(covers.Test) string // another order after each change of what the tests run
	book     book
	capacity int // Pods at a time
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

// rooms is how many Pods a test takes the room of.
func (c choice) rooms(t covers.Test) int { return min(max(t.Pods, 1), c.capacity) }

// cost is what a test takes from the others: its time, for each Pod.
func (c choice) cost(t covers.Test) time.Duration {
	_, took := c.last(t)
	if !t.Parallel {
		return took * time.Duration(c.capacity)
	}
	return took * time.Duration(c.rooms(t))
}

// span is about how long the tests take: those that are not parallel one after the other, then the
// others. In which order these ask for room is not known, so it is the longest of some orders, the
// same ones at each call.
func (c choice) span(tests []covers.Test) time.Duration {
	var inTurn, longest time.Duration
	var parallel []stay
	for _, t := range tests {
		_, took := c.last(t)
		if t.Parallel {
			parallel = append(parallel, stay{c.rooms(t), took})
		} else {
			inTurn += took
		}
	}
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // not a secret
	for range orders {
		r.Shuffle(len(parallel), func(i, j int) { parallel[i], parallel[j] = parallel[j], parallel[i] })
		longest = max(longest, c.packed(parallel))
	}
	return inTurn + longest
}

// stay is the room that a test takes, and for how long.
type stay struct {
	rooms int
	took  time.Duration
}

// packed is when the last of the tests ends, if they ask for room in this order. One that waits
// holds up all behind it, as the semaphore of test/e2e does.
func (c choice) packed(stays []stay) time.Duration {
	free := make([]time.Duration, c.capacity) // when the room of each Pod is
	for _, s := range stays {
		slices.Sort(free)
		end := free[s.rooms-1] + s.took
		for i := range s.rooms {
			free[i] = end
		}
	}
	return slices.Max(free)
}

// choose takes the first test in any case; then those whose packages have changed, in turns, so that
// none is left out for long, then those whose last pass is oldest, each one that does not make all
// take more time than is left.
func (c choice) choose(first covers.Test, tests []covers.Test, left time.Duration) []covers.Test {
	tests = slices.SortedStableFunc(slices.Values(tests), func(a, b covers.Test) int {
		x, y := slices.ContainsFunc(a.Packages, c.changed), slices.ContainsFunc(b.Packages, c.changed)
		switch {
		case x && y:
			return cmp.Compare(c.turn(a), c.turn(b))
		case x:
			return -1
		case y:
			return 1
		}
		i, _ := c.last(a)
		j, _ := c.last(b)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(c.cost(a), c.cost(b)))
	})
	chosen := []covers.Test{first}
	for _, t := range tests {
		if more := append(slices.Clone(chosen), t); c.span(more) <= left {
			chosen = more
		}
	}
	return chosen
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
