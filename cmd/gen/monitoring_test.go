// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var (
	ours  = regexp.MustCompile(`kubectl_scylla_\w+`)
	label = regexp.MustCompile(`(kubectl_scylla_\w+)\{([^}]*)\}`)
	// targetLabels are those that Prometheus adds by the target of the scrape.
	targetLabels = []string{"namespace", "pod"}
)

// expressions of the alerts and of the dashboard, by the name of the alert or panel.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile("../../docs/monitoring/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var rule struct {
		APIVersion, Kind string
		Spec             struct {
			Groups []struct {
				Rules []struct {
					Alert, Record, Expr string
					Labels              map[string]string
					Annotations         map[string]string
				}
			}
		}
	}
	if err := yaml.Unmarshal(read("prometheusrule.yaml"), &rule); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, g := range rule.Spec.Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				all[r.Record] = r.Expr
				continue
			}
			if all[r.Alert] != "" || r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("alert %q is there twice, or lacks expression, severity or words", r.Alert)
			}
			all[r.Alert] = r.Expr
		}
	}
	var board struct {
		Templating struct{ List []struct{ Query string } }
		Panels     []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read("dashboard.json"), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			all["panel "+p.Title+" "+x.Expr] = x.Expr
		}
	}
	for _, v := range board.Templating.List {
		if strings.Contains(v.Query, "(") {
			all["variable "+v.Query] = v.Query
		}
	}
	return all
}

// Alerts and dashboard speak of metrics and labels that a process registers; and every metric that tells of trouble is spoken of.
func TestAlertsAndDashboardSpeakOfRegisteredMetrics(t *testing.T) {
	labels := map[string][]string{}
	for _, p := range processes {
		list, err := registered(p.register)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list {
			labels[m.name] = m.labels
		}
	}
	all := expressions(t)
	if len(all) < 15 {
		t.Fatalf("only %d expressions were found: has their form changed?", len(all))
	}
	for who, expr := range all {
		for record, is := range all { // an alert by a recorded series is one by the metrics of that
			expr = strings.ReplaceAll(expr, record, "("+is+")")
		}
		names := ours.FindAllString(expr, -1)
		if len(names) == 0 || strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
			t.Errorf("%s: %q names no metric, or a bracket is open", who, expr)
		}
		for _, name := range names {
			if _, ok := labels[name]; !ok {
				t.Errorf("%s: nobody registers %s", who, name)
			}
		}
		for _, m := range label.FindAllStringSubmatch(expr, -1) {
			for _, matcher := range strings.Split(m[2], ",") {
				l, _, _ := strings.Cut(matcher, "=")
				if l = strings.TrimRight(l, "!~ "); !slices.Contains(labels[m[1]], l) && !slices.Contains(targetLabels, l) {
					t.Errorf("%s: %s has no label %s", who, m[1], l)
				}
			}
		}
	}
	// So do the series of outages on which test/house/monitoring runs the alerts.
	series, err := filepath.Glob("../../test/house/monitoring/testdata/*.txt") // those in recorded are what Prometheus gets
	if err != nil || len(series) < 10 {
		t.Fatalf("%d files of series, %v", len(series), err)
	}
	for _, name := range series {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range label.FindAllStringSubmatch(string(b), -1) {
			known, registered := labels[m[1]]
			for _, matcher := range strings.Split(m[2], ",") {
				if l, _, _ := strings.Cut(matcher, "="); !registered || !slices.Contains(known, l) && !slices.Contains(targetLabels, l) {
					t.Errorf("%s: no process serves %s{%s}", filepath.Base(name), m[1], l)
				}
			}
		}
	}
	for _, want := range []string{
		"ScyllaControllerDown", "ScyllaControllerDownWhileNodeDown", "ScyllaControllerDownWhileJoinPending", "ScyllaReportStale", "ScyllaBarrierBlocked", "ScyllaForceProceedUsed", "ScyllaSplitCluster",
	} {
		if all[want] == "" {
			t.Errorf("there is no alert %s", want)
		}
	}
	// A reporter that hangs runs, and its row says UP.
	for _, metric := range []string{"kubectl_scylla_cluster_rows_stale", "kubectl_scylla_cluster_heartbeats_missing"} {
		if !strings.Contains(all["ScyllaReportStale"], metric) {
			t.Errorf("ScyllaReportStale does not look at %s: %s", metric, all["ScyllaReportStale"])
		}
	}
}
