// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

func TestB1SaysJoined(t *testing.T) {
	const id, other = "a", "b"
	cells := func(status api.NodeStatus, state api.NodeState) []api.ObservedNodeStatusReport {
		return []api.ObservedNodeStatusReport{{HostID: id, Status: status, State: state}, {HostID: other, Status: api.NodeStatusUp}}
	}
	yes, no := new(true), new(false)
	for name, tc := range map[string]struct {
		row  *api.NodeStatusReport
		want *bool
	}{
		"nobody spoke":                        {nil, nil},
		"its host ID is not known":            {&api.NodeStatusReport{OwnsTokens: yes}, nil},
		"it owns tokens":                      {&api.NodeStatusReport{HostID: id, OwnsTokens: yes}, yes},
		"it says nothing of tokens":           {&api.NodeStatusReport{HostID: id, OperationMode: "STARTING"}, nil},
		"it joins":                            {&api.NodeStatusReport{HostID: id, OwnsTokens: no, OperationMode: "BOOTSTRAP", ObservedNodes: cells("UP", "JOINING")}, no},
		"a zero-token node":                   {&api.NodeStatusReport{HostID: id, OwnsTokens: no, OperationMode: "NORMAL", ObservedNodes: cells("UP", "")}, yes},
		"a zero-token node that joins":        {&api.NodeStatusReport{HostID: id, OwnsTokens: no, OperationMode: "JOINING", ObservedNodes: cells("UP", "")}, no},
		"NORMAL, and does not find itself":    {&api.NodeStatusReport{HostID: id, OwnsTokens: no, OperationMode: "NORMAL", ObservedNodes: cells("UNKNOWN", "")}, no},
		"NORMAL, and its tasks say it joins":  {&api.NodeStatusReport{HostID: id, OwnsTokens: no, OperationMode: "NORMAL", ObservedNodes: cells("UP", "REPLACING")}, no},
		"NORMAL, of tokens nobody could tell": {&api.NodeStatusReport{HostID: id, OperationMode: "NORMAL", ObservedNodes: cells("UP", "")}, yes},
	} {
		t.Run(name, func(t *testing.T) {
			got := SaysJoined(tc.row)
			if (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// TestB1AZeroTokenNodeHoldsUpNobody: its Service may say that it has not joined, as whoever waits for tokens writes it; its own row says that it has.
func TestB1AZeroTokenNodeHoldsUpNobody(t *testing.T) {
	for _, recorded := range []string{"true", "false", ""} {
		for _, source := range []Source{SourceAnnotation, SourceReport} {
			st := newStage(t, 3, 1)
			newcomer := st.Newcomer(t, 3, 1)
			svc := st.Services["demo-rack2-0"]
			delete(svc.Annotations, api.AnnotationNodeJoined)
			if recorded != "" {
				svc.Annotations[api.AnnotationNodeJoined] = recorded
			}
			pod := st.Pods["demo-rack2-0"]
			row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
			if err != nil {
				t.Fatal(err)
			}
			row.OwnsTokens = new(false)
			if pod.Annotations[api.AnnotationNodeStatusReport], err = api.EncodeNodeStatusReport(row); err != nil {
				t.Fatal(err)
			}
			v, err := st.cluster(source).Verdict(newcomer)
			if err != nil || !v.Satisfied {
				t.Errorf("joined %q, by %s: %v %+v", recorded, source, err, v.Blockers)
			}
		}
	}
}
