// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
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

// TestB1AZeroTokenNodeHoldsUpNobody: its Service may record that it has not joined, where the writer waits for tokens; its own row has it joined.
func TestB1AZeroTokenNodeHoldsUpNobody(t *testing.T) {
	for _, recorded := range []string{"true", "false", ""} {
		for _, source := range []Source{SourceAnnotation, SourceReport} {
			st := newStage(t, 3, 1)
			newcomer := st.Newcomer(3, 1)
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
			v, err := bootstrap.VerdictOf(st.cluster(source), newcomer)
			if err != nil || !v.Satisfied {
				t.Errorf("joined %q, by %s: %v %+v", recorded, source, err, v.Blockers)
			}
		}
	}
}

// Under the Scylla Operator rows say no mode and no tokens, and its annotation says of a zero-token node for ever that it has not joined. That it serves and lists
// itself UP proves that it has: its row counts, and where the operator's report leaves it out the next step says so.
func TestB1AZeroTokenNodeOfTheScyllaOperator(t *testing.T) {
	const zero = "demo-rack2-0"
	for name, tc := range map[string]struct {
		change    func(*scene)
		satisfied bool // by annotations
		forced    bool // by the report
	}{
		"it serves": {func(*scene) {}, true, true},
		"it does not serve": {func(st *scene) {
			for i := range st.Pods[zero].Status.ContainerStatuses {
				st.Pods[zero].Status.ContainerStatuses[i].Ready = false
			}
		}, false, false},
		"its row says that it is DOWN itself": {func(st *scene) {
			st.Pods[zero].Annotations[api.AnnotationNodeStatusReport] = strings.ReplaceAll(st.Pods[zero].Annotations[api.AnnotationNodeStatusReport], `"UP"`, `"DOWN"`)
		}, false, false},
		"another sees it DOWN": {func(st *scene) {
			cells := st.Reports["dc1"].Racks[0].Nodes[0].ObservedNodes
			for i := range cells {
				if cells[i].HostID == hostID(2, 0) {
					cells[i].Status = api.NodeStatusDown
				}
			}
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, 3, 1)
			newcomer := st.Newcomer(3, 1)
			for _, set := range st.Sets {
				set.Labels[api.LabelManagedBy] = api.ManagedByOperator
			}
			st.Services[zero].Annotations[api.AnnotationNodeJoined] = "false"
			st.Reports["dc1"].Racks[1].Nodes = nil
			for pod, p := range st.Pods {
				row, err := api.DecodeNodeStatusReport(p.Annotations[api.AnnotationNodeStatusReport])
				if err != nil || row == nil {
					continue
				}
				plain := api.NodeStatusReport{ObservedNodes: row.ObservedNodes}
				if p.Annotations[api.AnnotationNodeStatusReport], err = api.EncodeNodeStatusReport(&plain); err != nil {
					t.Fatal(pod, err)
				}
			}
			tc.change(st)
			by := func(source Source) bootstrap.Verdict {
				v, err := bootstrap.VerdictOf(st.cluster(source), newcomer)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			if v := by(SourceAnnotation); v.Satisfied != tc.satisfied {
				t.Errorf("by annotations: %v %+v", v.Satisfied, v.Blockers)
			}
			v := by(SourceReport)
			forced := slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool {
				cause, _ := st.cluster(SourceReport).Cause(b.Observed.HostID)
				return cause == CauseLeftOut
			})
			if v.Satisfied || forced != tc.forced {
				t.Errorf("by the report: %v %+v", v.Satisfied, v.Blockers)
			}
		})
	}
}

// TestAHostIDOfALastRowAloneMakesNoMember: an attempt to join ended, its last row alone recorded the host ID, and no row lists it. The new Pod's reporter has only an error.
func TestAHostIDOfALastRowAloneMakesNoMember(t *testing.T) {
	const attempt = "bbbbbbbb-0000-4000-8000-000000000001"
	listed := func(state api.NodeState) func(*testing.T, *scene, string) {
		return func(t *testing.T, st *scene, _ string) {
			for _, pod := range st.Pods {
				row, err := api.DecodeNodeStatusReport(pod.Annotations[api.AnnotationNodeStatusReport])
				if err != nil {
					continue
				}
				row.ObservedNodes = append(row.ObservedNodes, api.ObservedNodeStatusReport{HostID: attempt, Status: api.NodeStatusDown, State: state})
				setRow(t, pod, row)
			}
		}
	}
	says := func(row api.NodeStatusReport) func(*testing.T, *scene, string) {
		return func(t *testing.T, st *scene, member string) { setRow(t, st.Pods[member], &row) }
	}
	refused := "connection refused"
	for name, tc := range map[string]struct {
		change func(*testing.T, *scene, string)
		joins  bool
	}{
		"its row is an error":               {says(api.NodeStatusReport{Error: &refused}), true},
		"its row is empty":                  {says(api.NodeStatusReport{}), true},
		"it has not written a row":          {func(*testing.T, *scene, string) {}, true},
		"the others list it as joining":     {listed("JOINING"), true},
		"the others list it":                {listed(""), false},
		"its row has an error and is past":  {says(api.NodeStatusReport{Error: &refused, OperationMode: "NORMAL"}), false},
		"its row lists nodes, and no mode":  {says(api.NodeStatusReport{HostID: attempt, ObservedNodes: stage.Sees(api.NodeStatusUp, attempt)}), false},
		"its row is of a node that started": {says(api.NodeStatusReport{HostID: attempt, OwnsTokens: new(false), OperationMode: "STARTING"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, 1, 1)
			member, other := st.Newcomer(2, 0), st.Newcomer(3, 0)
			tc.change(t, st, member)
			st.Services[member].Annotations[api.AnnotationHostID] = attempt
			c := st.cluster(SourceAnnotation)
			if joins := slices.ContainsFunc(c.JoinCandidates(), func(m *Member) bool { return m.Ref.Member == member }); joins != tc.joins {
				t.Errorf("it gets a turn: %v, want %v", joins, tc.joins)
			}
			v, err := bootstrap.VerdictOf(c, other)
			blocks := slices.ContainsFunc(v.Blockers, func(b matrix.Blocker) bool { return b.Observed.HostID == attempt })
			if down := name == "the others list it as joining"; err != nil || blocks != (!tc.joins || down) {
				t.Errorf("it blocks %s: %v, want %v (%v)", other, blocks, !tc.joins || down, err)
			}
		})
	}
}
