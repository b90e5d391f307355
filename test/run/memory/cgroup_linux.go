// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Group is a control group with a memory limit for its processes together: above it the kernel kills one, as in a container.
type Group struct {
	dir string
	v2  bool
}

// groupPrefix starts the name of every group; the number of the process that made it follows.
const groupPrefix = "scylla-test-memory-"

// NewGroup makes a group with a limit of most bytes; the end of the test removes it and the processes that are left in it. Where no group can be
// made, for lack of rights or of the memory controller, the test is skipped with the reason.
func NewGroup(t *testing.T, most int64) *Group {
	t.Helper()
	var errs []error
	for _, h := range hierarchies() {
		g, err := h.make(most)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.Cleanup(func() {
			if err := g.remove(); err != nil {
				t.Error(err)
			}
		})
		return g
	}
	t.Skipf("this machine makes no control group that bounds memory: %v", errors.Join(append(errs, errors.New("no other hierarchy is mounted"))...))
	return nil
}

// hierarchy is where control groups are mounted.
type hierarchy struct {
	root string
	v2   bool
}

// hierarchies lists those with a memory controller, version 1 first: where both are mounted, version 1 has the controller.
func hierarchies() []hierarchy {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []hierarchy
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		switch {
		case len(fields) < 5 || len(kind) < 3:
		case kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory"):
			out = slices.Insert(out, 0, hierarchy{root: fields[4]})
		case kind[0] == "cgroup2":
			out = append(out, hierarchy{root: fields[4], v2: true})
		}
	}
	return out
}

func (h hierarchy) make(most int64) (*Group, error) {
	limit := "memory.limit_in_bytes"
	if h.v2 {
		limit = "memory.max"
		// The kernel refuses this below a group that contains processes itself, such as a container's own.
		if err := os.WriteFile(filepath.Join(h.root, "cgroup.subtree_control"), []byte("+memory"), 0o644); err != nil {
			return nil, fmt.Errorf("let groups below %s bound memory: %w", h.root, err)
		}
	}
	h.sweep()
	dir, err := os.MkdirTemp(h.root, fmt.Sprintf("%s%d-", groupPrefix, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	g := &Group{dir: dir, v2: h.v2}
	if err := os.WriteFile(filepath.Join(dir, limit), []byte(strconv.FormatInt(most, 10)), 0o644); err != nil {
		return nil, errors.Join(fmt.Errorf("bound the memory of a control group: %w", err), g.remove())
	}
	for _, swap := range []string{"memory.memsw.limit_in_bytes", "memory.swap.max"} { // which is there where the machine may swap
		value := "0"
		if !h.v2 {
			value = strconv.FormatInt(most, 10)
		}
		if err := os.WriteFile(filepath.Join(dir, swap), []byte(value), 0o644); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			return nil, errors.Join(fmt.Errorf("keep a control group from swapping: %w", err), g.remove())
		}
	}
	return g, nil
}

// sweep removes the groups of tests that were killed.
func (h hierarchy) sweep() {
	left, _ := filepath.Glob(filepath.Join(h.root, groupPrefix+"*")) // the pattern is well formed
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			_ = syscall.Rmdir(dir) // it may hold a process that is about to end; the next test sweeps it
		}
	}
}

// Command returns a command that enters the group before its program begins. It ends with this process.
func (g *Group) Command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs"), program}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Peak is the most memory in bytes that the group has held, including files that its processes have read. Zero where the kernel does not report it.
func (g *Group) Peak() int64 { return g.bytes("memory.max_usage_in_bytes", "memory.peak") }

// Now is the memory in bytes that the group holds, including files that its processes have read. Zero where the kernel does not report it.
func (g *Group) Now() int64 { return g.bytes("memory.usage_in_bytes", "memory.current") }

// bytes reads a file of the group that has one number: v1 or v2, by the version.
func (g *Group) bytes(v1, v2 string) int64 {
	name := v1
	if g.v2 {
		name = v2
	}
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Killed is how many processes of the group the kernel has killed for lack of memory.
func (g *Group) Killed() (int, error) {
	name := "memory.oom_control"
	if g.v2 {
		name = "memory.events"
	}
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return 0, fmt.Errorf("read what the kernel has ended: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == "oom_kill" {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("%s does not say what the kernel has ended: %q", name, b)
}

// remove kills the processes in the group, and removes it.
func (g *Group) remove() error {
	const tries, pause = 200, 25 * time.Millisecond
	var err error
	for range tries {
		b, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if err = syscall.Rmdir(g.dir); err == nil || errors.Is(err, syscall.ENOENT) {
			return nil
		}
		time.Sleep(pause) // the kernel sends no notice when a process has left
	}
	return fmt.Errorf("remove control group %s: %w", g.dir, err)
}
