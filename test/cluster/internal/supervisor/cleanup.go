// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Prefix starts the name of every control group and temporary state directory, so that stale ones can be found.
const Prefix = "kubectl-scylla-"

// ownerFile names, in a temporary state directory, the process that removes it.
const ownerFile = "owner"

// Owner identifies a process for good, although process numbers are used again: number and start time.
func Owner(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("identify process %d: %w", pid, err)
	}
	// The second field is a name in parentheses that may hold anything; the start time is the 20th after it.
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", fmt.Errorf("identify process %d: unexpected form of its stat file", pid)
	}
	return fmt.Sprintf("%d-%s", pid, fields[19]), nil
}

// alive tells whether the process that an Owner text names still runs.
func alive(owner string) bool {
	pid, _, _ := strings.Cut(owner, "-")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	now, err := Owner(n)
	return err == nil && now == owner
}

// Cgroup returns the name of the control group of a cluster, below the root of every hierarchy.
func Cgroup(owner string) string { return Prefix + owner }

// Cleanup removes what a cluster leaves outside its namespaces: its control groups and its state directory (none when
// empty). Its processes must have been killed; they may still be ending.
func Cleanup(owner, dir string) {
	deadline := time.Now().Add(cleanupLimit)
	for {
		err := removeCgroups(Cgroup(owner))
		if dir != "" {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "clean up: gave up: %v\n", err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// WriteOwner records in a temporary state directory the process whose end makes the directory stale.
func WriteOwner(dir, owner string) error {
	path := filepath.Join(dir, ownerFile)
	// By rename, because a file that is empty for a moment would look stale to a sweep.
	if err := os.WriteFile(path+".new", []byte(owner), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Sweep removes control groups, and state directories in tmp, of clusters whose keeper was killed.
func Sweep(tmp string) {
	for _, root := range hierarchies() {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if owner, ok := strings.CutPrefix(e.Name(), Prefix); ok && !alive(owner) {
				_ = removeCgroups(e.Name()) // processes in it still: not stale after all, or not ours to end
			}
		}
	}
	dirs, _ := filepath.Glob(filepath.Join(tmp, Prefix+"*"))
	for _, dir := range dirs {
		owner, err := os.ReadFile(filepath.Join(dir, ownerFile))
		if err == nil && !alive(string(owner)) {
			_ = os.RemoveAll(dir)
		}
	}
}

// hierarchies lists where control group hierarchies are mounted: several with version 1, one with version 2.
func hierarchies() []string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	var roots []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(kind) < 1 || (kind[0] != "cgroup" && kind[0] != "cgroup2") {
			continue
		}
		if strings.HasPrefix(fields[4], "/sys/fs/cgroup") && !slices.Contains(roots, fields[4]) {
			roots = append(roots, fields[4])
		}
	}
	return roots
}

// CgroupsWritable returns an error that says which hierarchy of control groups cannot be written.
func CgroupsWritable() error {
	roots := hierarchies()
	if len(roots) == 0 {
		return errors.New("control groups mounted below /sys/fs/cgroup")
	}
	for _, root := range roots {
		if err := unix.Access(root, unix.W_OK); err != nil {
			return fmt.Errorf("a writable %s (%w)", root, err)
		}
	}
	return nil
}

// MakeCgroups makes the cluster's control group with one child for each Kubernetes node in every hierarchy. Kubelets
// that share a group kill each other's containers.
func MakeCgroups(owner string, children []string) error {
	roots := hierarchies()
	if len(roots) == 0 {
		return errors.New("make control groups: none are mounted below /sys/fs/cgroup")
	}
	for _, root := range roots {
		parent := filepath.Join(root, Cgroup(owner))
		groups := []string{parent}
		for _, c := range children {
			groups = append(groups, filepath.Join(parent, c))
		}
		for _, g := range groups {
			if err := os.Mkdir(g, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return fmt.Errorf("make control group: %w", err)
			}
			if err := prepareCgroup(filepath.Dir(g), g, root == "/sys/fs/cgroup"); err != nil {
				return err
			}
		}
	}
	return nil
}

// RenewCgroup replaces the control group of a Kubernetes node, after its processes have ended, by a new one, as a boot does. Otherwise the kubelet
// spends 3 s on each container whose group it finds and that the runtime does not know.
func RenewCgroup(owner, child string) error {
	deadline := time.Now().Add(cleanupLimit)
	for {
		err := removeCgroups(filepath.Join(Cgroup(owner), child))
		if err == nil {
			return MakeCgroups(owner, []string{child})
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove former control group: %w", err)
		}
		time.Sleep(10 * time.Millisecond) // its processes are still ending
	}
}

// prepareCgroup makes a new group usable; unified is whether its hierarchy is the only one (version 2).
func prepareCgroup(parent, group string, unified bool) error {
	if unified {
		// Written by the documentation, not tested on such a machine: a group has only the controllers that its parent
		// hands down, and the kubelet needs them one level further. One by one, because one that cannot be handed down
		// (rdma, misc) must not keep back the others; the kubelet itself complains about one that it misses.
		for _, g := range []string{parent, group} {
			available, err := os.ReadFile(filepath.Join(g, "cgroup.controllers"))
			if err != nil {
				return fmt.Errorf("prepare control group: %w", err)
			}
			for _, c := range strings.Fields(string(available)) {
				_ = os.WriteFile(filepath.Join(g, "cgroup.subtree_control"), []byte("+"+c), 0o644)
			}
		}
		return nil
	}
	// Version 1: a cpuset group starts without CPUs and memory and takes no process until it has some.
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, name), value, 0o644)
		}
		if err != nil {
			return fmt.Errorf("prepare control group: %w", err)
		}
	}
	return nil
}

// removeCgroups removes the group of that name with all below it from every hierarchy.
func removeCgroups(name string) error {
	var errs []error
	for _, root := range hierarchies() {
		var groups []string
		_ = filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				groups = append(groups, path)
			}
			return nil // vanished meanwhile: fine
		})
		slices.Reverse(groups) // children first
		for _, g := range groups {
			if err := os.Remove(g); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
