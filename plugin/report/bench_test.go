// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/scenes"
)

// BenchmarkReportPage is all of `report -o html` of a partition: the archive read, redacted, judged and drawn. page-B is the size of the page.
func BenchmarkReportPage(b *testing.B) {
	for _, s := range scenes.All(0) {
		if s.Name != "partition" || s.Nodes < 99 {
			continue
		}
		b.Run(fmt.Sprintf("N=%d", s.Nodes), func(b *testing.B) {
			a, err := support.Pack([]*support.Cluster{{Snapshot: s.Cluster()}}, scenes.Now, support.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			file := filepath.Join(b.TempDir(), "partition.zip")
			if _, err := a.WriteFile(file, false); err != nil {
				b.Fatal(err)
			}
			size := 0
			for b.Loop() {
				res := plugintest.Run{Args: []string{"report", "--from", file, "-o", "html"}}.Do(b)
				if res.Code != 0 {
					b.Fatalf("%+v", res)
				}
				size = len(res.Stdout)
			}
			b.ReportMetric(float64(size), "page-B")
		})
	}
}
