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

// metric is one that a process registers.
type metric struct {
	name, help, kind string
	labels           []string
}

// notary records the metrics that are registered with it.
type notary struct {
	prometheus.Registerer
	metrics []metric
}

var description = regexp.MustCompile(`(?s)fqName: "([^"]*)", help: "(.*?)", (?:unit: "[^"]*", )?constLabels: \{.*\}, variableLabels: \{([^}]*)\}`)

func (n *notary) Register(c prometheus.Collector) error {
	kind := "gauge"
	switch c.(type) {
	case *prometheus.CounterVec, prometheus.Counter:
		kind = "counter"
	case *prometheus.HistogramVec, prometheus.Histogram:
		kind = "histogram"
	}
	if _, ok := c.(prometheus.Gauge); ok { // a Gauge has every method of a Counter
		kind = "gauge"
	}
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for d := range descs {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			return fmt.Errorf("read the description of a metric: %s", d)
		}
		x := metric{name: m[1], help: m[2], kind: kind}
		if m[3] != "" {
			x.labels = strings.Split(m[3], ",")
		}
		n.metrics = append(n.metrics, x)
	}
	return nil
}

// registered are the metrics of a process.
func registered(register func(prometheus.Registerer) error) ([]metric, error) {
	n := &notary{}
	if err := register(n); err != nil {
		return nil, err
	}
	slices.SortFunc(n.metrics, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	return n.metrics, nil
}

// processes are those that serve /metrics.
var processes = []struct {
	title, text string
	register    func(prometheus.Registerer) error
}{
	{
		"Controller", "Port 8080 of the Pods of Deployment `kubectl-scylla-controller` (`--metrics-bind-address`). Only the one that leads sets the values of clusters. Beside these " +
			"it serves what controller-runtime and the Go runtime register (`controller_runtime_*`, `workqueue_*`, `rest_client_*`, `go_*`, `process_*`).",
		func(r prometheus.Registerer) error { _, err := metrics.New(r); return err },
	},
	{
		"Reporter", "Port 8081 of each ScyllaDB Pod, container `scylla-reporter` (`--health-probe-bind-address`). Namespace and Pod are labels that Prometheus adds by the target.", reporter.RegisterMetrics,
	},
	{
		"Barrier", "Port 8082 of a ScyllaDB Pod while its init container `scylladb-bootstrap-barrier` waits (`--metrics-bind-address`), and of nobody else. A PodMonitor has to select Pods that are not ready, too, as [monitoring/podmonitors.yaml](monitoring/podmonitors.yaml) does.", barrier.RegisterMetrics,
	},
}

const metricsHead = `# Metrics

Made by ` + "`go run ./cmd/gen`" + ` from what the processes register. No label has a value per node, let alone per pair of nodes: a cluster of 1,000 nodes costs as many
series as one of 3. Of reporters and barriers, the metric with ` + "`" + `_info` + "`" + ` has the cluster and the datacenter: join it by the labels of the target, for one
` + "`" + `kubectl_scylla_reporter_row_error * on(namespace, pod) group_left(cluster, datacenter) kubectl_scylla_reporter_info` + "`" + `.

`

// metricsPage is docs/metrics.md.
func metricsPage() ([]byte, error) {
	var b strings.Builder
	b.WriteString(metricsHead)
	for _, p := range processes {
		list, err := registered(p.register)
		if err != nil {
			return nil, fmt.Errorf("generate docs/metrics.md: %w", err)
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", p.title, p.text)
		for _, m := range list {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), cell(m.help))
		}
		b.WriteString("\n")
	}
	b.WriteString("The label `reason` has the codes of [barrier.md](barrier.md#reasons).\n")
	return []byte(b.String()), nil
}
