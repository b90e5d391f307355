// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// clockOff is the smallest difference that shows a wrong clock. It is more than the time for which
// nothing but a row can change in saved objects; a smaller one changes no step.
const clockOff = 10 * time.Minute

// ClockOff is a wrong clock: a reporter wrote a time that the API server's times exclude.
type ClockOff struct {
	// Member has the reporter, KubernetesNode the clock; empty if the Pod names none.
	Member, KubernetesNode string
	// By is the smallest possible difference; Ahead is its direction.
	By    time.Duration
	Ahead bool
}

// ClocksOff returns the wrong clocks, the largest difference of each Kubernetes node, sorted. The
// caller must not change them.
func (c *Cluster) ClocksOff() []ClockOff { return c.clocksOff }

// boundTimes replaces the times in rows that cannot be true: before the reporter's Pod existed, or
// in the future. The time at which the API server wrote the row is the latest possible one, so that
// no age is too high; it is zero if unknown. It does not change rows, which Clusters share.
func (c *Cluster) boundTimes(rows []matrix.Row) []matrix.Row {
	c.clocksOff = nil
	changed := false
	for i := range rows {
		pod := c.ix.pods[rows[i].Reporter.Member]
		if pod == nil {
			continue
		}
		written, copied := time.Time{}, false
		for k, o := range rows[i].Observed {
			if o.Since.IsZero() {
				continue
			}
			if written.IsZero() {
				written = writtenAt(pod.ManagedFields, "f:"+api.AnnotationNodeStatusReport)
			}
			by, isAhead := c.impossible(o.Since, pod.CreationTimestamp.Time, written)
			if by <= clockOff || !c.wrote(rows[i].Reporter.Member, o) {
				continue
			}
			if !changed {
				rows, changed = slices.Clone(rows), true
			}
			if !copied {
				rows[i].Observed, copied = slices.Clone(rows[i].Observed), true
			}
			rows[i].Observed[k].Since = written
			c.clocksOff = append(c.clocksOff, ClockOff{rows[i].Reporter.Member, pod.Spec.NodeName, by, isAhead})
		}
	}
	slices.SortFunc(c.clocksOff, func(a, b ClockOff) int {
		return cmp.Or(cmp.Compare(a.KubernetesNode, b.KubernetesNode), cmp.Compare(b.By, a.By),
			cmp.Compare(a.Member, b.Member))
	})
	c.clocksOff = slices.CompactFunc(c.clocksOff, func(a, b ClockOff) bool {
		return a.KubernetesNode == b.KubernetesNode && (a.KubernetesNode != "" || a.Member == b.Member)
	})
	return rows
}

// impossible returns by how much at least a time is before the Pod's creation, or after both the
// reading and the write of its row; negative if it is between them.
func (c *Cluster) impossible(at, created, written time.Time) (by time.Duration, isAhead bool) {
	if c.TakenAt.After(written) {
		written = c.TakenAt
	}
	switch {
	case at.Before(created):
		return created.Sub(at), false
	case !written.IsZero():
		return at.Sub(written), true
	}
	return 0, false
}

// wrote reports whether the Pod that now exists wrote this time: a report can still have the row of
// an earlier Pod.
func (c *Cluster) wrote(member string, o matrix.Observation) bool {
	said := c.annotations[member].report
	return said != nil && slices.ContainsFunc(said.ObservedNodes, func(s api.ObservedNodeStatusReport) bool {
		return s.HostID == o.HostID && s.Since != nil && s.Since.Time.Equal(o.Since)
	})
}
