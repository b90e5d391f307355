// SPDX-License-Identifier: Apache-2.0

package support

import (
	"strconv"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// Files with the output of commands that the Scylla Operator's must-gather runs in a Pod
// (pkg/gather/collect/podcollector.go): nodetool status, and df -h.
const (
	nodetoolFile = "nodetool-status.log"
	dfFile       = "df.log"
	maxPrinted   = mib
	dataDir      = "/var/lib/scylla"
)

// takePrinted adds the content of a file. Lines of other shapes are ignored.
func takePrinted(g cluster.Gathered, file, text string) cluster.Gathered {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch n := len(fields); {
		case n < 3:
		case file == dfFile && fields[n-1] == dataDir:
			if used, err := strconv.ParseInt(strings.TrimSuffix(fields[n-2], "%"), 10, 32); err == nil {
				percent := int32(used)
				g.DiskUsedPercent = &percent
			}
		case file == nodetoolFile && len(fields[0]) == 2 && strings.ContainsAny(fields[0][:1], "UD?"):
			for _, f := range fields {
				if id, err := hostid.Parse(f); err == nil {
					if g.Status == nil {
						g.Status = map[hostid.ID]string{}
					}
					g.Status[id] = fields[0]
				}
			}
		}
	}
	return g
}
