// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestAttack9TheEventIsToldAgainWhileItBlocks: counted up each ten minutes, and written anew when the API server has forgotten it.
func TestAttack9TheEventIsToldAgainWhileItBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
		_, done := running(t, w)
		time.Sleep(65 * time.Minute)
		stillWaiting(t, done)
		events := w.events()
		if len(events) != 1 || events[0].Reason != EventWaiting || events[0].Series == nil || events[0].Series.Count < 6 || events[0].Series.Count > 8 {
			t.Fatalf("after 65 minutes: %+v", events)
		}
		if err := w.c.Delete(context.Background(), &events[0]); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Minute)
		stillWaiting(t, done)
		if events := w.events(); len(events) != 1 || events[0].Reason != EventWaiting {
			t.Errorf("after the API server has forgotten it: %+v", events)
		}
	})
}

// TestAttack9TheLogOfAFlappingClusterIsBounded: a node goes DOWN and comes back every four seconds.
func TestAttack9TheLogOfAFlappingClusterIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
		_, done := running(t, w)
		for i := range 900 {
			time.Sleep(4 * time.Second)
			r := allUp()
			w.update(r, func() {
				r.Racks = report(saw(idA, "UP", idB, "DOWN"), saw(idA, []string{"DOWN", "UP"}[i%2], idB, "UP")).Racks
			})
		}
		stillWaiting(t, done)
		log := w.logged()
		if len(log) > 500_000 || !strings.Contains(log, `"linesLeftOut":`) {
			t.Errorf("%d bytes in an hour, lines left out are said: %t", len(log), strings.Contains(log, `"linesLeftOut":`))
		}
	})
}

// TestTheBudgetHoldsWhateverIsLogged: large lines, every second, for three hours.
func TestTheBudgetHoldsWhateverIsLogged(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"a small line": "x", "a large one": strings.Repeat("x", 1500), "what is cut": strings.Repeat("é\n", 2*logLine)} {
		clk := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
		var out bytes.Buffer
		log := slog.New(newBudget(slog.NewJSONHandler(&out, nil), clk)).With("member", "demo-rack1-0")
		var last, total int
		for hour := range 3 {
			for range 3600 {
				clk.SetTime(clk.Now().Add(time.Second))
				log.Info("waiting: "+text, "blockers", []string{text, text}, "nextStep", text)
			}
			last = out.Len() - total
			total = out.Len()
			if last > 500_000 || last == 0 {
				t.Errorf("%s: %d bytes in hour %d", name, last, hour+1)
			}
		}
		if !strings.Contains(out.String(), `"linesLeftOut":`) {
			t.Errorf("%s: what was left out is not said", name)
		}
		out.Reset()
		clk.SetTime(clk.Now().Add(time.Hour))
		log.Info("waiting: now")
		if !strings.Contains(out.String(), "now") {
			t.Errorf("%s: after a quiet hour a line is left out", name)
		}
	}
}

// TestAttack9EventsOfAFlappingClusterAreAggregated: an Event tells of what has changed, ever more seldom, and soon again once it has been quiet.
func TestAttack9EventsOfAFlappingClusterAreAggregated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, append(peers(), byOperator(report(saw(idA, "UP", idB, "DOWN"), nil)))...)
		_, done := running(t, w)
		says := func(status string) {
			r := allUp()
			w.update(r, func() { r.Racks = report(saw(idA, "UP", idB, "DOWN"), saw(idA, status, idB, "UP")).Racks })
		}
		told := func() int {
			n := 0
			for _, e := range w.events() {
				n++
				if e.Series != nil {
					n += int(e.Series.Count) - 1
				}
			}
			return n
		}
		flaps := func(d time.Duration) {
			for i := range int(d / (7 * time.Second)) {
				says([]string{"DOWN", "UP"}[i%2])
				time.Sleep(7 * time.Second)
			}
		}
		flaps(time.Hour)
		stillWaiting(t, done)
		if n := told(); n < 5 || n > 12 {
			t.Errorf("%d times in an hour, at most each ten minutes once it goes on", n)
		}
		time.Sleep(25 * time.Minute)
		before := told()
		says("DOWN")
		time.Sleep(15 * time.Second)
		says("UP")
		time.Sleep(time.Minute)
		stillWaiting(t, done)
		if n := told(); n == before {
			t.Error("a change after a quiet time is not told within a minute")
		}
	})
}
