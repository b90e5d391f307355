// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package memory

import (
	"os/exec"
	"testing"
)

// Group is a control group, which only Linux has.
type Group struct{}

// NewGroup skips the test.
func NewGroup(t *testing.T, _ int64) *Group {
	t.Helper()
	t.Skip("only Linux has control groups that bound memory")
	return nil
}

// Command is never called.
func (*Group) Command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), program, args...)
}

// Peak is never called.
func (*Group) Peak() int64 { return 0 }

// Killed is never called.
func (*Group) Killed() (int, error) { return 0, nil }
