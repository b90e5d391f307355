// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"fmt"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
)

// BenchmarkOpinions asks about every node of 1,000, as the checks of a replacement do.
func BenchmarkOpinions(b *testing.B) {
	const n = 1000
	all := &Membership{}
	for i := range n {
		all.HostIDs = append(all.HostIDs, hostid.ID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)))
	}
	var rows []Row
	for _, id := range all.HostIDs[1:] {
		rows = append(rows, Row{Reporter: Ref{HostID: id}, Reported: true, Base: all, Observed: []Observation{{HostID: all.HostIDs[0], Status: Down}}})
	}
	m := New(rows, Options{})
	for b.Loop() {
		for _, id := range all.HostIDs {
			if o := m.Opinion(id); o.Total() < n-2 {
				b.Fatal(o.Total())
			}
		}
	}
}
