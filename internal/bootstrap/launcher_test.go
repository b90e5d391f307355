// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// TestALauncherKnowsItsOwnNode: ScyllaDB has run as idOwn in the Pod of the member, and its container starts again. Its own node is DOWN because it does not run.
func TestALauncherKnowsItsOwnNode(t *testing.T) {
	own := func(s matrix.State) matrix.Observation {
		return matrix.Observation{HostID: idOwn, Status: matrix.Down, State: s}
	}
	down := threeUp()
	down[0].Observed[1].Status = matrix.Down
	for name, tc := range map[string]struct {
		rows   []matrix.Row
		ran    hostid.ID
		opened bool
		volume Volume
		want   Decision
	}{
		"no row lists it":                             {threeUp(), idOwn, true, VolumeUsed, DecisionAllUp},
		"joining":                                     {threeUp(own(matrix.StateJoining)), idOwn, true, VolumeUsed, DecisionAllUp},
		"a member, and no Service records it":         {threeUp(own(matrix.StateNormal)), idOwn, true, VolumeUsed, DecisionRestart},
		"a node that never responded here":            {threeUp(own(matrix.StateNormal)), "", true, VolumeUsed, DecisionWait},
		"a member, and its volume is empty":           {threeUp(own(matrix.StateNormal)), idOwn, true, VolumeEmpty, DecisionWait},
		"joining, and its volume is empty":            {threeUp(own(matrix.StateJoining)), idOwn, true, VolumeEmpty, DecisionWait},
		"it is the node of another member":            {threeUp(own(matrix.StateNormal)), idA, true, VolumeUsed, DecisionWait},
		"another node is DOWN":                        {down, idOwn, true, VolumeUsed, DecisionWait},
		"files of a ScyllaDB that never responded":    {threeUp(), "", true, VolumeUsed, DecisionAllUp},
		"files of an unknown node before the opening": {threeUp(), "", false, VolumeUsed, DecisionWait},
		"the first node, whose join is not recorded":  {nil, idOwn, true, VolumeUsed, DecisionRestart},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			in.Member = member(ref("rack4", ""), nil)
			if tc.rows == nil {
				in.Peers = nil
			}
			in.Matrix = matrix.New(tc.rows, matrix.Options{})
			in.Disk, in.Volume, in.Opened, in.Ran = BootstrappedUnknown, tc.volume, tc.opened, tc.ran
			if v := Decide(in); v.Decision != tc.want {
				t.Errorf("%s (%s), want %s: %v", v.Decision, v.Summary.Code, tc.want, v.Blockers)
			}
		})
	}
}
