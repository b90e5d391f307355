// SPDX-License-Identifier: Apache-2.0

// Command size is `make size`: it holds the built binaries against their budget of bytes, start-up time and forbidden symbols.
//
// Start-up is the median of 20 runs. It passes within its milliseconds; on a machine that is slower, or busy with something else, it passes
// within its ratio to the start of a program that does nothing, taken in turns with it. So the check tells a slow program from a slow machine.
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
	ratio    float64  // start-up, in starts of a program that does nothing
	forbid   []string // names of functions that must not be linked; they stay readable in a stripped binary
}

var budgets = []budget{
	{binary: "bin/kubectl-scylla", megabyte: 50, start: 20 * time.Millisecond, ratio: 16},
	{binary: "bin/scylla-agent", megabyte: 40, start: 20 * time.Millisecond, ratio: 16,
		forbid: []string{"text/template.(*state)", "html/template.(*Template)", "github.com/olekukonko/tablewriter.", "charm.land/bubbletea"}},
}

const (
	runs = 20
	// rounds of runs, of which the best counts: a busy machine makes a program slower and never quicker.
	rounds = 5
	// nothing is the argument by which this program becomes the one that does nothing.
	nothing = "nothing"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == nothing {
		return
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "find the program to compare with:", err)
		os.Exit(1)
	}
	if !check(os.Stdout, self) {
		os.Exit(1)
	}
}

func check(out io.Writer, self string) bool {
	ok := true
	for _, b := range budgets {
		content, err := os.ReadFile(b.binary)
		if err != nil {
			fmt.Fprintln(out, "FAIL read binary:", err)
			return false
		}
		mb := float64(len(content)) / 1e6
		s, err := b.quickest(func() (startUp, error) { return measure(b.binary, self) })
		if err != nil {
			fmt.Fprintln(out, "FAIL", err)
			return false
		}
		verdict := "ok  "
		if mb > b.megabyte || !b.within(s) {
			verdict, ok = "FAIL", false
		}
		fmt.Fprintf(out, "%s %-20s %5.1f MB of %.0f, version in %v (median of %d) of %v, %.1f times an empty program of %.0f\n",
			verdict, b.binary, mb, b.megabyte, s.median.Round(100*time.Microsecond), runs, b.start, s.ratio, b.ratio)
		for _, name := range b.forbid {
			if bytes.Contains(content, []byte(name)) {
				fmt.Fprintf(out, "FAIL %s links %s\n", b.binary, name)
				ok = false
			}
		}
	}
	return ok
}

// startUp is the median wall time of `BINARY version`, and its ratio to the median of the program that does nothing.
type startUp struct {
	median time.Duration
	ratio  float64
}

func (b budget) within(s startUp) bool { return s.median <= b.start || s.ratio <= b.ratio }

// quickest measures until the budget is kept, at most rounds times, and gives the round with the smallest median.
func (b budget) quickest(measure func() (startUp, error)) (startUp, error) {
	var best startUp
	for round := range rounds {
		s, err := measure()
		if err != nil {
			return startUp{}, err
		}
		if b.within(s) {
			return s, nil
		}
		if round == 0 || s.median < best.median {
			best = s
		}
	}
	return best, nil
}

func measure(binary, self string) (startUp, error) {
	var program, empty []time.Duration
	for range runs {
		p, err := timed(binary, "version")
		if err != nil {
			return startUp{}, err
		}
		e, err := timed(self, nothing)
		if err != nil {
			return startUp{}, err
		}
		program, empty = append(program, p), append(empty, e)
	}
	slices.Sort(program)
	slices.Sort(empty)
	return startUp{median: program[runs/2], ratio: float64(program[runs/2]) / float64(empty[runs/2])}, nil
}

func timed(binary, argument string) (time.Duration, error) {
	began := time.Now()
	if text, err := exec.Command(binary, argument).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", binary, argument, err, text)
	}
	return time.Since(began), nil
}
