// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

const (
	hostA = "aaaaaaaa-0000-4000-8000-000000000001"
	hostB = "bbbbbbbb-0000-4000-8000-000000000002"
	hostC = "cccccccc-0000-4000-8000-000000000003"
)

var t0 = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// known is a State whose annotation was read as row at t0, to be checked again after a minute.
func known(row string) *State {
	s := &State{}
	s.Read(row, t0.Add(time.Minute))
	s.Restore()
	return s
}

func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*State)
		row    string
		after  time.Duration
		want   Action
		// unwritten is true if the row counts as unwritten afterwards.
		unwritten bool
	}{
		"unchanged":                                {nil, "a", time.Second, Rest, false},
		"unchanged for a minute":                   {nil, "a", time.Minute, Check, false},
		"changed":                                  {nil, "b", time.Second, Write, false},
		"written meanwhile":                        {func(s *State) { s.Wrote("b") }, "b", time.Second, Rest, false},
		"the API server refused a moment ago":      {func(s *State) { s.Failed(t0) }, "b", time.Second - 1, Rest, true},
		"it refused a second ago":                  {func(s *State) { s.Failed(t0) }, "b", time.Second, Write, true},
		"it refused, and the row is as it was":     {func(s *State) { s.Failed(t0) }, "a", time.Second - 1, Rest, false},
		"it refused, and the reporter is stopped":  {func(s *State) { s.Failed(t0); s.Hurry() }, "b", 0, Write, true},
		"a write may arrive, and the row is new":   {func(s *State) { s.Doubt(t0) }, "b", Late - 1, ReadBack, false},
		"a write may arrive, and the row is as it": {func(s *State) { s.Doubt(t0) }, "a", Late - 1, ReadBack, false},
		"it can no longer arrive":                  {func(s *State) { s.Doubt(t0) }, "b", Late, Write, false},
		"a check failed":                           {func(s *State) { s.Unchecked(t0) }, "a", MaxBackoff - 1, Rest, false},
		"a check failed a while ago":               {func(s *State) { s.Unchecked(t0) }, "a", MaxBackoff, Check, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := known("a")
			if tc.before != nil {
				tc.before(s)
			}
			if got := s.Next(tc.row, t0.Add(tc.after)); got != tc.want || s.Unwritten().IsZero() == tc.unwritten {
				t.Errorf("%d, unwritten since %v; want %d", got, s.Unwritten(), tc.want)
			}
		})
	}
}

// A process that was started again keeps the times in the annotation, and the last complete row.
func TestRestore(t *testing.T) {
	down := func(since *metav1.Time) []api.ObservedNodeStatusReport {
		return []api.ObservedNodeStatusReport{{HostID: hostB, Status: api.NodeStatusDown, Since: since}, {HostID: hostC, Status: api.NodeStatusUp}}
	}
	old := metav1.NewTime(t0.Add(-time.Hour))
	text, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{HostID: hostA, ObservedNodes: down(&old)})
	if err != nil {
		t.Fatal(err)
	}
	s := &State{}
	s.Read(text, t0)
	if s.Restored() || s.Restore() == nil || !s.Restored() {
		t.Error("not restored")
	}
	row := &api.NodeStatusReport{HostID: hostA, ObservedNodes: down(nil)}
	s.Stamp(row, t0)
	if diff := cmp.Diff(down(&old), row.ObservedNodes, cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })); diff != "" {
		t.Error(diff)
	}
	words := "connection refused"
	failed := &api.NodeStatusReport{Error: &words}
	if s.Keep(failed); failed.LastRow == nil || failed.LastRow.HostID != hostA {
		t.Errorf("last row %+v", failed.LastRow)
	}
	for name, text := range map[string]string{"no annotation": "", "not a row": "{"} {
		s := &State{}
		if s.Read(text, t0); s.Restore() != nil || !s.Restored() {
			t.Error(name)
		}
	}
}

func TestReady(t *testing.T) {
	const interval = 5 * time.Second
	at := func(ago time.Duration) time.Time { return t0.Add(-ago) }
	for name, tc := range map[string]struct {
		polled, unwritten time.Time
		want              bool
	}{
		"never polled":              {time.Time{}, time.Time{}, false},
		"polled":                    {at(3 * interval), time.Time{}, true},
		"polled too long ago":       {at(3*interval + 1), time.Time{}, false},
		"unwritten":                 {at(0), at(MaxUnwritten), true},
		"unwritten for too long":    {at(0), at(MaxUnwritten + 1), false},
		"neither polled nor writes": {at(time.Hour), at(time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Ready(tc.polled, tc.unwritten, t0, interval); got != tc.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// Whatever writes fail, are late or are lost: once they work again, and no late one can arrive any
// more, the annotation has the row within two checks, and the reporter is Ready.
func TestTheAnnotationIsBroughtToTheRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now, annotation := known("a"), t0, "a"
		var late []string
		step := func(row string, reads, writes bool) {
			now = now.Add(5 * time.Second)
			act := s.Next(row, now)
			if act == Check || act == ReadBack {
				switch {
				case reads:
					s.Read(annotation, now.Add(time.Minute))
				case act == Check:
					s.Unchecked(now)
					return
				default:
					s.Failed(now)
					return
				}
				if s.Has(row) {
					return
				}
				act = Write
			}
			switch {
			case act != Write:
			case writes:
				annotation = row
				s.Wrote(row)
			default:
				late = append(late, row)
				s.Doubt(now)
				s.Failed(now)
			}
		}
		for range rapid.IntRange(0, 20).Draw(t, "polls") {
			step(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "row"), rapid.Bool().Draw(t, "reads"), rapid.Bool().Draw(t, "writes"))
			if len(late) > 0 && rapid.Bool().Draw(t, "arrives") {
				annotation, late = late[0], late[1:]
			}
		}
		if len(late) > 0 { // the last moment in which one can arrive
			annotation = late[len(late)-1]
		}
		for end := now.Add(Late + 2*time.Minute); now.Before(end); {
			step("d", true, true)
		}
		if annotation != "d" || !Ready(now, s.Unwritten(), now, 5*time.Second) {
			t.Errorf("the annotation is %q, unwritten since %v", annotation, s.Unwritten())
		}
	})
}
