// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestReasonsAreStableAndRanked(t *testing.T) {
	want := []words.Code{
		"SplitCluster", "DataDirectoryUnusable", "ForeignVolume", "HostIDShared", "ClaimDeleting", "DecommissionLabel", "DecommissionStuck", "ScyllaDBHalted", "ForceValueInvalid", "ReplaceRequestInvalid", "LabelMissing", "VolumeUnreadable", "VersionTooOld", "Isolated", "ControllerSilent",
		"ReportMissing", "ReplacedNodeUp", "PodToBeReplaced", "NodeDown", "NoOtherSeed", "SeedsOfAnotherCluster", "ReportOutdated", "OperatorDegraded", "RolloutInProgress", "PodsNotReady",
		"FirstNodePending", "OneNewcomerAtATime", "ReporterSilent", "RowError", "RowMissing", "HostIDMissing", "RowStale", "NodeUnknown", "NodeNotSeen", "DatacenterNotVerified",
		"PermitForOther", "ViewHeld", "PermitPending", "Stabilising",
	}
	if diff := cmp.Diff(want, Reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if got := Rank("Else"); got != len(want) {
		t.Errorf("an unknown reason has rank %d, want the last", got)
	}
}

func TestBlockerTexts(t *testing.T) {
	tests := map[string]struct {
		b    Blocker
		want string
	}{
		"report missing":    {Blocker{Reason: words.ReportMissing, Detail: "demo-rack2-0 has joined"}, "no status report exists, but the cluster is not new: demo-rack2-0 has joined"},
		"force":             {Blocker{Reason: words.ForceValueInvalid, Observed: memberA, Detail: "yes"}, `annotation scylla-operator.scylladb.com/force-proceed-to-bootstrap on the Service of demo-rack1-0 is "yes"; only "true" skips the barrier`},
		"replace":           {Blocker{Reason: words.ReplaceRequestInvalid, Observed: memberA}, "the node that demo-rack1-0 replaces is unknown"},
		"label":             {Blocker{Reason: words.LabelMissing, Observed: Ref{Member: "demo-0"}, Detail: "label scylla/rack is missing"}, "the position of demo-0 in the cluster is unknown: label scylla/rack is missing"},
		"data directory":    {Blocker{Reason: words.DataDirectoryUnusable, Observed: memberA, Detail: "it was decommissioned"}, "the data directory of demo-rack1-0 cannot be reused: it was decommissioned"},
		"controller silent": {Blocker{Reason: words.ControllerSilent, Detail: "Lease x/y", Since: ago(90 * time.Minute)}, "no response from the controller for 1h30m: Lease x/y"},
		"unheard of":        {Blocker{Reason: "Else", Detail: "x"}, "Else: x"},
		"days":              {Blocker{Reason: words.NodeDown, Observer: memberA, Observed: memberB, Since: ago(50 * time.Hour)}, "demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN for 2d2h"},
		"clocks that disagree give no negative age": {Blocker{Reason: words.NodeDown, Observer: memberA, Observed: memberB, Since: ago(-time.Hour)}, "demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN for 0s"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := words.Aging(tc.b.Message(), tc.b.Since, now); got != tc.want {
				t.Errorf("Text = %q, want %q", got, tc.want)
			}
		})
	}
	b := Blocker{Reason: words.NodeDown, Observer: memberA, Observed: memberB, Since: ago(time.Hour)}
	if got, want := words.Aging(b.Message(), b.Since, time.Time{}), "demo-rack1-0 (8ebd0fc0) sees demo-rack2-0 (35d0f1aa) DOWN"; got != want {
		t.Errorf("without a clock: %q, want %q", got, want)
	}
}

func TestRefNames(t *testing.T) {
	seven := int32(7)
	tests := map[string]struct {
		r            Ref
		name, string string
	}{
		"member with host ID":   {memberA, "demo-rack1-0", "demo-rack1-0 (8ebd0fc0)"},
		"member without":        {Ref{Member: "m"}, "m", "m"},
		"place":                 {Ref{Datacenter: "dc1", Rack: "r", Ordinal: &seven, HostID: "abc"}, "dc1/r/7", "dc1/r/7 (abc)"},
		"ordinal alone":         {Ref{Ordinal: &seven}, "?/?/7", "?/?/7"},
		"host ID alone in full": {Ref{HostID: idA, Datacenter: "dc1"}, "host ID " + idA, "host ID " + idA},
		"nothing":               {Ref{}, "a node without a name", "a node without a name"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.r.Name() != tc.name || tc.r.String() != tc.string {
				t.Errorf("got %q and %q, want %q and %q", tc.r.Name(), tc.r.String(), tc.name, tc.string)
			}
		})
	}
}

