// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// withoutReport returns the blocker for datacenters that have joined members here and no report,
// while another datacenter has a report.
func (c *Cluster) withoutReport() []matrix.Blocker {
	if c.ByClusterReport() {
		return nil // it has all datacenters
	}
	var lost []string
	for i := range c.Services {
		dc := c.Services[i].Labels[api.LabelDatacenter]
		reported := anyOf(c.Reports,
			func(r *api.ScyllaDBDatacenterNodesStatusReport) bool { return r.DatacenterName == dc })
		if j := joined(&c.Services[i]); dc != "" && !reported && j != nil && *j && !slices.Contains(lost, dc) {
			lost = append(lost, dc)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	slices.Sort(lost)
	return []matrix.Blocker{{Reason: words.ReportMissing, Cause: words.New(words.NoReportOf, "datacenters", lost)}}
}

// reportLost returns the blocker for a Scylla Operator cluster without any report whose Pods carry
// the annotations for one. The operator's own barriers treat that as a new cluster and open. Nil if
// a user chose the source or the reports were not read.
func (c *Cluster) reportLost() []matrix.Blocker {
	unread := slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Resource == ResourceReports })
	if c.Source != SourceAnnotation || !auto(c.want) || !c.Operator || len(c.annotations) == 0 || len(c.Reports) > 0 ||
		c.Read&KindReports == 0 || unread {
		return nil
	}
	for i := range c.Services {
		if j := joined(&c.Services[i]); j != nil && *j {
			return []matrix.Blocker{{Reason: words.ReportMissing, Cause: words.New(words.ReportLost)}}
		}
	}
	return nil
}
