// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
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

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

// traces are the processes, mounts and files of a running cluster on the machine.
type traces struct {
	dir    string
	keeper int
	owners []string // every process of the cluster
	group  string
}

// look collects a cluster's traces by its state directory.
func look(t *testing.T, dir string) traces {
	t.Helper()
	owner, err := os.ReadFile(filepath.Join(dir, "owner"))
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(string(owner), "-")
	keeper, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	tr := traces{dir: dir, keeper: keeper, group: supervisor.Cgroup(string(owner))}
	for _, p := range descendants(t, keeper) {
		if o, err := supervisor.Owner(p); err == nil {
			tr.owners = append(tr.owners, o)
		}
	}
	return tr
}

// descendants lists a process and all below it.
func descendants(t *testing.T, root int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // ended meanwhile
		}
		var pid, parent int
		var state string
		if _, err := fmt.Sscan(string(b[:strings.IndexByte(string(b), ' ')]), &pid); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(string(b[strings.LastIndexByte(string(b), ')')+1:]), &state, &parent); err != nil {
			t.Fatal(err)
		}
		children[parent] = append(children[parent], pid)
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// left names the traces that still exist.
func (tr traces) left() []string {
	var left []string
	for _, o := range tr.owners {
		pid, _, _ := strings.Cut(o, "-")
		n, _ := strconv.Atoi(pid)
		if now, err := supervisor.Owner(n); err == nil && now == o {
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			left = append(left, "process "+pid+" "+strings.TrimSpace(string(name)))
		}
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + tr.group)
	more, _ := filepath.Glob("/sys/fs/cgroup/" + tr.group)
	left = append(left, slices.Concat(groups, more)...)
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, tr.dir) {
			left = append(left, "mount "+line)
		}
	}
	if _, err := os.Stat(tr.dir); !errors.Is(err, os.ErrNotExist) {
		left = append(left, tr.dir)
	}
	return left
}

func (tr traces) wantGone(t *testing.T) {
	t.Helper()
	eventually(t, "every trace of the cluster to be gone", func(context.Context) (bool, string, error) {
		left := tr.left()
		return len(left) == 0, strings.Join(left, ", "), nil
	})
}

// hostPlaces are where container runtimes, CNI and the kubelet write by default.
var hostPlaces = []string{"/run/containerd", "/run/netns", "/run/runc", "/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet",
	"/var/log/containers", "/var/log/pods"}

func hostState() string {
	var text []string
	for _, place := range hostPlaces {
		entries, err := os.ReadDir(place)
		text = append(text, fmt.Sprint(place, " ", len(entries), " ", err))
	}
	for _, sysctl := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory", "net/ipv4/ip_forward"} {
		b, err := os.ReadFile("/proc/sys/" + sysctl)
		text = append(text, fmt.Sprint(sysctl, " ", string(b), " ", err))
	}
	return strings.Join(text, "\n")
}

// startHelper starts a cluster in another process and returns that process with the cluster's traces.
func startHelper(t *testing.T, form string) (*exec.Cmd, traces) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+form)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the helper did not start a cluster: %v", err)
	}
	return cmd, look(t, strings.TrimSpace(line))
}

func TestNothingOutlivesTheControlPlane(t *testing.T) {
	t.Parallel()
	t.Run("Stop", func(t *testing.T) {
		t.Parallel()
		c, err := cluster.StartControlPlane(t.Context(), cluster.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tr := look(t, filepath.Dir(c.Kubeconfig()))
		if len(tr.owners) < 5 {
			t.Errorf("only %d processes found, want the supervisor and four components", len(tr.owners))
		}
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		if left := tr.left(); len(left) > 0 {
			t.Errorf("left after Stop: %s", strings.Join(left, ", "))
		}
		if err := c.Stop(); err != nil {
			t.Errorf("second Stop: %v", err)
		}
	})
	t.Run("kill of the process that started it", func(t *testing.T) {
		t.Parallel()
		cmd, tr := startHelper(t, "controlplane")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		tr.wantGone(t)
	})
	t.Run("kill of its supervisor", func(t *testing.T) {
		t.Parallel()
		c := startControlPlane(t, cluster.Options{})
		tr := look(t, filepath.Dir(c.Kubeconfig()))
		if err := syscall.Kill(tr.keeper, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		tr.wantGone(t)
		<-c.Done()
	})
}

func TestNothingOutlivesTheNodes(t *testing.T) {
	needNodes(t)
	for name, kill := range map[string]func(t *testing.T, cmd *exec.Cmd, tr traces){
		"kill of the process that started it": func(t *testing.T, cmd *exec.Cmd, _ traces) {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		},
		"kill of its supervisor": func(t *testing.T, _ *exec.Cmd, tr traces) {
			if err := syscall.Kill(tr.keeper, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		"kill of both, swept by the next cluster": func(t *testing.T, cmd *exec.Cmd, tr traces) {
			// Stopped first, the starting process cannot clean up after the supervisor.
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(syscall.Kill(tr.keeper, syscall.SIGKILL), cmd.Process.Kill()); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			eventually(t, "its processes to be gone", func(context.Context) (bool, string, error) {
				left := strings.Join(tr.left(), ", ")
				return !strings.Contains(left, "process "), left, nil
			})
			if len(tr.left()) == 0 {
				t.Error("there was nothing to sweep, so this proves nothing")
			}
			startControlPlane(t, cluster.Options{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := hostState()
			cmd, tr := startHelper(t, "nodes")
			if len(tr.owners) < 10 {
				t.Errorf("only %d processes found, want three supervisors and seven components", len(tr.owners))
			}
			kill(t, cmd, tr)
			tr.wantGone(t)
			if after := hostState(); after != before {
				t.Errorf("the host changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}
