// SPDX-License-Identifier: Apache-2.0

// Package doors runs the commands that the README gives to a new user.
package doors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/image"
	"github.com/kubectl-scylla/kubectl-scylla/test/e2e/readme"
)

// One minute, no cluster, no kubeconfig, no terminal.
func TestDoorWithoutACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("links a binary")
	}
	t.Parallel()
	// Exit code and output of each command.
	want := map[string]struct {
		code int
		says string
	}{
		"kubectl scylla demo incident":                  {3, "NOT HEALTHY demo/demo"}, // without a terminal it prints the status
		"kubectl scylla barrier --from sample:incident": {3, "demo-dc1-rack2-1"},
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "kubectl-scylla")
	if err := image.BuildBinary(t.Context(), "../../..", "./cmd/kubectl-scylla", program); err != nil {
		t.Fatal(err)
	}
	// kubectl only finds its plugin.
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\nshift\nexec kubectl-scylla \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	lines := readme.Commands(t, "../../..", "Try it without a cluster")
	// .ci/run types the first of these, and the second is what follows from it.
	built := []string{"make build", "export PATH=$PWD/bin:$PATH"}
	if len(lines) != len(built)+len(want) || !slices.Equal(lines[:len(built)], built) {
		t.Fatalf("the README has %q: say here what each does", lines)
	}
	for _, line := range lines[len(built):] {
		w, ok := want[line]
		if !ok {
			t.Errorf("%q is new in the README: say here what it does", line)
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
		cmd.Env = []string{"PATH=" + dir, "HOME=" + dir}
		out, err := cmd.CombinedOutput()
		cancel()
		if code := cmd.ProcessState.ExitCode(); code != w.code || !strings.Contains(string(out), w.says) {
			t.Errorf("%s: exit %d, want %d and %q: %v\n%s", line, code, w.code, w.says, err, out)
		}
	}
	shown := exec.CommandContext(t.Context(), program, "barrier", "--from", "sample:incident")
	shown.Env = []string{"PATH=" + dir, "HOME=" + dir, "NO_COLOR=1", "LANG=C.UTF-8"}
	if diff := cmp.Diff(readme.Screen(t, "../../..", "kubectl scylla barrier --from sample:incident"), onTerminal(t, shown)); diff != "" {
		t.Errorf("the README's screen is not what is printed (-README +printed):\n%s", diff)
	}
}

// onTerminal runs a program on a terminal of 80 columns, and returns its screen.
func onTerminal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 80})); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = terminal
	err = cmd.Start()
	_ = terminal.Close() // the reader ends when the program has ended
	if err != nil {
		t.Fatal(err)
	}
	screen, _ := io.ReadAll(master) // Linux ends it with EIO
	_ = cmd.Wait()                  // exit code 3, as above
	return strings.ReplaceAll(string(screen), "\r\n", "\n")
}
