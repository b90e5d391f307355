// SPDX-License-Identifier: Apache-2.0

// Package metrics serves the metrics and the health of a container in a ScyllaDB Pod.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/base/bounded"
)

// Serve adds /healthz and /metrics to mux and serves it on l until stop is called; wg waits for
// that.
func Serve(l net.Listener, mux *http.ServeMux, of prometheus.Gatherer, wg *sync.WaitGroup,
	log *slog.Logger) (stop func()) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.Handle("GET /metrics", promhttp.HandlerFor(of, promhttp.HandlerOpts{}))
	s := bounded.Server(mux)
	wg.Go(func() {
		if err := s.Serve(bounded.Agent.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("health and metrics are no longer served", "error", err.Error())
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
