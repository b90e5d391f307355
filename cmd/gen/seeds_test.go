// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each statement of the first texts has what its state requires, and names only files and tests that exist.
func TestFirstTexts(t *testing.T) {
	const root = "../.."
	page, err := seedsPage(root, seedsData)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n## OA: ", "\n## BP: ", "\n## BS: ", "\n## IN: ", "\n## RH: ", "\n- **OA1** ", "** done: ", "** different: ", "** open: "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for name, tc := range map[string]struct{ row, want string }{
		"done":                         {"says: x, state: done, code: [go.mod], tests: [internal/view TestDebounce]", ""},
		"different without a test":     {"says: x, state: different, why: y", ""},
		"open":                         {"says: x, state: open, why: y, code: [go.mod]", ""},
		"a test that does not exist":   {"says: x, state: done, code: [go.mod], tests: [internal/view TestThatIsNotThere]", "X1 (x): it names TestThatIsNotThere, which is no test in internal/view"},
		"a package that has it not":    {"says: x, state: open, why: y, tests: [internal/agent/barrier TestDebounce]", "no test in internal/agent/barrier"},
		"the beginning of a name":      {"says: x, state: different, why: y, tests: [internal/view TestDeboun]", "it names TestDeboun"},
		"a file that does not exist":   {"says: x, state: done, code: [internal/view/gone.go], tests: [internal/view TestDebounce]", "internal/view/gone.go, which is no file"},
		"done without a test":          {"says: x, state: done, code: [go.mod]", "requires a file and a test"},
		"done without a file":          {"says: x, state: done, tests: [internal/view TestDebounce]", "requires a file and a test"},
		"done with a reason":           {"says: x, state: done, why: y, code: [go.mod], tests: [internal/view TestDebounce]", "is it different"},
		"different without a reason":   {"says: x, state: different", "different requires a reason"},
		"open without what is missing": {"says: x, state: open", "open requires a reason"},
		"another state":                {"says: x, state: partly, why: y", `unknown state "partly"`},
		"nothing is said":              {"state: open, why: y", "it says nothing"},
		"a field of another name":      {"says: x, state: open, because: y", "because"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := seedsPage(root, []byte("- {id: X, title: t, source: s, rows: [{"+tc.row+"}]}"))
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A page that names a test as PACKAGE.TEST names one that exists, and each row about the beginning of a cluster has one; 7 says that there is no call to make.
func TestPagesNameTests(t *testing.T) {
	const root = "../.."
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:cmd|controller|internal|plugin|test)[\\w/]*)\\.(Test\\w+)`")
	rows := map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if err := testExists(root, m[1]+" "+m[2]); err != nil {
					t.Errorf("%s: %v", filepath.Base(page), err)
				}
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
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Replacement of a node by its address, as ScyllaDB before 5.2 and Enterprise 2023.1 requires, is deprecated"; !strings.Contains(string(text), want) {
		t.Errorf("CHANGELOG.md lacks %q", want)
	}
}
