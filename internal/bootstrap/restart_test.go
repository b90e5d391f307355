// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestBesideOperator3RestartNeedsEvidence: the disk says nothing, a node is DOWN, and only a member that comes back may pass.
func TestBesideOperator3RestartNeedsEvidence(t *testing.T) {
	listed := matrix.Observation{HostID: idOwn, Status: matrix.Down}
	stateless := func(rows []matrix.Row) []matrix.Row {
		for i := range rows {
			rows[i].NoStates = true
		}
		return rows
	}
	ownRow := func(mode string, noStates bool) matrix.Row {
		return matrix.Row{
			Reporter: ref("rack4", idOwn), Reported: true, Report: &api.NodeStatusReport{OperationMode: mode}, NoStates: noStates, State: matrix.StateOfMode(mode),
			Observed: cells(matrix.Up, idA, idB, idC, idOwn), Stale: matrix.Trouble{Code: words.PodNotRunning},
		}
	}
	stale := func(rows []matrix.Row, but string) []matrix.Row {
		for i := range rows {
			if string(rows[i].Reporter.HostID) != but {
				rows[i].Stale = matrix.Trouble{Code: words.PodGone}
			}
		}
		return rows
	}
	lacksIn := func(rows []matrix.Row, observers ...string) []matrix.Row {
		for i := range rows {
			for _, o := range observers {
				if string(rows[i].Reporter.HostID) == o {
					rows[i].Observed = rows[i].Observed[:3]
				}
			}
		}
		return rows
	}
	of := func(complete bool, versions ...string) []matrix.Row {
		rows := threeUp()
		for i := range rows {
			rows[i].Report = &api.NodeStatusReport{ScyllaVersion: versions[i%len(versions)], Complete: complete}
		}
		return rows
	}
	state := func(s matrix.State) matrix.Observation {
		return matrix.Observation{HostID: idOwn, Status: matrix.Down, State: s}
	}
	tests := map[string]struct {
		rows   []matrix.Row
		joined *bool
		change func(*Input)
		want   bool
	}{
		"joined by the Service, every fresh row lists it":        {threeUp(listed), ptr(true), nil, true},
		"joined by the Service, rows without states":             {stateless(threeUp(listed)), ptr(true), nil, true},
		"the Service says that it has not joined":                {threeUp(listed), ptr(false), nil, false},
		"the Service says nothing, its own last row says NORMAL": {append(threeUp(listed), ownRow("NORMAL", false)), nil, nil, true},
		"the Service says nothing, its own last row STARTING":    {append(threeUp(listed), ownRow("STARTING", false)), nil, nil, false},
		"the Service says nothing, its own row has no states":    {append(threeUp(listed), ownRow("", true)), nil, nil, false},
		"the Service says nothing, the peers' rows no states":    {append(stateless(threeUp(listed)), ownRow("NORMAL", false)), nil, nil, false},
		"the Service says nothing, and neither does it":          {threeUp(listed), nil, nil, false},
		"one fresh row lacks it":                                 {lacksIn(threeUp(listed), idB), ptr(true), nil, false},
		"one stale row lists it, fresh ones lack it":             {stale(lacksIn(threeUp(listed), idB, idC), idB), ptr(true), nil, false},
		"a fresh row has it as joining still":                    {threeUp(state(matrix.StateJoining)), ptr(true), nil, true},
		"a fresh row has it as replacing still":                  {threeUp(state(matrix.StateReplacing)), ptr(true), nil, true},
		"only one row, which has it as joining":                  {threeUp(state(matrix.StateJoining))[:1], ptr(true), nil, true},
		"stale rows have it as joining":                          {stale(threeUp(state(matrix.StateJoining)), ""), ptr(true), nil, true},
		"joining, and the Service says that it has not joined":   {threeUp(state(matrix.StateJoining)), ptr(false), nil, false},
		"joining, the Service says nothing, its row says NORMAL": {append(threeUp(state(matrix.StateJoining)), ownRow("NORMAL", false)), nil, nil, false},
		"joining, and one fresh row lacks it":                    {lacksIn(threeUp(state(matrix.StateJoining)), idB), ptr(true), nil, false},
		"joining, and its volume is empty":                       {threeUp(state(matrix.StateJoining)), ptr(true), func(in *Input) { in.Volume = VolumeEmpty }, false},
		"joining, and its volume is another's":                   {threeUp(state(matrix.StateJoining)), ptr(true), func(in *Input) { in.VolumeHostID = idA }, false},
		"a fresh row has it as being replaced":                   {threeUp(state(matrix.StateBeingReplaced)), ptr(true), nil, false},
		"no row lists it, and each can hide it":                  {of(false, "2025.1.4"), ptr(true), nil, true},
		"no row lists it, and none can hide it":                  {of(true, "2025.1.4"), ptr(true), nil, false},
		"no row lists it, and one cannot hide it":                {of(false, "2025.1.4", "2025.3.0"), ptr(true), nil, false},
		"hidden, and the Service says that it has not joined":    {of(false, "2025.1.4"), ptr(false), nil, false},
		"hidden, and the Service says nothing":                   {of(false, "2025.1.4"), nil, nil, false},
		"hidden, and its volume is empty":                        {of(false, "2025.1.4"), ptr(true), func(in *Input) { in.Volume = VolumeEmpty }, false},
		"hidden, and its volume is another's":                    {of(false, "2025.1.4"), ptr(true), func(in *Input) { in.VolumeHostID = idA }, false},
		"its volume is empty":                                    {threeUp(listed), ptr(true), func(in *Input) { in.Volume = VolumeEmpty }, false},
		"its volume could not be read":                           {threeUp(listed), ptr(true), func(in *Input) { in.Volume = VolumeUnreadable }, false},
		"its volume is another's":                                {threeUp(listed), ptr(true), func(in *Input) { in.VolumeHostID = idA }, false},
		"its replacement is asked for": {threeUp(listed), ptr(true), func(in *Input) {
			in.Member.Service.Labels[api.LabelReplace] = ""
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), tc.joined)
			in.Volume, in.Disk = VolumeUsed, BootstrappedUnknown
			in.Matrix = newMatrix(down(tc.rows, idA, idB))
			if tc.change != nil {
				tc.change(&in)
			}
			if v := Decide(in); (v.Decision == DecisionRestart) != tc.want || v.Satisfied != tc.want {
				t.Errorf("decided %s (satisfied %t), want a restart: %t", v.Decision, v.Satisfied, tc.want)
			}
			if tc.want {
				in.Volume = VolumeNotLooked
				if v := Decide(in); v.Satisfied && v.Summary.Code != words.StartsAsMemberIfVolumeHolds {
					t.Errorf("from outside the Pod it says %s, want that only the Pod can tell", v.Summary.Code)
				}
			}
		})
	}
}

