// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// ProposalSatisfied is the precondition of the proposal: every host ID in the report has a row in which every host ID in the report, its own included, is UP. It leaves no newcomer
// out, has no lenient rule, takes the last of several rows, and is true for an empty report and for none. It is only for comparison: Decide does not use it.
//
// A row over a membership digest is expanded first; a digest that differs from the report's gives no row.
func ProposalSatisfied(report *api.ScyllaDBStatusReport) bool {
	if report == nil {
		return true
	}
	all := map[string]struct{}{}
	up := map[string]map[string]bool{} // observer -> observed -> UP
	for i := range report.Datacenters {
		for j := range report.Datacenters[i].Nodes {
			node := &report.Datacenters[i].Nodes[j]
			all[node.HostID] = struct{}{}
			row := map[string]bool{}
			if m := report.Membership; m != nil && node.MembershipDigest != "" && node.MembershipDigest == m.Digest {
				for _, id := range m.HostIDs {
					all[id] = struct{}{}
					row[id] = true
				}
			}
			for _, o := range node.ObservedNodes {
				all[string(o.HostID)] = struct{}{}
				row[string(o.HostID)] = o.Status == api.NodeStatusUp
			}
			up[node.HostID] = row
		}
	}
	for observer := range all {
		row, reports := up[observer]
		if !reports {
			return false
		}
		for observed := range all {
			if !row[observed] {
				return false
			}
		}
	}
	return true
}
