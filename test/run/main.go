// SPDX-License-Identifier: Apache-2.0

// Command run is `make test`: it runs every test of the module with the race detector and in random order, then the tests that need a real Kubernetes
// one package after the other, prints the skipped tests with their reasons, and ends with one line of totals.
//
// Of the simulation it runs 2,000 seeds by each of the two policies, permits and reports: 4,000 runs, about four minutes of one core.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// event is one line of `go test -json` (cmd/test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// tally counts tests; a test with subtests counts once for itself and once for each of them, as go test reports them.
type tally struct {
	passed, failed, skipped int
	skips                   map[string]int // reason -> tests
	broken                  []string       // packages that failed without a failing test
	failures                []string       // a failed test and the first thing that it said
}

func main() {
	unit := flag.Bool("unit", false, "leave out the tests that need a real Kubernetes")
	race := flag.Bool("race", true, "race detector for the unit tests, where a C compiler is there")
	seeds := flag.Int("seeds", 2000, "how many seeds of the simulation to run by each of the two policies")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Stdout, *unit, *race, *seeds)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func run(ctx context.Context, out io.Writer, unitOnly, race bool, seeds int) (int, error) {
	pkgs, bounding, err := packages(ctx)
	if err != nil {
		return 1, err
	}
	var units, clusters []string
	for _, p := range pkgs {
		if strings.Contains(p, "/test/cluster") || strings.Contains(p, "/test/e2e") {
			clusters = append(clusters, p)
		} else {
			units = append(units, p)
		}
	}
	if !unitOnly {
		// First and alone: the tests that start a Kubernetes would otherwise all wait for one of them to build it.
		if err := buildKubernetes(ctx, out); err != nil {
			return 1, err
		}
	}
	t := &tally{skips: map[string]int{}}
	// Lint runs all of go vet over the whole module; here it would read every dependency once more.
	args, cgo := []string{"-vet=off", "-shuffle=on", "-timeout=20m"}, "0"
	if _, err := exec.LookPath("gcc"); race && err == nil {
		args, cgo = append(args, "-race"), "1"
	} else if race {
		fmt.Fprintln(out, "no C compiler on PATH: the unit tests run without the race detector")
	}
	if err := t.test(ctx, out, cgo, append(append(args, "-skip="+bounds+"|"+simulated), units...)); err != nil {
		return 1, err
	}
	if err := t.withoutRace(ctx, out, bounding, seeds); err != nil {
		return 1, err
	}
	if !unitOnly {
		// One after the other: each of these packages starts a Kubernetes of its own. Twice as many of its tests side by side as there are cores: they
		// wait for other processes more than half of their time.
		abreast := fmt.Sprintf("-parallel=%d", 2*runtime.GOMAXPROCS(0))
		if err := t.test(ctx, out, "0", append([]string{"-vet=off", "-p=1", "-count=1", "-timeout=55m", abreast}, clusters...)); err != nil {
			return 1, err
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(t.skips)) {
		fmt.Fprintf(out, "SKIPPED %d: %s\n", t.skips[reason], reason)
	}
	for _, p := range t.broken {
		fmt.Fprintf(out, "BROKEN %s\n", p)
	}
	// Repeated at the end, where a truncated log still has it.
	for _, f := range t.failures {
		fmt.Fprintf(out, "FAILED %s\n", f)
	}
	t.failed += len(t.broken)
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	if t.failed > 0 || t.passed == 0 {
		return 1, nil
	}
	return 0, nil
}

// The race detector multiplies memory and time: the tests that bound memory run without it, and one package after the other. So do the seeds of the
// simulation, each of which is one goroutine that shares nothing.
const (
	bounds    = "LittleMemory$"
	simulated = "^TestSeeds$"
)

func (t *tally) withoutRace(ctx context.Context, out io.Writer, bounding []string, seeds int) error {
	if err := t.test(ctx, out, "0", append([]string{"-vet=off", "-p=1", "-timeout=15m", "-run=" + bounds}, bounding...)); err != nil {
		return err
	}
	return t.test(ctx, out, "0", []string{"-vet=off", "-timeout=30m", "-run=" + simulated, "./test/simulation", fmt.Sprintf("-seeds=%d", seeds)})
}

func buildKubernetes(ctx context.Context, out io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./test/cluster/cmd/test-cluster", "build")
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build Kubernetes: %w", err)
	}
	return nil
}