// The only node of a cluster comes back, and no report was written while it ran: others wait to join, and there is no other member whose row could list it.
func TestTheOnlyNodeComesBackWithoutAReport(t *testing.T) {
	waiting := member(ref("rack2", ""), nil)
	joined := member(ref("rack3", idC), ptr(true))
	tests := map[string]struct {
		peers  []*cluster.Member
		joined *bool
		volume Volume
		want   bool
	}{
		"there are no others":             {nil, ptr(true), VolumeUsed, true},
		"others wait":                     {[]*cluster.Member{waiting}, ptr(true), VolumeUsed, true},
		"another has joined":              {[]*cluster.Member{waiting, joined}, ptr(true), VolumeUsed, false},
		"another has a host ID":           {[]*cluster.Member{member(ref("rack3", idC), nil)}, ptr(true), VolumeUsed, false},
		"another began to join":           {[]*cluster.Member{member(ref("rack3", idC), ptr(false))}, ptr(true), VolumeUsed, true},
		"and its volume is empty":         {[]*cluster.Member{member(ref("rack3", idC), ptr(false))}, ptr(true), VolumeEmpty, false},
		"its volume is empty":             {[]*cluster.Member{waiting}, ptr(true), VolumeEmpty, false},
		"nobody has looked at its volume": {[]*cluster.Member{waiting}, ptr(true), VolumeNotLooked, false},
		"it has never joined":             {[]*cluster.Member{waiting}, ptr(false), VolumeUsed, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), tc.joined)
			in.Volume, in.Disk = tc.volume, BootstrappedUnknown
			in.Peers, in.Matrix = tc.peers, nil
			if v := Decide(in); (v.Decision == DecisionRestart && v.Summary.Code == words.StartsAsOnlyMember) != tc.want {
				t.Errorf("decided %s (%s), want a restart: %t", v.Decision, v.Summary.Code, tc.want)
			}
		})
	}
}

