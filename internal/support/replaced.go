// SPDX-License-Identifier: Apache-2.0

package support

import (
	"fmt"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/replace"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// replaced is the begin or end of a replacement, from the record on the member Service.
type replaced struct {
	Member, Text string
	At           time.Time
	Bad          bool
}

// Replacements lists the begins and ends of replacements: each member's open one, and its last one
// that has ended.
func Replacements(s *cluster.Cluster) []replaced {
	var out []replaced
	for i := range s.Services {
		svc := &s.Services[i]
		rec := replace.ReadRecord(svc.Labels, svc.Annotations)
		if !rec.StartedAt.IsZero() {
			text := "its replacement began"
			if rec.Original != "" {
				text += ": host ID " + string(rec.Original)
			}
			out = append(out, replaced{Member: svc.Name, Text: text, At: rec.StartedAt})
		}
		l := rec.Last
		if l == nil {
			continue
		}
		if !l.StartedAt.IsZero() {
			out = append(out, replaced{Member: svc.Name, Text: "its replacement began: host ID " + string(l.HostID),
				At: l.StartedAt})
		}
		text := fmt.Sprintf("its replacement ended: %s, host ID %s", l.Outcome, l.HostID)
		if l.NewHostID != "" {
			text += ", now " + string(l.NewHostID)
		}
		if !l.StartedAt.IsZero() && l.FinishedAt.After(l.StartedAt) {
			text += ", took " + words.Age(l.FinishedAt.Sub(l.StartedAt))
		}
		out = append(out, replaced{Member: svc.Name, Text: Text(text), At: l.FinishedAt,
			Bad: l.Outcome != replace.OutcomeReplaced})
	}
	return out
}
