// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

type metrics struct {
	registry    *prometheus.Registry
	open        prometheus.Gauge
	blockers    *prometheus.GaugeVec
	evaluations prometheus.Counter
	apiErrors   prometheus.Counter
	waiting     prometheus.Gauge
	info        *prometheus.GaugeVec
}

func newMetrics() *metrics {
	name := func(n string) string { return "kubectl_scylla_barrier_" + n }
	m := &metrics{
		registry: prometheus.NewRegistry(),
		open: prometheus.NewGauge(prometheus.GaugeOpts{Name: name("open"),
			Help: "1 when ScyllaDB may start, 0 while it must wait."}),
		blockers: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name("blockers"),
			Help: "Blockers, by reason."}, []string{"reason"}),
		evaluations: prometheus.NewCounter(prometheus.CounterOpts{Name: name("evaluations_total"),
			Help: "Reads of the cluster that led to a decision."}),
		apiErrors: prometheus.NewCounter(prometheus.CounterOpts{Name: name("api_errors_total"),
			Help: "Failed reads and watches of the API server."}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{Name: name("waiting_since_timestamp_seconds"),
			Help: "When waiting began, Unix time."}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name("info"),
			Help: "Always 1; the labels are the cluster and datacenter of the waiting member, once they are known."},
			[]string{"namespace", "cluster", "datacenter"}),
	}
	m.registry.MustRegister(m.collectors()...)
	return m
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.open, m.blockers, m.evaluations, m.apiErrors, m.waiting, m.info}
}

// RegisterMetrics registers every metric of the barrier, without values, for the documentation.
func RegisterMetrics(r prometheus.Registerer) error {
	var errs []error
	for _, c := range newMetrics().collectors() {
		errs = append(errs, r.Register(c))
	}
	return errors.Join(errs...)
}

// place sets the info metric: the member's namespace, cluster and datacenter.
func (m *metrics) place(key cluster.Key, svc *corev1.Service) {
	if svc != nil {
		m.info.Reset()
		m.info.WithLabelValues(key.Namespace, key.Name, svc.Labels[api.LabelDatacenter]).Set(1)
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
func (b *barrier) serve(wg *sync.WaitGroup) (stop func()) {
	b.metrics.waiting.Set(float64(b.started.Unix()))
	if b.Listen == nil {
		return nil
	}
	l, err := b.Listen()
	if err != nil {
		b.Log.Warn("metrics are not served", "error", err.Error())
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.Handle("GET /metrics", promhttp.HandlerFor(b.metrics.registry, promhttp.HandlerOpts{}))
	s := bounded.Server(mux)
	wg.Go(func() {
		if err := s.Serve(bounded.Agent.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
			b.Log.Warn("metrics are no longer served", "error", err.Error())
		}
	})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	}
}
