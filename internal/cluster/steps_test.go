// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// TestFaultsOfRows: the row of demo-rack1-0 cannot be made or used, for every cause; no row has it DOWN. The step follows from the fault.
func TestFaultsOfRows(t *testing.T) {
	t.Parallel()
	const (
		name     = "demo-rack1-0"
		scylla   = matrix.FaultScyllaDB
		reporter = matrix.FaultReporter
		pod      = matrix.FaultPod
	)
	annotated := func(text string) func(*scene) {
		return func(st *scene) {
			st.Pods[name].Annotations[api.AnnotationNodeStatusReport] = text
			st.Reports["dc1"].Racks[0].Nodes[0].ObservedNodes = nil
		}
	}
	live := func(err, fault string) func(*Cluster) *Cluster {
		return func(s *Cluster) *Cluster {
			answers := s.Annotated()
			delete(answers, name)
			if err != "" {
				answers[name] = &api.NodeStatusReport{Error: &err, Fault: fault}
			}
			return s.WithLive(answers, nil, nil)
		}
	}
	report := func(why *api.RowTrouble) func(*Cluster) *Cluster {
		return func(s *Cluster) *Cluster {
			o := s.Objects
			o.Reports = nil
			o.StatusReport = &api.ScyllaDBStatusReport{
				Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: hostID(1, 0), Member: name, Fault: why}}}},
				Status: api.ScyllaDBStatusReportStatus{Members: []api.StatusReportMember{
					{Name: name, Namespace: "elsewhere", Datacenter: "dc1", Rack: "rack1", HostID: hostID(1, 0), Joined: true},
				}},
			}
			return New(o, SourceReport, s.TakenAt)
		}
	}
	cases := map[string]struct {
		change  func(*scene)
		loaded  func(*Cluster) *Cluster
		sources []Source
		want    matrix.Fault
	}{
		"ScyllaDB does not answer the reporter": {change: annotated(`{"error":"refused"}`), sources: []Source{SourceReport, SourceAnnotation}, want: scylla},
		"the annotation cannot be decoded":      {change: annotated(`{nonsense`), sources: []Source{SourceReport, SourceAnnotation}, want: reporter},
		"the Scylla Operator's annotation cannot be decoded": {
			change: func(st *scene) {
				annotated(`{nonsense`)(st)
				st.Pods[name].Spec.InitContainers, st.Pods[name].Status.InitContainerStatuses = nil, nil
			}, sources: []Source{SourceReport, SourceAnnotation}, want: scylla,
		},
		"there is no Pod": {change: func(st *scene) { delete(st.Pods, name) }, sources: []Source{SourceAnnotation}, want: pod},
		"the Pod speaks for another node": {
			change: annotated(`{"hostID":"` + hostID(9, 9) + `","observedNodes":[{"hostID":"` + hostID(1, 1) + `","status":"UP"}]}`), sources: []Source{SourceAnnotation}, want: scylla,
		},
		"live, ScyllaDB does not answer": {loaded: live("connection refused", api.FaultScyllaDB), sources: []Source{SourceLive}, want: scylla},
		"live, no port-forward":          {loaded: live("forward port 10000 of Pod db/demo-rack1-0: no answer", api.FaultPodUnreachable), sources: []Source{SourceLive}, want: pod},
		"live, ScyllaDB was not queried": {loaded: live("", ""), sources: []Source{SourceLive}, want: pod},
		"a cluster report of another namespace, ScyllaDB does not answer": {
			loaded: report(&api.RowTrouble{Code: api.FaultScyllaDB, Words: "connection refused"}), sources: []Source{SourceReport},
			want: scylla,
		},
		"a cluster report of another namespace, the annotation could not be decoded": {
			loaded: report(&api.RowTrouble{Code: string(words.RowMalformed), Object: api.ContainerReporter, Words: "unexpected end"}), sources: []Source{SourceReport},
			want: reporter,
		},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, src := range tc.sources {
				st := newStage(t, 1, 2)
				if tc.change != nil {
					tc.change(st)
				}
				s := st.cluster(src)
				if tc.loaded != nil {
					s = tc.loaded(s)
				}
				blockers := s.Matrix().Blockers()
				if len(blockers) != 1 || blockers[0].Reason != words.RowError {
					t.Errorf("%s: got %+v\nwant one", src, blockers)
					continue
				}
				at, _ := s.Matrix().Index(blockers[0].Observed.HostID)
				if got := s.Matrix().Nodes()[at].Row.Trouble.Fault(s.Containers().Container(name)); got != tc.want {
					t.Errorf("%s: the fault of %+v is %d, want %d", src, blockers[0].Cause, got, tc.want)
				}
			}
		})
	}
}

// TestFates is what the Services tell of replacements.
func TestFates(t *testing.T) {
	t.Parallel()
	st := newStage(t, 4, 1)
	for name, labels := range map[string]map[string]string{
		"demo-rack1-0": {api.LabelReplace: "", api.LabelReplacingNodeHostID: hostID(9, 9)},
		"demo-rack2-0": {api.LabelReplace: ""},
		"demo-rack3-0": {api.LabelReplacingNodeHostID: ""},
	} {
		for k, v := range labels {
			st.Services[name].Labels[k] = v
		}
	}
	want := map[hostid.ID]matrix.NodeFacts{hostid.ID(hostID(9, 9)): {Member: "demo-rack1-0", Open: true}, hostid.ID(hostID(2, 0)): {Member: "demo-rack2-0"}}
	if diff := cmp.Diff(want, st.cluster(SourceAuto).Matrix().Options().Fates); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
}
