// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// A member whose reporter was not there when it joined, and whose machine then lost its power, waits for itself: the note with the cure is there, and only there.
func TestAMemberThatMayWaitForItselfIsToldSo(t *testing.T) {
	own := matrix.Observation{HostID: idOwn, Status: matrix.Down}
	deleted := metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now())}
	for name, tc := range map[string]struct {
		change func(*Input)
		want   bool
	}{
		"its volume is used and no host ID is recorded":              {nil, true},
		"its volume is empty":                                        {func(in *Input) { in.Volume = VolumeEmpty }, false},
		"nobody has looked into its volume":                          {func(in *Input) { in.Volume = VolumeNotLooked }, false},
		"another host ID is recorded of it":                          {func(in *Input) { record(in.Member, idC) }, false},
		"the host ID that is recorded of it was removed":             {func(in *Input) { record(in.Member, "99990000-7777-4777-8777-777777777777") }, true},
		"its host ID is recorded, and not that it has joined":        {func(in *Input) { in.Member = member(ref("rack4", idOwn), new(false)) }, true},
		"NoHarm30: its host ID is recorded, and nothing of its join": {func(in *Input) { in.Member = member(ref("rack4", idOwn), nil) }, true},
		"its host ID is recorded, and not that it has joined, and its volume has it": {func(in *Input) {
			in.Member = member(ref("rack4", idOwn), new(false))
			in.VolumeHostID, in.Disk = idOwn, BootstrappedNo
		}, true},
		"its host ID is recorded, and not that it has joined, and its volume has another one": {func(in *Input) {
			in.Member = member(ref("rack4", idOwn), new(false))
			in.VolumeHostID, in.Disk = idC, BootstrappedNo
		}, false},
		"it has replaced a node, and its new host ID is not recorded": {func(in *Input) {
			record(in.Member, "99990000-7777-4777-8777-777777777777")
			in.Member.Service.Labels[api.LabelReplacingNodeHostID] = string(in.Member.HostID)
		}, true},
		"it is to replace a node that is a member still": {func(in *Input) {
			record(in.Member, idOwn)
			in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idOwn
		}, false},
		"another member has that host ID": {func(in *Input) {
			in.Peers = append(in.Peers, member(matrix.Ref{Member: "demo-rack9-0", HostID: idOwn}, nil))
		}, false},
		"another member replaces that host ID": {func(in *Input) {
			p := member(matrix.Ref{Member: "demo-rack9-0", HostID: "99990000-7777-4777-8777-777777777777"}, new(false))
			p.Service.Labels[api.LabelReplacingNodeHostID] = idOwn
			in.Peers = append(in.Peers, p)
		}, false},
		"its Pod is being deleted":   {func(in *Input) { in.Member.Pod = &corev1.Pod{ObjectMeta: deleted} }, false},
		"its claim is being deleted": {func(in *Input) { in.Member.PVC = &corev1.PersistentVolumeClaim{ObjectMeta: deleted} }, false},
		"neither is being deleted": {func(in *Input) {
			in.Member.Pod, in.Member.PVC = &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
		}, true},
		"it is seen UP": {func(in *Input) { in.Matrix = newMatrix(threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Up})) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Volume, in.Disk, in.Matrix = VolumeUsed, BootstrappedUnknown, newMatrix(threeUp(own))
			if tc.change != nil {
				tc.change(&in)
			}
			v := Decide(in)
			if got := slices.ContainsFunc(v.Notes, func(m words.Message) bool {
				return (m.Code == words.MayWaitForItself || m.Code == words.JoinNotRecorded)
			}); got != tc.want {
				t.Errorf("told so: %v, want %v (%+v)", got, tc.want, v.Notes)
			}
		})
	}
}

// Up to 2025.2 a member whose address another node has is possibly in no row, and its volume is intact.
func TestAHostIDThatNoRowListsMayBeHidden(t *testing.T) {
	silent := matrix.Trouble{Code: words.ScyllaDBNoAnswer}
	const raft, other = "2025.3.0-0.20251001.abc", "99990000-0000-4000-8000-000000000099"
	for name, tc := range map[string]struct {
		version string
		change  func(*Input, []matrix.Row)
		want    Decision
	}{
		"one host ID per address":    {"2025.2.1-0.20250901.abc", nil, DecisionRestart},
		"each host ID":               {raft, nil, DecisionRefuse},
		"an unknown version":         {"", nil, DecisionRefuse},
		"the volume is another's":    {raft, func(in *Input, _ []matrix.Row) { in.VolumeHostID = other }, DecisionAllUp},
		"one row of three is usable": {raft, func(_ *Input, rows []matrix.Row) { rows[1].Trouble, rows[2].Trouble = silent, silent }, DecisionWait},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Volume, in.Disk = VolumeUsed, BootstrappedUnknown
			rows := threeUp()
			for i := range rows {
				rows[i].Report = &api.NodeStatusReport{ScyllaVersion: tc.version}
			}
			if tc.change != nil {
				tc.change(&in, rows)
			}
			in.Matrix = newMatrix(rows)
			v := Decide(in)
			if v.Decision != tc.want || (v.Summary.Code == words.CannotStart) != (tc.want == DecisionRefuse) {
				t.Errorf("%s %v, want %s", v.Decision, reasonsOf(v), tc.want)
			}
			if v.Decision == DecisionRefuse && (v.Blockers[0].Cause.Code == words.HostIDRemoved) != (tc.version == raft) {
				t.Errorf("rows of version %q: %s", tc.version, words.Text(v.Blockers[0].Cause))
			}
		})
	}
}

// Up to 2025.2 a row possibly does not list a member whose former address another one has. Another row that lists it is enough for its restart.
func TestAHiddenMemberRestarts(t *testing.T) {
	for version, want := range map[string]Decision{"2025.2.1-0.20250901.abc": DecisionRestart, "2025.3.0-0.20251001.abc": DecisionWait} {
		t.Run(version, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", idOwn), ptr(true))
			in.Volume, in.Disk = VolumeUsed, BootstrappedUnknown
			rows := threeUp()
			for i := range rows {
				rows[i].Report = &api.NodeStatusReport{ScyllaVersion: version}
			}
			rows[0].Observed = append(rows[0].Observed, matrix.Observation{HostID: idOwn, Status: matrix.Down})
			in.Matrix = newMatrix(rows)
			if v := Decide(in); v.Decision != want {
				t.Errorf("%s %v, want %s", v.Decision, reasonsOf(v), want)
			}
		})
	}
}
