// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A controller writes the report from the Pods' annotations, and it may have stopped. If the
// annotations are readable, the report's rows are compared with them; while a row differs, no node
// starts. The two are never merged. With SourceAuto the member has its Pod's row, with SourceReport
// the report's.

// reportGrace is how long a report may differ from an annotation before the difference is a
// finding: the controller needs some of that time to update it.
const reportGrace = 30 * time.Second

// behindReport is a member whose Pod's annotation differs from the report.
type behindReport struct {
	ref     matrix.Ref
	written time.Time // of the annotation; zero if unknown
	// unreadable is set if the annotation cannot be decoded.
	unreadable bool
}

// comparison compares rows of reports with the annotations of the members' Pods.
type comparison struct {
	*Cluster
	// same caches which annotation's cells equal which report's membership: in a healthy cluster
	// all rows have the same two.
	same map[sameKey]bool
	// differ are the rows of the reports that differ from the Pods' annotations; pods are the Pods'
	// statements.
	differ []*matrix.Row
	pods   []statement
}

type sameKey struct {
	base  *matrix.Membership
	cells *api.ObservedNodeStatusReport
}

func (c *Cluster) comparison() *comparison { return &comparison{Cluster: c, same: map[sameKey]bool{}} }

// compare records a report's row if it differs from the row of the member's Pod.
func (c *comparison) compare(row *matrix.Row, s *statement) {
	pod := c.ix.pods[s.ref.Member]
	if pod == nil || c.Source != SourceReport {
		return
	}
	counts := row.Reported && row.Trouble.IsZero()
	switch {
	case s.said == nil && s.trouble.IsZero():
		// Other Pods carry rows and this Pod does not: the report has the row of a deleted Pod. For
		// our own controller, its Lease shows whether it updates its report.
		if counts && len(c.annotations) > 0 && c.Operator && row.Stale.IsZero() {
			row.Stale = matrix.Trouble{Code: words.NotInAnnotation}
		}
		return
	case counts && c.equal(row, s), !counts && (len(s.cells()) == 0 || !s.joined || !s.stale.IsZero()):
		return
	}
	c.behind = append(c.behind, behindReport{
		ref: row.Reporter, written: writtenAt(pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport),
		unreadable: s.trouble.Code == words.RowMalformed,
	})
	c.differ, c.pods = append(c.differ, row), append(c.pods, *s)
}

// take gives members with SourceAuto the rows of their Pods.
func (c *comparison) take() {
	if !auto(c.want) {
		return
	}
	sh := sharedCells{}
	sh.add(c.pods)
	for i, row := range c.differ {
		if c.pods[i].joined {
			*row = sh.row(&c.pods[i], c.Namespace)
		}
	}
}

// equal reports whether a row has the statuses of the Pod's cells.
func (c *comparison) equal(row *matrix.Row, s *statement) bool {
	cells := s.cells()
	if !s.trouble.IsZero() || len(cells) == 0 {
		return false
	}
	if row.Base == nil || len(row.Observed) > 0 {
		return sameStatuses(row, cells)
	}
	k := sameKey{row.Base, &cells[0]}
	known, ok := c.same[k]
	if !ok {
		known = sameStatuses(row, cells)
		c.same[k] = known
	}
	return known
}

// sameStatuses reports whether a row and cells have the same nodes with the same statuses.
func sameStatuses(row *matrix.Row, cells []api.ObservedNodeStatusReport) bool {
	return sameOrder(row, cells) ||
		maps.Equal(statuses(row), statuses(&matrix.FromCells([][]api.ObservedNodeStatusReport{cells})[0]))
}

// sameOrder is sameStatuses for cells in the order of the row's membership, as nearly all are.
// False proves nothing.
func sameOrder(row *matrix.Row, cells []api.ObservedNodeStatusReport) bool {
	if row.Base == nil || len(row.Base.HostIDs) != len(cells) {
		return false
	}
	except := make(map[hostid.ID]matrix.Status, len(row.Observed))
	for _, o := range row.Observed {
		except[o.HostID] = o.Status
	}
	used := 0
	for i := range cells {
		want, exception := except[cells[i].HostID]
		if exception {
			used++
		} else {
			want = matrix.Up
		}
		if cells[i].HostID != row.Base.HostIDs[i] || matrix.ParseStatus(string(cells[i].Status)) != want {
			return false
		}
	}
	return used == len(row.Observed)
}

// statuses returns the worst status of each node that a row lists.
func statuses(row *matrix.Row) map[hostid.ID]matrix.Status {
	out := map[hostid.ID]matrix.Status{}
	for o := range row.Each() {
		if was, twice := out[o.HostID]; !twice || was.Better(o.Status) {
			out[o.HostID] = o.Status
		}
	}
	return out
}

// Doubts returns why the reports may be wrong, in addition to our controller not responding: the
// Scylla Operator is off or degraded, the Pods' annotations differ, or members share a host ID.
// self is left out: a new node does not wait for its own row.
func (c *Cluster) Doubts(self string) []matrix.Blocker {
	if c.Source != SourceReport {
		return append(c.reportLost(), c.sharedBlockers()...)
	}
	out := append(append(c.operatorBlockers(), c.withoutReport()...), c.sharedBlockers()...)
	var names, unreadable []string
	var first behindReport
	for _, b := range c.behind {
		switch {
		case b.ref.Member == self && self != "":
			continue
		case b.unreadable && c.Operator:
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
	if len(unreadable) > 0 {
		// Measured on the real operator: one annotation that it cannot decode stops the update of
		// every row of the report.
		out = append(out, matrix.Blocker{
			Reason: words.ReportOutdated, Cause: words.New(words.ReportFrozenByOneRow, "members", unreadable),
		})
	}
	return out
}

// Updating reports whether a blocker is a report that has differed from the Pods for less than
// reportGrace: its controller may be about to write it.
func (c *Cluster) Updating(b *matrix.Blocker) bool {
	return b.Cause.Code == words.ReportBehindPods && !b.Since.IsZero() && !c.TakenAt.IsZero() &&
		c.TakenAt.Sub(b.Since) < reportGrace
}