func TestWordsOfTheWire(t *testing.T) {
	for _, s := range []Status{Up, Down} {
		if got := ParseStatus(s.String()); got != s {
			t.Errorf("ParseStatus(%q) = %v", s, got)
		}
	}
	for _, text := range []string{"", "up", "Up", " UP", "UP ", "UN", "DN", "MISSING", "UNKNOWN", "down"} {
		if got := ParseStatus(text); got != Unknown {
			t.Errorf("ParseStatus(%q) = %v, want UNKNOWN", text, got)
		}
	}
	if Unknown.String() != "UNKNOWN" || Missing.String() != "MISSING" || Status(9).String() != "UNKNOWN" {
		t.Error("words of statuses that are not UP or DOWN")
	}
	for s := StateNormal; s <= StateDecommissioned; s++ {
		if got := ParseState(s.String()); got != s {
			t.Errorf("ParseState(%q) = %v", s, got)
		}
	}
	if ParseState("joining") != StateNormal || ParseState("") != StateNormal || State(99).String() != "NORMAL" {
		t.Error("an unknown state must relax nothing")
	}
	var zero Status
	if zero != Unknown {
		t.Error("the zero status must be UNKNOWN")
	}
}

func TestGroupBlockers(t *testing.T) {
	down := func(observer Ref, since time.Duration, more int) Blocker {
		return Blocker{Reason: words.NodeDown, Observer: observer, Observed: memberC, Since: ago(since), Step: words.New("StartIt"), More: more}
	}
	tests := map[string]struct {
		blockers []Blocker
		want     []string
		total    int
	}{
		"nothing": {},
		"one is said as it is": {
			blockers: []Blocker{down(memberA, time.Second, 0)}, total: 1,
			want: []string{"demo-rack1-0 (8ebd0fc0) sees demo-rack3-0 (1ffac2bb) DOWN for 1s"},
		},
		"two see one DOWN, since the later": {
			blockers: []Blocker{down(memberA, time.Second, 0), down(memberB, time.Minute, 0)}, total: 2,
			want: []string{"demo-rack3-0 (1ffac2bb) is seen DOWN for 1s by demo-rack1-0, demo-rack2-0"},
		},
		"many are counted, those that are not listed too": {
			blockers: []Blocker{down(memberA, 0, 0), down(memberB, 0, 0), down(memberC, 0, 0), down(member("rack1", 1, "x"), 0, 871)}, total: 875,
			want: []string{"demo-rack3-0 (1ffac2bb) is seen DOWN for 0s by demo-rack1-0, demo-rack2-0, demo-rack3-0 and 872 more"},
		},
		"reasons and observed nodes stay apart": {
			blockers: []Blocker{
				{Reason: words.NodeUnknown, Observer: memberA, Observed: memberB}, {Reason: words.NodeUnknown, Observer: memberC, Observed: memberB},
				{Reason: words.NodeNotSeen, Observer: memberA, Observed: memberB}, {Reason: words.NodeNotSeen, Observer: memberC, Observed: memberB},
				{Reason: words.HostIDMissing, Observer: memberA}, {Reason: words.HostIDMissing, Observer: memberC},
				{Reason: words.HostIDMissing, Observed: Ref{Member: "m-0"}}, {Reason: words.HostIDMissing, Observed: Ref{Member: "m-1"}},
				{Reason: words.RowError, Observed: memberA, Detail: "x"}, {Reason: words.RowError, Observed: memberA, Detail: "y"},
				{Reason: words.RowError, Observed: memberA, Detail: "x"},
			}, total: 11,
			want: []string{
				"demo-rack2-0 (35d0f1aa) is reported as UNKNOWN by demo-rack1-0, demo-rack3-0",
				"demo-rack2-0 (35d0f1aa) is not listed by demo-rack1-0, demo-rack3-0",
				"a node without a host ID is listed by demo-rack1-0, demo-rack3-0",
				"the host ID of m-0 is unknown",
				"the host ID of m-1 is unknown",
				"no usable status report from demo-rack1-0 (8ebd0fc0): x (2 times)",
				"no usable status report from demo-rack1-0 (8ebd0fc0): y",
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			groups, total := GroupBlockers(tc.blockers)
			var got []string
			sum := 0
			for _, g := range groups {
				got = append(got, words.Aging(g.Message(), g.Since, now))
				sum += g.Count()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if total != tc.total || sum != tc.total {
				t.Errorf("total %d, sum of groups %d, want %d", total, sum, tc.total)
			}
		})
	}
}

func TestSortBlockers(t *testing.T) {
	want := []Blocker{
		{Reason: words.DataDirectoryUnusable, Observed: memberC},
		{Reason: words.NodeDown, Observer: memberA, Observed: memberB},
		{Reason: words.NodeDown, Observer: memberC, Observed: memberB},
		{Reason: words.NodeDown, Observer: memberA, Observed: memberC},
		{Reason: words.RowMissing, Observed: memberA},
		{Reason: words.DatacenterNotVerified, Observed: Ref{Datacenter: "dc2"}},
		{Reason: "AnElse"},
		{Reason: "Else", Detail: "a"},
		{Reason: "Else", Detail: "b"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	SortBlockers(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestBlockerJSON(t *testing.T) {
	b := Blocker{Reason: words.NodeDown, Observer: Ref{HostID: "a"}, Observed: Ref{HostID: "b", Member: "m-0"}, Since: now}
	got, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"reason":"NodeDown","observer":{"hostID":"a"},"observed":{"hostID":"b","member":"m-0"},"since":"2026-11-21T12:00:00Z"}`
	if string(got) != want {
		t.Errorf("JSON %s, want %s", got, want)
	}
}
