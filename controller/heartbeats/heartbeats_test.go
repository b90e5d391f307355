// SPDX-License-Identifier: Apache-2.0

package heartbeats_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kubectl-scylla/kubectl-scylla/controller/heartbeats"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/peer/heartbeat"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/test/run/pinnedserver"
)

const row = `{"hostID":"a"}`

// bench is a poller, with its missed looks.
type bench struct {
	*heartbeats.Poller
	t     *testing.T
	clock *clocktesting.FakeClock

	mu   sync.Mutex
	whys map[string][]heartbeats.Why
}

func newBench(t *testing.T, timeout time.Duration) *bench {
	b := &bench{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)), whys: map[string][]heartbeats.Why{}}
	b.Poller = heartbeats.New(heartbeats.Options{Clock: b.clock, Log: slog.New(slog.DiscardHandler), Timeout: timeout,
		Missed: func(t heartbeats.Target, why heartbeats.Why) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.whys[t.Pod.Name] = append(b.whys[t.Pod.Name], why)
		}})
	return b
}

// long is a timeout that no answer on loopback takes, however loaded the machine.
const long = time.Minute

// serve answers as a member until the test ends.
func (b *bench) serve(name string, h http.Handler) heartbeats.Target {
	b.t.Helper()
	s := pinnedserver.Start(b.t, name, h)
	return heartbeats.Target{
		Pod: types.NamespacedName{Namespace: "db", Name: name}, Cluster: "demo", Address: s.Address, Fingerprint: s.Fingerprint, Digest: api.ReportDigest(row),
	}
}

// round passes an interval, asks, and waits for the answers.
func (b *bench) round(all ...heartbeats.Target) {
	b.clock.Step(view.Interval)
	b.Ask(b.t.Context(), all)
	b.Wait()
}

func (b *bench) missed(name string) []heartbeats.Why {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.whys[name])
}

// script answers with numbers one after the other, the last of them for ever.
func script(numbers ...int64) http.Handler {
	var i atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := min(int(i.Add(1))-1, len(numbers)-1)
		w.Header().Set("ETag", `"`+api.ReportDigest(row)+`"`)
		w.Header().Set(heartbeat.Header, fmt.Sprint(numbers[n]))
		w.WriteHeader(http.StatusNotModified)
	})
}

// Each of these is a missed look, and confirms nothing.
func TestWhatIsAMissedLook(t *testing.T) {
	const many = 8
	good := func(n int64) http.Handler { return script(n, n+1, n+2, n+3, n+4, n+5, n+6, n+7, n+8) }
	for name, c := range map[string]struct {
		h      http.Handler // nil for one that hangs, after it has answered so much
		after  int
		change func(*heartbeats.Target)
		why    heartbeats.Why
		or     heartbeats.Why // on a loaded machine the headers may come too late
	}{
		"none: the number advances": {h: good(1)},
		"a wrong fingerprint": {h: good(1), why: heartbeats.Certificate, change: func(t *heartbeats.Target) {
			t.Fingerprint = "0000000000000000000000000000000000000000000000000000000000000000"
		}},
		"a digest other than the annotation's": {h: good(1), why: heartbeats.OtherRow, change: func(t *heartbeats.Target) { t.Digest = "0123456789abcdef" }},
		"a hung answer":                        {why: heartbeats.TimedOut},
		"a slow answer: headers, then nothing": {after: http.StatusInternalServerError, why: heartbeats.Refused, or: heartbeats.TimedOut},
		"a garbled answer": {why: heartbeats.Garbled, h: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(heartbeat.Header, "seven")
			w.WriteHeader(http.StatusNotModified)
		})},
		"an answer that is not HTTP": {why: heartbeats.Unreachable, h: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.9\r\n"))
				_ = c.Close()
			}
		})},
		"an error":                                {why: heartbeats.Refused, h: http.NotFoundHandler()},
		"nobody there":                            {h: good(1), why: heartbeats.Unreachable, change: func(t *heartbeats.Target) { t.Address = "127.0.0.1:1" }},
		"a number that goes back":                 {why: heartbeats.WentBack, h: script(9, 8)},
		"a number that does not advance":          {why: heartbeats.Stopped, h: script(7)},
		"a number that does not advance any more": {why: heartbeats.Stopped, h: script(7, 8)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout, release := long, make(chan struct{})
			if c.h == nil {
				timeout = 50 * time.Millisecond
				c.h = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if c.after != 0 {
						w.WriteHeader(c.after)
						_ = http.NewResponseController(w).Flush()
					}
					<-release
				})
			}
			b := newBench(t, timeout)
			target := b.serve("a", c.h)
			t.Cleanup(func() { close(release) })
			if c.change != nil {
				c.change(&target)
			}
			for range many {
				b.round(target)
			}
			got := b.Heard(target.Pod)
			if c.why == "" {
				if want := (view.Heartbeat{Digest: target.Digest, Advanced: b.clock.Now()}); got != want || len(b.missed("a")) > 0 {
					t.Errorf("%+v, missed %v; want %+v", got, b.missed("a"), want)
				}
				return
			}
			if whys := b.missed("a"); got.Digest != "" || len(whys) == 0 || last(whys) != c.why && (c.or == "" || last(whys) != c.or) {
				t.Errorf("%+v, missed %v; want %s", got, whys, c.why)
			}
		})
	}
}

