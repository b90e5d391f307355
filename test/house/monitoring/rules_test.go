// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v2"
)

const (
	interval = 15 * time.Second // of scrapes and rules, as the PodMonitors and the rules have it
	fault    = 10 * time.Minute // when the outages of testdata begin
	pages    = 2 * time.Minute  // within which a missing controller pages
)

// ruleFile writes the groups of the PrometheusRule as a rule file.
func ruleFile(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../docs/monitoring/prometheusrule.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rule struct {
		Spec map[string]any `yaml:"spec"`
	}
	if err := yaml.Unmarshal(b, &rule); err != nil {
		t.Fatal(err)
	}
	if b, err = yaml.Marshal(rule.Spec); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// firing evaluates the rules each interval for as long as long says, and returns when each alert fired for the first time, and its severity.
func firing(t *testing.T, file, series string, long time.Duration) (first map[string]time.Duration, severity map[string]string) {
	t.Helper()
	p := parser.NewParser(parser.Options{})
	suite, err := promqltest.NewLazyLoader(series, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: p})
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()), AppendableV2: suite.Storage(), Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: slog.New(slog.DiscardHandler), Parser: p,
	})
	groups, errs := m.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	first, severity = map[string]time.Duration{}, map[string]string{}
	start := time.Unix(0, 0).UTC()
	for at := time.Duration(0); at <= long; at += interval {
		suite.WithSamplesTill(start.Add(at), func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range groups {
				if g.Interval() != interval {
					t.Fatalf("group %s is evaluated every %v", g.Name(), g.Interval())
				}
				g.Eval(suite.Context(), start.Add(at))
				for _, r := range g.Rules() {
					if r.LastError() != nil {
						t.Fatalf("rule %s at %v: %v", r.Name(), at, r.LastError())
					}
					a, alerts := r.(*rules.AlertingRule)
					if !alerts || a.State() != rules.StateFiring {
						continue
					}
					if _, known := first[a.Name()]; !known {
						first[a.Name()], severity[a.Name()] = at, a.Labels().Get("severity")
					}
				}
			}
		})
	}
	return first, severity
}

// Each outage fires its alerts in time, and nothing else. The value is how long after the fault an alert may fire for the first time.
func TestOutages(t *testing.T) {
	file := ruleFile(t)
	for name, want := range map[string]map[string]time.Duration{
		"nothing-is-scraped":         {},
		"all-is-well":                {},
		"controller-restarts":        {},
		"only-controller-is-scraped": {},
		"only-reporters-are-scraped": {},
		"controller-dies":            {"ScyllaControllerDown": pages},
		"controller-freezes":         {"ScyllaControllerDown": pages},
		"standby-does-not-take-over": {"ScyllaControllerDown": pages},
		"no-reporter-is-scraped":     {"ScyllaControllerDown": pages},
		"controller-dies-node-dies":  {"ScyllaControllerDown": pages, "ScyllaControllerDownWhileNodeDown": 3 * time.Minute},
		"controller-dies-join-waits": {"ScyllaControllerDown": pages, "ScyllaControllerDownWhileJoinPending": 2 * time.Minute, "ScyllaBarrierBlocked": 20 * time.Minute},
		"a-node-dies":                {"ScyllaNodeNotUp": 12 * time.Minute},
		"the-loop-stands-still":      {"ScyllaReportsNotAssembled": 5 * time.Minute},
		"default-superuser-opens":    {"ScyllaRootCredential": 17 * time.Minute},
		"secret-is-refused":          {"ScyllaRootCredential": 17 * time.Minute},
		"secret-is-lost":             {"ScyllaRootCredential": 17 * time.Minute},
		"credential-is-not-known":    {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			series, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			first, severity := firing(t, file, string(series), 45*time.Minute)
			checkAlerts(t, first, severity, want, fault)
		})
	}
}

// What Prometheus scraped in real Pods (make rehearse) has the same alerts: a restart of the controller fires none, and its absence pages in time.
func TestRecordedOutages(t *testing.T) {
	file := ruleFile(t)
	for name, want := range map[string]map[string]time.Duration{
		"controller-restarts": {},
		"controller-is-gone":  {"ScyllaControllerDown": pages},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			series, err := os.ReadFile(filepath.Join("testdata/recorded", name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			values := strings.Fields(strings.Split(string(series), "\n")[2]) // after the comment and the interval: a series and its values
			first, severity := firing(t, file, string(series), time.Duration(len(values)-2)*interval)
			checkAlerts(t, first, severity, want, 3*interval) // the outage begins before the fifth scrape
		})
	}
}

// checkAlerts compares the alerts that fired with those that were to fire within a time after the fault.
func checkAlerts(t *testing.T, first map[string]time.Duration, severity map[string]string, want map[string]time.Duration, fault time.Duration) {
	t.Helper()
	for _, alert := range slices.Sorted(maps.Keys(first)) {
		switch within, expected := want[alert]; {
		case !expected:
			t.Errorf("%s fires after %v", alert, first[alert])
		case first[alert] < fault || first[alert] > fault+within:
			t.Errorf("%s fires after %v, want it within %v after %v", alert, first[alert], within, fault)
		case within == pages && severity[alert] != "critical":
			t.Errorf("%s has severity %q, which does not page", alert, severity[alert])
		}
	}
	for _, alert := range slices.Sorted(maps.Keys(want)) {
		if _, fires := first[alert]; !fires {
			t.Errorf("%s does not fire", alert)
		}
	}
}
