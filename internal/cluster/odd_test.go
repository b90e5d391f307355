// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// TestAttack6OneRowCannotStripTheOthers: of 100 members one lists 3,000 nodes that no other row has. Its row is dropped, the others stay.
func TestAttack6OneRowCannotStripTheOthers(t *testing.T) {
	t.Parallel()
	const liar = 7
	c := uniform(t, 100, func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
		if i != liar {
			return row
		}
		for j := range 3000 {
			row = append(row, api.ObservedNodeStatusReport{HostID: hostid.ID(fmt.Sprintf("%08d-0000-4000-8000-00000000beef", j)), Status: api.NodeStatusUp})
		}
		return row
	})
	report := c.LocalReports()[0]
	if report.TooLarge {
		t.Fatal("all rows are stripped")
	}
	for i, n := range report.Racks[0].Nodes {
		want := 100
		if i == liar {
			want = 0
		}
		if len(n.ObservedNodes) != want {
			t.Errorf("member %d: %d observations, want %d", i, len(n.ObservedNodes), want)
		}
	}
}
