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
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
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

// scaled is a cluster of n nodes in ten racks, whose reporters write what those of a real ScyllaDB 2026.2 write.
func scaled(n int, down bool) *plugintest.Cluster {
	c := plugintest.New(10, n/10).Says(func(_ plugintest.Node, said *api.NodeStatusReport) {
		said.ScyllaVersion, said.Coordinator = "2026.2.0-0.20260901.0123456789ab", hostid.ID(plugintest.HostID(0))
		said.Group0ID = plugintest.HostID(1)
	})
	if down {
		c.Down(oneDown)
	}
	return c
}

func compact(c *plugintest.Cluster) cluster.Objects {
	return plugintest.Objects(cluster.Key{Namespace: c.Namespace, Name: c.Name}, c.Compact())
}

// The report of stage.Compact is the one that the controller makes of the Pods' rows.
func TestCompactIsTheControllersReport(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		c := scaled(100, down)
		want := plugintest.Objects(cluster.Key{Namespace: c.Namespace, Name: c.Name}, c.Objects()).StatusReport
		got := compact(c).StatusReport
		got.ManagedFields = want.ManagedFields
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("down %t: (-controller's +compact):\n%s", down, diff)
		}
	}
}

// TestBytesOfAClusterReport: a healthy node takes at most 500 bytes, so 1 MB are 2,000 nodes and the 1.5 MiB of etcd 3,100. The report of 10,000
// nodes is 5 MB, more than an API server accepts: nothing splits it.
func TestBytesOfAClusterReport(t *testing.T) {
	t.Parallel()
	for n, limit := range map[int]int{100: 50_000, 2000: 1_000_000, 3100: 3 << 19, 10_000: 5_000_000} {
		data, err := json.Marshal(compact(scaled(n, false)).StatusReport)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d nodes: %d bytes", n, len(data))
		if len(data) > limit {
			t.Errorf("the report of %d healthy nodes has %d bytes, more than %d", n, len(data), limit)
		}
	}
}

// BenchmarkScale has what must grow no faster than the number of nodes, of which one is DOWN: each row has an exception.
func BenchmarkScale(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		o := compact(scaled(n, true))
		data, err := json.Marshal(o.StatusReport)
		if err != nil {
			b.Fatal(err)
		}
		c := cluster.New(o, cluster.SourceReport, plugintest.Now)
		status := func() *document.ClusterStatus { return document.NewClusterStatus(diagnosis.Judge(c, plugintest.Now)) }
		for _, part := range []struct {
			name string
			run  func() error
		}{
			{"decode", func() error { return json.Unmarshal(data, &api.ScyllaDBStatusReport{}) }},
			{"encode", func() error { _, err := json.Marshal(o.StatusReport); return err }},
			{"cluster", func() error { cluster.New(o, cluster.SourceReport, plugintest.Now).Members(); return nil }},
			{"text", func() error { show.Cluster(status(), show.Options{Width: 80, Height: 24}); return nil }},
			{"json", func() error { return (&printers.JSONPrinter{}).PrintObj(status(), io.Discard) }},
			{"page", func() error { return page.HTML(io.Discard, page.New(&support.Cluster{Snapshot: c}, status())) }},
			{"dashboard", func() error {
				s := dashboard.NewSnapshot(c, status, nil, true, plugintest.Now)
				dashboard.Once(s, dashboard.Options{Now: func() time.Time { return plugintest.Now }}, 240, 70)
				return nil
			}},
		} {
			b.Run(fmt.Sprintf("%s/N=%d", part.name, n), func(b *testing.B) {
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
