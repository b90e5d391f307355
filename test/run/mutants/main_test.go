// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var both = []string{"test/run/mutants/mutants.txt", "test/run/mutants/seeds.txt"}

// Both tables fit the source of today, so that a change of a line names its mutant at once.
func TestTable(t *testing.T) {
	var out bytes.Buffer
	o := options{root: "../../..", tables: both, run: all, list: true}
	if err := run(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(out.String()) {
		pkg, rest, _ := strings.Cut(line, ": ")
		counts[pkg]++
		if !strings.Contains(rest, " Test") {
			t.Errorf("no test is recorded: run `go run ./test/run/mutants -record`: %s", line)
		}
	}
	if len(counts) < 5 {
		t.Errorf("mutants of %v: want those of matrix, bootstrap, barrier, view and replacement", counts)
	}
	for _, pkg := range []string{"internal/matrix", "internal/bootstrap", "internal/gate", "internal/view", "internal/replace"} {
		if n := counts[pkg]; n < 8 {
			t.Errorf("%d mutants of %s, want at least 8", n, pkg)
		}
	}
}

var all = regexp.MustCompile("")

// The bugs of gate.txt fit the source of today, and each has a seed, a schedule that exists, or a reason.
func TestTableOfSeeds(t *testing.T) {
	tables, err := readTables("../../..", []string{"test/run/mutants/gate.txt"})
	if err != nil {
		t.Fatal(err)
	}
	schedules, err := os.ReadFile("../../../test/simulation/boundary_test.go")
	if err != nil {
		t.Fatal(err)
	}
	bySeed := 0
	for _, m := range tables[0].mutants {
		if err := m.locate("../../.."); err != nil {
			t.Error(err)
		}
		if strings.HasPrefix(m.seeds, byNone) {
			continue
		}
		bySeed++
		if _, err := m.sought(); err != nil {
			t.Error(err)
		}
		if name, is := strings.CutPrefix(m.seeds, "schedule "); is && !bytes.Contains(schedules, []byte(fmt.Sprintf("\t%q: ", name))) {
			t.Errorf("line %d, %s: TestSchedules has no case %q", m.line, m, name)
		}
	}
	if bySeed < 60 {
		t.Errorf("seeds find %d bugs, want at least 60", bySeed)
	}
}

// A bug with a seed is found by that seed or schedule, and by nothing else.
func TestBySeed(t *testing.T) {
	const bug = "in: greatest\nold: if a > b {\nnew: if a < b {\nseeds: "
	table := ""
	for i, seeds := range []string{"schedule a look: (at 2)", "schedule 0", "permits 7", "reports 7", "none: two are enough", "permits"} {
		table += fmt.Sprintf("name: %d\n%s%s\n", i, bug, seeds)
	}
	test, err := os.ReadFile("testdata/simulated.txt")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, simulated), 0o700); err != nil {
		t.Fatal(err)
	}
	fill(t, root, map[string]string{"mutants.txt": table, simulated + "/simulation_test.go": string(test)})
	o := options{root: root, tables: []string{"mutants.txt"}, run: regexp.MustCompile("[0-4]")}
	var out bytes.Buffer
	if err := run(t.Context(), o, &out); err == nil || err.Error() != "2 mutants are missed: write a test that fails for each" {
		t.Errorf("error %v", err)
	}
	got := slices.Sorted(strings.Lines(regexp.MustCompile(` +\d+\.\ds  `).ReplaceAllString(out.String(), " ")))
	want := []string{"2 found, 2 missed, 1 that no seed can find\n", "MISSED greatest: 1: schedule 0\n", "MISSED greatest: 3: reports 7\n",
		"found greatest: 0: schedule a look: (at 2)\n", "found greatest: 2: permits 7\n", "unseen greatest: 4: two are enough\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	o.run = regexp.MustCompile("5")
	if err := run(t.Context(), o, &out); err == nil || !strings.Contains(err.Error(), `is neither "schedule NAME" nor "RULE SEED"`) {
		t.Errorf("error %v", err)
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), options{root: "testdata/tiny", tables: []string{"mutants.txt"}, run: all}, &out)
	if err == nil || err.Error() != "1 mutants are broken: correct them in mutants.txt" {
		t.Errorf("error %v", err)
	}
	seconds := regexp.MustCompile(` +\d+\.\ds  `)
	got := slices.Sorted(strings.Lines(seconds.ReplaceAllString(out.String(), " ")))
	want := []string{
		"2 found, 1 missed\n",
		"BROKEN greatest: another type: does not compile: # example/tiny/greatest [example/tiny/greatest.test]\n",
		"testdata/tiny/greatest/greatest.go:16:9: " +
			"cannot use 1 (untyped int constant) as string value in return statement\n",
		"MISSED greatest: no test looks: recorded: greatest TestOf\n",
		"found greatest: its test has another name now: TestBoth\n",
		"found greatest: the smaller number: TestOf\n",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestRecord(t *testing.T) {
	const table = "name: a bug\nin:   greatest\nold:  if a > b {\nnew:  if a < b {\nred:  greatest"
	root := tiny(t, map[string]string{"mutants.txt": table + "\n"})
	var out bytes.Buffer
	if err := run(t.Context(), options{root: root, tables: []string{"mutants.txt"}, run: all, record: true}, &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	text, err := os.ReadFile(filepath.Join(root, "mutants.txt"))
	if want := table + " TestBoth TestOf\n"; err != nil || string(text) != want {
		t.Errorf("table %q, want %q (%v)", text, want, err)
	}
}

func TestErrors(t *testing.T) {
	const one = "name: a bug\nin: greatest\nred: greatest\n"
	for desc, tt := range map[string]struct{ table, fails, err string }{
		"not unique":      {table: one + "old: return a\nnew: return b", err: `not unique \(.*:9, .*greatest.go:22\)`},
		"absent":          {table: one + "old: return c\nnew: return b", err: `no file of greatest has the line "return c"`},
		"no other line":   {table: one + "old: return b\nnew: return b", err: `:1: greatest: a bug needs .*another new`},
		"no tests":        {table: "name: a bug\nin: greatest\nold: a\nnew: b", err: `:1: greatest: a bug needs .*red`},
		"tests and seeds": {table: one + "old: a\nnew: b\nseeds: permits 7", err: `:1: greatest: a bug needs .*seeds`},
		"unknown key":     {table: one + "file: greatest.go", err: `:4: a mutant has`},
		"nothing to run":  {table: "# no mutant", err: `no mutant of mutants.txt matches`},
		"a test fails without any mutant": {
			table: one + "old: if a > b {\nnew: if a < b {", err: "without a mutant",
			fails: "package greatest\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Fail() }\n",
		},
	} {
		t.Run(desc, func(t *testing.T) {
			files := map[string]string{"mutants.txt": tt.table}
			if tt.fails != "" {
				files["greatest/fails_test.go"] = tt.fails
			}
			err := run(t.Context(), options{root: tiny(t, files), tables: []string{"mutants.txt"}, run: all}, io.Discard)
			if err == nil || !regexp.MustCompile(tt.err).MatchString(err.Error()) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// tiny is a copy of the module in testdata with these files.
func tiny(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	fill(t, root, files)
	return root
}

func fill(t *testing.T, root string, files map[string]string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(root, "greatest"), os.DirFS("testdata/tiny/greatest")); err != nil {
		t.Fatal(err)
	}
	files["go.mod"] = "module example/tiny\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