// packages returns all packages of the module, and those among them whose tests bound their memory.
func packages(ctx context.Context) (all, bounding []string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", `{{.ImportPath}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}`, "./...")
	cmd.Stderr = os.Stderr
	b, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list packages: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		words := strings.Fields(line)
		all = append(all, words[0])
		if slices.ContainsFunc(words[1:], func(p string) bool { return strings.HasSuffix(p, "/test/memory") }) {
			bounding = append(bounding, words[0])
		}
	}
	return all, bounding, nil
}

// test runs go test on args with CGO_ENABLED=cgo and adds up its events. Output of a test is shown when it failed, of a package when it has no result of its own.
func (t *tally) test(ctx context.Context, out io.Writer, cgo string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	held := map[string][]string{} // output of a test or package until its result is known
	failedIn := map[string]bool{}
	r := bufio.NewReader(stdout)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			t.add(out, line, held, failedIn)
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || ctx.Err() != nil {
			return fmt.Errorf("run go test: %w", err)
		}
	}
	return nil
}

func (t *tally) add(out io.Writer, line string, held map[string][]string, failedIn map[string]bool) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(out, line) // the compiler's output
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		held[key] = append(held[key], e.Output)
		return
	case "build-fail":
		fmt.Fprint(out, strings.Join(held[key], ""))
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	text := held[key]
	delete(held, key)
	if e.Test == "" {
		switch {
		case e.Action == "pass":
			fmt.Fprintf(out, "ok   %s %.1fs\n", short(e.Package), e.Elapsed)
		case e.Action == "skip":
		default:
			// Tests without a result: they ran as the package panicked, or timed out.
			for _, unfinished := range slices.Sorted(maps.Keys(held)) {
				if strings.HasPrefix(unfinished, e.Package+" ") {
					fmt.Fprint(out, strings.Join(held[unfinished], ""))
					delete(held, unfinished)
				}
			}
			fmt.Fprint(out, strings.Join(text, ""))
			fmt.Fprintf(out, "FAIL %s %.1fs\n", short(e.Package), e.Elapsed)
			if !failedIn[e.Package] {
				t.broken = append(t.broken, short(e.Package))
			}
		}
		return
	}
	switch e.Action {
	case "pass":
		t.passed++
		// The race detector writes at any time: its report is in the output of any test that ran at that moment.
		if strings.Contains(strings.Join(text, ""), "WARNING: DATA RACE") {
			fmt.Fprint(out, strings.Join(text, ""))
		}
	case "fail":
		t.failed++
		failedIn[e.Package] = true
		t.failures = append(t.failures, short(e.Package)+" "+e.Test+": "+complaint(text))
		fmt.Fprint(out, strings.Join(text, ""))
	case "skip":
		t.skipped++
		t.skips[reason(text)]++
	}
}

// reason is the skip message of a test: the last line that is not the runner's own.
func reason(output []string) string {
	for _, l := range slices.Backward(output) {
		s := strings.TrimSpace(l)
		if s == "" || strings.HasPrefix(s, "---") || strings.HasPrefix(s, "===") {
			continue
		}
		if file, text, ok := strings.Cut(s, ": "); ok && strings.Contains(file, ".go:") {
			s = text
		}
		return s
	}
	return "no reason given"
}

// complaint is the first message of a failed test, with its place; the rest of its output is printed above.
func complaint(output []string) string {
	const most = 600
	for i, l := range output {
		if file, _, ok := strings.Cut(strings.TrimSpace(l), ": "); !ok || !strings.Contains(file, ".go:") {
			continue
		}
		s := strings.TrimSpace(strings.Join(output[i:min(i+6, len(output))], ""))
		if len(s) > most {
			s = s[:most] + "..."
		}
		return s
	}
	return "no reason given"
}

func short(p string) string {
	return strings.TrimPrefix(p, "github.com/kubectl-scylla/kubectl-scylla/")
}
