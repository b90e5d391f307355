// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestC5TwoClustersOfOneName: lists of members that have nothing in common prove it, and nothing less does.
func TestC5TwoClustersOfOneName(t *testing.T) {
	const strange = "99d2f3a2-9999-4999-8999-999999999999"
	apart := func() []Row {
		return []Row{row(memberA, up(idA)...), row(memberB, up(idB, idC)...), row(memberC, up(idB, idC)...)}
	}
	for name, tc := range map[string]struct {
		change func(rows []Row) []Row
		self   *Ref
		want   [][]hostid.ID
	}{
		"A founded its own":           {want: [][]hostid.ID{{idC, idB}, {idA}}},
		"for the newcomer that waits": {self: newcomer(), want: [][]hostid.ID{{idC, idB}, {idA}}},
		"all in one":                  {change: func([]Row) []Row { return three() }},
		"a broken network: all are listed": {change: func([]Row) []Row {
			rows := three()
			rows[0].Observed[1].Status, rows[0].Observed[2].Status = Down, Down
			rows[1].Observed[0].Status, rows[2].Observed[0].Status = Down, Down
			return rows
		}},
		"the lists overlap in a node that is DOWN": {change: func(rows []Row) []Row {
			rows[0].Observed = append(rows[0].Observed, Observation{HostID: idC, Status: Down})
			return rows
		}},
		"A's row is old":              {change: func(rows []Row) []Row { rows[0].Stale = Trouble{Code: words.PodGone}; return rows }},
		"A still starts":              {change: func(rows []Row) []Row { said(&rows[0]).OperationMode = "STARTING"; return rows }},
		"A is NORMAL by its own word": {change: func(rows []Row) []Row { said(&rows[0]).OperationMode = "NORMAL"; return rows }, want: [][]hostid.ID{{idC, idB}, {idA}}},
		"A leaves": {change: func(rows []Row) []Row {
			said(&rows[0]).OperationMode, rows[0].State = "LEAVING", StateLeaving
			return rows
		}},
		"A does not find itself":    {change: func(rows []Row) []Row { rows[0].Observed[0].Status = Unknown; return rows }},
		"A joins, and lists itself": {change: func(rows []Row) []Row { rows[0].Observed[0].State = StateJoining; return rows }},
		"A has no row":              {change: func(rows []Row) []Row { return rows[1:] }},
		"a chain of overlaps is one cluster": {change: func(rows []Row) []Row {
			rows[0].Observed = up(idA, idB)
			return rows
		}},
		"a node that speaks for another host ID than its Service records": {change: func(rows []Row) []Row {
			rows[0] = Row{Reporter: memberA, Trouble: Trouble{Code: words.OtherHostID, Object: strange}, Other: &Other{HostID: strange, HostIDs: []hostid.ID{strange}}}
			rows[1].Observed, rows[2].Observed = up(idA, idB, idC), up(idA, idB, idC)
			return rows
		}, want: [][]hostid.ID{{idC, idB, idA}, {strange}}},
		"one that has joined anew, and is not recorded yet": {change: func(rows []Row) []Row {
			rows[0] = Row{Reporter: memberA, Trouble: Trouble{Code: words.OtherHostID, Object: strange}, Other: &Other{HostID: strange, HostIDs: []hostid.ID{idB, idC, strange}}}
			rows[1].Observed, rows[2].Observed = up(strange, idB, idC), up(strange, idB, idC)
			return rows
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rows := apart()
			if tc.change != nil {
				rows = tc.change(rows)
			}
			m := New(rows, Options{Self: tc.self, Namespace: "demo"})
			if diff := cmp.Diff(tc.want, m.Split()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			first := Blocker{}
			if len(m.Blockers()) > 0 {
				first = m.Blockers()[0]
			}
			if (first.Reason == words.SplitCluster) != (tc.want != nil) {
				t.Errorf("the first blocker is %q", words.Aging(first.Message(), first.Since, now))
			}
			if tc.want != nil && m.Partition() != nil {
				t.Error("two clusters are shown as a partition")
			}
		})
	}

	rows := apart()
	said(&rows[0]).Coordinator, said(&rows[1]).Coordinator = idA, idC
	m := New(rows, Options{Namespace: "demo"})
	b := m.Blockers()[0]
	want := "two clusters have the same name: the members listed by demo-rack2-0 + demo-rack3-0, demo-rack1-0 have no host ID in common, and all these nodes " +
		"are in operation; their topology coordinators are 1ffac2bb, 8ebd0fc0"
	if got := words.Text(b.Message()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var witnesses []string
	for _, w := range m.Witnesses() {
		witnesses = append(witnesses, w.Member)
	}
	if diff := cmp.Diff([]string{"demo-rack2-0", "demo-rack1-0"}, witnesses); diff != "" {
		t.Errorf("a node of each (-want +got)\n%s", diff)
	}
}

// TestC5TwoGroup0sAreTwoClusters: two IDs of group 0 prove it, whatever the lists have in common, and nodes without an ID from their disks belong to the cluster whose members they
// list.
func TestC5TwoGroup0sAreTwoClusters(t *testing.T) {
	const one, two = "11111111-1111-1111-8111-111111111111", "22222222-2222-1222-8222-222222222222"
	told := func(a, b, c string) []Row {
		rows := three()
		said(&rows[0]).Group0ID, said(&rows[1]).Group0ID, said(&rows[2]).Group0ID = a, b, c
		return rows
	}
	for name, tc := range map[string]struct {
		rows   []Row
		change func(rows []Row)
		want   string
	}{
		"one":              {rows: told(one, one, one)},
		"nobody has told":  {rows: told("", "", "")},
		"one has told":     {rows: told("", two, "")},
		"two":              {rows: told(one, two, two), want: "demo-rack2-0 + demo-rack3-0, demo-rack1-0"},
		"two, by one each": {rows: told(one, two, ""), want: "demo-rack1-0, demo-rack2-0"}, // the third lists nodes of both, and proves nothing
		"three":            {rows: told(one, two, "33333333-3333-1333-8333-333333333333"), want: "demo-rack1-0, demo-rack2-0, demo-rack3-0"},
		"the third lists the second's alone": {rows: told(one, two, ""), change: func(rows []Row) {
			rows[0].Observed, rows[2].Observed = up(idA), up(idB, idC)
			rows[1].Observed = up(idB, idC)
		}, want: "demo-rack2-0 + demo-rack3-0, demo-rack1-0"},
		"one topology coordinator: a disk was asked before a recovery": {rows: told(one, two, two), change: func(rows []Row) {
			said(&rows[0]).Coordinator, said(&rows[1]).Coordinator, said(&rows[2]).Coordinator = idC, idC, idC
		}},
		"two topology coordinators": {rows: told(one, two, two), change: func(rows []Row) {
			said(&rows[0]).Coordinator, said(&rows[1]).Coordinator = idA, idC
		}, want: "demo-rack2-0 + demo-rack3-0, demo-rack1-0"},
		"the row is old":        {rows: told(one, two, two), change: func(rows []Row) { rows[0].Stale = Trouble{Code: words.PodGone} }},
		"the node still starts": {rows: told(one, two, two), change: func(rows []Row) { said(&rows[0]).OperationMode = "STARTING" }},
		"it speaks for another host ID than its Service records": {rows: told("", two, two), change: func(rows []Row) {
			rows[0] = Row{Reporter: memberA, Trouble: Trouble{Code: words.OtherHostID}, Other: &Other{HostID: idA, HostIDs: []hostid.ID{idA, idB}, Group0: one}}
		}, want: "demo-rack2-0 + demo-rack3-0, demo-rack1-0"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.change != nil {
				tc.change(tc.rows)
			}
			m := New(tc.rows, Options{Namespace: "demo"})
			got := ""
			if len(m.Blockers()) > 0 && m.Blockers()[0].Reason == words.SplitCluster {
				parts, _ := m.SplitFact().Params["parts"].([]string)
				got = strings.Join(parts, ", ")
			}
			if got != tc.want || (m.Split() != nil) != (tc.want != "") {
				t.Errorf("split into %q, want %q", got, tc.want)
			}
		})
	}
	b := New(told(one, two, two), Options{Namespace: "demo"}).Blockers()[0]
	want := "two clusters have the same name: demo-rack2-0 + demo-rack3-0, demo-rack1-0 have different group 0 IDs on disk, " + two + ", " + one +
		", and all these nodes are in operation"
	if got := words.Text(b.Message()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// said is a row's report, of its own, to be changed.
func said(r *Row) *api.NodeStatusReport {
	own := *r.Says()
	r.Report = &own
	return r.Report
}
