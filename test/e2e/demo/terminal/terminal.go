// SPDX-License-Identifier: Apache-2.0

// Package terminal prints commands of the plugin with their output. It has no dependencies, so that the first part of
// `make demo` compiles in seconds.
package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Terminal shows commands of the plugin as a person would see them.
type Terminal struct {
	Out        io.Writer
	Plugin     string // path of kubectl-scylla
	Kubeconfig string
}

// Chapter prints a heading.
func (t *Terminal) Chapter(format string, args ...any) {
	fmt.Fprintf(t.Out, "\n\x1b[1m## %s\x1b[0m\n", fmt.Sprintf(format, args...))
}

// Show runs a command of the plugin and prints it with all its output; another exit code than wantCode is an error.
func (t *Terminal) Show(ctx context.Context, wantCode int, args ...string) error {
	fmt.Fprintf(t.Out, "\n$ kubectl scylla %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, t.Plugin, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+t.Kubeconfig)
	cmd.Stdout, cmd.Stderr = t.Out, t.Out
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != wantCode {
		return fmt.Errorf("kubectl scylla %s: exit code %d, want %d: %w", strings.Join(args, " "), code, wantCode, err)
	}
	if wantCode != 0 {
		fmt.Fprintf(t.Out, "(exit code %d)\n", wantCode)
	}
	return nil
}
