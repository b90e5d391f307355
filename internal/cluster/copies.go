// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// copyStale reports whether the report of another datacenter is marked as out of date, or was
// pushed here and is no longer renewed, and since when. In a namespace of the Scylla Operator no
// controller marks it.
func (c *Cluster) copyStale(r *api.ScyllaDBDatacenterNodesStatusReport) (since time.Time, stale bool) {
	if text, marked := r.Annotations[api.AnnotationStaleSince]; marked {
		since, _ = time.Parse(time.RFC3339, text)
		return since, true
	}
	if r.Annotations[api.AnnotationCopy] != api.CopyPushed || c.TakenAt.IsZero() {
		return time.Time{}, false
	}
	e := LastOwner(r.ManagedFields, "annotations", api.AnnotationCopyRenewed)
	if e == nil || c.TakenAt.Sub(e.Time.Time) <= c.HealthPolicy().Dead.Duration {
		return time.Time{}, false
	}
	return e.Time.Time, true
}

// LeftReport returns a report that was pushed here and is no longer renewed, whose nodes no fresh
// row lists, and since when; nil if there is none.
func (c *Cluster) LeftReport() (left *api.ScyllaDBDatacenterNodesStatusReport, since time.Time) {
	for i := range c.Reports {
		r := &c.Reports[i]
		since, stale := c.copyStale(r)
		if !stale || r.Annotations[api.AnnotationCopy] != api.CopyPushed {
			continue
		}
		listed := slices.ContainsFunc(c.all.Nodes(), func(n matrix.Node) bool {
			return n.Datacenter == r.DatacenterName && !n.Removed
		})
		if !listed && c.all.Reporting() > 0 {
			return r, since
		}
	}
	return nil, time.Time{}
}
