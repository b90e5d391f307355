// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestSourceIsChosenAndExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change  func(*scene)
		cluster bool // there is a cluster report of our controller, too
		want    Source
		source  Source
		reason  string
	}{
		"reports":              {source: SourceReport, reason: "1 of 1 datacenter report found"},
		"one of two reports":   {change: func(st *scene) { st.Services["demo-rack1-1"].Labels[api.LabelDatacenter] = "dc2" }, source: SourceReport, reason: "1 of 2 datacenter reports found (none for dc2)"},
		"the cluster report":   {cluster: true, source: SourceReport, reason: "cluster report, 1 of 1 datacenter"},
		"no report":            {change: func(st *scene) { clear(st.Reports) }, source: SourceAnnotation, reason: "no report found; used Pod annotations of 2 Pods"},
		"some annotations":     {change: func(st *scene) { clear(st.Reports); st.Pods["demo-rack1-0"].Annotations = nil }, source: SourceAnnotation, reason: "no report found; used Pod annotations of 1 of 2 Pods"},
		"nothing":              {change: func(st *scene) { clear(st.Reports); clear(st.Pods) }, source: SourceAnnotation, reason: "no report found; no status report on any Pod: --source=live queries ScyllaDB"},
		"annotations wanted":   {want: SourceAnnotation, source: SourceAnnotation, reason: "Pod annotations requested: Pod annotations of 2 Pods"},
		"reports wanted, none": {change: func(st *scene) { clear(st.Reports) }, want: SourceReport, source: SourceReport, reason: "0 of 1 datacenter report found (none for dc1)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, 1, 2)
			if tc.change != nil {
				tc.change(st)
			}
			s := st.cluster(tc.want)
			if tc.cluster {
				s = New(withClusterReport(st.objects(), st.states), tc.want, s.TakenAt)
			}
			if s.Source != tc.source || words.Text(s.SourceReason()) != tc.reason {
				t.Errorf("got %s, %q\nwant %s, %q", s.Source, words.Text(s.SourceReason()), tc.source, tc.reason)
			}
		})
	}
}

func TestParseSource(t *testing.T) {
	t.Parallel()
	if s, err := ParseSource("LIVE"); err != nil || s != SourceLive {
		t.Errorf("got %q, %v", s, err)
	}
	if _, err := ParseSource("guess"); err == nil || !strings.Contains(err.Error(), "auto, report, annotation, live") {
		t.Errorf("err = %v", err)
	}
}

// TestLiveAnswersAndTheSource: what the nodes say is used where it was asked for or where it was left to what there is, and the missing right to ask
// changes nothing but the Problems.
func TestLiveAnswersAndTheSource(t *testing.T) {
	t.Parallel()
	refused := Problem{Verb: "create", Resource: ResourcePortForward, Namespace: "db", Kind: ProblemForbidden, Message: "forbidden"}
	silent := func() *scene {
		st := newStage(t, 1, 2)
		clear(st.Reports)
		for _, p := range st.Pods {
			p.Annotations = nil
		}
		return st
	}
	no, yes := &api.NodeStatusReport{Error: new("forbidden")}, &api.NodeStatusReport{HostID: hostid.ID(hostID(1, 0)), OperationMode: "NORMAL"}
	cases := map[string]struct {
		want     Source
		live     map[string]*api.NodeStatusReport
		problems []Problem
		source   Source
		reason   string
	}{
		"an answer": {SourceAuto, map[string]*api.NodeStatusReport{"demo-rack1-0": yes}, nil, SourceLive, "no status report in reports or annotations; ScyllaDB answered on 1 of 2 Pods"},
		"no answer": {SourceAuto, map[string]*api.NodeStatusReport{"demo-rack1-0": no}, nil, SourceLive, "no status report in reports or annotations; ScyllaDB answered on 0 of 2 Pods"},
		"one of them may be asked": {SourceAuto, map[string]*api.NodeStatusReport{"demo-rack1-0": yes, "demo-rack1-1": no}, []Problem{refused}, SourceLive,
			"no status report in reports or annotations; ScyllaDB answered on 1 of 2 Pods"},
		"none may be asked": {SourceAuto, map[string]*api.NodeStatusReport{"demo-rack1-0": no}, []Problem{refused}, SourceAnnotation,
			"no report found; no status report on any Pod, and no permission to query ScyllaDB"},
		"asked for":                       {SourceLive, map[string]*api.NodeStatusReport{"demo-rack1-0": yes}, nil, SourceLive, "ScyllaDB answered on 1 of 2 Pods"},
		"asked for and none may be asked": {SourceLive, map[string]*api.NodeStatusReport{"demo-rack1-0": no}, []Problem{refused}, SourceLive, "ScyllaDB answered on 0 of 2 Pods"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := silent().cluster(tc.want)
			s := before.WithLive(tc.live, nil, tc.problems)
			if s.Source != tc.source || words.Text(s.SourceReason()) != tc.reason || (s.Live == nil) != (tc.source != SourceLive) {
				t.Errorf("source %s, %q, live %v", s.Source, words.Text(s.SourceReason()), s.Live)
			}
			if len(s.Problems) != len(tc.problems) || len(before.Problems) != 0 || before.Live != nil {
				t.Errorf("problems %v; before %v, %v", s.Problems, before.Problems, before.Live)
			}
		})
	}
}

func TestUsingOfASource(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1, 2).cluster(SourceAuto)
	other, err := s.Using(SourceAnnotation)
	if err != nil || other.Source != SourceAnnotation || s.Source != SourceReport {
		t.Errorf("source %s of %s, %v", other.Source, s.Source, err)
	}
	if _, err := s.Using(SourceLive); err == nil || !strings.Contains(err.Error(), "saved objects contain no answer") {
		t.Errorf("err = %v", err)
	}
}

// A datacenter with members here and without a report is one whose report is lost, and none that cannot be asked from here.
func TestADatacenterWithoutItsReport(t *testing.T) {
	t.Parallel()
	st := newStage(t, 1, 2)
	st.Services["demo-rack1-1"].Labels[api.LabelDatacenter] = "dc2"
	s := st.cluster(SourceAuto)
	m := s.Matrix()
	var reasons []words.Code
	for _, b := range bootstrap.HealthOf(s).Blockers {
		reasons = append(reasons, b.Reason)
	}
	if diff := cmp.Diff([]words.Code{words.ReportMissing}, reasons); diff != "" {
		t.Errorf("blockers (-want +got):\n%s", diff)
	}
	if i, ok := m.Index(hostid.ID(hostID(1, 0))); !ok || m.Nodes()[i].Member != "demo-rack1-0" {
		t.Errorf("node of %s is not named by its member", hostID(1, 0))
	}
}
