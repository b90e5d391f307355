// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestRow10AnotherGroup0ThanRecordedIsSplitCluster: a node of another group 0 than the recorded one is of another cluster, also where all of them are.
func TestRow10AnotherGroup0ThanRecordedIsSplitCluster(t *testing.T) {
	const one, two = "11111111-1111-1111-8111-111111111111", "22222222-2222-1222-8222-222222222222"
	told := func(a, b, c string) []Row {
		rows := three()
		said(&rows[0]).Group0ID, said(&rows[1]).Group0ID, said(&rows[2]).Group0ID = a, b, c
		return rows
	}
	led := func(rows []Row, leaders ...hostid.ID) []Row {
		for i := range rows {
			said(&rows[i]).Coordinator = leaders[i]
		}
		return rows
	}
	for name, tc := range map[string]struct {
		rows     []Row
		recorded string
		nodes    []string
		group0   string // that the matrix tells
	}{
		"nothing is recorded":                         {rows: told(one, one, one), group0: one},
		"the recorded one":                            {rows: told(one, one, one), recorded: one, group0: one},
		"nobody tells":                                {rows: told("", "", ""), recorded: one},
		"one tells":                                   {rows: told("", one, ""), recorded: one, group0: one},
		"all are of another":                          {rows: told(two, two, two), recorded: one, nodes: []string{"demo-rack1-0", "demo-rack2-0", "demo-rack3-0"}},
		"the one that tells is of another":            {rows: told("", two, ""), recorded: one, nodes: []string{"demo-rack2-0"}},
		"recovery: one leader, an older disk":         {rows: led(told(one, two, two), idC, idC, idC), recorded: one},
		"recovery: everybody has started since":       {rows: led(told(two, two, two), idC, idC, idC), recorded: one, nodes: []string{"demo-rack1-0", "demo-rack2-0", "demo-rack3-0"}},
		"a leader that no node of the recorded knows": {rows: led(told("", two, two), "", idC, idC), recorded: one, nodes: []string{"demo-rack2-0", "demo-rack3-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(tc.rows, Options{Namespace: "demo", Identity: tc.recorded})
			var nodes []string
			if m.SplitFact().Code == words.OtherGroupThanRecorded {
				nodes, _ = m.SplitFact().Params["nodes"].([]string)
			}
			if diff := cmp.Diff(tc.nodes, nodes); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if blocked := len(m.Blockers()) > 0 && m.Blockers()[0].Reason == words.SplitCluster; blocked != (tc.nodes != nil) {
				t.Errorf("blockers %+v", m.Blockers())
			}
			if got := m.Group0(); got != tc.group0 {
				t.Errorf("group 0 is %q, want %q", got, tc.group0)
			}
		})
	}
	stale := told(two, one, one)
	stale[0].Stale = Trouble{Code: words.PodGone}
	if m := New(stale, Options{Identity: one}); !m.SplitFact().IsZero() {
		t.Errorf("an old row says %+v", m.SplitFact())
	}
	if m := New(told(one, two, two), Options{}); m.Group0() != "" {
		t.Errorf("two clusters have group 0 %q", m.Group0())
	}
	b := New(told(two, one, one), Options{Namespace: "demo", Identity: one}).Blockers()[0]
	// Two of the rows' own disks differ: that is told first, as two clusters.
	if b.Cause.Code != words.TwoGroupsOfOneName {
		t.Errorf("%+v", b)
	}
	m := New(told(two, "", ""), Options{Namespace: "demo", Identity: one})
	b = m.Blockers()[0]
	want := "two clusters have the same name: demo-rack1-0 has group 0 ID " + two + " on disk, but the cluster is recorded with group 0 ID " + one
	if got := words.Text(b.Message()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if strays := m.Strays(); len(strays) != 1 || strays[0].Member != "demo-rack1-0" {
		t.Errorf("%+v", strays)
	}
}
