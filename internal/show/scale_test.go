// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/dashboard"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/page"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// oneDown is the node that is DOWN in a cluster of any size.
const oneDown = "demo-dc1-rack3-7"

// compact is a cluster of n nodes in ten racks as the cluster report has it.
func compact(n int, down bool) cluster.Objects {
	c := plugintest.New(10, n/10)
	if down {
		c.Down(oneDown)
	}
	return plugintest.Objects(cluster.Key{Namespace: c.Namespace, Name: c.Name}, c.Compact())
}

// The report of stage.Compact is the one that the controller makes of the Pods' rows.
func TestCompactIsTheControllersReport(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		c := plugintest.New(10, 10)
		if down {
			c.Down(oneDown)
		}
		want := plugintest.Objects(cluster.Key{Namespace: c.Namespace, Name: c.Name}, c.Objects()).StatusReport
		got := compact(100, down).StatusReport
		got.ManagedFields = want.ManagedFields
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("down %t: (-controller's +compact):\n%s", down, diff)
		}
	}
}

// BenchmarkScale has what must grow no faster than the number of nodes, from a cluster report.
func BenchmarkScale(b *testing.B) {
	for _, down := range []bool{false, true} {
		for _, n := range []int{100, 1000, 10_000} {
			o := compact(n, down)
			data, err := json.Marshal(o.StatusReport)
			if err != nil {
				b.Fatal(err)
			}
			c := cluster.New(o, cluster.SourceReport, plugintest.Now)
			status := func() *document.ClusterStatus { return document.NewClusterStatus(diagnosis.Judge(c, plugintest.Now)) }
			doc := status()
			for _, part := range []struct {
				name string
				run  func() error
			}{
				{"decode", func() error { return json.Unmarshal(data, &api.ScyllaDBStatusReport{}) }},
				{"encode", func() error { _, err := json.Marshal(o.StatusReport); return err }},
				{"cluster", func() error {
					cluster.New(o, cluster.SourceReport, plugintest.Now).Members()
					return nil
				}},
				{"document", func() error { status(); return nil }},
				{"text", func() error { show.Cluster(doc, show.Options{Width: 80, Height: 24}); return nil }},
				{"json", func() error { return (&printers.JSONPrinter{}).PrintObj(doc, io.Discard) }},
				{"page", func() error { return page.HTML(io.Discard, page.New(&support.Cluster{Snapshot: c}, doc)) }},
				{"dashboard", func() error {
					s := dashboard.NewSnapshot(c, func() *document.ClusterStatus { return doc }, nil, true, plugintest.Now)
					dashboard.Once(s, dashboard.Options{Now: func() time.Time { return plugintest.Now }}, 240, 70)
					return nil
				}},
			} {
				b.Run(fmt.Sprintf("%s/%s/N=%d", map[bool]string{false: "up", true: "down"}[down], part.name, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if err := part.run(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
