// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/covers"
)

// What go test -json prints becomes counts, the reasons of skips, and the first complaint of each failed test.
func TestTally(t *testing.T) {
	const pkg = "github.com/kubectl-scylla/kubectl-scylla/test/e2e"
	type want struct {
		Passed, Failed, Skipped int
		Skips                   map[string]int
		Broken, Failures        []string
	}
	cases := map[string]struct {
		events []string
		want   want
		prints string // part of the output
	}{
		"pass and skip": {
			events: []string{
				`{"Action":"pass","Package":"` + pkg + `","Test":"TestA"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestB","Output":"    e2e_test.go:60: real Kubernetes nodes need: root\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}`,
				`{"Action":"skip","Package":"` + pkg + `","Test":"TestB"}`,
			},
			want: want{Passed: 1, Skipped: 1, Skips: map[string]int{"real Kubernetes nodes need: root": 1}},
		},
		"a failure says its first complaint": {
			events: []string{
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"=== RUN   TestC\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"    replace_test.go:5: room for 4 Pods after 0s\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"    replace_test.go:7: wait for 3 ready Pods: 2\n"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestC","Output":"        and more\n"}`,
				`{"Action":"fail","Package":"` + pkg + `","Test":"TestC"}`,
				`{"Action":"fail","Package":"` + pkg + `"}`,
			},
			want: want{Failed: 1, Failures: []string{"test/e2e TestC: replace_test.go:7: wait for 3 ready Pods: 2\n        and more"}},
		},
		"a data race is printed, whichever test it was said in": {
			events: []string{
				`{"Action":"output","Package":"` + pkg + `","Test":"TestD","Output":"WARNING: DATA RACE\n"}`,
				`{"Action":"pass","Package":"` + pkg + `","Test":"TestD"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestE","Output":"    testing.go:1712: race detected during execution of test\n"}`,
				`{"Action":"fail","Package":"` + pkg + `","Test":"TestE"}`,
				`{"Action":"fail","Package":"` + pkg + `"}`,
			},
			want:   want{Passed: 1, Failed: 1, Failures: []string{"test/e2e TestE: testing.go:1712: race detected during execution of test"}},
			prints: "WARNING: DATA RACE\n",
		},
		"a test without a result is a failure by name": {
			events: []string{
				`{"Action":"run","Package":"` + pkg + `","Test":"TestF"}`,
				`{"Action":"output","Package":"` + pkg + `","Test":"TestF","Output":"panic: test timed out after 15m0s\n"}`,
				`{"Action":"fail","Package":"` + pkg + `"}`,
			},
			want:   want{Failed: 1, Failures: []string{"test/e2e TestF: no result: its package has ended"}},
			prints: "panic: test timed out after 15m0s\n",
		},
		"a package that does not compile counts": {
			events: []string{`{"Action":"fail","Package":"` + pkg + `"}`},
			want:   want{Failed: 1, Broken: []string{"test/e2e"}},
		},
		"a note of a package that passes is printed": {
			events: []string{
				`{"Action":"output","Package":"` + pkg + `","Output":"note: 3 failed probes\n"}`,
				`{"Action":"pass","Package":"` + pkg + `"}`,
			},
			prints: "note: 3 failed probes\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, log bytes.Buffer
			got := newTally(&out, &log)
			got.begin(t.Context(), nil)
			for _, e := range c.events {
				got.add(e + "\n")
			}
			if c.want.Skips == nil {
				c.want.Skips = map[string]int{}
			}
			if diff := cmp.Diff(c.want, want{got.passed, got.failed, got.skipped, got.skips, got.broken, got.failures}); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(out.String(), c.prints) {
				t.Errorf("prints %q, want %q in it", out.String(), c.prints)
			}
		})
	}
}

// A test takes at least as long as its cases, which go test leaves out where they run in parallel.
func TestCasesThatRunInParallelTakeTime(t *testing.T) {
	var log bytes.Buffer
	got := newTally(io.Discard, &log)
	got.begin(t.Context(), nil)
	for _, e := range []string{
		`{"Action":"pass","Package":"p","Test":"TestA/x/1","Elapsed":30}`,
		`{"Action":"pass","Package":"p","Test":"TestA/x","Elapsed":0}`,
		`{"Action":"pass","Package":"p","Test":"TestA/y","Elapsed":40}`,
		`{"Action":"pass","Package":"p","Test":"TestA","Elapsed":2}`,
		`{"Action":"pass","Package":"p","Test":"TestB/x","Elapsed":5}`,
		`{"Action":"pass","Package":"p","Test":"TestB","Elapsed":9}`,
	} {
		got.add(e + "\n")
	}
	seconds := map[string]float64{}
	for _, r := range got.results {
		seconds[r.Test] = r.Seconds
	}
	want := map[string]float64{"TestA": 70, "TestA/x": 30, "TestA/x/1": 30, "TestA/y": 40, "TestB": 9, "TestB/x": 5}
	if diff := cmp.Diff(want, seconds); diff != "" {
		t.Error(diff)
	}
}

