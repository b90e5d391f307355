// SPDX-License-Identifier: Apache-2.0

// Command scylla is the simulated ScyllaDB as one multi-call binary: the server, `scylla sstable query`, the container's entrypoint,
// nodetool and a tiny shell, chosen by the name under which it is started or by the first argument.
package main

import (
	"os"

	"github.com/kubectl-scylla/kubectl-scylla/test/scyllasim"
)

func main() { os.Exit(scyllasim.Main(os.Args)) }
