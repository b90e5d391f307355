// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
	m.SetView("ns", "demo", metrics.View{Served: true, Epoch: 3, Age: time.Second, Members: map[metrics.Place]int{{"dc1", "UP"}: 2, {"dc1", "DOWN"}: 1, {"dc2", "UP"}: 3}})
	m.SetStanding("ns", "demo", true, false)
	m.SetReplacements("ns", "demo", map[string]int{"Join": 1})
	m.SetHeartbeats("ns", "demo", metrics.Heartbeats{Trailing: 7, TrailingKnown: true})
	got := series(t, r)
	for _, want := range []string{
		"kubectl_scylla_cluster_nodes{cluster=demo,namespace=ns}", "kubectl_scylla_cluster_blockers{cluster=demo,namespace=ns,reason=NodeDown}",
		"kubectl_scylla_cluster_nodes_replaceable{cluster=demo,namespace=ns}",
		"kubectl_scylla_members_forced{cluster=demo,namespace=ns}", "kubectl_scylla_remote_reachable{cluster=demo,namespace=ns,remote=eu}",
		"kubectl_scylla_report_writes_total{kind=ScyllaDBStatusReport}",
		"kubectl_scylla_cluster_view_age_seconds{cluster=demo,namespace=ns}", "kubectl_scylla_cluster_view_epoch{cluster=demo,namespace=ns}",
		"kubectl_scylla_cluster_members{cluster=demo,datacenter=dc1,namespace=ns,state=DOWN}", "kubectl_scylla_cluster_members{cluster=demo,datacenter=dc2,namespace=ns,state=UP}",
		"kubectl_scylla_cluster_initialized{cluster=demo,namespace=ns}", "kubectl_scylla_cluster_split{cluster=demo,namespace=ns}",
		"kubectl_scylla_cluster_trailing_entries{cluster=demo,namespace=ns}",
		"kubectl_scylla_replacements{cluster=demo,namespace=ns,stage=Join}",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s in %q", want, got)
		}
	}
	m.Set("ns", "demo", metrics.Cluster{Nodes: 3, Up: 3, AllUp: true})
	m.SetView("ns", "demo", metrics.View{})
	m.SetReplacements("ns", "demo", nil)
	if got := series(t, r); slices.ContainsFunc(got, func(s string) bool {
		return strings.Contains(s, "_view_") || strings.Contains(s, "state=") || strings.Contains(s, "stage=")
	}) {
		t.Errorf("there is no view any more, and no replacement: %q", got)
	}
	m.SetView("ns", "demo", metrics.View{Served: true})
	if got := series(t, r); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "NodeDown") || strings.Contains(s, "remote=eu") }) {
		t.Errorf("what is no longer so is still there: %q", got)
	}
	m.SetHeartbeats("ns", "demo", metrics.Heartbeats{})
	if got := series(t, r); slices.Contains(got, "kubectl_scylla_cluster_trailing_entries{cluster=demo,namespace=ns}") {
		t.Errorf("nobody tells how far a member is behind: %q", got)
	}
	m.SetHeartbeats("ns", "demo", metrics.Heartbeats{TrailingKnown: true})
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
		m.SetView("ns", "demo", metrics.View{Served: true, Members: map[metrics.Place]int{{"dc1", "UP"}: nodes}})
		return len(series(t, r))
	}
	if a, b := count(3), count(1000); a != b {
		t.Errorf("%d series for 3 nodes, %d for 1,000", a, b)
	}
}

// Names of datacenters come from rows: however many there are, they cost no more series than a bound, and no member is left out of the sum.
func TestSeriesOfDatacentersAreBounded(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := metrics.New(r)
	if err != nil {
		t.Fatal(err)
	}
	v := metrics.View{Served: true, Members: map[metrics.Place]int{}}
	for i := range 1000 {
		v.Members[metrics.Place{Datacenter: fmt.Sprintf("dc%d", i), State: "UP"}] = 1
		v.Members[metrics.Place{Datacenter: fmt.Sprintf("dc%d", i), State: "DOWN"}] = 2
	}
	m.SetView("ns", "demo", v)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n, sum := 0, 0.0
	for _, f := range families {
		if f.GetName() == "kubectl_scylla_cluster_members" {
			for _, x := range f.GetMetric() {
				n++
				sum += x.GetGauge().GetValue()
			}
		}
	}
	if n > 2*33 || sum != 3000 {
		t.Errorf("%d series for 1,000 datacenters, with %v members in all", n, sum)
	}
}