// fixtures are packages of a module of their own: one passes, and one has a test that ends and
// two that never do.
const fixtures = "testdata/fixtures"

// inFixtures is a tally there, with what it prints and its lines of bin/test.jsonl.
func inFixtures(t *testing.T) (got *tally, out, log *bytes.Buffer) {
	t.Helper()
	t.Chdir(fixtures)
	t.Setenv("GOFLAGS", "-mod=mod")
	out, log = &bytes.Buffer{}, &bytes.Buffer{}
	return newTally(out, log), out, log
}

// Only what ran now, passed, and was not held up by others says how fast a test is.
func TestTimed(t *testing.T) {
	const ran, kept, busy = "test/a", "test/b", "test/c"
	line := func(pkg, test string, seconds, load float64, v verdict, cached bool) result {
		return result{Package: pkg, Test: test, Seconds: seconds, Verdict: v, Load: load, Cached: cached}
	}
	var log bytes.Buffer
	for _, r := range []result{
		line(ran, "TestSlow", 6, 1, pass, false), line(kept, "TestSlow", 7, 1, pass, false), line(ran, "TestFast", 4, 1, pass, false),
		line(ran, "TestSlow/case", 6, 1, pass, false), line(ran, "TestRed", 8, 1, fail, false), line(kept, "", 0.1, 1, pass, true),
		line(ran, "TestBusy", 9, 1e6, pass, false), line(ran, "", 11, 1, pass, false), line(busy, "", 12, 1e6, pass, false),
		line(kept, "TestAgain", 5, 1, pass, false), line(kept, "", 5, 1, pass, false), // the seeds are a run of their own
	} {
		if err := json.NewEncoder(&log).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	cached := newTally(io.Discard, &log)
	cached.load = func() float64 { return 1 }
	cached.begin(t.Context(), nil)
	for _, e := range []string{
		`{"Action":"pass","Package":"test/d","Test":"TestKept","Elapsed":9}`,
		`{"Action":"output","Package":"test/d","Output":"ok  \ttest/d\t(cached)\n"}`,
		`{"Action":"pass","Package":"test/d","Elapsed":0.01}`,
	} {
		cached.add(e + "\n")
	}
	got, err := timed(log.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := []result{
		line(ran, "TestSlow", 6, 1, pass, false), line(ran, "", 11, 1, pass, false),
		line(kept, "TestAgain", 5, 1, pass, false), line(kept, "", 5, 1, pass, false),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := timed([]byte("{")); err == nil {
		t.Error("a log that is cut off is read without an error")
	}
}

// A package that times out: what has ended keeps its result, and what has not is named.
func TestAPackageThatTimesOut(t *testing.T) {
	got, out, log := inFixtures(t)
	if err := got.run(t.Context(), goTest{cgo: "0", args: []string{"-count=1", "-timeout=1s"}, packages: []string{"fixtures/ends", "fixtures/hangs"}}); err != nil {
		t.Fatal(err)
	}
	if code := got.sum(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	var lines []result
	for line := range strings.Lines(log.String()) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		r.Seconds, r.Load = 0, 0
		lines = append(lines, r)
	}
	want := []result{
		{Package: "fixtures/ends", Test: "TestEnds", Verdict: pass},
		{Package: "fixtures/ends", Verdict: pass},
		{Package: "fixtures/hangs", Test: "TestEnds", Verdict: pass},
		{Package: "fixtures/hangs", Test: "TestHangs", Verdict: lost},
		{Package: "fixtures/hangs", Test: "TestHangsToo", Verdict: lost},
		{Package: "fixtures/hangs", Verdict: fail},
	}
	byName := func(a, b result) int { return strings.Compare(a.Package+a.Test, b.Package+b.Test) }
	slices.SortFunc(want, byName)
	slices.SortFunc(lines, byName)
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("bin/test.jsonl (-want +got):\n%s", diff)
	}
	for _, s := range []string{
		"FAILED fixtures/hangs TestHangs: no result: its package has ended\n",
		"FAILED fixtures/hangs TestHangsToo: no result: its package has ended\n",
		"2 passed, 2 failed, 0 skipped\n",
	} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("does not print %q:\n%s", s, out)
		}
	}
}

// Where the time is over, the run ends, and both the tests that ran and the packages that did not
// are named.
func TestTheTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got, out, _ := inFixtures(t)
	got.on = func(r result) {
		if r.Test == "TestEnds" {
			cancel()
		}
	}
	if err := got.run(ctx, goTest{cgo: "0", args: []string{"-count=1", "-p=1", "-timeout=10m"}, packages: []string{"fixtures/hangs", "fixtures/hangs/last"}}); err != nil {
		t.Fatal(err)
	}
	if code := got.sum(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, s := range []string{"FAILED fixtures/hangs TestHangs: no result: stopped, as the time is over\n", "FAILED fixtures/hangs/last: no result: stopped, as the time is over\n"} {
		if !strings.Contains(out.String(), s) {
			t.Errorf("does not print %q:\n%s", s, out)
		}
	}
}

