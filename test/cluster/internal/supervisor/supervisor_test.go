// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// startServer serves in this process, without namespaces, in a directory with a path that is too long for a socket address.
func startServer(t *testing.T) (*Client, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // as a supervisor does
	s := newServer(Config{Dir: dir, Socket: "test.sock"}, false)
	l, err := s.listen()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.serve(l) }()
	handle, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := NewClient(handle, "test.sock")
	t.Cleanup(func() {
		s.killAll()
		c.Close()
		_ = errors.Join(l.Close(), handle.Close())
	})
	return c, dir
}

func TestProcessLife(t *testing.T) {
	c, dir := startServer(t)
	ctx := t.Context()
	sleeper := Process{Name: "sleeper", Argv: []string{"/bin/sh", "-c", "echo $WORD; exec sleep 1000"}, Env: []string{"WORD=hello", "PATH=/usr/bin:/bin"}, Log: "log"}

	if s, err := c.Status(ctx, "sleeper"); err != nil || s != (Status{}) {
		t.Errorf("status before the start is %+v, error %v", s, err)
	}
	started, err := c.Start(ctx, sleeper)
	if err != nil || !started.Running || started.PID == 0 {
		t.Fatalf("start gave %+v, error %v", started, err)
	}
	if _, err := c.Start(ctx, sleeper); err == nil || !strings.Contains(err.Error(), "it runs already") {
		t.Errorf("second start: got error %v", err)
	}
	var log []byte
	if err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		log, _ = os.ReadFile(filepath.Join(dir, "log"))
		return string(log) == "hello\n", nil
	}); err != nil {
		t.Fatalf("log is %q: %v; want what the process wrote", log, err)
	}
	if err := c.Signal(ctx, "sleeper", syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s, err := c.Status(ctx, "sleeper")
	if err != nil || s.Running || s.Exit != "signal: killed" {
		t.Errorf("right after the kill the status is %+v, error %v; want it gone", s, err)
	}
	if err := c.Signal(ctx, "sleeper", syscall.SIGTERM); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("signal to a dead process: got error %v", err)
	}
	if again, err := c.Start(ctx, sleeper); err != nil || again.PID == started.PID {
		t.Errorf("start after the kill gave %+v, error %v", again, err)
	}
	if _, err := c.Start(ctx, Process{Name: "none", Argv: []string{"/does/not/exist"}, Log: "log"}); err == nil || !strings.Contains(err.Error(), "start none: fork/exec /does/not/exist") {
		t.Errorf("start of a missing program: got error %v", err)
	}
}

func TestRunReturnsOutputAndFailsWithTheProgram(t *testing.T) {
	c, _ := startServer(t)
	out, err := c.Run(t.Context(), Command{Argv: []string{"cat"}, Stdin: []byte("in")})
	if err != nil || string(out) != "in" {
		t.Errorf("got %q, error %v", out, err)
	}
	_, err = c.Run(t.Context(), Command{Argv: []string{"sh", "-c", "echo bad >&2; exit 3"}})
	if err == nil || !strings.HasSuffix(err.Error(), "exit code 3: bad") {
		t.Errorf("got error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Run(ctx, Command{Argv: []string{"sleep", "1000"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want the deadline", err)
	}
}

func TestSignalToEverythingIsRefused(t *testing.T) {
	c, _ := startServer(t)
	for _, pid := range []int{-1, 0, 1} {
		if err := c.SignalPIDs(t.Context(), []int{pid}, syscall.Signal(0)); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("process %d: got error %v", pid, err)
		}
	}
	if err := c.SignalPIDs(t.Context(), []int{os.Getpid()}, syscall.Signal(0)); err != nil {
		t.Error(err)
	}
}

func TestSweepRemovesOnlyWhatNobodyOwns(t *testing.T) {
	tmp := t.TempDir()
	me, err := Owner(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	pid, start, _ := strings.Cut(me, "-")
	for name, owner := range map[string]string{
		Prefix + "mine":         me,
		Prefix + "number-again": pid + "-" + start + "0", // this process number, another start
		Prefix + "gone":         "99999999-1",
		"other-gone":            "99999999-1",
	} {
		dir := filepath.Join(tmp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := WriteOwner(dir, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(tmp, Prefix+"unowned"), 0o700); err != nil {
		t.Fatal(err)
	}
	Sweep(tmp)
	entries, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got, want := strings.Join(left, " "), Prefix+"mine "+Prefix+"unowned other-gone"; got != want {
		t.Errorf("left are %s, want %s", got, want)
	}
}

func TestOwnerTellsTheLivingFromTheDead(t *testing.T) {
	if _, err := Owner(99999999); err == nil {
		t.Error("identified a process that does not exist")
	}
	self, err := Owner(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if !alive(self) {
		t.Errorf("%s is this process and counts as dead", self)
	}
	for _, bad := range []string{"", "x", "-", "x-1"} {
		if alive(bad) {
			t.Errorf("owner %q counts as alive", bad)
		}
	}
}
