// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// withoutReport is the blocker of datacenters with members that have joined here and no report, while there is a report of another datacenter.
func (c *Cluster) withoutReport() []matrix.Blocker {
	if c.ByClusterReport() {
		return nil // it has all datacenters
	}
	var lost []string
	for i := range c.Services {
		dc := c.Services[i].Labels[api.LabelDatacenter]
		reported := slices.ContainsFunc(c.Reports, func(r api.ScyllaDBDatacenterNodesStatusReport) bool { return r.DatacenterName == dc })
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

// reportLost is the blocker of the Scylla Operator's clusters that have no report at all, while their Pods carry the annotations for one: the operator's own barriers take that for
// a new cluster and open. Nil where a person chose the source, or where it is not known whether there is a report.
func (c *Cluster) reportLost() []matrix.Blocker {
	unread := slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Resource == ResourceReports })
	if c.Source != SourceAnnotation || !auto(c.want) || !c.Operator || len(c.annotations) == 0 || len(c.Reports) > 0 || c.Read&KindReports == 0 || unread {
		return nil
	}
	for i := range c.Services {
		if j := joined(&c.Services[i]); j != nil && *j {
			return []matrix.Blocker{{Reason: words.ReportMissing, Cause: words.New(words.ReportLost)}}
		}
	}
	return nil
}
