// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// seedsData are the statements of the texts that define the project.
//
//go:embed seeds.yaml
var seedsData []byte

// seedText is one of these texts.
type seedText struct {
	ID, Title, Source string
	Rows              []statement
}

// statement is one statement of a text in our words, with its code and tests, or the reason why it
// is not implemented. NoBug is the reason why no bug of make seeds-proof is planted against it.
type statement struct {
	Says, State, Why string
	Code, Tests      []string
	NoBug            string
}

// States of a statement.
const (
	seedDone      = "done"
	seedDifferent = "different"
	seedOpen      = "open"
)

const seedsHead = `# Source texts and their statements

Here you find each statement of the five texts that this project began with, whether it holds here, and the tests that show it. ` + "`go run ./cmd/gen`" + ` writes this page from
` + "`cmd/gen/seeds.yaml`" + ` and fails if a named file or test does not exist.

- **done**: the statement holds. The named tests fail without it.
- **different**: the statement does not hold, for the reason after the arrow.
- **open**: the statement does not hold yet, or no test shows it. The text after the arrow names what is missing.

` + "`make rehearse`" + ` alone runs ` + "`test/e2e.TestRehearsals`" + `. ` + "`make seeds-proof`" + ` plants one bug against each statement that a test shows, and expects a test of that statement to fail. [With the Scylla Operator](../scylla-operator.md#where-the-verdicts-differ) compares the two barriers.

`

// seedsPage returns docs/reference/seeds.md. Error: a row lacks what its state requires, or names a
// missing file or test.
func seedsPage(root string, data []byte) ([]byte, error) {
	var texts []seedText
	if err := yaml.UnmarshalStrict(data, &texts); err != nil {
		return nil, fmt.Errorf("read the statements of the source texts: %w", err)
	}
	states := []string{seedDone, seedDifferent, seedOpen}
	var tables, sums strings.Builder
	total := map[string]int{}
	for _, text := range texts {
		count := map[string]int{}
		fmt.Fprintf(&tables, "\n## %s: %s\n\nSource: %s.\n\n", text.ID, text.Title, text.Source)
		for i, r := range text.Rows {
			no := fmt.Sprintf("%s%d", text.ID, i+1)
			if err := r.check(root); err != nil {
				return nil, fmt.Errorf("%s (%s): %w", no, r.Says, err)
			}
			fmt.Fprintf(&tables, "- **%s** %s: %s%s%s\n", no, r.State, r.Says, after(" → ", r.Why),
				after(" ", r.shown())+after(". No bug is planted: ", r.NoBug))
			count[r.State]++
		}
		fmt.Fprintf(&sums, "| %s | %d |", cell(text.Title), len(text.Rows))
		for _, state := range states {
			fmt.Fprintf(&sums, " %d |", count[state])
			total[state] += count[state]
			total[""] += count[state]
		}
		sums.WriteString("\n")
	}
	fmt.Fprintf(&sums, "| all | %d | %d | %d | %d |\n", total[""], total[seedDone], total[seedDifferent],
		total[seedOpen])
	return []byte(seedsHead + "| text | statements | done | different | open |\n|---|---|---|---|---|\n" +
		sums.String() + tables.String()), nil
}

// check returns an error if the statement lacks what its state requires, or names a missing file or
// test.
func (r *statement) check(root string) error {
	switch {
	case r.Says == "":
		return errors.New("it says nothing")
	case r.State == seedDone && (len(r.Code) == 0 || len(r.Tests) == 0):
		return errors.New("done requires a file and a test: name them, or call it open")
	case r.State == seedDone && r.Why != "":
		return errors.New("done requires no reason: is it different?")
	case r.NoBug != "" && len(r.Tests) == 0:
		return errors.New("noBug is for a statement that names tests")
	case (r.State == seedDifferent || r.State == seedOpen) && r.Why == "":
		return fmt.Errorf("%s requires a reason", r.State)
	case r.State != seedDone && r.State != seedDifferent && r.State != seedOpen:
		return fmt.Errorf("unknown state %q: use %s, %s or %s", r.State, seedDone, seedDifferent, seedOpen)
	}
	for _, name := range r.Code {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("it names %s, which is no file: name the file that does it now: %w", name, err)
		}
	}
	for _, name := range r.Tests {
		if err := testExists(root, name); err != nil {
			return err
		}
	}
	return nil
}

// quoted returns a list of names as text.
func quoted(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "`" + strings.Join(list, "`, `") + "`"
}

// after returns text after its mark, or "" if text is empty.
func after(mark, text string) string {
	if text == "" {
		return ""
	}
	return mark + text
}

// shown returns the tests of a statement, or its files if it has no test.
func (r *statement) shown() string {
	if len(r.Tests) == 0 {
		return quoted(r.Code)
	}
	return tests(r.Tests)
}

// tests returns a list of tests as text, each as PACKAGE.TEST.
func tests(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "`" + strings.ReplaceAll(strings.Join(list, "`, `"), " Test", ".Test") + "`"
}

// testExists returns an error if a test, given as directory and name, does not exist.
func testExists(root, test string) error {
	dir, name, _ := strings.Cut(test, " ")
	ok, err := hasTest(filepath.Join(root, dir), name)
	if err == nil && !ok {
		err = fmt.Errorf("it names %s, which is no test in %s: name the test that proves it now", name, dir)
	}
	return err
}

// hasTest reports whether a directory has a test with that name.
func hasTest(dir, name string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return false, fmt.Errorf("look for tests in %s: %w", dir, err)
	}
	is := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\(`)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", name, err)
		}
		if is.Match(text) {
			return true, nil
		}
	}
	return false, nil
}
