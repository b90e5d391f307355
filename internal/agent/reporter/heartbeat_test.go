// SPDX-License-Identifier: Apache-2.0

package reporter

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
)

// byHand is a reporter whose steps the test makes one by one.
func (w *world) byHand() *reporter {
	w.o.Clock = clock.RealClock{}
	return newReporter(w.o)
}

// step is one of a reporter's, without an error.
func (w *world) step(r *reporter) {
	w.t.Helper()
	if err := r.step(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// heard is the running number, and whether it is about a row.
func heard(t *testing.T, r *reporter, row string) (int, bool) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, heartbeat.Path, http.NoBody)
	req.Header.Set("If-None-Match", `"`+api.ReportDigest(row)+`"`)
	w := httptest.NewRecorder()
	r.serveRow(w, req)
	n, err := strconv.Atoi(w.Header().Get(heartbeat.Header))
	if err != nil {
		t.Fatal(err)
	}
	return n, w.Code == http.StatusNotModified
}

// The number advances only while the loop really asks ScyllaDB, and ScyllaDB answers.
func TestAStuckLoopDoesNotBeat(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r, end := w.loops(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		row := w.annotation()
		before, same := heard(t, r, row)
		if before < 12 || before > 14 || !same {
			t.Errorf("%d beats in a minute of polls each 5 s, of the annotation's row: %v", before, same)
		}
		// ScyllaDB accepts the question and never answers.
		w.node.set(func(n *node) { n.hang = true })
		for range 10 {
			time.Sleep(9 * time.Second)
			synctest.Wait()
			if got, _ := heard(t, r, row); got > before+1 {
				t.Fatalf("%d beats while ScyllaDB hangs, %d before", got, before)
			}
		}
		end()
		time.Sleep(time.Minute)
		answer := httptest.NewRecorder()
		if r.serveRow(answer, httptest.NewRequest(http.MethodGet, heartbeat.Path, http.NoBody)); answer.Code != http.StatusServiceUnavailable {
			t.Errorf("a loop that has stopped confirms its row: %d", answer.Code)
		}
	})
}

// A row that cannot be written differs from the annotation's: the heartbeat must not confirm the annotation.
func TestARowThatCannotBeWrittenIsNotConfirmed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		r, end := w.loops(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		row := w.annotation()
		w.setFailure(errors.New("no answer"))
		w.node.sees(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, same := heard(t, r, row); same {
			t.Error("the annotation's row is confirmed while ScyllaDB says another")
		}
		w.setFailure(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, same := heard(t, r, w.annotation()); !same || !strings.Contains(w.annotation(), "DOWN") {
			t.Errorf("%v, %s", same, w.annotation())
		}
		end()
	})
}

// Port and fingerprint are in the annotation, and the served row is the annotation. Each process has a key of its own.
func TestTheAnnotationSaysWhereTheHeartbeatIsServed(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		w := newWorld(t, "")
		address, c := w.served("")
		h := w.row().Heartbeat
		if seen[h.Fingerprint] || strings.Contains(w.annotation(), "PRIVATE") {
			t.Errorf("the key of another process, or in the annotation: %+v", h)
		}
		seen[h.Fingerprint] = true
		if !strings.HasSuffix(address, ":"+strconv.Itoa(int(h.Port))) {
			t.Errorf("%s is served, the annotation says port %d", address, h.Port)
		}
		if n, err := heartbeat.Ask(t.Context(), c, address, api.ReportDigest(w.annotation())); err != nil || n.Number < 1 {
			t.Errorf("%+v, %v", n, err)
		}
	}
}

// The interval is what the flag says, up to the most that readers accept; the row tells it where it is longer than they assume.
func TestALongIntervalIsTold(t *testing.T) {
	for interval, want := range map[time.Duration]struct {
		seconds int32
		said    string
	}{
		DefaultInterval: {0, `"interval":"5s"`}, 7500 * time.Millisecond: {8, `"interval":"7.5s"`},
		20 * time.Second: {20, `"interval":"20s"`}, time.Hour: {30, `"interval":"30s"`},
	} {
		t.Run(interval.String(), func(t *testing.T) {
			w := newWorld(t, "")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			w.o.Heartbeat, w.o.Interval = l, interval
			w.wrote = make(chan struct{})
			stop := w.start()
			<-w.wrote
			stop()
			if h := w.row().Heartbeat; h == nil || h.IntervalSeconds != want.seconds {
				t.Errorf("the row has %+v, want %d s", h, want.seconds)
			}
			if !strings.Contains(w.log.String(), want.said) {
				t.Errorf("it says nothing of the interval:\n%s", w.log)
			}
		})
	}
}

// loops runs a reporter's loop until end is called.
func (w *world) loops(t *testing.T) (r *reporter, end func()) {
	r = w.byHand()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.loop(ctx) }()
	return r, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
