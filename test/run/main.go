// SPDX-License-Identifier: Apache-2.0

// Command run is `make test`, `make proof`, `make proof-record` and `make steady`.
//
// test is the gate: all unit tests, 300 seeds of the simulation by each policy and 30 of its
// world "wide", the tests on a real API server, the story of the demo in real Pods, and as many
// end-to-end tests as the time allows. proof runs all that takes longer, each unit until it has
// passed with its present inputs; record adds the results to the ledger. steady repeats the tests
// of changed packages on a quarter of a core.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	exitError       = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := run(ctx, os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
	}
	if code != 0 && ctx.Err() != nil {
		code = exitInterrupted
	}
	os.Exit(code)
}

func run(ctx context.Context, out io.Writer, args []string) (int, error) {
	if len(args) == 0 {
		return exitUsage, fmt.Errorf("specify test, proof, record or steady")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(out)
	var err error
	code := 0
	parse := func() bool { err = flags.Parse(args[1:]); return err == nil }
	switch args[0] {
	case "test":
		g := gate{out: out}
		flags.BoolVar(&g.unitOnly, "unit", false, "leave out the tests that need a real Kubernetes")
		flags.DurationVar(&g.aim, "aim", 7*time.Minute+30*time.Second, "choose end-to-end tests until this time after the start")
		flags.DurationVar(&g.budget, "budget", 0, "stop after this time, name what has no result, and fail; 0 is no limit")
		if parse() {
			code, err = g.run(ctx)
		}
	case "proof":
		limit := flags.Duration("for", 0, "stop after this time; what has a result keeps it; 0 is no limit")
		only := flags.String("only", "", "regular expression of the units to run")
		list := flags.Bool("list", false, "print the units with their verdicts, and run none")
		if parse() {
			code, err = proof(ctx, out, *limit, *only, *list)
		}
	case "record":
		if parse() {
			err = record(ctx, out)
		}
	case "steady":
		times := flags.Int("times", 20, "how often to run each test")
		if parse() {
			code, err = steady(ctx, out, *times, flags.Args())
		}
	default:
		return exitUsage, fmt.Errorf("unknown command %q: use test, proof, record or steady", args[0])
	}
	if err != nil && code == 0 {
		code = exitError
	}
	return code, err
}
