// SPDX-License-Identifier: Apache-2.0

package scylla

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

func TestReadLog(t *testing.T) {
	const (
		schema = "59adb24e-f3cd-3e02-97f0-5b395827453f"
		gauges = "scylla_raft_apply_index{shard=\"0\"} 120.000000\nscylla_raft_commit_index{shard=\"0\"} 123.000000\nscylla_raft_state{shard=\"0\"} 2.000000\n"
	)
	for name, c := range map[string]struct {
		metrics http.HandlerFunc
		schema  string
		want    raftlog.State
	}{
		"all": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" || r.URL.Query().Get("__name__") != "scylla_raft*" {
				t.Errorf("asked for %s: all metrics are megabytes", r.URL)
			}
			_, _ = w.Write([]byte(gauges))
		}, schema, raftlog.State{Known: true, Leader: true, Commit: 123, Apply: 120, Schema: schema}},
		"no such gauges": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("scylla_x 1\n")) }, schema, raftlog.State{Schema: schema}},
		"all metrics of a node": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(gauges + strings.Repeat("# x\n", 1<<15)))
		}, schema, raftlog.State{Schema: schema}},
		"an error with a body": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(gauges))
		}, schema, raftlog.State{Schema: schema}},
		"an answer that ends": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "900")
			_, _ = w.Write([]byte(gauges))
		}, schema, raftlog.State{Schema: schema}},
		"a redirect":            {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/metrics?x", http.StatusFound) }, schema, raftlog.State{Schema: schema}},
		"a schema that is none": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(gauges)) }, "x", raftlog.State{Known: true, Leader: true, Commit: 123, Apply: 120}},
		"nobody asks for it":    {nil, schema, raftlog.State{Schema: schema}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newFakeNode(t, map[string]answer{"/storage_service/schema_version": {body: `"` + c.schema + `"`}})
			var metrics *Client
			if c.metrics != nil {
				s := httptest.NewServer(c.metrics)
				t.Cleanup(s.Close)
				metrics = NewClient(s.URL+"/metrics", nil)
			}
			if got := ReadLog(t.Context(), NewClient(n.URL, nil), metrics); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		s := httptest.NewServer(http.NotFoundHandler())
		s.Close()
		if got := ReadLog(t.Context(), NewClient(s.URL, nil), NewClient(s.URL, nil)); got != (raftlog.State{}) {
			t.Errorf("%+v", got)
		}
	})
}
