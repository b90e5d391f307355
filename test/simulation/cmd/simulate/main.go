// SPDX-License-Identifier: Apache-2.0

// Command simulate runs the same seeds by our two policies, by the Scylla Operator's rule and without any, and counts; -write puts the table into the documentation.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/kubectl-scylla/kubectl-scylla/test/simulation"
)

const (
	begin = "<!-- simulation: made by go run ./test/simulation/cmd/simulate -write docs/internals.md -->\n"
	end   = "<!-- simulation ends -->\n"
)

func main() {
	n := flag.Int("seeds", 2000, "how many seeds to run, from 1")
	file := flag.String("write", "", "file to put the table into, between its two comments")
	flag.Parse()
	debug.SetGCPercent(1600)
	if err := run(*n, *file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n int, file string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "| %d seeds | joins and replacements started | lost, of 1,000 | unsafe | second clusters | members that wait indefinitely | views out of order | failed seeds |\n", n)
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, by := range []struct {
		rule  simulation.Rule
		name  string
		views bool
	}{
		{simulation.Permits, "kubectl-scylla, policy permits", true},
		{simulation.Reports, "kubectl-scylla, policy reports", false},
		{simulation.Operator, "scylla-operator", false},
		{simulation.Delay, "each node after a minute", false},
		{simulation.AlwaysOpen, "no barrier", false},
	} {
		t := simulation.Total{}
		for _, r := range simulation.RunMany(by.rule, 1, n) {
			t.Add(&r)
			if by.rule == simulation.Permits || by.rule == simulation.Reports {
				for _, v := range r.Violations {
					fmt.Fprintf(os.Stderr, "%s, seed %d %s\n", by.rule, r.Seed, v)
				}
			}
		}
		backwards, lost := "no views", 0.0
		if t.LetThrough > 0 {
			lost = 1000 * float64(t.Lost) / float64(t.LetThrough)
		}
		if by.views {
			backwards = fmt.Sprint(t.Backwards)
		}
		fmt.Fprintf(&b, "| %s | %d | %.0f | %d | %d | %d | %s | %d |\n", by.name, t.LetThrough, lost, t.Unsafe, t.SecondClusters, t.EndlessWaits, backwards, t.Failed)
	}
	fmt.Print(b.String())
	if file == "" {
		return nil
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(begin))
	_, tail, both := bytes.Cut(rest, []byte(end))
	if !ok || !both {
		return fmt.Errorf("write the table into %s: it lacks the line %q or %q", file, begin, end)
	}
	return os.WriteFile(file, bytes.Join([][]byte{head, []byte(begin), b.Bytes(), []byte(end), tail}, nil), 0o644)
}
