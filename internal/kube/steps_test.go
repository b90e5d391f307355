// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// TestStepsOfRowErrors: the row of demo-rack1-0 cannot be made or used, by every way in which that happens; nobody sees it DOWN.
func TestStepsOfRowErrors(t *testing.T) {
	t.Parallel()
	const (
		name     = "demo-rack1-0"
		scylla   = "look at that ScyllaDB, its log says why: kubectl logs demo-rack1-0 -c scylla -n db"
		reporter = "the row heals with its next report; if not, the reporter's log says why: kubectl logs demo-rack1-0 -c scylla-reporter -n db"
		pod      = "see that its Pod runs and can be reached: kubectl get pod demo-rack1-0 -n db"
	)
	annotated := func(text string) func(*stage) {
		return func(st *stage) {
			st.pods[name].Annotations[api.AnnotationNodeStatusReport] = text
			st.reports["dc1"].Racks[0].Nodes[0].ObservedNodes = nil
		}
	}
	live := func(err string) func(*Snapshot) {
		return func(s *Snapshot) {
			answers := map[string]*api.NodeStatusReport{}
			for member, a := range s.annotations() {
				answers[member] = a.report
			}
			answers[name] = &api.NodeStatusReport{Error: &err}
			s.setLive(answers, nil)
		}
	}
	report := func(why string) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Reports = nil
			s.StatusReport = &api.ScyllaDBStatusReport{Status: api.ScyllaDBStatusReportStatus{Members: []api.StatusReportMember{
				{Name: name, Namespace: "elsewhere", Datacenter: "dc1", Rack: "rack1", HostID: hostID(1, 0), Joined: true, RowError: why},
			}}}
		}
	}
	cases := map[string]struct {
		change  func(*stage)
		loaded  func(*Snapshot)
		sources []Source
		want    string
	}{
		"ScyllaDB does not answer the reporter": {change: annotated(`{"error":"refused"}`), sources: []Source{SourceReport, SourceAnnotation}, want: scylla},
		"the annotation cannot be decoded":      {change: annotated(`{nonsense`), sources: []Source{SourceReport, SourceAnnotation}, want: reporter},
		"the Scylla Operator's annotation cannot be decoded": {
			change: func(st *stage) {
				annotated(`{nonsense`)(st)
				st.pods[name].Spec.InitContainers, st.pods[name].Status.InitContainerStatuses = nil, nil
			}, sources: []Source{SourceReport, SourceAnnotation}, want: scylla,
		},
		"there is no Pod": {change: func(st *stage) { delete(st.pods, name) }, sources: []Source{SourceAnnotation}, want: pod},
		"the Pod speaks for another node": {
			change: annotated(`{"hostID":"` + hostID(9, 9) + `","observedNodes":[{"hostID":"` + hostID(1, 1) + `","status":"UP"}]}`), sources: []Source{SourceAnnotation}, want: scylla,
		},
		"live, ScyllaDB does not answer": {loaded: live("ask the local ScyllaDB: connection refused"), sources: []Source{SourceLive}, want: scylla},
		"live, no port-forward":          {loaded: live("forward port 10000 of pod db/demo-rack1-0: no answer"), sources: []Source{SourceLive}, want: pod},
		"live, ScyllaDB was not asked":   {loaded: func(s *Snapshot) { live("")(s); delete(s.Live, name) }, sources: []Source{SourceLive}, want: pod},
		"a cluster report of another namespace, ScyllaDB does not answer": {
			loaded: report("ask the local ScyllaDB: connection refused"), sources: []Source{SourceReport},
			want: "look at that ScyllaDB, its log says why: kubectl logs demo-rack1-0 -c scylla -n elsewhere",
		},
		"a cluster report of another namespace, the annotation could not be decoded": {
			loaded: report("decode node status report: unexpected end"), sources: []Source{SourceReport},
			want: "the row heals with its next report; if not, the reporter's log says why: kubectl logs demo-rack1-0 -c scylla-reporter -n elsewhere",
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
				opts := LoadOptions{Source: src}
				if src == SourceLive {
					opts.Source = SourceAuto
				}
				s := st.load(t, opts)
				if tc.loaded != nil {
					tc.loaded(s)
				}
				blockers := s.Matrix(matrix.Options{}).Blockers()
				if len(blockers) != 1 || blockers[0].Reason != matrix.ReasonRowError || blockers[0].NextStep != tc.want {
					t.Errorf("%s: got %+v\nwant one with %s", src, blockers, tc.want)
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
			st.services[name].Labels[k] = v
		}
	}
	want := map[string]matrix.Fate{hostID(9, 9): {Member: "demo-rack1-0", Open: true}, hostID(2, 0): {Member: "demo-rack2-0"}}
	s := st.load(t, LoadOptions{})
	if diff := cmp.Diff(want, s.Matrix(matrix.Options{}).Options().Fates); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	mine := map[string]matrix.Fate{}
	if got := s.Matrix(matrix.Options{Fates: mine, Namespace: "mine"}).Options(); len(got.Fates) != 0 || got.Namespace != "mine" {
		t.Errorf("what the caller says does not count: %+v", got)
	}
}
