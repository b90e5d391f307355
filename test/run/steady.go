// SPDX-License-Identifier: Apache-2.0

package main

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
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// period of the quota, in microseconds: a group may use a quarter of each.
	period  = 100_000
	quarter = period / 4
	// abreast is how many packages run at a time, each on its own quarter: one core and a half.
	abreast = 6
)

// steady runs the tests of packages again and again with one thread on a quarter of a core, as on
// a machine that is far too busy. Without names it takes the packages that have changed since
// the last commit in the ledger.
func steady(ctx context.Context, out io.Writer, times int, names []string) (int, error) {
	in, err := readInputs(ctx, ".")
	if err != nil {
		return exitError, err
	}
	all := in.tested(func(name string, p *listed) bool { return name != endToEnd && !needsServer(name, p) })
	if len(names) == 0 {
		if names, err = changedSinceLedger(ctx, out, all); err != nil {
			return exitError, err
		}
	}
	dir, err := os.MkdirTemp("", "steady-")
	if err != nil {
		return exitError, fmt.Errorf("make a folder for test binaries: %w", err)
	}
	defer os.RemoveAll(dir)
	var failed, passed int
	results := make(chan error, len(names))
	g := errgroup.Group{}
	g.SetLimit(abreast)
	for i, name := range names {
		// Compiled outside the group, one after the other.
		binary := filepath.Join(dir, fmt.Sprintf("%d.test", i))
		build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", binary, "./"+name)
		if text, err := build.CombinedOutput(); err != nil {
			return exitError, fmt.Errorf("compile the tests of %s: %w\n%s", name, err, text)
		}
		g.Go(func() error {
			began := time.Now()
			err := steadily(ctx, fmt.Sprintf("steady-%d-%d", os.Getpid(), i), binary, name, times)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			} else {
				fmt.Fprintf(out, "ok   %s %d times in %s\n", name, times, time.Since(began).Round(time.Second))
			}
			results <- err
			return nil
		})
	}
	_ = g.Wait() // each result is in the channel
	close(results)
	for err := range results {
		if err == nil {
			passed++
			continue
		}
		failed++
		fmt.Fprintln(out, "FAIL", err)
	}
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		return exitError, nil
	}
	return 0, nil
}

func changedSinceLedger(ctx context.Context, out io.Writer, all []string) ([]string, error) {
	known, err := readBook(ledgerPath)
	if err != nil {
		return nil, err
	}
	is := changed(ctx, known.lastCommit())
	names := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !is(p) })
	fmt.Fprintf(out, "%d of %d packages have changed since %q, the last commit in the ledger\n", len(names), len(all), known.lastCommit())
	return names, nil
}

// steadily runs a test binary in a control group of a quarter of a core.
func steadily(ctx context.Context, group, binary, name string, times int) error {
	dir, procs, err := quarterOfACore(group)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `echo $$ >"$0" && exec "$@"`, procs, binary,
		fmt.Sprintf("-test.count=%d", times), "-test.failfast", "-test.timeout=60m", "-test.paniconexit0", "-test.skip="+notInGate)
	cmd.Dir = name
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	endWithChildren(cmd)
	if text, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(string(text), "\n")
		return fmt.Errorf("%w\n%s", err, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
	return nil
}

// quarterOfACore makes a control group and returns its folder and the file that takes processes,
// by version 1 or 2 of control groups.
func quarterOfACore(group string) (dir, procs string, err error) {
	v1, v2 := filepath.Join("/sys/fs/cgroup/cpu", group), filepath.Join("/sys/fs/cgroup", group)
	for _, g := range []struct {
		dir   string
		files map[string]string
	}{
		{v1, map[string]string{"cpu.cfs_period_us": fmt.Sprint(period), "cpu.cfs_quota_us": fmt.Sprint(quarter)}},
		{v2, map[string]string{"cpu.max": fmt.Sprintf("%d %d", quarter, period)}},
	} {
		parent := filepath.Dir(g.dir)
		if _, e := os.Stat(filepath.Join(parent, "cgroup.procs")); e != nil {
			err = errors.Join(err, e)
			continue
		}
		if e := os.Mkdir(g.dir, 0o755); e != nil {
			err = errors.Join(err, e)
			continue
		}
		var failed error
		for name, value := range g.files {
			failed = errors.Join(failed, os.WriteFile(filepath.Join(g.dir, name), []byte(value), 0o644))
		}
		if failed == nil {
			return g.dir, filepath.Join(g.dir, "cgroup.procs"), nil
		}
		err = errors.Join(err, failed, os.Remove(g.dir))
	}
	return "", "", fmt.Errorf("make a control group of a quarter of a core: run as root: %w", err)
}
