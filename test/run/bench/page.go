// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// pagePath is the page that is made.
const pagePath = "docs/performance.md"

// machine is where and when the page was made. An empty field is not known.
type machine struct {
	cpu, commit, date string
	cores             int
	load              string // of the last minute, as the kernel writes it, before the first benchmark
}

// busy reports whether other programs took more than a quarter of the machine.
func (m machine) busy() bool {
	load, err := strconv.ParseFloat(m.load, 64)
	return err == nil && load > float64(m.cores)/4
}

// start is how long a command takes, the lowest of several times. A command that is not installed has no time.
type start struct {
	command string
	took    time.Duration
}

// grown is a benchmark that the page has by number of nodes.
type grown struct{ text, pkg, name string }

var (
	growth = []grown{
		{"verdict of a cluster report", "internal/matrix", "VerdictCompact"},
		{"cluster report decoded", "internal/show", "Scale/decode"},
		{"cluster report encoded", "internal/show", "Scale/encode"},
		{"members, rows and verdict of all objects", "internal/show", "Scale/cluster"},
		{"`status`", "internal/show", "Scale/text"},
		{"`status -o json`", "internal/show", "Scale/json"},
		{"`report -o html`, the page", "internal/show", "Scale/page"},
		{"dashboard, the first frame", "internal/show", "Scale/dashboard"},
	}
	grownTo = []int{100, 1000, 10_000}

	rule = key{"internal/matrix", "VerdictNaive", 1000}
	ours = key{"internal/matrix", "VerdictCompact", 1000}
	poll = key{"internal/scylla", "ReadRow", 1000}
)

// page writes docs/performance.md. A figure without a result is an error.
func page(m machine, results []result, ourStart, kubectl start) (string, error) {
	by := lowest(results)
	var missing []error
	at := func(k key) result {
		r, ok := by[k]
		if !ok {
			missing = append(missing, fmt.Errorf("no result of %s", k))
		}
		return r
	}
	var b strings.Builder
	b.WriteString("# Performance\n\nMade by `make bench`: do not edit. `make bench-compare BASE=COMMIT` compares two commits.\n\n")
	fmt.Fprintf(&b, "- Machine: %s, %d cores, %s/%s, %s\n", cmp.Or(m.cpu, "unknown CPU"), m.cores, runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(&b, "- Measured: %s, commit %s\n", m.date, m.commit)
	fmt.Fprintf(&b, "- Load average before the first benchmark: %s\n", cmp.Or(m.load, "unknown"))
	if m.busy() {
		b.WriteString("\nThe machine was busy, so the times are too high and not reproducible. Run `make bench` again on an idle machine.\n")
	}

	b.WriteString("\n## Compared with a reference\n\n| what | value | reference |\n|---|---|---|\n")
	verdict, naive := at(ours), at(rule)
	fmt.Fprintf(&b, "| verdict of a cluster report of 1,000 nodes | %s | the Scylla Operator's rule by the same rows: %s, %s |\n",
		spaced(verdict), spaced(naive), times(naive.nanoseconds, verdict.nanoseconds))
	reference := "no kubectl for `" + kubectl.command + "`"
	if kubectl.took > 0 {
		reference = fmt.Sprintf("`%s`: %s, %s", kubectl.command, duration(float64(kubectl.took)), times(float64(kubectl.took), float64(ourStart.took)))
	}
	fmt.Fprintf(&b, "| `%s` | %s | %s |\n", ourStart.command, duration(float64(ourStart.took)), reference)
	read := at(poll)
	fmt.Fprintf(&b, "| a reporter's poll of a ScyllaDB that lists 1,000 nodes | %s | one in 5 s: %.2f %% of a core |\n",
		spaced(read), 100*read.nanoseconds/float64(5*time.Second))
	b.WriteString("\nMemory under the shipped limits: [Memory](internals.md#memory). Requests, and `status` compared with `kubectl get pods`: [Load](internals.md#load).\n")

	b.WriteString("\n## Growth\n\nTime for 100, 1,000 and 10,000 nodes. The exponent is of the step from 1,000 to 10,000: 1.00 is linear, 2.00 is quadratic.\n" +
		"One node is DOWN for all others, except in the verdict. The source of the rows is the cluster report.\n\n| what | 100 | 1,000 | 10,000 | exponent |\n|---|---|---|---|---|\n")
	for _, g := range growth {
		var took []float64
		for _, n := range grownTo {
			took = append(took, at(key{g.pkg, g.name, n}).nanoseconds)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f |\n", g.text, duration(took[0]), duration(took[1]), duration(took[2]), math.Log10(took[2]/took[1]))
	}
	return b.String(), errors.Join(missing...)
}

func spaced(r result) string {
	return duration(r.nanoseconds) + ", " + quantity(r.bytes, "B") + ", " + strconv.FormatInt(r.allocs, 10) + " allocations"
}

// times returns "303 times as long", of a reference and our own time.
func times(reference, own float64) string {
	return strconv.FormatFloat(reference/own, 'g', 3, 64) + " times as long"
}

// here describes this machine and the commit in root.
func here(ctx context.Context, root string, now time.Time) machine {
	m := machine{cores: runtime.NumCPU(), date: now.UTC().Format("2006-01-02 15:04 UTC"), commit: "unknown"}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				m.cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(load), " ")
	}
	if out, err := exec.CommandContext(ctx, "git", "-C", root, "rev-parse", "--short=12", "HEAD").Output(); err == nil {
		m.commit = strings.TrimSpace(string(out))
	}
	if out, err := exec.CommandContext(ctx, "git", "-C", root, "status", "--porcelain", "--", ":!"+pagePath).Output(); err == nil && len(out) > 0 {
		m.commit += " with changes"
	}
	return m
}

// starts measures `version` of the plugin and of kubectl in turn.
func starts(ctx context.Context, root string) (ourStart, kubectl start, err error) {
	temp, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return start{}, start{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	plugin := filepath.Join(temp, "kubectl-scylla")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", plugin, "./cmd/kubectl-scylla")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return start{}, start{}, fmt.Errorf("build the plugin: %w\n%s", err, out)
	}
	ourStart, kubectl = start{command: "kubectl-scylla version"}, start{command: "kubectl version --client"}
	_, notThere := exec.LookPath("kubectl")
	for range 20 {
		if err := ourStart.run(ctx, plugin, "version"); err != nil {
			return start{}, start{}, err
		}
		if notThere == nil {
			if err := kubectl.run(ctx, "kubectl", "version", "--client"); err != nil {
				return start{}, start{}, err
			}
		}
	}
	return ourStart, kubectl, nil
}

func (s *start) run(ctx context.Context, name string, args ...string) error {
	began := time.Now()
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", s.command, err, out)
	}
	if took := time.Since(began); s.took == 0 || took < s.took {
		s.took = took
	}
	return nil
}
