// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/scylla/release"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func TestA5VersionTooOld(t *testing.T) {
	for name, tc := range map[string]struct {
		image string
		runs  []string
		want  string
	}{
		"the same":                    {"2025.2.1", []string{"2025.2.1", "2025.2.1", "2025.2.1"}, ""},
		"newer":                       {"2025.3.0", []string{"2025.2.1", "2025.2.1", "2025.2.1"}, ""},
		"older than all":              {"2025.1.9", []string{"2025.3.0-0.20250901.abcdef", "2025.2.1-0.20250801.abcdef", "2025.3.0"}, "demo-rack4-0 must wait: the ScyllaDB version of demo-rack4-0 is older than the cluster's: 2025.1.9, but demo-rack2-0 runs 2025.2.1, the oldest version in the cluster"},
		"older than some: an upgrade": {"2025.2.1", []string{"2025.3.0", "2025.2.1", "2025.3.0"}, ""},
		"an older patch":              {"2025.2.0", []string{"2025.2.1", "2025.2.1", "2025.2.1"}, "demo-rack4-0 must wait: the ScyllaDB version of demo-rack4-0 is older than the cluster's: 2025.2.0, but demo-rack1-0 runs 2025.2.1, the oldest version in the cluster"},
		"an older patch than some":    {"2025.2.0", []string{"2025.2.1", "2025.2.0", "2025.2.1"}, ""},
		"a candidate":                 {"2025.2.1-rc1", []string{"2025.2.1", "2025.2.1", "2025.2.1"}, ""},
		"of the open source line":     {"6.2.3", []string{"2025.1.0", "2025.1.0", "2025.1.0"}, "demo-rack4-0 must wait: the ScyllaDB version of demo-rack4-0 is older than the cluster's: 6.2.3, but demo-rack1-0 runs 2025.1.0, the oldest version in the cluster"},
		"the image does not say":      {"latest", []string{"2025.2.1", "2025.2.1", "2025.2.1"}, ""},
		"the nodes do not say":        {"2025.1.0", []string{"", "", ""}, ""},
		"one node says, and is newer": {"2025.1.0", []string{"", "2025.2.1", ""}, "demo-rack4-0 must wait: the ScyllaDB version of demo-rack4-0 is older than the cluster's: 2025.1.0, but demo-rack2-0 runs 2025.2.1, the oldest version in the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := threeUp()
			for i, v := range tc.runs {
				rows[i].Report = &api.NodeStatusReport{ScyllaVersion: v}
			}
			for i := range rows {
				for j, id := range []string{idA, idB, idC} {
					if string(rows[i].Reporter.HostID) == id {
						rows[i].Report = &api.NodeStatusReport{ScyllaVersion: tc.runs[j]}
					}
				}
			}
			in := newcomer()
			in.Matrix = newMatrix(rows)
			in.Version, _ = release.Parse(tc.image)
			v := Decide(in)
			if tc.want == "" {
				if !v.Satisfied {
					t.Errorf("%s", words.Of(v.Self.Name(), v.Summary))
				}
				return
			}
			if v.Satisfied || words.Of(v.Self.Name(), v.Summary) != tc.want {
				t.Errorf("%s\nwant %s", words.Of(v.Self.Name(), v.Summary), tc.want)
			}
			if len(v.Blockers) != 1 || v.Blockers[0].Reason != words.VersionTooOld {
				t.Errorf("%+v", v.Blockers)
			}
			maps.Copy(in.Member.Service.Annotations, map[string]string{api.AnnotationForceProceed: "true"})
			if v := Decide(in); v.Decision != DecisionForced {
				t.Errorf("forced: %s", words.Of(v.Self.Name(), v.Summary))
			}
			in.Disk = BootstrappedYes
			if v := Decide(in); !v.Satisfied {
				t.Errorf("a node that has bootstrapped is not asked for its version: %s", words.Of(v.Self.Name(), v.Summary))
			}
		})
	}
}

