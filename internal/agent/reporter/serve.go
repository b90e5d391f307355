// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	serving "github.com/kubectl-scylla/kubectl-scylla/internal/agent/metrics"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/pinned"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/viewwire"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

type metrics struct {
	polls    *prometheus.CounterVec
	writes   *prometheus.CounterVec
	flushes  *prometheus.CounterVec
	observed *prometheus.GaugeVec
	lastPoll prometheus.Gauge
	rowError prometheus.Gauge

	heartbeats prometheus.Counter

	reachable prometheus.Gauge
	adopted   *prometheus.CounterVec
	viewAge   *prometheus.GaugeVec
	viewEpoch *prometheus.GaugeVec
	info      *prometheus.GaugeVec
}

// NewMetrics registers every metric of the reporter.
func NewMetrics(r prometheus.Registerer) *metrics {
	name, to := func(n string) string { return "kubectl_scylla_reporter_" + n }, promauto.With(r)
	m := &metrics{
		polls: to.NewCounterVec(prometheus.CounterOpts{Name: name("polls_total"),
			Help: "Polls of the local ScyllaDB, by result: row (a status report) or error."}, []string{"result"}),
		writes: to.NewCounterVec(prometheus.CounterOpts{Name: name("writes_total"),
			Help: "Attempts to write this Pod's annotation, by result: ok or error."}, []string{"result"}),
		flushes: to.NewCounterVec(prometheus.CounterOpts{Name: name("flushes_total"),
			Help: "Requests to flush system.local, by result: ok or error."}, []string{"result"}),
		observed: to.NewGaugeVec(prometheus.GaugeOpts{Name: name("observed_nodes"),
			Help: "Nodes in the last status report, by status."}, []string{"status"}),
		lastPoll: to.NewGauge(prometheus.GaugeOpts{Name: name("last_poll_timestamp_seconds"),
			Help: "When ScyllaDB was last polled, Unix time."}),
		rowError: to.NewGauge(prometheus.GaugeOpts{Name: name("row_error"),
			Help: "1 while the last poll returned no status report, else 0."}),
		heartbeats: to.NewCounter(prometheus.CounterOpts{Name: name("heartbeats_total"),
			Help: "Polls that returned a status report: each increases the counter of the heartbeat, if it is " +
				"served."}),
		reachable: to.NewGauge(prometheus.GaugeOpts{Name: name("controller_reachable"),
			Help: "1 while the leading controller responds with its view, else 0."}),
		adopted: to.NewCounterVec(prometheus.CounterOpts{Name: name("views_adopted_total"),
			Help: "Controller views newer than the last relayed view, by source: controller or report."},
			[]string{"from"}),
		viewAge: to.NewGaugeVec(prometheus.GaugeOpts{Name: name("view_age_seconds"),
			Help: "Age of the controller view that is relayed to barriers; absent while none is relayed."}, nil),
		viewEpoch: to.NewGaugeVec(prometheus.GaugeOpts{Name: name("view_epoch"),
			Help: "Epoch of the controller view that is relayed to barriers; absent while none is relayed."}, nil),
		info: to.NewGaugeVec(prometheus.GaugeOpts{Name: name("info"),
			Help: "Always 1; the labels are the cluster and datacenter of the member, once they are known."},
			[]string{"namespace", "cluster", "datacenter"}),
	}
	for _, c := range []*prometheus.CounterVec{m.writes, m.flushes} {
		c.WithLabelValues("ok")
		c.WithLabelValues("error")
	}
	for _, from := range []string{"controller", "report"} {
		m.adopted.WithLabelValues(from)
	}
	return m
}

func (m *metrics) observe(row api.NodeStatusReport, result string, now time.Time) {
	m.polls.WithLabelValues(result).Inc()
	m.lastPoll.Set(float64(now.UnixMilli()) / 1000)
	m.rowError.Set(map[string]float64{"error": 1}[result])
	counts := map[api.NodeStatus]float64{api.NodeStatusUp: 0, api.NodeStatusDown: 0, api.NodeStatusUnknown: 0}
	for _, o := range row.ObservedNodes {
		counts[o.Status]++
	}
	for s, n := range counts {
		m.observed.WithLabelValues(string(s)).Set(n)
	}
}

// followed records the result of one request to the controller.
func (m *metrics) followed(answered bool, r *relay) {
	m.reachable.Set(map[bool]float64{true: 1}[answered])
	if age, ok := r.age(); ok {
		m.viewAge.WithLabelValues().Set(age.Seconds())
		m.viewEpoch.WithLabelValues().Set(float64(view.StampOf(r.question().Have).Epoch))
	} else {
		m.viewAge.Reset()
		m.viewEpoch.Reset()
	}
}

// serve serves l until stop is called.
func (r *reporter) serve(l net.Listener, wg *sync.WaitGroup) (stop func()) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := r.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return serving.Serve(l, mux, r.registry, wg, r.Log)
}

// serveHeartbeat serves the row, and the controller's view for members that do not receive it,
// until stop is called. It creates a new key and puts its address in the row.
func (r *reporter) serveHeartbeat(ctx context.Context, wg *sync.WaitGroup) (stop func(), err error) {
	key, err := pinned.NewKey(r.Namespace + "/" + r.Pod)
	if err != nil {
		return nil, fmt.Errorf("serve the heartbeat: %w", err)
	}
	_, text, err := net.SplitHostPort(r.Heartbeat.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("serve the heartbeat: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("serve the heartbeat: %w", err)
	}
	r.where = &api.ReportHeartbeat{Port: int32(port), Fingerprint: key.Fingerprint}
	if r.Interval > maxInterval {
		r.Log.Info(
			"ScyllaDB is polled more often than --status-report-interval: readers of the heartbeat accept no longer "+
				"interval", "interval", maxInterval.String())
		r.Interval = maxInterval
	}
	// readers of the heartbeat need it; otherwise the row is unchanged
	if r.Interval > DefaultInterval {
		r.where.IntervalSeconds = int32((r.Interval + time.Second - 1) / time.Second)
	}
	// ctx is detached: the last row is also served.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	mux := http.NewServeMux()
	mux.HandleFunc("/", r.serveRow)
	if r.LeaseNamespace != "" { // otherwise 404, as from an older reporter: nothing to relay
		mux.Handle(viewwire.RelayPath, viewwire.Relay(r.relay.serve))
	}
	wg.Go(func() {
		if err := pinned.Serve(ctx, r.Heartbeat, bounded.Agent, key, mux, r.Log); err != nil {
			r.Log.Error("the heartbeat is no longer served", "error", err.Error())
		}
	})
	if r.LeaseNamespace != "" {
		wg.Go(func() { r.follow(ctx) })
	}
	return cancel, nil
}

// serveRow serves the row that barriers and the controller confirm. A row that is no longer polled
// or written confirms nothing.
func (r *reporter) serveRow(w http.ResponseWriter, q *http.Request) {
	if err := r.ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	r.beat.ServeHTTP(w, q)
}
