// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/code"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
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
		"A's row is old":              {change: func(rows []Row) []Row { rows[0].Stale = Trouble{Code: StalePodGone}; return rows }},
		"A still starts":              {change: func(rows []Row) []Row { rows[0].OperationMode = "STARTING"; return rows }},
		"A is NORMAL by its own word": {change: func(rows []Row) []Row { rows[0].OperationMode = "NORMAL"; return rows }, want: [][]hostid.ID{{idC, idB}, {idA}}},
		"A leaves":                    {change: func(rows []Row) []Row { rows[0].OperationMode, rows[0].State = "LEAVING", StateLeaving; return rows }},
		"A does not find itself":      {change: func(rows []Row) []Row { rows[0].Observed[0].Status = Unknown; return rows }},
		"A joins, and lists itself":   {change: func(rows []Row) []Row { rows[0].Observed[0].State = StateJoining; return rows }},
		"A has no row":                {change: func(rows []Row) []Row { return rows[1:] }},
		"a chain of overlaps is one cluster": {change: func(rows []Row) []Row {
			rows[0].Observed = up(idA, idB)
			return rows
		}},
		"a node that speaks for another host ID than its Service records": {change: func(rows []Row) []Row {
			rows[0] = Row{Reporter: memberA, Trouble: Trouble{Code: TroubleOtherHostID, Object: strange}, Other: &Other{HostID: strange, HostIDs: []hostid.ID{strange}}}
			rows[1].Observed, rows[2].Observed = up(idA, idB, idC), up(idA, idB, idC)
			return rows
		}, want: [][]hostid.ID{{idC, idB, idA}, {strange}}},
		"one that has joined anew, and is not recorded yet": {change: func(rows []Row) []Row {
			rows[0] = Row{Reporter: memberA, Trouble: Trouble{Code: TroubleOtherHostID, Object: strange}, Other: &Other{HostID: strange, HostIDs: []hostid.ID{idB, idC, strange}}}
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
			if (first.Reason == ReasonSplitCluster) != (tc.want != nil) {
				t.Errorf("the first blocker is %q", words.Blocker(first, now))
			}
			for i, b := range m.Blockers() {
				if i > 0 && tc.want != nil && b.Step.Code != StepSplitFirst {
					t.Errorf("the step of %q is %s", words.Blocker(b, now), words.Text(b.Step))
				}
			}
			if tc.want != nil && m.Partition() != nil {
				t.Error("two clusters are shown as a partition")
			}
		})
	}

	rows := apart()
	rows[0].Coordinator, rows[1].Coordinator = idA, idC
	b := New(rows, Options{Namespace: "demo"}).Blockers()[0]
	want := "there are two clusters of one name: the members that demo-rack2-0 + demo-rack3-0, demo-rack1-0 list have no host ID in common, and all of these nodes " +
		"serve; their topology coordinators are 1ffac2bb, 8ebd0fc0"
	if got := words.Text(b.Message()); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	ask := func(pod string) code.Command {
		return code.Command{"kubectl", "exec", pod, "-n", "demo", "-c", "scylla", "--", "cqlsh", "-e", "SELECT value FROM system.scylla_local WHERE key = 'raft_group0_id'"}
	}
	if diff := cmp.Diff([]code.Command{ask("demo-rack2-0"), ask("demo-rack1-0")}, b.Step.Commands); diff != "" {
		t.Errorf("commands (-want +got)\n%s", diff)
	}
}
