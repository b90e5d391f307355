// SPDX-License-Identifier: Apache-2.0

package support

import (
	"cmp"
	"time"
)

// Limits bound each source. The zero value of a field means its default.
type Limits struct {
	// Events kept, the newest; EventPages of 500 are read at most.
	Events, EventPages int
	// Containers whose logs are read, LogHead and LogTail the bytes of each log that are, Line the bytes of a line that are kept.
	Containers       int
	LogHead, LogTail int64
	Line             int
	// LogTime is how long one container's logs may take: the kubelet of a dead machine does not answer.
	LogTime time.Duration
	// LogLines is how many lines at the end of each of these logs are kept; none when 0.
	LogLines int
	// NodePages of 500 Kubernetes nodes are read at most; Tables is how many ScyllaDB nodes are asked for their tables.
	NodePages, Tables int
	// Kind is how many bytes of JSON the objects of one kind may be, Total all files together.
	Kind, Total int64
}

const (
	mib = 1 << 20

	// pageSize is how many objects are asked for at once.
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
