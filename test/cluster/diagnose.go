// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	tailLines     = 25
	diagnoseLimit = 20 * time.Second
)

// Diagnose writes to w what helps to understand a failed test: nodes, pods, events, the last lines of the log of every
// container and component. It works as far as possible when the API server does not: the logs are read from the disk.
func (c *Cluster) Diagnose(w io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), diagnoseLimit)
	defer cancel()
	for _, args := range [][]string{
		{"get", "nodes", "-o", "wide"},
		{"get", "pods,statefulsets,services,pvc,pv", "--all-namespaces", "-o", "wide"},
		{"get", "events", "--all-namespaces", "--sort-by=.lastTimestamp"},
	} {
		fmt.Fprintf(w, "==> kubectl %s\n", strings.Join(args, " "))
		out, err := c.Kubectl(ctx, append([]string{"--request-timeout=5s"}, args...)...)
		fmt.Fprint(w, out)
		if err != nil {
			fmt.Fprintln(w, err)
		}
	}
	logs, _ := filepath.Glob(filepath.Join(c.dir, "nodes", "*", "podlogs", "*", "*", "*.log"))
	for _, log := range logs {
		tail(w, c.dir, log)
	}
	c.tails(w)
}

// tails writes the ends of the components' logs.
func (c *Cluster) tails(w io.Writer) {
	logs, _ := filepath.Glob(filepath.Join(c.LogDir(), "*.log"))
	for _, log := range logs {
		tail(w, c.dir, log)
	}
}

func tail(w io.Writer, dir, path string) {
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 {
		return
	}
	lines := slices.Collect(bytes.Lines(b))
	lines = lines[max(0, len(lines)-tailLines):]
	name, _ := strings.CutPrefix(path, dir+"/")
	fmt.Fprintf(w, "==> %s (last %d lines)\n%s\n", name, len(lines), bytes.TrimRight(bytes.Join(lines, nil), "\n"))
}
