// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// BenchmarkNew makes a whole Cluster: rows, matrix, blockers and members, from annotations (decoded anew) and from reports (a barrier reads no Pods).
func BenchmarkNew(b *testing.B) {
	for _, n := range []int{3, 30, 100, 300, 1000} {
		all := newStage(b, 1, n).objects()
		for _, src := range []Source{SourceAnnotation, SourceReport} {
			o := all
			if src == SourceReport {
				o.Pods, o.Read = nil, o.Read&^KindPods
			}
			b.Run(fmt.Sprintf("%s/N=%d", src, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c := New(o, src, start.Add(time.Hour))
					if blockers := c.Matrix().Blockers(); len(blockers) != 0 {
						b.Fatal(blockers[0])
					}
					if got := len(c.Members()); got != n {
						b.Fatalf("%d members", got)
					}
				}
			})
		}
	}
}
