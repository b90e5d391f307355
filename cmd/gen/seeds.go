// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// seedsData are the statements of the texts that the project began with.
//
//go:embed seeds.yaml
var seedsData []byte

// seedText is one of these texts.
type seedText struct {
	ID, Title, Source string
	Rows              []statement
}

// statement is one of a text in our words, with the code and the tests that make it so, or the reason why it is not.
type statement struct {
	Says, State, Why string
	Code, Tests      []string
}

// States of a statement.
const (
	seedDone      = "done"
	seedDifferent = "different"
	seedOpen      = "open"
)

const seedsHead = `# What the first texts ask for, and what is so here

Made by ` + "`go run ./cmd/gen`" + ` from ` + "`cmd/gen/seeds.yaml`" + `. Five texts of others stood at the beginning of this project. Each statement of them about behaviour, a name, a limit, a timeline or a
promise has a row here, in our own words.

- **done**: it is so here. The named tests fail where it is not.
- **different**: it is not so here, on purpose, for the reason that is given.
- **open**: it is not so yet, or no test shows it. What is missing is said.

The generator fails where a file or a test that is named here does not exist. ` + "`make rehearse` alone runs `test/e2e TestRehearsals`" + `. How the two sides of a difference with the Scylla Operator's barrier behave is in
[operator.md](../operator.md#where-the-verdicts-differ).

`

// seedsPage is docs/reference/seeds.md. Error: a row that lacks what its state requires, or that names a file or a test that does not exist.
func seedsPage(root string, data []byte) ([]byte, error) {
	var texts []seedText
	if err := yaml.UnmarshalStrict(data, &texts); err != nil {
		return nil, fmt.Errorf("read the statements of the first texts: %w", err)
	}
	states := []string{seedDone, seedDifferent, seedOpen}
	var tables, sums strings.Builder
	total := map[string]int{}
	for _, text := range texts {
		count := map[string]int{}
		fmt.Fprintf(&tables, "\n## %s: %s\n\nOf %s.\n\n| no. | statement | state | why, or what is missing | code | tests |\n|---|---|---|---|---|---|\n", text.ID, text.Title, text.Source)
		for i, r := range text.Rows {
			no := fmt.Sprintf("%s%d", text.ID, i+1)
			if err := r.check(root); err != nil {
				return nil, fmt.Errorf("%s (%s): %w", no, r.Says, err)
			}
			fmt.Fprintf(&tables, "| %s | %s | %s | %s | %s | %s |\n", no, cell(r.Says), r.State, cell(r.Why), quoted(r.Code), quoted(r.Tests))
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
	fmt.Fprintf(&sums, "| all | %d | %d | %d | %d |\n", total[""], total[seedDone], total[seedDifferent], total[seedOpen])
	return []byte(seedsHead + "| text | statements | done | different | open |\n|---|---|---|---|---|\n" + sums.String() + tables.String()), nil
}

// check is an error if the statement lacks what its state requires, or names what does not exist.
func (r *statement) check(root string) error {
	switch {
	case r.Says == "":
		return errors.New("it says nothing")
	case r.State == seedDone && (len(r.Code) == 0 || len(r.Tests) == 0):
		return errors.New("done requires a file and a test: name them, or call it open")
	case r.State == seedDone && r.Why != "":
		return errors.New("done requires no reason: is it different?")
	case (r.State == seedDifferent || r.State == seedOpen) && r.Why == "":
		return fmt.Errorf("%s requires a reason", r.State)
	case r.State != seedDone && r.State != seedDifferent && r.State != seedOpen:
		return fmt.Errorf("unknown state %q: use %s, %s or %s", r.State, seedDone, seedDifferent, seedOpen)
	}
	for _, name := range r.Code {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("it names %s, which is no file: name the one that does it now: %w", name, err)
		}
	}
	for _, name := range r.Tests {
		if err := testExists(root, name); err != nil {
			return err
		}
	}
	return nil
}

// quoted is a list as one cell of a table.
func quoted(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return "`" + strings.Join(list, "`, `") + "`"
}
