// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
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

// verdict of a test, a package or a unit of the proof.
type verdict string

const (
	pass verdict = "pass"
	fail verdict = "fail"
	skip verdict = "skip"
	// lost is a test that was started and has no result: its package has ended before it.
	lost verdict = "no result"
)

// result is one line of bin/test.jsonl: a test, or a package where Test is empty.
type result struct {
	Package string  `json:"package"`
	Test    string  `json:"test,omitempty"`
	Seconds float64 `json:"seconds"`
	Verdict verdict `json:"verdict"`
	Load    float64 `json:"load"` // processes that want a core, the average of the last minute
	// Cached is true of a package whose results go test has kept: their times are of another run.
	Cached bool `json:"cached,omitempty"`
}

// tally counts tests; a test with subtests counts once for itself and once for each of them, as
// go test reports them.
type tally struct {
	out     io.Writer
	log     io.Writer    // bin/test.jsonl; may be nil
	on      func(result) // called for each result; may be nil
	load    func() float64
	grace   time.Duration // how long an ended go test may clean up; 0 is half a minute
	results []result

	passed, failed, skipped int
	skips                   map[string]int // reason -> tests
	broken                  []string       // packages that failed without a failing test
	failures                []string       // a failed test and the first thing that it printed

	// Of the go test that runs.
	ctx      context.Context
	held     map[string][]string // output of a test or package until its result is known
	started  map[string]bool     // tests without a result, by "package test"
	failedIn map[string]bool
	cases    map[string]float64 // seconds of a test's cases, by "package test"
	open     map[string]bool    // packages that were asked for and have no result yet
}

func newTally(out, log io.Writer) *tally {
	return &tally{out: &locked{w: out}, log: log, load: loadAverage, skips: map[string]int{}}
}

// locked is a writer for several goroutines: what go test writes to stderr is copied by one of its own.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// goTest is one call of go test.
type goTest struct {
	cgo      string   // CGO_ENABLED: 1 for the race detector
	args     []string // of go test -json
	packages []string // import paths that must have a result; nil where the caller looks itself
	binary   []string // arguments of the test binary
}

// command are the arguments of go: what it does not know itself, and all that follows, is the test
// binary's, so that comes after the packages.
func (g goTest) command() []string {
	return slices.Concat([]string{"test", "-json"}, g.args, g.packages, g.binary)
}

// run runs go test and adds up its events. Output of a test is printed when it failed, of a
// package when it has no result of its own. Where ctx ends, go test and all that it started are
// ended, and what has no result is a failure by name.
func (t *tally) run(ctx context.Context, g goTest) error {
	t.begin(ctx, g.packages)
	cmd := exec.Command("go", g.command()...)
	// The controller reads objects of its cache without copies: a test that changes one of them panics.
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+g.cgo, "KUBE_CACHE_MUTATION_DETECTOR=true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // test binaries and their children are ended with it
	cmd.Stderr = t.out
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("read go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	ended := make(chan struct{})
	go end(ctx, cmd.Process.Pid, cmp.Or(t.grace, 30*time.Second), ended)
	r := bufio.NewReader(stdout)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			t.add(line)
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	close(ended)
	t.finish()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("run go test: %w", err)
	}
	return nil
}

// begin forgets the go test before; these packages must have a result.
func (t *tally) begin(ctx context.Context, packages []string) {
	t.ctx = ctx
	t.held, t.started, t.failedIn, t.open = map[string][]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	t.cases = map[string]float64{}
	for _, p := range packages {
		t.open[p] = true
	}
}