func TestA5OneNewcomerAtATimeWithoutRaft(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	other := func(created time.Time, change func(*cluster.Member)) func(*Input) {
		return func(in *Input) {
			p := aged(member(matrix.Ref{Member: "demo-rack5-0", Datacenter: "dc1", Rack: "rack5"}, nil), created)
			change(p)
			in.Peers = append(in.Peers, p)
		}
	}
	for name, tc := range map[string]struct {
		byRaft bool
		change func(*Input)
		want   string
	}{
		"alone":                        {change: func(*Input) {}},
		"another waits and is older":   {change: other(at.Add(-time.Minute), waits), want: "one new node at a time, because topology is not managed by Raft: demo-rack5-0 is also waiting, and joins first"},
		"another waits and is younger": {change: other(at.Add(time.Minute), waits)},
		"another's ScyllaDB runs":      {change: other(at.Add(time.Minute), func(p *cluster.Member) { runs(p, "2025.2.1") }), want: "one new node at a time, because topology is not managed by Raft: demo-rack5-0 is joining"},
		"another has joined": {change: other(at.Add(-time.Minute), func(p *cluster.Member) {
			runs(p, "2025.2.1")
			p.Joined = ptr(true)
		})},
		"another is only planned":     {change: other(at.Add(-time.Minute), func(*cluster.Member) {})},
		"topology is managed by Raft": {byRaft: true, change: other(at.Add(-time.Minute), waits)},
		"its peers see another on its way": {change: func(in *Input) {
			rows := threeUp(matrix.Observation{HostID: idOwn, Status: matrix.Up, State: matrix.StateJoining})
			for i := range rows {
				rows[i].Report = &api.NodeStatusReport{LegacyTopology: true}
			}
			in.Matrix = newMatrix(rows)
		}, want: "one new node at a time, because topology is not managed by Raft: host ID " + idOwn + " is joining"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := threeUp()
			for i := range rows {
				rows[i].Report = &api.NodeStatusReport{LegacyTopology: !tc.byRaft}
			}
			in := newcomer()
			aged(in.Member, at)
			in.Matrix = newMatrix(rows)
			tc.change(&in)
			v := Decide(in)
			got := ""
			if !v.Satisfied {
				got = words.Aging(v.Blockers[0].Message(), v.Blockers[0].Since, time.Time{})
			}
			if got != tc.want || len(v.Blockers) > 1 {
				t.Errorf("%q (%d blockers), want %q", got, len(v.Blockers), tc.want)
			}
		})
	}
}

func TestA5TheFirstNodeOfARackIsWarned(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		want   bool
	}{
		"of a new rack": {func(*Input) {}, true},
		"of a rack that has a node": {func(in *Input) {
			in.Member = member(matrix.Ref{Member: "demo-rack1-7", Datacenter: "dc1", Rack: "rack1"}, nil)
		}, false},
		"of a new datacenter": {func(in *Input) { in.Member.Service.Labels[api.LabelDatacenter] = "dc9" }, false},
		"whose node is a member": {func(in *Input) {
			in.Member = member(ref("rack3", idC), nil)
			in.Member.Service.Labels[api.LabelReplace] = ""
		}, false},
		"that replaces another":       {func(in *Input) { in.Member.Service.Labels[api.LabelReplacingNodeHostID] = idOwn }, false},
		"of a cluster without a node": {func(in *Input) { in.Matrix, in.Reports, in.Peers = nil, 0, nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := newcomer()
			tc.change(&in)
			v := Decide(in)
			got := ""
			for _, note := range v.Notes {
				if note.Code == words.RackIsNew {
					got = words.Text(note)
				}
			}
			if (got != "") != tc.want || tc.want && (!v.Satisfied || !strings.Contains(got, "rack rack4 is new in datacenter dc1")) {
				t.Errorf("%q, satisfied %v", got, v.Satisfied)
			}
		})
	}
}

// TestA5TheImageSpeaksWhereTheReporterDoesNot: the Scylla Operator's rows have no versions.
func TestA5TheImageSpeaksWhereTheReporterDoesNot(t *testing.T) {
	in := newcomer()
	in.Matrix = newMatrix(threeUp())
	in.Version, _ = release.Parse("2025.1.9")
	if v := Decide(in); !v.Satisfied {
		t.Fatalf("nothing says what the nodes run: %s", words.Of(v.Self.Name(), v.Summary))
	}
	for i, image := range []string{"2025.3.0", "2025.2.1", "2025.3.0"} {
		runs(in.Peers[i], image)
	}
	if v := Decide(in); v.Satisfied || len(v.Blockers) != 1 || v.Blockers[0].Reason != words.VersionTooOld || v.Blockers[0].Cause.Params["oldest"] != "2025.2.1" {
		t.Errorf("%s", words.Of(v.Self.Name(), v.Summary))
	}
}
