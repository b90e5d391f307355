// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view/healthpolicy"
)

func stamped(epoch, seq int64) *api.StatusReportView {
	return &api.StatusReportView{Epoch: epoch, Seq: seq}
}

// Which view that is handed on is taken, after 1.41 was, 3 seconds old.
func TestWhichRelayedViewIsAdopted(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		v       *api.StatusReportView
		age     time.Duration
		adopted bool
		want    time.Duration
	}{
		"a newer one":                            {stamped(1, 42), time.Second, true, time.Second},
		"a newer one, and ten minutes old there": {stamped(1, 42), 10 * time.Minute, true, 10 * time.Minute},
		"one of a later term":                    {stamped(2, 1), 0, true, 0},
		"an older one is not":                    {stamped(1, 40), 0, false, 3 * time.Second},
		"one of an earlier term is not":          {stamped(0, 900), 0, false, 3 * time.Second},
		"an equal one is not":                    {stamped(1, 41), 3 * time.Second, false, 3 * time.Second},
		"an equal one makes it no younger":       {stamped(1, 41), 0, false, 3 * time.Second},
		"an equal one makes it no older":         {stamped(1, 41), time.Hour, false, 3 * time.Second},
		"one from the future is not":             {stamped(9, 9), -time.Second, false, 3 * time.Second},
		"none is not":                            {nil, 0, false, 3 * time.Second},
	} {
		var r view.Relayed
		if !r.Adopt(stamped(1, 41), 3*time.Second, at) {
			t.Fatal("the first one is not adopted")
		}
		if got := r.Adopt(c.v, c.age, at); got != c.adopted {
			t.Errorf("%s: adopted %v", name, got)
		}
		if _, age := r.Newest(at); age != c.want {
			t.Errorf("%s: %v old, want %v", name, age, c.want)
		}
	}
}

// A relayed view speaks against a start only where it is newer than what the API server has, and for as long as it is fresh.
func TestWhenARelayedViewSpeaksAgainstAStart(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		direct *api.StatusReportView
		after  time.Duration
		want   bool
	}{
		"the API server has an older one":         {stamped(1, 40), 0, true},
		"the API server has none":                 {nil, 0, true},
		"the API server has the same":             {stamped(1, 41), 0, false},
		"the API server has a newer one":          {stamped(1, 42), 0, false},
		"the API server has one of a later term":  {stamped(2, 1), 0, false},
		"it was handed on as long ago as it may":  {stamped(1, 40), healthpolicy.ViewLimit - 3*time.Second, true},
		"it was handed on longer ago than it may": {stamped(1, 40), healthpolicy.ViewLimit - 2*time.Second, false},
	} {
		var r view.Relayed
		r.Adopt(stamped(1, 41), 3*time.Second, at)
		if got := r.Against(c.direct, at.Add(c.after), healthpolicy.ViewLimit) != nil; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if v := new(view.Relayed).Against(nil, at, healthpolicy.ViewLimit); v != nil {
		t.Errorf("nothing was handed on: %+v", v)
	}
}

// However views are handed on, the newest never goes back, and between two of them it only grows older.
func TestARelayedViewNeverGoesBackAndOnlyGrowsOlder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
		var r view.Relayed
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			step := time.Duration(rapid.IntRange(0, 5).Draw(t, "step")) * time.Second
			before, was := r.Newest(now)
			now = now.Add(step)
			v := stamped(rapid.Int64Range(1, 3).Draw(t, "epoch"), rapid.Int64Range(1, 5).Draw(t, "seq"))
			adopted := r.Adopt(v, time.Duration(rapid.IntRange(0, 60).Draw(t, "age"))*time.Second, now)
			after, is := r.Newest(now)
			if view.StampOf(before).Newer(view.StampOf(after)) {
				t.Fatalf("from %v to %v", view.StampOf(before), view.StampOf(after))
			}
			if !adopted && before != nil && is != was+step {
				t.Fatalf("%v old, and %v later %v", was, step, is)
			}
		}
	})
}

// A relayed view of a deleted report blocks no start.
func TestARelayedViewOfAFormerReportIsForgotten(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	var r view.Relayed
	r.Of("report-1")
	r.Adopt(stamped(9, 900), 0, at)
	if r.Of("report-1"); r.Against(stamped(1, 1), at, healthpolicy.ViewLimit) == nil {
		t.Error("the same report has lost its view")
	}
	if r.Of("report-2"); r.Against(stamped(1, 1), at, healthpolicy.ViewLimit) != nil || r.Report() != "report-2" {
		t.Error("a view of a report that was deleted speaks against a start")
	}
}
