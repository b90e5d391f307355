// SPDX-License-Identifier: Apache-2.0

// Command supervisor runs the processes of a test cluster; see package supervisor. Only package cluster starts it.
package main

import (
	"fmt"
	"os"

	"github.com/kubectl-scylla/kubectl-scylla/test/cluster/internal/supervisor"
)

func main() {
	if err := supervisor.Main(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "supervisor: %v\n", err)
		os.Exit(1)
	}
}
