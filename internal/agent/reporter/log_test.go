// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/raftlog"
)

// The indexes are sent beside the heartbeat and written nowhere, however often they change; unknown values are no longer sent.
func TestTheLogIsSaidAndNotWritten(t *testing.T) {
	w := newWorld(t, "")
	w.node.answers["/storage_service/schema_version"] = `"` + idA + `"`
	gauges := func(apply int) {
		w.node.set(func(n *node) {
			n.answers["/metrics"] = fmt.Sprintf("scylla_raft_apply_index %d\nscylla_raft_commit_index 900\nscylla_raft_state 0\n", apply)
		})
	}
	w.o.Metrics = scylla.NewClient("http://localhost:9180/metrics", &http.Client{Transport: w.node})
	r := w.byHand()
	step := func(want raftlog.State) {
		t.Helper()
		if err := r.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		answer := httptest.NewRecorder()
		r.beat.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, heartbeat.Path, http.NoBody))
		if got, _ := raftlog.Parse(answer.Header().Get(heartbeat.LogHeader)); got != want {
			t.Errorf("it says %+v, want %+v", got, want)
		}
	}
	gauges(1)
	step(raftlog.State{}) // without a heartbeat the metrics are not read
	r.where = &api.ReportHeartbeat{Port: 1, Fingerprint: "f"}
	step(raftlog.State{Known: true, Commit: 900, Apply: 1, Schema: idA})
	before, _ := w.count()
	for apply := range 5 {
		gauges(100 + apply)
		step(raftlog.State{Known: true, Commit: 900, Apply: int64(100 + apply), Schema: idA})
	}
	if now, _ := w.count(); now != before {
		t.Errorf("%d writes because an index changed", now-before)
	}
	w.node.set(func(n *node) { delete(n.answers, "/metrics") })
	step(raftlog.State{Schema: idA})
	w.node.set(func(n *node) { n.down = errors.New("no answer") })
	step(raftlog.State{})
	w.node.set(func(n *node) { n.down = nil })
	gauges(200)
	r.Metrics = nil // --scylla-metrics-url=
	step(raftlog.State{Schema: idA})
}
