// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"cmp"
	"context"
	"syscall"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// Files are the files and folders of the Pod that a reporter reads.
type Files struct {
	// Group0File has the output of the Pod's query for the group 0 ID; empty without that query.
	Group0File string
	// DiskDir is a directory on the volume with the node's data; empty means api.MountDisk.
	DiskDir string
	// CredentialDir is shared with the container of the credential; empty if the Pod has none.
	CredentialDir string
}

// complete adds to a row what ScyllaDB's answers about the other nodes do not contain.
func (r *reporter) complete(ctx context.Context, row *api.NodeStatusReport) {
	row.Heartbeat, row.Group0ID, row.Credential = r.where, r.group0(row), r.credential()
	r.tell(ctx, row)
	r.diskUsed = usedStep(r.diskUsed, diskPercent(cmp.Or(r.DiskDir, api.MountDisk)))
	row.DiskUsedPercent = r.diskUsed
	if r.Metrics != nil && row.Error == nil && row.OperationMode != "" && row.OperationMode != modeNormal {
		row.JoinedPercent = scylla.JoinedPercent(ctx, r.Metrics)
	}
}

// diskPercent returns how full the file system of dir is, in percent, rounded down; nil if it
// cannot be read. ScyllaDB uses the same number: (capacity - available) / capacity
// (utils/disk_space_monitor.hh:140).
func diskPercent(dir string) *int32 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Blocks == 0 || fs.Bavail > fs.Blocks {
		return nil // not mounted, as after an injection by an older version
	}
	return new(int32((fs.Blocks - fs.Bavail) * 100 / fs.Blocks))
}

const (
	// diskFine is the first percentage that the row has exactly; below, it has multiples of
	// diskStep.
	diskFine, diskStep = 90, 5
	// diskSlack is how many percent below the row's value do not change the row: compactions let
	// the use go up and down.
	diskSlack = 2
)

// usedStep returns the percentage for the row; last is the percentage in the last row.
func usedStep(last, percent *int32) *int32 {
	if percent == nil {
		return nil
	}
	step := *percent
	if step < diskFine {
		step -= step % diskStep
	}
	if last != nil && step < *last && *percent >= *last-diskSlack {
		return last
	}
	return &step
}

// limitGroup0 bounds the query's output; a correct one has about 50 bytes.
var limitGroup0 = bounded.Limit{Bytes: 1 << 20, Cure: "set --group0-file to the output file of the query container"}

// group0 returns the group 0 ID on the node's disk at the Pod's start; empty without one. Only for
// a node in NORMAL: a starting node may still be refused.
func (r *reporter) group0(row *api.NodeStatusReport) string {
	if r.Group0File == "" || row.OperationMode != modeNormal || row.HostID == "" {
		return ""
	}
	out, err := limitGroup0.ReadFile("query file", r.Group0File)
	if err != nil {
		return "" // the Pod has no query, or starts for the first time
	}
	return bootstrap.ParseGroup0ID(out)
}

// tell sets the node's position in the group 0 log in the heartbeat, if there is one.
func (r *reporter) tell(ctx context.Context, row *api.NodeStatusReport) {
	var said raftlog.State
	if r.where != nil && row.Error == nil {
		said = scylla.ReadLog(ctx, r.ScyllaDB, r.Metrics)
	}
	r.beat.SetLog(said)
}