// A pass after a failure of the same inputs is flaky, whatever comes then; other inputs have
// results of their own.
func TestVerdictOfAUnit(t *testing.T) {
	at := func(key string, v verdict) entry { return entry{Unit: "race a", Key: key, Verdict: v} }
	for name, tc := range map[string]struct {
		book book
		want verdict
	}{
		"nothing":                        {nil, ""},
		"a pass":                         {book{at("k", pass)}, pass},
		"a failure after a pass":         {book{at("k", pass), at("k", fail)}, fail},
		"a pass after a failure":         {book{at("k", fail), at("k", pass)}, flaky},
		"two passes after a failure":     {book{at("k", fail), at("k", pass), at("k", pass)}, flaky},
		"a failure of other inputs":      {book{at("old", fail), at("k", pass)}, pass},
		"a pass of other inputs":         {book{at("old", pass)}, ""},
		"a pass of another unit":         {book{{Unit: "race b", Key: "k", Verdict: pass}}, ""},
		"a unit that could not be tried": {book{at("k", skip)}, skip},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.book.verdict("race a", "k"); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// First the tests of what has changed, the cheapest first; then those whose last pass is oldest,
// as long as there is time.
func TestChoose(t *testing.T) {
	first := covers.Test{Name: "TestFirst", Packages: []string{"internal/b"}, Pods: 4, Parallel: true}
	tests := []covers.Test{
		{Name: "TestA", Packages: []string{"internal/a"}, Pods: 8, Parallel: true},
		{Name: "TestB", Packages: []string{"internal/b"}, Pods: 4, Parallel: true},
		{Name: "TestC", Packages: []string{"internal/c", "internal/b"}, Pods: 4},
		{Name: "TestD", Packages: []string{"internal/d"}, Pods: 4, Parallel: true},
		{Name: "TestE", Packages: []string{"internal/d"}, Pods: 4, Parallel: true}, // never run: 3 minutes
		{Name: "TestF", Packages: []string{"internal/b"}, Pods: 1, Parallel: true},
	}
	known := book{
		{Unit: "e2e TestFirst", Verdict: pass, Seconds: 60},
		{Unit: "e2e TestF", Verdict: pass, Seconds: 240}, {Unit: "e2e TestD", Verdict: pass, Seconds: 20}, {Unit: "e2e TestB", Verdict: pass, Seconds: 100},
		{Unit: "e2e TestC", Verdict: pass, Seconds: 30}, {Unit: "e2e TestA", Verdict: pass, Seconds: 40},
	}
	turns := map[string]string{"TestC": "1", "TestF": "2", "TestB": "3"}
	for name, tc := range map[string]struct {
		changed string
		left    time.Duration
		want    string
	}{
		"no time":                            {"internal/b", 0, "TestFirst"},
		"what has changed":                   {"internal/b", 130 * time.Second, "TestFirst TestC TestB"},
		"one of two beside each other":       {"internal/b", 100 * time.Second, "TestFirst TestC TestD"},
		"and then the oldest":                {"internal/b", 270 * time.Second, "TestFirst TestC TestF"},
		"nothing has changed":                {"", 190 * time.Second, "TestFirst TestE"},
		"all, those that never ran first":    {"", time.Hour, "TestFirst TestE TestF TestD TestB TestC TestA"},
		"all, those that have changed first": {"internal/b", time.Hour, "TestFirst TestC TestF TestB TestE TestD TestA"},
	} {
		t.Run(name, func(t *testing.T) {
			c := choice{changed: func(p string) bool { return p == tc.changed }, turn: func(t covers.Test) string { return turns[t.Name] }, book: known, capacity: 8}
			var names []string
			for _, t := range c.choose(first, tests, tc.left) {
				names = append(names, t.Name)
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Two tests of five Pods never run side by side where there is room for eight, and one that waits
// for room holds up those behind it.
func TestSpan(t *testing.T) {
	test := func(name string, pods int, parallel bool) covers.Test {
		return covers.Test{Name: "Test" + name, Pods: pods, Parallel: parallel}
	}
	known := book{
		{Unit: "e2e TestA", Verdict: pass, Seconds: 100}, {Unit: "e2e TestB", Verdict: pass, Seconds: 50},
		{Unit: "e2e TestC", Verdict: pass, Seconds: 10}, {Unit: "e2e TestA", Verdict: fail, Seconds: 900},
	}
	for name, tc := range map[string]struct {
		tests []covers.Test
		want  time.Duration
	}{
		"nothing":                   {nil, 0},
		"beside each other":         {[]covers.Test{test("A", 4, true), test("B", 4, true)}, 100 * time.Second},
		"no room beside each other": {[]covers.Test{test("A", 5, true), test("B", 5, true)}, 150 * time.Second},
		"more Pods than the room":   {[]covers.Test{test("A", 11, true), test("B", 1, true)}, 150 * time.Second},
		"not parallel":              {[]covers.Test{test("A", 3, false), test("B", 3, true), test("C", 3, true)}, 150 * time.Second},
		"one holds up another":      {[]covers.Test{test("A", 3, true), test("B", 5, true), test("C", 5, true)}, 150 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (choice{book: known, capacity: 8}).span(tc.tests); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
