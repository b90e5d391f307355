// SPDX-License-Identifier: Apache-2.0

package scyllasim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim/rules"
)

// Main is the whole program: args[0] says which command it is, by the name under which the binary was started, or
// else the first argument does (scylla, docker-entrypoint, nodetool, sh).
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	for i, arg := range args[:min(2, len(args))] {
		args := args[i+1:]
		switch filepath.Base(arg) {
		case "scylla":
			return ServerCommand(ctx, args, os.Getenv, os.Stdout, os.Stderr)
		case "docker-entrypoint.py", "docker-entrypoint":
			return EntrypointCommand(ctx, args, os.Getenv, os.Stdout, os.Stderr)
		case "nodetool":
			return NodetoolCommand(ctx, args, os.Stdout, os.Stderr)
		case "sh", "bash":
			return ShellCommand(ctx, args, os.Stdin, os.Stdout, os.Stderr)
		}
	}
	_, _ = fmt.Fprintln(os.Stderr, "usage: start as scylla, docker-entrypoint.py, nodetool, sh or bash, or name one of them as the first argument")
	return 2
}

// ServerCommand is /usr/bin/scylla: the server, `scylla sstable ...` and `scylla --version`.
func ServerCommand(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	failed := func(err error) int {
		_, _ = fmt.Fprintln(stderr, "error:", err)
		return exitFailed
	}
	image, _ := os.ReadFile("/etc/scyllasim/version") // of the image, if it has one
	v, err := rules.ParseVersion(cmp.Or(env("SCYLLASIM_VERSION"), strings.TrimSpace(string(image)), DefaultVersion))
	if err != nil {
		return failed(err)
	}
	if len(args) > 0 && args[0] == "sstable" {
		return SSTableCommand(v, args[1:], env, stdout, stderr)
	}
	if slices.Contains(args, "--version") {
		_, _ = fmt.Fprintln(stdout, v.Release())
		return exitOK
	}
	o, err := serverOptions(v.String(), args, env)
	if err != nil {
		return failed(err)
	}
	o.Log = stderr
	// SIGTERM must not kill the node: it begins a clean stop.
	n, err := StartNode(context.WithoutCancel(ctx), o)
	if err != nil {
		return failed(err)
	}
	select {
	case <-ctx.Done():
		n.Stop()
	case <-n.Done():
	}
	return n.ExitCode()
}
