// SPDX-License-Identifier: Apache-2.0

// Command demo is the second part of `make demo`: three real Kubernetes nodes, three racks of simulated ScyllaDB in
// real Pods, and the real commands with their real output. `demo once` ends by itself, `demo unguarded` runs the same
// steps without the barrier.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/demo/story"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/scenario"
)

// patience bounds the story, which takes two minutes on an idle machine.
const patience = 20 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	once, unguarded := false, false
	for _, a := range os.Args[1:] {
		switch a {
		case "once":
			once = true
		case "unguarded":
			unguarded = true
		default:
			fmt.Fprintf(os.Stderr, "demo %q is not known: use once, unguarded or nothing\n", a)
			os.Exit(2)
		}
	}
	stay := !once && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
	err := run(ctx, os.Stdout, unguarded, stay)
	switch {
	case ctx.Err() != nil && stay:
		// Ctrl-C is the normal end of a demo that stays.
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, unguarded, stay bool) (err error) {
	began := time.Now()
	dir, err := filepath.Abs("bin")
	if err != nil {
		return fmt.Errorf("find folder for binaries: %w", err)
	}
	w, err := scenario.Start(ctx, scenario.Options{Root: ".", Dir: dir, Out: out})
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := w.Cluster.Stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		fmt.Fprintln(out, "\nthe three Kubernetes nodes are gone")
	}()
	s := story.New(w, "demo", out)
	if err := tell(ctx, w, s, unguarded); err != nil {
		if ctx.Err() == nil {
			w.Cluster.Diagnose(os.Stderr)
		}
		return err
	}
	s.Chapter("that was it, after %s", time.Since(began).Round(time.Second))
	if !stay {
		return nil
	}
	fmt.Fprintf(out, `The cluster is still there. From another terminal:

    export KUBECONFIG=%s
    export PATH=%s:$PATH
    kubectl scylla status -n demo        (or: kubectl-scylla status -n demo)
    %s -n demo get pods -o wide

Ctrl-C ends it.
`, w.Cluster.Kubeconfig(), dir, w.Cluster.KubectlPath())
	<-ctx.Done()
	return nil
}

func tell(ctx context.Context, w *scenario.World, s *story.Story, unguarded bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.Chapter("the controller")
	if err := errors.Join(w.Install(ctx), w.Hurry(ctx)); err != nil {
		return err
	}
	if unguarded {
		return s.Unguarded(ctx)
	}
	return s.Guarded(ctx)
}
