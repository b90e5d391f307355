// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// A pipe without a writer cannot be interrupted while it is opened or read; the command ends all the same, and at once.
func TestAttack6InterruptWhileReadingSavedObjects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	silent, unopened := filepath.Join(dir, "silent"), filepath.Join(dir, "unopened")
	for _, name := range []string{silent, unopened} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keep, err := os.OpenFile(silent, os.O_RDWR, 0) // open for writing, but never written to
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keep.Close() })
	for name, args := range map[string][]string{
		"a pipe with a silent writer":  {"status", "--from", silent},
		"a pipe without a writer":      {"status", "--from", unopened},
		"a report of a silent pipe":    {"report", "--from", silent},
		"a dashboard of a silent pipe": {"dashboard", "--once", "--from", silent},
		"a silent standard input":      {"status", "--from", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, context.Canceled)
			defer cancel()
			res := plugintest.Run{Args: args, In: keep}.DoContext(ctx, t)
			if res.Code != 130 || !strings.Contains(res.Stderr, "interrupted") || res.Stdout != "" {
				t.Errorf("%+v", res)
			}
		})
	}
}
