// SPDX-License-Identifier: Apache-2.0

package barrier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
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
