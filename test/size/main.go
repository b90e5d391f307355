// SPDX-License-Identifier: Apache-2.0

// Command size is `make size`: it holds the built binaries against their budget of bytes, start-up time and forbidden symbols. Start-up is
// the median of 20 runs, so that one slow start does not fail it.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

type budget struct {
	binary   string
	megabyte float64 // 10^6 bytes, stripped
	start    time.Duration
	forbid   []string // names of functions that must not be linked; they stay readable in a stripped binary
}

var budgets = []budget{
	{binary: "bin/kubectl-scylla", megabyte: 50, start: 20 * time.Millisecond},
	{binary: "bin/scylla-agent", megabyte: 36, start: 20 * time.Millisecond,
		forbid: []string{"text/template.(*state)", "html/template.(*Template)", "github.com/olekukonko/tablewriter.", "charm.land/bubbletea"}},
}

const (
	runs = 20
	// rounds of runs, of which the best counts: a busy machine makes a program slower and never quicker.
	rounds = 5
)

func main() {
	if !check(os.Stdout) {
		os.Exit(1)
	}
}

func check(out io.Writer) bool {
	ok := true
	for _, b := range budgets {
		content, err := os.ReadFile(b.binary)
		if err != nil {
			fmt.Fprintln(out, "FAIL read binary:", err)
			return false
		}
		mb := float64(len(content)) / 1e6
		var median time.Duration
		for round := range rounds {
			m, err := startMedian(b.binary)
			if err != nil {
				fmt.Fprintln(out, "FAIL", err)
				return false
			}
			if round == 0 || m < median {
				median = m
			}
			if median <= b.start {
				break
			}
		}
		verdict := "ok  "
		if mb > b.megabyte || median > b.start {
			verdict, ok = "FAIL", false
		}
		fmt.Fprintf(out, "%s %-20s %5.1f MB of %.0f, version in %v (median of %d) of %v\n",
			verdict, b.binary, mb, b.megabyte, median.Round(100*time.Microsecond), runs, b.start)
		for _, name := range b.forbid {
			if bytes.Contains(content, []byte(name)) {
				fmt.Fprintf(out, "FAIL %s links %s\n", b.binary, name)
				ok = false
			}
		}
	}
	return ok
}

// startMedian is the median wall time of `BINARY version`.
func startMedian(binary string) (time.Duration, error) {
	var starts []time.Duration
	for range runs {
		began := time.Now()
		if text, err := exec.Command(binary, "version").CombinedOutput(); err != nil {
			return 0, fmt.Errorf("%s version: %w\n%s", binary, err, text)
		}
		starts = append(starts, time.Since(began))
	}
	slices.Sort(starts)
	return starts[runs/2], nil
}
