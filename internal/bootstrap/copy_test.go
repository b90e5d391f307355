// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"maps"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestNoHarm18ACopyOfAMembersVolumeNeverStarts: a volume that holds another member's host ID is refused, with its owner's name, whatever the disk answers and whoever forces it. ScyllaDB
// itself has no guard.
func TestNoHarm18ACopyOfAMembersVolumeNeverStarts(t *testing.T) {
	forced := map[string]string{api.AnnotationForceProceed: api.ForceProceedValue}
	ownRow := matrix.Row{Reporter: ref("rack4", idOwn), Reported: true, Observed: cells(matrix.Up, idA, idB, idC, idOwn)}
	for name, tc := range map[string]struct {
		volume   hostid.ID
		change   func(*Input)
		decision Decision
		owner    string
	}{
		"recorded by another Service, bootstrapped": {idA, func(in *Input) { in.Disk, in.Matrix = BootstrappedYes, nil }, DecisionRefuse, "demo-rack1-0"},
		"recorded by another Service, not flushed":  {idA, func(in *Input) { in.Matrix = nil }, DecisionRefuse, "demo-rack1-0"},
		"in another member's row alone":             {idB, func(in *Input) { in.Disk, in.Peers = BootstrappedYes, nil }, DecisionRefuse, "demo-rack2-0"},
		"in the row of a node elsewhere": {idC, func(in *Input) {
			rows := threeUp()
			for i := range rows {
				if rows[i].Reporter.HostID == idC {
					rows[i].Reporter.Member, rows[i].Reporter.Datacenter = "", "dc2"
				}
			}
			in.Peers, in.Matrix = nil, newMatrix(rows)
		}, DecisionRefuse, "dc2/rack3/0"},
		"forced": {idA, func(in *Input) { maps.Copy(in.Member.Service.Annotations, forced) }, DecisionRefuse, "demo-rack1-0"},
		"forced, bootstrapped": {idA, func(in *Input) {
			in.Disk = BootstrappedYes
			maps.Copy(in.Member.Service.Annotations, forced)
		}, DecisionRefuse, "demo-rack1-0"},
		"of a replacement":           {idA, func(in *Input) { in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idOwn }, DecisionRefuse, "demo-rack1-0"},
		"its Service records it too": {idA, func(in *Input) { in.Member, in.Disk = member(ref("rack4", idA), ptr(true)), BootstrappedYes }, DecisionRefuse, "demo-rack1-0"},
		"its own Service records it": {idOwn, func(in *Input) { in.Member, in.Disk = member(ref("rack4", idOwn), ptr(true)), BootstrappedYes }, DecisionBootstrapped, ""},
		"its own last row has it":    {idOwn, func(in *Input) { in.Disk, in.Matrix = BootstrappedYes, newMatrix(append(threeUp(), ownRow)) }, DecisionBootstrapped, ""},
		"others list it, and no member has it": {idOwn, func(in *Input) {
			in.Disk, in.Matrix = BootstrappedYes, newMatrix(threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Down}))
		}, DecisionBootstrapped, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Volume, in.VolumeHostID = VolumeUsed, tc.volume
			tc.change(&in)
			v := Decide(in)
			if v.Decision != tc.decision {
				t.Fatalf("decided %s (%s), want %s", v.Decision, v.Summary.Code, tc.decision)
			}
			if tc.owner != "" && (v.Blockers[0].Reason != words.ForeignVolume || v.Blockers[0].Cause.Params["owner"] != tc.owner) {
				t.Errorf("blocked by %+v, want owner %s", v.Blockers[0], tc.owner)
			}
		})
	}
}

// TestNoHarm18AVolumeOfUnknownHostIDWaits: ScyllaDB's files without a readable host ID, and a Service that records nothing, may be a copy that was never flushed.
func TestNoHarm18AVolumeOfUnknownHostIDWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*Input)
		decision Decision
		cause    words.Code
	}{
		"nothing is recorded":  {nil, DecisionWait, words.VolumeOfUnknownHostID},
		"the query gave none":  {func(in *Input) { in.Disk = BootstrappedUnknown }, DecisionWait, words.VolumeOfUnknownHostID},
		"the volume is empty":  {func(in *Input) { in.Volume = VolumeEmpty }, DecisionAllUp, ""},
		"nobody has looked":    {func(in *Input) { in.Volume = VolumeNotLooked }, DecisionAllUp, ""},
		"the volume has an ID": {func(in *Input) { in.VolumeHostID = idOwn }, DecisionAllUp, ""},
		"an ID is recorded":    {func(in *Input) { record(in.Member, idOwn) }, DecisionAllUp, ""},
		"a person forces it": {func(in *Input) {
			maps.Copy(in.Member.Service.Annotations, map[string]string{api.AnnotationForceProceed: api.ForceProceedValue})
		}, DecisionForced, ""},
		"there is no other node": {func(in *Input) { in.Matrix, in.Peers, in.Reports = nil, nil, 0 }, DecisionGenesis, ""},
		"another node is DOWN: its step comes first": {func(in *Input) {
			in.Matrix = newMatrix(down(threeUp(), idA, idB))
		}, DecisionWait, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Volume = VolumeUsed
			if tc.change != nil {
				tc.change(&in)
			}
			v := Decide(in)
			if v.Decision != tc.decision {
				t.Fatalf("decided %s (%s), want %s", v.Decision, v.Summary.Code, tc.decision)
			}
			if tc.cause != "" && (len(v.Blockers) != 1 || v.Blockers[0].Reason != words.VolumeUnreadable || v.Blockers[0].Cause.Code != tc.cause) {
				t.Errorf("blocked by %+v, want one with cause %s", v.Blockers, tc.cause)
			}
		})
	}
}
