// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// watched is for how long a barrier runs on after its first verdict.
const watched = 10 * time.Second

// first runs the barrier of a built scylla-agent for one member after the other, in a control group (version 1) with a hard limit of CPU in
// thousandths of a core. It prints the time from the start of the process to its first verdict, and the most memory of the group.
func first(ctx context.Context, out io.Writer, program, kubeconfig, dir string, members []string, milli int) error {
	var took []time.Duration
	var peaks []int
	for _, member := range members {
		t, peak, err := firstOf(ctx, program, kubeconfig, dir, member, milli)
		if err != nil {
			return fmt.Errorf("run barrier %s: %w", member, err)
		}
		took, peaks = append(took, t), append(peaks, peak)
	}
	_, err := fmt.Fprintf(out, "%d barriers at %dm CPU: first verdict after %v to %v, memory %d to %d MB\n", len(took), milli,
		slices.Min(took).Round(10*time.Millisecond), slices.Max(took).Round(10*time.Millisecond), slices.Min(peaks)>>20, slices.Max(peaks)>>20)
	return err
}

func firstOf(ctx context.Context, program, kubeconfig, dir, member string, milli int) (took time.Duration, peak int, err error) {
	const period = 100_000 // microseconds
	groups := map[string][2]string{"memory": {"memory.swappiness", "0"}, "cpu": {"cpu.cfs_quota_us", strconv.Itoa(period * milli / 1000)}}
	into := []string{"-c", `for g in "$1" "$2"; do echo $$ > "$g/cgroup.procs"; done; shift 2; exec "$@"`, "sh"}
	var memory string
	for controller, file := range groups {
		g, failed := os.MkdirTemp(filepath.Join("/sys/fs/cgroup", controller), "waiting-")
		if failed != nil {
			return 0, 0, fmt.Errorf("make a control group, as root and with version 1: %w", failed)
		}
		defer func() { err = errors.Join(err, os.Remove(g)) }()
		if err := os.WriteFile(filepath.Join(g, file[0]), []byte(file[1]), 0o600); err != nil {
			return 0, 0, err
		}
		if into = append(into, g); controller == "memory" {
			memory = filepath.Join(g, "memory.max_usage_in_bytes")
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", append(into, program, "barrier", "--kubeconfig="+kubeconfig, "--metrics-bind-address=0",
		"--query-file="+filepath.Join(dir, "none"), "--scylla-data-dir="+dir)...)
	cmd.Env = append(os.Environ(), "POD_NAMESPACE=demo", "POD_NAME="+member, "POD_UID=1")
	log, err := cmd.StderrPipe()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if !strings.Contains(lines.Text(), "waiting: ") {
			continue
		}
		took = time.Since(began)
		go func() { _, _ = io.Copy(io.Discard, log) }()
		if !sleep(ctx, watched) {
			return 0, 0, ctx.Err()
		}
		text, err := os.ReadFile(memory)
		if err != nil {
			return 0, 0, err
		}
		peak, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return took, peak, err
	}
	return 0, 0, errors.New("it shows no verdict")
}
