// SPDX-License-Identifier: Apache-2.0

// Command simulate runs the same seeds by our rule and by the Scylla Operator's, and counts; -write puts the table into the documentation.
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
	begin = "<!-- simulation: made by go run ./test/simulation/cmd/simulate -write docs/barrier.md -->\n"
	end   = "<!-- simulation ends -->\n"
)

func main() {
	n := flag.Int("seeds", 2000, "how many seeds to run, from 1")
	file := flag.String("write", "", "file to put the table into, between its two comments")
	flag.Parse()
	debug.SetGCPercent(400)
	if err := run(*n, *file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(n int, file string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "| %d seeds | joins and replacements let through | of them lost | unsafe | second clusters | members that wait for ever | seeds that fail |\n", n)
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, rule := range []simulation.Rule{simulation.Ours, simulation.Operator} {
		t := simulation.Total{}
		for _, r := range simulation.RunMany(rule, 1, n) {
			t.Add(&r)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", rule, t.LetThrough, t.Lost, t.Unsafe, t.SecondClusters, t.EndlessWaits, t.Failed)
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
