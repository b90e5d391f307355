// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/view"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

var genView = rapid.Custom(func(t *rapid.T) *api.StatusReportView {
	return &api.StatusReportView{Epoch: rapid.Int64Range(1, 3).Draw(t, "epoch"), Seq: rapid.Int64Range(1, 6).Draw(t, "seq")}
})

// Views arrive twice, in another order, or not at all: the latest is always the newest that arrived, and never goes back.
func TestNoViewGoesBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r view.Receiver
		var newest view.Stamp
		now := start
		for _, v := range rapid.SliceOfN(genView, 1, 30).Draw(t, "messages") {
			now = now.Add(time.Second)
			before := view.StampOf(r.Latest())
			adopted := r.Adopt(v, now)
			s := view.StampOf(v)
			if s.Newer(newest) {
				newest = s
			}
			if adopted != s.Newer(before) {
				t.Fatalf("%v after %v: adopted is %v", s, before, adopted)
			}
			if got := view.StampOf(r.Latest()); got != newest {
				t.Fatalf("the latest is %v and the newest that arrived %v", got, newest)
			}
			if age, known := r.Age(now); adopted && known != (before != view.Stamp{}) || adopted && known && age != 0 {
				t.Fatalf("after %v the age of %v is %v, %v", before, s, age, known)
			}
		}
	})
}

// Age is since the latest view was seen to be the newest; one that was only ever found has none.
func TestTheAgeOfAView(t *testing.T) {
	var r view.Receiver
	v := &api.StatusReportView{Epoch: 2, Seq: 5}
	r.Adopt(v, start)
	r.Adopt(v, start.Add(time.Second)) // equal is not newer
	if age, known := r.Age(start.Add(time.Minute)); known {
		t.Errorf("a view that was never seen to advance has the age %v", age)
	}
	r.Confirm(view.Stamp{Epoch: 2, Seq: 4}, start.Add(time.Minute))
	if _, known := r.Age(start.Add(time.Minute)); known {
		t.Error("it was confirmed by the stamp of another view")
	}
	r.Confirm(view.StampOf(v), start.Add(time.Minute))
	if age, known := r.Age(start.Add(time.Minute + 3*time.Second)); !known || age != 3*time.Second {
		t.Errorf("three seconds after its confirmation the age is %v, %v", age, known)
	}
	if r.Adopt(&api.StatusReportView{Epoch: 1, Seq: 900}, start.Add(time.Hour)) {
		t.Error("a view of a former epoch was adopted")
	}
}

var genLook = rapid.SampledFrom([]view.Look{view.Missed, view.Heard, view.SaidDown, view.Trails})

// The state is what the last looks say: DOWN at once, UNKNOWN after three that heard nothing, UP after two in a row that did; and nothing else changes it.
func TestDebounce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d view.Debounced
		if d.State() != api.NodeStatusUnknown {
			t.Fatalf("before any look it is %s", d.State())
		}
		looks := rapid.SliceOfN(genLook, 1, 40).Draw(t, "looks")
		// in a row, of the same kind, up to look i
		run := func(i int) int {
			n := 1
			for ; n <= i && looks[i-n] == looks[i]; n++ {
			}
			return n
		}
		// looks in a row, up to look i, that did not hear it well
		silent := func(i int) int {
			n := 0
			for ; n <= i && (looks[i-n] == view.Missed || looks[i-n] == view.Trails); n++ {
			}
			return n
		}
		for i, l := range looks {
			was, since := d.State(), d.DownSince()
			now := start.Add(time.Duration(i) * view.Interval)
			d = d.Next(l, now, view.MissedLimit)
			want := was
			switch {
			case l == view.SaidDown:
				want = api.NodeStatusDown
			case l == view.Heard && run(i) >= view.RecoveryLimit:
				want = api.NodeStatusUp
			case l == view.Trails && run(i) >= view.TrailingLimit, silent(i) >= view.MissedLimit:
				want = api.NodeStatusUnknown
			}
			if d.Trailing() && (want != api.NodeStatusUnknown || !slices.Contains(looks[:i+1], view.Trails)) {
				t.Fatalf("look %d of %v: %s because it is behind", i, looks, want)
			}
			if d.State() != want {
				t.Fatalf("look %d of %v: %s, want %s", i, looks, d.State(), want)
			}
			switch {
			case want != api.NodeStatusDown && !d.DownSince().IsZero():
				t.Fatalf("%s since %v", want, d.DownSince())
			case want == api.NodeStatusDown && was == want && !d.DownSince().Equal(since):
				t.Fatalf("DOWN since %v became %v", since, d.DownSince())
			case want == api.NodeStatusDown && was != want && !d.DownSince().Equal(now):
				t.Fatalf("DOWN since %v, want %v", d.DownSince(), now)
			}
		}
	})
}

// A controller that takes over keeps since when a member is DOWN, and takes over no UP.
func TestTakingOver(t *testing.T) {
	at := api.StatusReportViewMember{State: api.NodeStatusDown, DownSince: &metav1.Time{Time: start}}
	d := view.Restored(at)
	if d.State() != api.NodeStatusDown || !d.DownSince().Equal(start) {
		t.Errorf("a member that was DOWN since %v is %s since %v", start, d.State(), d.DownSince())
	}
	if d = d.Next(view.SaidDown, start.Add(time.Hour), view.MissedLimit); !d.DownSince().Equal(start) {
		t.Errorf("an hour later it is DOWN since %v", d.DownSince())
	}
	for _, state := range []api.NodeStatus{api.NodeStatusUp, api.NodeStatusUnknown, "", "up"} {
		if got := view.Restored(api.StatusReportViewMember{State: state}).State(); got != api.NodeStatusUnknown {
			t.Errorf("a member that was %q is %s before it was heard of", state, got)
		}
	}
}

// A report that was deleted and made anew begins a new order, however low it counts. A late view of a report that another one has followed, or that was created before the
// latest one, is never taken, and no view of the new one has an age before it was seen to advance.
func TestAReportThatIsMadeAnewBeginsANewOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r view.Receiver
		now, newest := start, view.Stamp{}
		created := map[types.UID]time.Time{} // c is not known
		for i, from := range rapid.Permutation([]types.UID{"a", "b", "d"}).Draw(t, "created") {
			created[from] = start.Add(time.Duration(i) * time.Hour)
		}
		var is types.UID
		former := map[types.UID]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			now = now.Add(time.Second)
			from := types.UID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "report"))
			v := genView.Draw(t, "view")
			taken, earlier := r.Of(from, created[from]), !created[from].IsZero() && created[from].Before(created[is])
			if taken == (former[from] || earlier) {
				t.Fatalf("a view of report %s is taken: %v; it is a former one: %v; it was created before %s: %v", from, taken, former[from], is, earlier)
			}
			before := view.StampOf(r.Latest())
			if taken && from != is {
				former[is], is, newest = is != "", from, view.Stamp{}
				if r.Latest() != nil {
					t.Fatalf("report %s begins with view %v of another one", from, before)
				}
			}
			if taken && r.Adopt(v, now) {
				newest = view.StampOf(v)
			}
			if got := view.StampOf(r.Latest()); got != newest || r.Report() != is || got != before && !got.Newer(before) {
				t.Fatalf("view %v of %s, want %v of %s", got, r.Report(), newest, is)
			}
			if _, known := r.Age(now); known && before == (view.Stamp{}) {
				t.Fatalf("the first view of report %s has an age", is)
			}
		}
	})
}
