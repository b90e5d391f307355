// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// BenchmarkReadRow is one poll of a reporter: all answers of a healthy node read, joined and encoded. Gossip's states are as long as
// ScyllaDB's, which carry feature lists and tokens.
func BenchmarkReadRow(b *testing.B) {
	for _, n := range []int{3, 30, 100, 300, 1000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			var members []pair
			var live []string
			var endpoints []endpoint
			padding := state{State: 14, Value: strings.Repeat("FEATURE_NAME,", 150)}
			for i := range n {
				a, id := fmt.Sprintf("10.%d.%d.1", i/250, i%250), fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
				members, live = append(members, pair{a, id}), append(live, a)
				e := gossips(a, id, int64(i+1), true)
				e.States = append(e.States, padding)
				endpoints = append(endpoints, e)
			}
			c := canned{
				pathLocal: `"00000001-0000-4000-8000-000000000000"`, pathMode: `"NORMAL"`, pathVersion: `"2026.2.0"`, pathTasks: "[]",
				pathMembers: encoded(members), pathLive: encoded(live), pathDown: "[]", pathEndpoints: encoded(endpoints),
			}
			r := NewReader(c.client())
			b.ReportAllocs()
			for b.Loop() {
				row := r.Read(b.Context())
				if _, err := api.EncodeNodeStatusReport(&row); err != nil || len(row.ObservedNodes) != n {
					b.Fatalf("%d nodes, %v", len(row.ObservedNodes), err)
				}
			}
		})
	}
}