// TestBesideOperator9ReplaceByAddressWaits: the label with an address alone is a replacement, and waits as each does.
func TestBesideOperator9ReplaceByAddressWaits(t *testing.T) {
	dead := matrix.Observation{HostID: idOwn, Status: matrix.Down}
	tests := map[string]struct {
		rows []matrix.Row
		want Decision
	}{
		"only the replaced node is DOWN":   {threeUp(dead), DecisionReplacing},
		"another node is DOWN too":         {down(threeUp(dead), idA, idB), DecisionWait},
		"the replaced node is seen UP":     {threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Up}), DecisionWait},
		"no row is fresh":                  {nil, DecisionWait},
		"a peer's row is missing entirely": {threeUp(dead)[:2], DecisionWait},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Member.Service.Labels[api.LabelReplace] = "10.1.2.3"
			ownAddress("10.1.2.3")(&in)
			in.Matrix = newMatrix(tc.rows)
			if v := Decide(in); v.Decision != tc.want || v.Satisfied != (tc.want == DecisionReplacing) {
				t.Errorf("decided %s (satisfied %t), want %s", v.Decision, v.Satisfied, tc.want)
			}
		})
	}
}

func ownAddress(text string) func(*Input) {
	return func(in *Input) { in.Member.Service.Spec.ClusterIP = text }
}

// TestAttack10TheReplacedAddressMustBeItsOwn: ScyllaDB replaces the node that had the address, so that of another node opens nothing, and neither does one that no member
// can tell to be its own. By host ID no address counts.
func TestAttack10TheReplacedAddressMustBeItsOwn(t *testing.T) {
	dead := matrix.Observation{HostID: idOwn, Status: matrix.Down}
	tests := map[string]struct {
		label, own string
		byHostID   bool
		want       Decision
		says       words.Code
	}{
		"its own":                          {"10.1.2.3", "10.1.2.3", false, DecisionReplacing, ""},
		"its own, written as IPv6":         {"::ffff:10.1.2.3", "10.1.2.3", false, DecisionReplacing, ""},
		"another node's":                   {"10.1.2.4", "10.1.2.3", false, DecisionWait, words.ReplacedAddressIsNotOwn},
		"nobody knows its own":             {"10.1.2.3", "", false, DecisionWait, words.ReplacedAddressUnknown},
		"no address":                       {"yes", "10.1.2.3", false, DecisionWait, ""},
		"another node's, with the host ID": {"10.1.2.4", "10.1.2.3", true, DecisionReplacing, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Member.Service.Labels[api.LabelReplace] = tc.label
			if tc.byHostID {
				in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idOwn
			}
			if tc.own != "" {
				ownAddress(tc.own)(&in)
			}
			in.Matrix = newMatrix(threeUp(dead))
			v := Decide(in)
			if v.Decision != tc.want {
				t.Errorf("decided %s, want %s: %+v", v.Decision, tc.want, v.Blockers)
			}
			if tc.says != "" && (v.Blockers[0].Reason != words.ReplaceRequestInvalid || v.Blockers[0].Cause.Code != tc.says) {
				t.Errorf("it waits for %+v, want cause %s", v.Blockers[0], tc.says)
			}
		})
	}
}
