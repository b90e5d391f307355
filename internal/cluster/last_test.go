// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// threeMembers are joined members that carry these rows.
func threeMembers(t interface{ Fatal(...any) }, row func(i int) *api.NodeStatusReport) []reportMember {
	var out []reportMember
	for i := range 3 {
		m := reportMember{
			name: fmt.Sprintf("demo-r%d-0", i), datacenter: "dc1", rack: fmt.Sprintf("r%d", i), hostID: stage.UUID(fmt.Sprintf("h%d", i)), joined: "true",
		}
		if r := row(i); r != nil {
			m.annotation = rowText(t, *r)
		}
		out = append(out, m)
	}
	return out
}

func reportAfter(report *api.ScyllaDBStatusReport, members ...reportMember) *api.ScyllaDBStatusReport {
	o := reportObjects(members...)
	if report != nil {
		o.StatusReport = report.DeepCopy()
		o.StatusReport.ObjectMeta = metav1.ObjectMeta{Namespace: "db", Name: "demo", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}
	}
	return New(o, SourceAnnotation, start).ClusterReport(nil, nil)
}

// TestB3TheWholeClusterStartsOnItsLastRows: no disk says COMPLETED or whose it is, and no node is heard. What the members were is kept: in their annotations where the Pods are the
// same, in the report where they are new. It opens the barrier of a member on its own volume, and is no evidence that a node is UP.
func TestB3TheWholeClusterStartsOnItsLastRows(t *testing.T) {
	t.Parallel()
	id := func(i int) hostid.ID { return hostid.ID(stage.UUID(fmt.Sprintf("h%d", i))) }
	cells := sees("UP", string(id(0)), string(id(1)), string(id(2)))
	row := func(i int) *api.NodeStatusReport {
		return &api.NodeStatusReport{HostID: id(i), OperationMode: "NORMAL", OwnsTokens: new(true), ObservedNodes: cells}
	}
	refused := func(last bool) func(int) *api.NodeStatusReport {
		return func(i int) *api.NodeStatusReport {
			r := &api.NodeStatusReport{Error: new("connection refused")}
			if last {
				r.LastRow = &api.LastRow{HostID: id(i), ObservedNodes: cells}
			}
			return r
		}
	}
	nothing := func(int) *api.NodeStatusReport { return nil }
	running := reportAfter(nil, threeMembers(t, row)...)
	if running.LastListed != nil {
		t.Fatalf("while rows count: %v", running.LastListed)
	}
	joining := func(i int) *api.NodeStatusReport {
		r := row(i)
		r.ObservedNodes = append(sees("UP", string(id(0)), string(id(1))), api.ObservedNodeStatusReport{HostID: id(2), Status: "UP", State: api.NodeStateJoining})
		return r
	}
	joinedTwo := func(members []reportMember) []reportMember {
		members[2].joined = "false"
		return members
	}
	for name, c := range map[string]struct {
		before *api.ScyllaDBStatusReport
		now    func(int) *api.NodeStatusReport
		want   int
	}{
		"the same Pods, whose reporters keep their last rows":   {nil, refused(true), 3},
		"new Pods that carry nothing, by the report's own":      {running, nothing, 3},
		"new Pods whose reporters hear nobody":                  {running, refused(false), 3},
		"nothing was ever said":                                 {nil, refused(false), 0},
		"a node that was still joining is no member":            {reportAfter(nil, joinedTwo(threeMembers(t, joining))...), nothing, 2},
		"the rows have it as joining, and its join is recorded": {reportAfter(nil, threeMembers(t, joining)...), nothing, 3},
		"another node has a row that counts: only that counts":  {running, func(i int) *api.NodeStatusReport { return map[int]*api.NodeStatusReport{1: row(1)}[i] }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := threeMembers(t, c.now)
			if c.want == 2 {
				members = joinedTwo(members)
			}
			report := reportAfter(c.before, members...)
			again := reportAfter(report, members...)
			if diff := cmp.Diff(report, again); diff != "" {
				t.Errorf("the second look says something else:\n%s", diff)
			}
			if len(report.LastListed) != c.want {
				t.Fatalf("last listed %v, want %d", report.LastListed, c.want)
			}
			if c.want == 0 {
				return
			}
			o := reportObjects(members...)
			o.StatusReport, o.Pods = again.DeepCopy(), nil // a barrier reads no Pods
			o.StatusReport.ObjectMeta = metav1.ObjectMeta{Namespace: "db", Name: "demo", Labels: map[string]string{api.LabelManagedBy: api.ManagedByUs}}
			cl := New(o, SourceReport, start)
			for i := range 3 {
				in, err := bootstrap.Of(cl, fmt.Sprintf("demo-r%d-0", i))
				if err != nil {
					t.Fatal(err)
				}
				in.Disk, in.Volume = bootstrap.BootstrappedUnknown, bootstrap.VolumeUsed
				v := bootstrap.Decide(in)
				if want := i < c.want; v.Satisfied != want || want && v.Summary.Code != words.StartsAsMemberByLastRow {
					t.Errorf("member %d: %s (%s), want a restart: %t", i, v.Decision, v.Summary.Code, want)
				}
				in.Volume = bootstrap.VolumeEmpty
				if v := bootstrap.Decide(in); v.Satisfied {
					t.Errorf("member %d on an empty volume: %s", i, v.Decision)
				}
			}
			if h := cl.Matrix().Health(); h.Up != 0 || h.AllUp || cl.Matrix().Reporting() != 0 {
				t.Errorf("last rows count as rows: %+v", h)
			}
		})
	}
}

// TestB3LastRowsNeverCount: whatever last rows are stored beside errors, in annotations and in the report, each node's state is the one without them.
func TestB3LastRowsNeverCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ids := []string{stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h2"), stage.UUID("h7")}
		status := rapid.SampledFrom([]api.NodeStatus{"UP", "DOWN", "UNKNOWN"})
		var kept []api.LastListed
		for _, id := range ids {
			if rapid.Bool().Draw(t, "listed") {
				kept = append(kept, api.LastListed{HostID: hostid.ID(id), By: hostid.ID(rapid.SampledFrom(ids).Draw(t, "by"))})
			}
		}
		lasts := [3]*api.LastRow{}
		rows := [3]api.NodeStatusReport{}
		for i := range 3 {
			r := api.NodeStatusReport{HostID: hostid.ID(ids[i]), OperationMode: "NORMAL", OwnsTokens: new(true)}
			cells := sees(status.Draw(t, "status"), ids[:rapid.IntRange(1, 4).Draw(t, "cells")]...)
			if rapid.Bool().Draw(t, "error") {
				r.Error, lasts[i] = new("refused"), &api.LastRow{HostID: hostid.ID(ids[i]), ObservedNodes: cells}
			} else {
				r.ObservedNodes = cells
			}
			rows[i] = r
		}
		judge := func(last bool) string {
			members := threeMembers(t, func(i int) *api.NodeStatusReport {
				r := rows[i]
				if last {
					r.LastRow = lasts[i]
				}
				return &r
			})
			report := reportAfter(nil, members...)
			report.LastListed = nil
			if last {
				report.LastListed = kept
			}
			out := ""
			for _, source := range []Source{SourceAnnotation, SourceReport} {
				o := reportObjects(members...)
				o.StatusReport = report
				c := New(o, source, start)
				out += fmt.Sprintf("%s %+v %+v %v\n", source, c.Matrix().Health(), bootstrap.HealthOf(c), c.Matrix().Reporting())
			}
			return out
		}
		if diff := cmp.Diff(judge(false), judge(true)); diff != "" {
			t.Fatal(diff)
		}
	})
}
