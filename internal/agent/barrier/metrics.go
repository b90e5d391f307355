// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	serving "github.com/kubectl-scylla/kubectl-scylla/internal/agent/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
)

type metrics struct {
	open, waiting          prometheus.Gauge
	blockers, info         *prometheus.GaugeVec
	evaluations, apiErrors prometheus.Counter
}

// NewMetrics registers every metric of the barrier.
func NewMetrics(r prometheus.Registerer) *metrics {
	name, to := func(n string) string { return "kubectl_scylla_barrier_" + n }, promauto.With(r)
	return &metrics{
		open: to.NewGauge(prometheus.GaugeOpts{Name: name("open"),
			Help: "1 when ScyllaDB may start, 0 while it must wait."}),
		blockers: to.NewGaugeVec(prometheus.GaugeOpts{Name: name("blockers"),
			Help: "Blockers, by reason."}, []string{"reason"}),
		evaluations: to.NewCounter(prometheus.CounterOpts{Name: name("evaluations_total"),
			Help: "Reads of the cluster that led to a decision."}),
		apiErrors: to.NewCounter(prometheus.CounterOpts{Name: name("api_errors_total"),
			Help: "Failed reads and watches of the API server."}),
		waiting: to.NewGauge(prometheus.GaugeOpts{Name: name("waiting_since_timestamp_seconds"),
			Help: "When waiting began, Unix time."}),
		info: to.NewGaugeVec(prometheus.GaugeOpts{Name: name("info"),
			Help: "Always 1; the labels are the cluster and datacenter of the waiting member, once they are known."},
			[]string{"namespace", "cluster", "datacenter"}),
	}
}

func (m *metrics) observe(v bootstrap.Verdict) {
	m.open.Set(0)
	if v.Satisfied {
		m.open.Set(1)
	}
	m.blockers.Reset()
	for _, b := range v.Blockers {
		m.blockers.WithLabelValues(string(b.Reason)).Add(float64(b.Count()))
	}
}

// serve serves metrics while waiting. The barrier waits even if the port cannot be opened.
func (b *barrier) serve(registry *prometheus.Registry, wg *sync.WaitGroup) (stop func()) {
	b.metrics.waiting.Set(float64(b.started.Unix()))
	if b.Listen == nil {
		return func() {}
	}
	l, err := b.Listen()
	if err != nil {
		b.Log.Warn("metrics are not served", "error", err.Error())
		return func() {}
	}
	return serving.Serve(l, http.NewServeMux(), registry, wg, b.Log)
}
