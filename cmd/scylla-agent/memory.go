// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// limitMemory makes Go collect garbage at five eighths of the memory limit of its control group,
// before the kernel kills the process: a page of 1,000 rows arrives faster than it is collected.
// By default Go collects when the heap has doubled, possibly beyond that limit. A limit set by the
// user remains.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if most := groupLimit("/"); most > 0 {
		debug.SetMemoryLimit(most / 8 * 5)
	}
}

var limitGroup = bounded.Limit{Bytes: 64 << 10, Cure: "set GOMEMLIMIT"}

// groupLimit returns the memory limit of this process's control group in bytes, 0 for none. In a
// container the group's path is the root of the mount, or is not visible.
func groupLimit(root string) int64 {
	groups, err := limitGroup.ReadFile("control groups", filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		mount, name := "sys/fs/cgroup", "memory.max"
		switch fields[1] {
		case "": // version 2
		case "memory": // version 1
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for _, group := range []string{fields[2], ""} {
			text, err := limitGroup.ReadFile("memory limit", filepath.Join(root, mount, group, name))
			if err != nil {
				continue
			}
			// "max" is no limit
			if most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
				return most
			}
			break
		}
	}
	return 0
}
