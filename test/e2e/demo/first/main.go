// SPDX-License-Identifier: Apache-2.0

// Command first is the first part of `make demo`: where Kubernetes is not built yet, it builds the plugin, shows the
// built-in samples with it, and then builds Kubernetes. The demo itself takes minutes to compile on such a machine, and
// shares nearly all of its packages with these two.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/build"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/demo/terminal"
)

// notMet is the plugin's exit code for a cluster that is not healthy and for a barrier that blocks.
const notMet = 3

// builder builds what a machine lacks.
type builder struct {
	done       func() (bool, error) // reports whether Kubernetes is built
	plugin     func(ctx context.Context, out string, progress io.Writer) error
	kubernetes func(ctx context.Context, progress io.Writer) (build.Binaries, error)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	b := builder{done: build.Done, plugin: build.Plugin, kubernetes: build.Kubernetes}
	if err := run(ctx, os.Stdout, "bin", b); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, dir string, b builder) error {
	if done, err := b.done(); done || err != nil {
		return err
	}
	fmt.Fprintln(out, "Kubernetes is not built yet: about 11 minutes on 2 idle cores, once.\n"+
		"kubectl scylla comes first, after about 4 of them, and shows two samples that need no Kubernetes.")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for binaries: %w", err)
	}
	plugin, err := filepath.Abs(filepath.Join(dir, "kubectl-scylla"))
	if err != nil {
		return fmt.Errorf("find folder for binaries: %w", err)
	}
	if err := b.plugin(ctx, plugin, out); err != nil {
		return err
	}
	t := terminal.Terminal{Out: out, Plugin: plugin}
	t.Chapter("a recorded cluster, without Kubernetes: a node is DOWN, and a new node waits")
	for _, command := range []string{"status", "barrier"} {
		if err := t.Show(ctx, notMet, command, "--from", "sample:incident"); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nFrom another terminal: %s dashboard --from sample:incident\n\n", plugin)
	_, err = b.kubernetes(ctx, out)
	return err
}
