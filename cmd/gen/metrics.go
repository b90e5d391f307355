// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubectl-scylla/kubectl-scylla/controller/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/barrier"
	"github.com/kubectl-scylla/kubectl-scylla/internal/agent/reporter"
)

// metric is one registered metric.
type metric struct {
	name, help, kind string
	labels           []string
}

// notary records the metrics that are registered with it.
type notary struct {
	prometheus.Registerer
	metrics []metric
}

var description = regexp.MustCompile(
	`(?s)fqName: "([^"]*)", help: "(.*?)", (?:unit: "[^"]*", )?constLabels: \{.*\}, variableLabels: \{([^}]*)\}`)

func (n *notary) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		kind := "gauge"
		switch c.(type) {
		case prometheus.Gauge: // has every method of a Counter
		case *prometheus.CounterVec, prometheus.Counter:
			kind = "counter"
		case *prometheus.HistogramVec, prometheus.Histogram:
			kind = "histogram"
		}
		descs := make(chan *prometheus.Desc, 16)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			m := description.FindStringSubmatch(d.String())
			if m == nil {
				panic("unknown description of a metric: " + d.String())
			}
			x := metric{name: m[1], help: m[2], kind: kind}
			if m[3] != "" {
				x.labels = strings.Split(m[3], ",")
			}
			n.metrics = append(n.metrics, x)
		}
	}
}

func (n *notary) Register(c prometheus.Collector) error { n.MustRegister(c); return nil }

// registered returns the metrics of a process.
func registered(register func(prometheus.Registerer) error) ([]metric, error) {
	n := &notary{}
	if err := register(n); err != nil {
		return nil, err
	}
	slices.SortFunc(n.metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return n.metrics, nil
}

// processes are the processes that serve /metrics.
var processes = []struct {
	title, text string
	register    func(prometheus.Registerer) error
}{
	{
		"Controller",
		"Port 8080 of the controller Pods (`--metrics-bind-address`). Only the leader sets the values of clusters. " +
			"controller-runtime and Go add `controller_runtime_*`, " +
			"`workqueue_*`, `rest_client_*`, `go_*` and `process_*`.",
		func(r prometheus.Registerer) error { _, err := metrics.New(r); return err },
	},
	{
		"Reporter", "Port 8081 of each ScyllaDB Pod, container `scylla-reporter` (`--health-probe-bind-address`).",
		func(r prometheus.Registerer) error { reporter.NewMetrics(r); return nil },
	},
	{
		"Barrier",
		"Port 8082 of a ScyllaDB Pod while its init container `scylladb-bootstrap-barrier` waits " +
			"(`--metrics-bind-address`). Label `reason` has the codes of " +
			"[blockers](codes.md#blockers).",
		func(r prometheus.Registerer) error { barrier.NewMetrics(r); return nil },
	},
}

const metricsHead = `# Metrics

Here you find every metric of the controller, the reporters and the barriers. ` + "`go run ./cmd/gen`" + ` writes this page from what the processes register.
[Monitoring](../monitoring.md) has scrape configuration, alerts and a dashboard.

Metrics named ` + "`_total`" + ` are counters, the others gauges. No label has a value per node: a cluster of 1,000 nodes costs as many series as one of 3. The metrics of reporters and barriers have no cluster label. Join them with the metric
` + "`_info`" + ` of the same Pod: ` + "`kubectl_scylla_reporter_row_error * on(namespace, pod) group_left(cluster, datacenter) kubectl_scylla_reporter_info`" + `.
`

// metricsPage returns docs/reference/metrics.md.
func metricsPage() ([]byte, error) {
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, p := range processes {
		list, err := registered(p.register)
		if err != nil {
			return nil, fmt.Errorf("generate the page of metrics: %w", err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", p.title, p.text)
		for _, m := range list {
			kind := ""
			if gauge := !strings.HasSuffix(m.name, "_total"); gauge != (m.kind == "gauge") {
				kind = " " + m.kind
			}
			labels := ""
			if len(m.labels) > 0 {
				labels = " (" + strings.Join(m.labels, ", ") + ")"
			}
			fmt.Fprintf(&b, "- `%s`%s%s: %s\n", m.name, kind, labels, cell(m.help))
		}
	}
	return []byte(b.String()), nil
}
