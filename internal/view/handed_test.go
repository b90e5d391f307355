// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

// A view that is handed on carries its age: a view may be new to the receiver and ten minutes old where it comes from.
func TestARelayedViewCarriesItsAge(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	of := func(epoch, seq int64) *api.StatusReportView { return &api.StatusReportView{Epoch: epoch, Seq: seq} }
	var r view.Receiver
	if !r.Handed(of(1, 41), 10*time.Minute, at) {
		t.Error("the first one is no news")
	}
	if age, ok := r.Age(at.Add(time.Second)); !ok || age != 10*time.Minute+time.Second {
		t.Errorf("%v %v", age, ok)
	}
	for name, c := range map[string]struct {
		v    *api.StatusReportView
		age  time.Duration
		news bool
		want time.Duration
	}{
		"the same, younger":                   {of(1, 41), time.Second, false, time.Second},
		"the same, older: it is known better": {of(1, 41), time.Hour, false, 10 * time.Minute},
		"an older one, however young":         {of(1, 40), 0, false, 10 * time.Minute},
		"a newer one, however old":            {of(1, 42), time.Hour, true, time.Hour},
		"one of a later term":                 {of(2, 1), 0, true, 0},
		"none":                                {nil, 0, false, 10 * time.Minute},
		"one from the future":                 {of(9, 9), -time.Second, false, 10 * time.Minute},
	} {
		r := r
		if news := r.Handed(c.v, c.age, at); news != c.news {
			t.Errorf("%s: news %v", name, news)
		}
		if age, ok := r.Age(at); !ok || age != c.want {
			t.Errorf("%s: %v old (%v), want %v", name, age, ok, c.want)
		}
	}
}

// However views arrive, none goes back, and none is younger than a relay reported.
func TestHandedViewsNeverGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
		var r view.Receiver
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "step")) * time.Second)
			v := &api.StatusReportView{Epoch: rapid.Int64Range(1, 3).Draw(t, "epoch"), Seq: rapid.Int64Range(1, 5).Draw(t, "seq")}
			age := time.Duration(rapid.IntRange(0, 60).Draw(t, "age")) * time.Second
			was := view.StampOf(r.Latest())
			before, known := r.Age(now)
			news := r.Handed(v, age, now)
			if is := view.StampOf(r.Latest()); was.Newer(is) || news != is.Newer(was) {
				t.Fatalf("from %v to %v, news %v", was, is, news)
			}
			if after, ok := r.Age(now); !ok || news && after != age || !news && known && after > before || !news && after < min(before, age) {
				t.Fatalf("%v old, before %v, said %v", after, before, age)
			}
		}
	})
}