func last(whys []heartbeats.Why) heartbeats.Why { return whys[len(whys)-1] }

// The first number says nothing: a reporter that hangs serves one, too.
func TestOnlyWhatIsSeenToAdvanceCounts(t *testing.T) {
	b := newBench(t, long)
	target := b.serve("a", script(5, 5, 6))
	for i, want := range []bool{false, false, true} {
		b.round(target)
		if got := b.Heard(target.Pod); got.Advanced.IsZero() == want || got.Digest != target.Digest {
			t.Errorf("after answer %d: %+v", i+1, got)
		}
	}
	since := b.clock.Now()
	b.round(target)
	if got := b.Heard(target.Pod).Advanced; !got.Equal(since) {
		t.Errorf("advanced at %v, want %v", got, since)
	}
}

// Another certificate or address is another reporter: answers of the one before do not count for it.
func TestAReporterThatWasStartedAnew(t *testing.T) {
	b := newBench(t, long)
	b.round(b.serve("a", script(5)))
	again := b.serve("a", script(6, 7))
	b.round(again)
	if got := b.Heard(again.Pod); !got.Advanced.IsZero() {
		t.Errorf("the numbers of two processes were compared: %+v", got)
	}
	b.round(again)
	if got := b.Heard(again.Pod); got.Advanced.IsZero() {
		t.Errorf("%+v", got)
	}
	b.round()
	if got := b.Heard(again.Pod); got != (view.Heartbeat{}) {
		t.Errorf("a member that is gone is remembered: %+v", got)
	}
}

// A reporter makes a certificate at each start, and its address stays: a client that is pinned to the former one would miss it for ever.
func TestAnotherCertificateAtTheSameAddress(t *testing.T) {
	b := newBench(t, long)
	now := b.serve("a", script(1, 2, 3))
	before := now
	before.Fingerprint = "0000000000000000000000000000000000000000000000000000000000000000"
	b.round(before)
	b.round(now)
	b.round(now)
	if got := b.Heard(now.Pod); got.Advanced.IsZero() || len(b.missed("a")) != 1 {
		t.Errorf("%+v, missed %v", got, b.missed("a"))
	}
	b.round(before)
	if got := b.Heard(now.Pod); !got.Advanced.IsZero() || len(b.missed("a")) != 2 {
		t.Errorf("another certificate: %+v, missed %v", got, b.missed("a"))
	}
}

// No slow member can hold up the loop: Ask returns while a hundred members and more hang, and the others are heard round after round.
func TestMembersThatHangHoldUpNobody(t *testing.T) {
	b := newBench(t, long)
	release, hang := make(chan struct{}), atomic.Bool{}
	sick := b.serve("sick", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hang.Load() {
			<-release
		}
		http.NotFound(w, r)
	}))
	var heard atomic.Int64
	well := b.serve("well", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", `"`+api.ReportDigest(row)+`"`)
		w.Header().Set(heartbeat.Header, fmt.Sprint(heard.Add(1)))
		w.WriteHeader(http.StatusNotModified)
	}))
	var all []heartbeats.Target
	for i := range 150 {
		sick.Pod.Name = fmt.Sprintf("sick-%d", i)
		all = append(all, sick)
	}
	all = append(all, well)
	b.round(all...)
	hang.Store(true)
	for range 10 {
		b.clock.Step(view.Interval)
		// It is asked again only when its earlier answer has been taken.
		for was := heard.Load(); heard.Load() < was+2; runtime.Gosched() {
			b.Ask(t.Context(), all)
		}
	}
	if got := b.Heard(well.Pod); b.clock.Since(got.Advanced) > view.Interval || got.Digest != well.Digest {
		t.Errorf("%+v, now %v", got, b.clock.Now())
	}
	close(release)
	b.Wait()
	if whys := b.missed("sick-149"); len(whys) != 2 {
		t.Errorf("a member that hung was asked again before it had answered: missed %v", whys)
	}
}
