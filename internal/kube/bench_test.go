// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"
)

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{3, 30, 100} {
		list := savedList(b, newStage(b, 1, n).Objects())
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
