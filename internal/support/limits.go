// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"time"
)

// Limits bound each source. A zero field means its default.
type Limits struct {
	// Events is the maximum of kept events (the newest); EventPages of read pages of 500.
	Events, EventPages int
	// Containers is the maximum of containers whose logs are read. LogHead and LogTail are in bytes
	// of each log, Line in bytes of a kept line.
	Containers       int
	LogHead, LogTail int64
	Line             int
	// LogTime bounds one container's logs: a failed Kubernetes node's kubelet does not answer.
	LogTime time.Duration
	// LogLines is the number of kept lines at the end of each log; 0 keeps none.
	LogLines int
	// NodePages is the maximum of pages of 500 Kubernetes nodes, Tables of nodes queried for their
	// tables.
	NodePages, Tables int
	// Kind is the maximum of JSON bytes of the objects of one kind, Total of all files together.
	Kind, Total int64
}

const (
	mib = 1 << 20

	// pageSize is the number of objects per list request.
	pageSize = 500
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Events: cmp.Or(l.Events, 2000), EventPages: cmp.Or(l.EventPages, 20), Containers: cmp.Or(l.Containers, 50),
		LogHead: cmp.Or(l.LogHead, 8*mib), LogTail: cmp.Or(l.LogTail, 256<<10), Line: cmp.Or(l.Line, 2048),
		LogTime: cmp.Or(l.LogTime, 20*time.Second), LogLines: l.LogLines,
		NodePages: cmp.Or(l.NodePages, 20), Tables: cmp.Or(l.Tables, 100),
		Kind: cmp.Or(l.Kind, 64*mib), Total: cmp.Or(l.Total, maxTotal),
	}
}
