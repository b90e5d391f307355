// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// Changed is what a watch knows of a change.
type Changed struct {
	// Texts say what became different, one change each.
	Texts []string
	// Env are variables for the command of --exec, "NAME=value"; Stdin is its standard input.
	Env   []string
	Stdin []byte
}

// onChange runs the command of --exec in a shell. The change is passed by the environment and standard input, never by the command line: names and errors come from the
// cluster. A failure of the command is reported, and the watch continues.
func (d *Deps) onChange(ctx context.Context, command string, c Changed) {
	shell := []string{"/bin/sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], append(shell[1:], command)...) //nolint:gosec // it is what the person typed
	cmd.Env = slices.Concat(d.Environ, c.Env)
	if len(c.Texts) > 0 {
		cmd.Env = append(cmd.Env, "SCYLLA_CHANGES="+strings.Join(c.Texts, "\n"))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Stdin), d.Streams.ErrOut, d.Streams.ErrOut
	if err := cmd.Run(); err != nil && ctx.Err() == nil {
		d.Warn("--exec: %v", fmt.Errorf("run %s: %w", command, err))
	}
}
