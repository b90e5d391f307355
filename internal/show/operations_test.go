// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/diagnosis"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/plugintest"
)

// What the task manager lists as open is shown, once for all nodes that list it, also where ScyllaDB does not say which node it is about.
func TestC1OpenOperationsAreShown(t *testing.T) {
	for name, c := range map[string]struct {
		operations []api.NodeOperation
		want       []string
		listed     int
	}{
		"up to 2025.4, queued":  {[]api.NodeOperation{{State: "created"}}, []string{"an unnamed operation is in progress: ScyllaDB does not report its node"}, 1},
		"up to 2025.4, running": {[]api.NodeOperation{{Type: "replace", State: "running"}}, []string{`an unnamed operation is in progress ("replace"): ScyllaDB does not report its node`}, 1},
		"named": {[]api.NodeOperation{{Type: "decommission", State: "running", HostID: hostid.ID(plugintest.HostID(1))}},
			[]string{`ScyllaDB is running "decommission" of demo-dc1-rack2-0 (36d1f2a1)`}, 1},
		"one that failed is over": {[]api.NodeOperation{{Type: "bootstrap", State: "failed", Error: "x"}}, nil, 1},
		"none":                    {},
	} {
		t.Run(name, func(t *testing.T) {
			said := plugintest.New(3, 1).Says(func(_ plugintest.Node, r *api.NodeStatusReport) { r.Operations = c.operations })
			for source, s := range map[string]*cluster.Cluster{"reports": load(t, said), "annotations": load(t, said.NoReports())} {
				d := document.NewClusterStatus(diagnosis.Judge(s, plugintest.Now))
				if diff := cmp.Diff(c.want, d.UnderWay()); diff != "" || len(d.Operations) != c.listed {
					t.Errorf("%s: %d operations, under way (-want +got):\n%s", source, len(d.Operations), diff)
				}
				text := plain(show.Cluster(d, show.Options{}))
				for _, line := range c.want {
					if !strings.Contains(text, "Topology operations in progress (1)") || !strings.Contains(text, line) || !strings.Contains(d.Summary, "1 topology operation in progress") {
						t.Errorf("%s: not shown:\n%s", source, text)
					}
				}
			}
		})
	}
}
