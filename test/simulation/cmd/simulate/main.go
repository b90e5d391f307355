// SPDX-License-Identifier: Apache-2.0

// Command simulate runs the same seeds by our two policies, by the Scylla Operator's rule, with a fixed delay and without a barrier, and ours without each protection;
// -write puts the tables into the documentation.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
)

// part is one of the generated parts of the documentation.
type part struct {
	name string
	make func() []byte
}

var parts = []part{
	{"rules", func() []byte { return rulesPart(small) }},
	{"year-30", func() []byte { return rulesPart(yearOf30) }},
	{"week-300", func() []byte { return rulesPart(weekOf300) }},
	{"protections", protectionsPart},
}

func (p part) begin() string {
	return "<!-- simulation: made by go run ./test/simulation/cmd/simulate -part=" + p.name + " -write docs/internals.md -->\n"
}

const end = "<!-- simulation ends -->\n"

func main() {
	only := flag.String("part", "", "make this part alone: rules, year-30, week-300 or protections; empty for all, which takes hours")
	file := flag.String("write", "", "file to put the tables into, each between its two comments")
	flag.Parse()
	debug.SetGCPercent(1600)
	if err := run(*only, *file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(only, file string) error {
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		made := p.make()
		os.Stdout.Write(made)
		if file == "" {
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		head, rest, ok := bytes.Cut(old, []byte(p.begin()))
		_, tail, both := bytes.Cut(rest, []byte(end))
		if !ok || !both {
			return fmt.Errorf("write %s into %s: it lacks the line %q or %q", p.name, file, p.begin(), end)
		}
		if err := os.WriteFile(file, bytes.Join([][]byte{head, []byte(p.begin()), made, []byte(end), tail}, nil), 0o644); err != nil {
			return err
		}
	}
	return nil
}
