// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statements is the page whose statements have one planted bug each.
const statements = "docs/reference/seeds.md"

var (
	statement = regexp.MustCompile(`^- \*\*(\w+)\*\* (\w+): (.+)$`)
	namedTest = regexp.MustCompile("`((?:cmd|controller|internal|plugin|test)[\\w/]*)\\.((?:Test|Fuzz)\\w+)`")
)

// testsOf are the tests that a line names, each as its package's directory and its name.
func testsOf(line string) (found []string) {
	for _, m := range namedTest.FindAllStringSubmatch(line, -1) {
		found = append(found, m[1]+" "+m[2])
	}
	return found
}

// exists fails if a test does not exist.
func exists(t *testing.T, where, test string) {
	t.Helper()
	dir, name, _ := strings.Cut(test, " ")
	files, err := filepath.Glob(filepath.Join("../../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return
		}
	}
	t.Errorf("%s names %s, which is no test in %s: name the test that proves it now", where, name, dir)
}

// Each statement of the page that a test shows has one bug, which one of its own tests finds, or a reason why it has none.
func TestEachStatementHasItsBug(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../..", statements))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := readTables("../../..", []string{"test/run/mutants/seeds.txt"})
	if err != nil {
		t.Fatal(err)
	}
	bugs := map[string][]*mutant{}
	for _, table := range tables {
		for _, m := range table.mutants {
			for _, row := range m.rows {
				bugs[row] = append(bugs[row], m)
			}
		}
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		m := statement.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		rows++
		row, state, says := m[1], m[2], m[3]
		tests, found := testsOf(says), bugs[row]
		delete(bugs, row)
		for _, test := range tests {
			exists(t, row, test)
		}
		_, reason, _ := strings.Cut(says, " → ")
		switch {
		case state == "done" && (len(tests) == 0 || reason != ""):
			t.Errorf("%s: done requires a test, and no reason", row)
		case (state == "different" || state == "open") && reason == "":
			t.Errorf("%s: %s requires a reason after an arrow", row, state)
		case state != "done" && state != "different" && state != "open":
			t.Errorf("%s: unknown state %q", row, state)
		}
		if strings.Contains(says, ". No bug is planted: ") || len(tests) == 0 {
			if len(found) > 0 {
				t.Errorf("%s has a bug (%s) and a reason to have none, or no test", row, found[0])
			}
			continue
		}
		if len(found) != 1 {
			t.Errorf(`%s has %d bugs, want one, or "No bug is planted: " and the reason`, row, len(found))
			continue
		}
		for _, red := range found[0].red {
			for _, name := range red.names {
				if test := red.pkg + " " + name; len(found[0].rows) == 1 && !slices.Contains(tests, test) {
					t.Errorf("%s: %s is found by %s, which is no test of the row: %q", row, found[0], test, tests)
				}
			}
		}
	}
	if rows < 165 {
		t.Errorf("%d statements, want 165", rows)
	}
	for row, found := range bugs {
		t.Errorf("%s is no row: correct the rows of %s", row, found[0])
	}
}

// A page that names a test as PACKAGE.TEST names one that exists, and each row about the beginning of a cluster has one; 7 says that there is no call to make.
func TestPagesNameTests(t *testing.T) {
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, test := range testsOf(line) {
				exists(t, filepath.Base(page), test)
				row, _, _ := strings.Cut(line, ":")
				rows[strings.TrimPrefix(row, "- ")] = true
			}
		}
	}
	for n := 1; n <= 23; n++ {
		if row := fmt.Sprintf("I%d", n); rows[row] != (n != 7) {
			t.Errorf("row %s of docs/internals.md names a test: %v", row, rows[row])
		}
	}
}

// The proposal wants the release notes to name the procedure that is on its way out.
func TestTheChangelogNamesTheDeprecation(t *testing.T) {
	text, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Replacement of a node by its address, as ScyllaDB before 5.2 and Enterprise 2023.1 requires, is deprecated"; !strings.Contains(string(text), want) {
		t.Errorf("CHANGELOG.md lacks %q", want)
	}
}