// endWithChildren makes the end of a command's context the end of all that it started.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// end ends a process group when ctx does: by an interrupt, and by force after the grace.
func end(ctx context.Context, group int, grace time.Duration, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(-group, syscall.SIGINT) // it may have ended by itself
	select {
	case <-ended:
	case <-time.After(grace):
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

func (t *tally) add(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(t.out, line) // the compiler's output
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "run":
		t.started[key] = true
	case "output", "build-output":
		if strings.HasPrefix(e.Output, "note: ") {
			fmt.Fprint(t.out, e.Output) // what a package reports of itself, also where it passes
		}
		t.held[key] = append(t.held[key], e.Output)
	case "build-fail":
		fmt.Fprint(t.out, strings.Join(t.held[key], ""))
	case "pass", "fail", "skip":
		text := t.held[key]
		delete(t.held, key)
		delete(t.started, key)
		if e.Test == "" {
			t.addPackage(e, text)
		} else {
			t.addTest(e, text)
		}
	}
}

func (t *tally) addPackage(e event, text []string) {
	delete(t.open, e.Package)
	if e.Action == "skip" { // no test files
		return
	}
	if e.Action == "fail" {
		t.lose(e.Package + " ")
		fmt.Fprint(t.out, strings.Join(text, ""))
		if !t.failedIn[e.Package] {
			t.broken = append(t.broken, short(e.Package))
			t.failed++
		}
	}
	cached := strings.Contains(strings.Join(text, ""), "\t(cached)")
	note := ""
	if cached {
		note = " (cached)"
	}
	fmt.Fprintf(t.out, "%-4s %s %.1fs%s\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], short(e.Package), e.Elapsed, note)
	t.record(result{Package: short(e.Package), Seconds: e.Elapsed, Verdict: verdict(e.Action), Cached: cached})
}

// waited is what test/e2e logs of the time that a test has waited for room on the machine.
var waited = regexp.MustCompile(`: room for \d+ Pods after (\S+)\n`)

func (t *tally) addTest(e event, text []string) {
	for _, l := range text {
		if m := waited.FindStringSubmatch(l); m != nil {
			if d, err := time.ParseDuration(m[1]); err == nil {
				e.Elapsed = max(0, e.Elapsed-d.Seconds())
			}
		}
	}
	// go test does not count the time of cases that run in parallel for the test that has them.
	e.Elapsed = max(e.Elapsed, t.cases[e.Package+" "+e.Test])
	if i := strings.LastIndex(e.Test, "/"); i >= 0 {
		t.cases[e.Package+" "+e.Test[:i]] += e.Elapsed
	}
	const long = 20 // seconds: whoever waits sees that something has come of it
	if e.Elapsed >= long && !strings.Contains(e.Test, "/") {
		fmt.Fprintf(t.out, "     %s %s %s %.1fs\n", e.Action, short(e.Package), e.Test, e.Elapsed)
	}
	switch e.Action {
	case "pass":
		t.passed++
		// The race detector writes at any time: its report is in the output of any test that ran
		// at that moment.
		if strings.Contains(strings.Join(text, ""), "WARNING: DATA RACE") {
			fmt.Fprint(t.out, strings.Join(text, ""))
		}
	case "fail":
		t.failed++
		t.failedIn[e.Package] = true
		t.failures = append(t.failures, short(e.Package)+" "+e.Test+": "+complaint(text))
		fmt.Fprint(t.out, strings.Join(text, ""))
	case "skip":
		t.skipped++
		t.skips[reason(text)]++
	}
	t.record(result{Package: short(e.Package), Test: e.Test, Seconds: e.Elapsed, Verdict: verdict(e.Action)})
}

// lose makes failures of the tests that were started and have no result, by the prefix of their
// keys, and prints what they wrote.
func (t *tally) lose(prefix string) {
	for _, key := range slices.Sorted(maps.Keys(t.started)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		pkg, test, _ := strings.Cut(key, " ")
		fmt.Fprint(t.out, strings.Join(t.held[key], ""))
		delete(t.held, key)
		delete(t.started, key)
		t.failed++
		t.failedIn[pkg] = true
		t.failures = append(t.failures, short(pkg)+" "+test+": no result: "+t.why())
		t.record(result{Package: short(pkg), Test: test, Verdict: lost})
	}
}

// why a test or package has no result.
func (t *tally) why() string {
	if t.ctx.Err() != nil {
		return "stopped, as the time is over"
	}
	return "its package has ended"
}

// finish accounts for what go test has not: it was stopped, or has died.
func (t *tally) finish() {
	t.lose("")
	for _, p := range slices.Sorted(maps.Keys(t.open)) {
		fmt.Fprint(t.out, strings.Join(t.held[p+" "], ""))
		t.failed++
		t.failures = append(t.failures, short(p)+": no result: "+t.why())
	}
}

func (t *tally) record(r result) {
	r.Load = t.load()
	t.results = append(t.results, r)
	if t.log != nil {
		_ = json.NewEncoder(t.log).Encode(r) // a full disk must not cost the run
	}
	if t.on != nil {
		t.on(r)
	}
}

// sum prints the slowest tests, what was skipped, and, at the end, where a truncated log still
// has them, the failures and the line of totals. It returns the exit code.
func (t *tally) sum() int {
	const slowest = 20
	tests := slices.DeleteFunc(slices.Clone(t.results), func(r result) bool { return r.Test == "" || strings.Contains(r.Test, "/") || r.Seconds < 1 })
	slices.SortStableFunc(tests, func(a, b result) int { return cmp.Compare(b.Seconds, a.Seconds) })
	for _, r := range tests[:min(slowest, len(tests))] {
		fmt.Fprintf(t.out, "%7.1fs %s %s (load %.0f)\n", r.Seconds, r.Package, r.Test, r.Load)
	}
	for _, reason := range slices.Sorted(maps.Keys(t.skips)) {
		fmt.Fprintf(t.out, "SKIPPED %d: %s\n", t.skips[reason], reason)
	}
	for _, p := range t.broken {
		fmt.Fprintf(t.out, "BROKEN %s\n", p)
	}
	for _, f := range t.failures {
		fmt.Fprintf(t.out, "FAILED %s\n", f)
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	if t.failed > 0 || t.passed == 0 {
		return 1
	}
	return 0
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

// complaint is the first message of a failed test, with its place, but for the time that it waited
// for room; the rest of its output is printed above.
func complaint(output []string) string {
	const most = 600
	for i, l := range output {
		if file, _, ok := strings.Cut(strings.TrimSpace(l), ": "); !ok || !strings.Contains(file, ".go:") || waited.MatchString(l) {
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

// loadAverage is the load of the last minute; 0 where the system does not tell.
func loadAverage() float64 {
	b, _ := os.ReadFile("/proc/loadavg")
	var one float64
	_, _ = fmt.Sscan(string(b), &one)
	return one
}

const module = "github.com/kubectl-scylla/kubectl-scylla"

func short(p string) string { return strings.TrimPrefix(p, module+"/") }
