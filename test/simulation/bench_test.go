// SPDX-License-Identifier: Apache-2.0

package simulation

import "testing"

// BenchmarkSeed is one seed of a cluster that grows to about six nodes, of which 1,000 are to fit into a minute of one core.
func BenchmarkSeed(b *testing.B) {
	for _, rule := range []Rule{Permits, Reports} {
		b.Run(string(rule), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				Run(Options{Seed: uint64(1 + i%100), Rule: rule})
			}
		})
	}
}
