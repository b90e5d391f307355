// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A controller makes the report from the Pods' annotations, and it may have stopped. Where the annotations can be read, the report is compared with them: the graver status of each
// node counts, and a report that differs from the Pods is a finding of its own.

// reportGrace is how long a report may differ from an annotation that was just written: the controller needs that time to update it.
const reportGrace = 10 * time.Second

// behindReport is a member whose Pod's annotation differs from the report.
type behindReport struct {
	ref     matrix.Ref
	written time.Time // of the annotation; zero when not known
	// unreadable is set where the annotation cannot be decoded.
	unreadable bool
}

// hold compares a report's row with the annotation of the member's Pod, and gives the row the graver status of the two.
func (c *Cluster) hold(row *matrix.Row, s *statement, same sameRows) {
	pod := c.ix.pods[s.ref.Member]
	if pod == nil || !row.Reported || !row.Trouble.IsZero() || c.Source != SourceReport {
		return
	}
	written := writtenAt(pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport)
	behind := behindReport{ref: row.Reporter, written: written}
	switch {
	case s.trouble.Code == words.RowMalformed:
		row.Trouble, behind.unreadable = s.trouble, true
	case !s.trouble.IsZero():
		row.Trouble = s.trouble // its reporter no longer has a row, and the report still has the earlier one
	case s.said == nil && len(c.annotations) > 0 && c.Operator:
		// Other Pods carry rows and this one does not: the report has the row of a Pod that is gone. Whether our own controller updates its report is known from its Lease.
		if row.Stale.IsZero() {
			row.Stale = matrix.Trouble{Code: words.NotInAnnotation}
		}
		return
	case s.said == nil || same.holds(row, s.cells()):
		return
	default:
		if !graver(row, s.cells()) {
			return
		}
	}
	if !written.IsZero() && !c.TakenAt.IsZero() && c.TakenAt.Sub(written) < reportGrace {
		return
	}
	c.behind = append(c.behind, behind)
}

// sameRows remembers which annotation's cells equal which report's membership: in a healthy cluster all rows have the same two.
type sameRows map[sameKey]bool

type sameKey struct {
	base  *matrix.Membership
	cells *api.ObservedNodeStatusReport
}

// holds is true where the row has all nodes UP, and so have the cells.
func (sr sameRows) holds(row *matrix.Row, cells []api.ObservedNodeStatusReport) bool {
	if row.Base == nil || len(row.Observed) > 0 || len(cells) == 0 {
		return false
	}
	k := sameKey{row.Base, &cells[0]}
	if known, ok := sr[k]; ok {
		return known
	}
	sr[k] = slices.EqualFunc(row.Base.HostIDs, cells, func(id hostid.ID, c api.ObservedNodeStatusReport) bool {
		return id == c.HostID && c.Status == api.NodeStatusUp
	})
	return sr[k]
}

// graver gives the row, for each node, the graver status of its own and the cell's, and adds nodes that only the cells have. It is true where the two differ at all.
func graver(row *matrix.Row, cells []api.ObservedNodeStatusReport) bool {
	said := make(map[hostid.ID]*api.ObservedNodeStatusReport, len(cells))
	for i := range cells {
		if was := said[cells[i].HostID]; was == nil || matrix.ParseStatus(string(was.Status)).Better(matrix.ParseStatus(string(cells[i].Status))) {
			said[cells[i].HostID] = &cells[i]
		}
	}
	var all []matrix.Observation
	differs, seen := false, make(map[hostid.ID]bool, len(cells))
	for o := range row.Each() {
		if o.Status == matrix.Missing {
			continue
		}
		id := o.HostID
		seen[id] = true
		if cell := said[id]; cell == nil {
			differs = true
		} else if status := matrix.ParseStatus(string(cell.Status)); status != o.Status {
			differs = true
			if o.Status.Better(status) {
				o.Status = status
				if cell.Since != nil {
					o.Since = cell.Since.Time
				}
			}
		}
		all = append(all, o)
	}
	for i := range cells {
		if id := cells[i].HostID; !seen[id] {
			seen[id], differs = true, true
			all = append(all, matrix.Observed(*said[id]))
		}
	}
	if differs {
		row.Base, row.Observed = nil, all
	}
	return differs
}

// Doubts are why the reports may not be true now, beside a silent controller of ours: the Scylla Operator is off or degraded, or the Pods' annotations differ. self is left out: a
// newcomer does not wait for its own row.
func (c *Cluster) Doubts(self string) []matrix.Blocker {
	if c.Source != SourceReport {
		return c.reportLost()
	}
	out := append(c.operatorBlockers(), c.withoutReport()...)
	var names, unreadable []string
	var first behindReport
	for _, b := range c.behind {
		switch {
		case b.ref.Member == self && self != "":
			continue
		case b.unreadable:
			unreadable = append(unreadable, b.ref.Name())
			continue
		case len(names) == 0 || b.written.Before(first.written):
			first = b
		}
		names = append(names, b.ref.Name())
	}
	if len(names) > 0 {
		out = append(out, matrix.Blocker{
			Reason: words.ReportOutdated, Since: first.written,
			Cause: words.New(words.ReportBehindPods, "members", names),
		})
	}
	if len(unreadable) > 0 && c.Operator {
		// Measured on the real operator: one annotation that it cannot decode stops the update of every row of the report.
		out = append(out, matrix.Blocker{
			Reason: words.ReportOutdated, Cause: words.New(words.ReportFrozenByOneRow, "members", unreadable),
		})
	}
	return out
}
