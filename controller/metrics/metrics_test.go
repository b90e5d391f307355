// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
)

// series lists what a scrape gives as "name{label=value,...} value".
func series(t *testing.T, r prometheus.Gatherer) (out []string) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var l []string
			for _, p := range m.GetLabel() {
				l = append(l, p.GetName()+"="+p.GetValue())
			}
			out = append(out, f.GetName()+"{"+strings.Join(l, ",")+"}")
		}
	}
	return out
}

func TestSeriesComeAndGoWithTheirCluster(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := metrics.New(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := metrics.New(r)
	if err != nil {
		t.Fatalf("a second controller in one process: %v", err)
	}
	m.Set("ns", "demo", metrics.Cluster{Nodes: 3, Up: 2, Blockers: map[string]int{"NodeDown": 2}, Remotes: map[string]bool{"eu": true}})
	again.SetForced("ns", "demo", 1)
	m.SetReplaceable("ns", "demo", 1)
	m.Wrote("ScyllaDBStatusReport")
	got := series(t, r)
	for _, want := range []string{
		"kubectl_scylla_cluster_nodes{cluster=demo,namespace=ns}", "kubectl_scylla_cluster_blockers{cluster=demo,namespace=ns,reason=NodeDown}",
		"kubectl_scylla_cluster_nodes_replaceable{cluster=demo,namespace=ns}",
		"kubectl_scylla_members_forced{cluster=demo,namespace=ns}", "kubectl_scylla_remote_reachable{cluster=demo,namespace=ns,remote=eu}",
		"kubectl_scylla_report_writes_total{kind=ScyllaDBStatusReport}",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	m.Set("ns", "demo", metrics.Cluster{Nodes: 3, Up: 3, AllUp: true})
	if got := series(t, r); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "NodeDown") || strings.Contains(s, "remote=eu") }) {
		t.Errorf("what is no longer so is still there: %q", got)
	}
	m.Forget("ns", "demo")
	if got := series(t, r); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "demo") }) {
		t.Errorf("the cluster is gone: %q", got)
	}
}

// However large a cluster is, it costs the same number of series.
func TestNoSeriesPerNode(t *testing.T) {
	count := func(nodes int) int {
		r := prometheus.NewRegistry()
		m, err := metrics.New(r)
		if err != nil {
			t.Fatal(err)
		}
		m.Set("ns", "demo", metrics.Cluster{Nodes: nodes, Blockers: map[string]int{"NodeDown": nodes * nodes}})
		return len(series(t, r))
	}
	if a, b := count(3), count(1000); a != b {
		t.Errorf("%d series for 3 nodes, %d for 1,000", a, b)
	}
}
