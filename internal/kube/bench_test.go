// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

var sizes = []int{3, 30, 100, 300, 1000}

// stageOf has n nodes in three racks.
func stageOf(b *testing.B, n int) *Snapshot {
	b.Helper()
	st := newStage(b, 1, n)
	s := &Snapshot{Namespace: "db", Cluster: "demo", TakenAt: start}
	for _, v := range st.services {
		s.Services = append(s.Services, *v)
	}
	for _, v := range st.pods {
		s.Pods = append(s.Pods, *v)
	}
	for _, v := range st.sets {
		s.StatefulSets = append(s.StatefulSets, *v)
	}
	for _, v := range st.reports {
		s.Reports = append(s.Reports, *v)
	}
	s.loaded = kindServices | kindPods | kindStatefulSets | kindReports
	return s
}

// BenchmarkSnapshot judges a whole cluster: rows, matrix and blockers from annotations (decoded anew) and from reports.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range sizes {
		s := stageOf(b, n)
		for _, src := range []Source{SourceAnnotation, SourceReport} {
			b.Run(fmt.Sprintf("%s/N=%d", src, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s.Source, s.cache = src, &cache{}
					if src == SourceReport {
						// A barrier reads no Pods.
						s.cache.once.Do(func() {})
					}
					if m := s.Matrix(matrix.Options{}); len(m.Blockers()) != 0 {
						b.Fatal(m.Blockers()[0])
					}
				}
			})
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	for _, n := range sizes {
		s := stageOf(b, n)
		s.Source, s.cache = SourceReport, &cache{}
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := len(s.Members()); got != n {
					b.Fatalf("%d members", got)
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{3, 30, 100} {
		list := savedList(b, newStage(b, 1, n).objects())
		asJSON, err := yaml.YAMLToJSON(list)
		if err != nil {
			b.Fatal(err)
		}
		for name, data := range map[string][]byte{"yaml": list, "json": asJSON} {
			b.Run(fmt.Sprintf("%s/N=%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Read(bytes.NewReader(data)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
