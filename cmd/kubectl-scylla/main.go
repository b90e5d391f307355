// SPDX-License-Identifier: Apache-2.0

// Command kubectl-scylla is the plugin `kubectl scylla`. It passes streams, clock, environment and
// signals to the command tree of package plugin and returns its exit code:
//
//	0 yes   1 error   2 usage error or refused   3 condition not met   4 timeout   130 interrupted
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	_ "github.com/kubectl-scylla/kubectl-scylla/cmd/internal/lategc" // for start-up time
	"github.com/kubectl-scylla/kubectl-scylla/plugin"
	"github.com/kubectl-scylla/kubectl-scylla/plugin/cli"
)

func main() {
	plugin.Quiet()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	d := cli.New(streams, clock.RealClock{}, os.Environ(), terminal)
	code := plugin.Execute(ctx, d, os.Args)
	stop()
	os.Exit(code)
}

func terminal() cli.Terminal {
	t := cli.Terminal{In: isTerminal(os.Stdin), Out: isTerminal(os.Stdout), Err: isTerminal(os.Stderr)}
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		t.Width, t.Height = w, h
	} else if w, h, err := term.GetSize(int(os.Stderr.Fd())); err == nil && t.Err {
		// Standard output is a file, but the live line on standard error needs a width.
		t.Width, t.Height = w, h
	}
	return t
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
