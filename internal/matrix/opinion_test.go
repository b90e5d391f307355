// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func witnessRow(id string, cells ...Observation) Row {
	return Row{Reporter: Ref{HostID: hostid.ID(id)}, Reported: true, Observed: cells}
}

func seenAs(id string, s Status) Observation { return Observation{HostID: hostid.ID(id), Status: s} }

func TestOpinion(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	down := func(ago time.Duration) Observation {
		return Observation{HostID: "x", Status: Down, Since: at.Add(-ago)}
	}
	for name, tc := range map[string]struct {
		rows []Row
		want string // up/down/unknown/not listed/contradict
		down bool
		ago  time.Duration // of DownSince, negative: not known
	}{
		"nobody":      {nil, "0/0/0/0/0", false, -1},
		"all DOWN":    {[]Row{witnessRow("a", down(3)), witnessRow("b", down(1)), witnessRow("c", down(2))}, "0/3/0/0/0", true, 2},
		"half DOWN":   {[]Row{witnessRow("a", down(3)), witnessRow("b", seenAs("x", Unknown))}, "0/1/1/0/0", false, -1},
		"since never": {[]Row{witnessRow("a", seenAs("x", Down)), witnessRow("b", down(1)), witnessRow("c", seenAs("x", Down))}, "0/3/0/0/0", true, -1},
		"its own row is no witness": {[]Row{witnessRow("a", down(1)), witnessRow("x", seenAs("x", Up))},
			"0/1/0/0/0", true, 1},
		"old, broken, empty and missing rows say nothing": {[]Row{
			{Reporter: Ref{HostID: "a"}, Reported: true, Stale: Trouble{Code: words.PodGone}, Observed: []Observation{seenAs("x", Up)}},
			{Reporter: Ref{HostID: "b"}, Reported: true, Trouble: Trouble{Code: words.ScyllaDBNoAnswer}, Observed: []Observation{seenAs("x", Up)}},
			{Reporter: Ref{HostID: "c"}, Reported: true}, {Reporter: Ref{HostID: "d"}},
			witnessRow("e", down(1)),
		}, "0/1/0/0/0", true, 1},
		"a row that contradicts itself":       {[]Row{witnessRow("a", down(1), seenAs("x", Up)), witnessRow("b", down(1))}, "0/1/1/0/1", false, -1},
		"two rows of one host ID, one vote":   {[]Row{witnessRow("a", down(1)), witnessRow("a", down(2)), witnessRow("b", seenAs("x", Up))}, "1/1/0/0/0", false, -1},
		"two rows of one host ID, at odds":    {[]Row{witnessRow("a", down(1)), witnessRow("a", seenAs("x", Up))}, "0/0/1/0/1", false, -1},
		"an old second row is not a word":     {[]Row{witnessRow("a", down(1)), {Reporter: Ref{HostID: "a"}, Reported: true, Stale: Trouble{Code: words.PodGone}, Observed: []Observation{seenAs("x", Up)}}}, "0/1/0/0/0", true, 1},
		"listed by some":                      {[]Row{witnessRow("a", down(1)), witnessRow("b", seenAs("a", Up))}, "0/1/0/1/0", false, -1},
		"listed in one of two rows, one vote": {[]Row{witnessRow("a", down(1)), witnessRow("a", seenAs("a", Up))}, "0/0/1/0/1", false, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := New(tc.rows, Options{}).Opinion("x")
			if got := fmt.Sprintf("%d/%d/%d/%d/%d", len(o.Up), len(o.Down), len(o.Unknown), len(o.NotListed), len(o.Contradict)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if o.MajorityDown() != tc.down {
				t.Errorf("majority DOWN %v", o.MajorityDown())
			}
			since, known := o.DownSince()
			if known != (tc.ago >= 0) || known && !since.Equal(at.Add(-tc.ago)) {
				t.Errorf("DOWN since %s (known %v)", since, known)
			}
		})
	}
}

func TestOpinionHasTheStates(t *testing.T) {
	t.Parallel()
	m := New([]Row{
		witnessRow("a", Observation{HostID: "x", Status: Up, State: StateJoining}), witnessRow("b", seenAs("x", Up)),
		witnessRow("c", seenAs("x", Up), Observation{HostID: "x", Status: Up, State: StateReplacing}), witnessRow("d", seenAs("a", Up)),
	}, Options{})
	got := map[State]string{}
	for s, by := range m.Opinion("x").States {
		for _, i := range by {
			got[s] += string(m.Nodes()[i].HostID)
		}
	}
	if diff := cmp.Diff(map[State]string{StateJoining: "a", StateNormal: "bc"}, got); diff != "" {
		// Within one row two states come to none: a state that is not sure excuses nothing.
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every witness is counted once, the order of rows does not matter, and no majority is DOWN that is not in the rows.
func TestOpinionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{"a", "b", "c", "d", "x"}
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Row {
			r := Row{Reporter: Ref{HostID: hostid.ID(rapid.SampledFrom(ids).Draw(t, "id"))}, Reported: true}
			for range rapid.IntRange(0, 4).Draw(t, "cells") {
				r.Observed = append(r.Observed, seenAs(rapid.SampledFrom(ids).Draw(t, "of"), Status(rapid.IntRange(0, 2).Draw(t, "status"))))
			}
			if rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
				r.Stale = Trouble{Code: words.PodGone}
			}
			return r
		}), 0, 8).Draw(t, "rows")
		o := New(rows, Options{}).Opinion("x")
		says := map[string]map[Status]bool{}
		for _, r := range rows {
			if !r.Stale.IsZero() || len(r.Observed) == 0 || r.Reporter.HostID == "x" {
				continue
			}
			if says[string(r.Reporter.HostID)] == nil {
				says[string(r.Reporter.HostID)] = map[Status]bool{}
			}
			listed := false
			for _, c := range r.Observed {
				if c.HostID == "x" {
					listed = true
					says[string(r.Reporter.HostID)][c.Status] = true
				}
			}
			if !listed {
				says[string(r.Reporter.HostID)][Missing] = true
			}
		}
		down, up := 0, 0
		for _, s := range says {
			if len(s) == 1 && s[Down] {
				down++
			}
			if len(s) == 1 && s[Up] {
				up++
			}
		}
		if o.Total() != len(says) || len(o.Down) != down || len(o.Up) != up {
			t.Fatalf("%+v of %v", o, says)
		}
		if diff := cmp.Diff(o, New(rapid.Permutation(rows).Draw(t, "order"), Options{}).Opinion("x"), cmp.AllowUnexported(Opinion{})); diff != "" {
			t.Fatal(diff)
		}
	})
}
