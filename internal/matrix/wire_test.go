// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/vectors"
)

func decodeReport(t testing.TB, text string) api.ScyllaDBDatacenterNodesStatusReport {
	t.Helper()
	var r api.ScyllaDBDatacenterNodesStatusReport
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFromReports(t *testing.T) {
	report := decodeReport(t, strings.NewReplacer(`"a"`, `"`+idA+`"`, `"b"`, `"`+idB+`"`, `"d"`, `"`+idX+`"`).Replace(`{"datacenterName": "dc1", "racks": [
		{"name": "rack1", "nodes": [
			{"ordinal": 0, "hostID": "a", "observedNodes": [{"hostID": "a", "status": "UP"}, {"hostID": "b", "status": "UP"}]},
			{"ordinal": 1, "hostID": "b", "observedNodes": [{"hostID": "a", "status": "DOWN", "since": "2026-11-21T11:59:48Z"}, {"hostID": "b", "status": "UP", "state": "LEAVING"}]},
			{"ordinal": 2},
			{"ordinal": 3, "hostID": "d", "observedNodes": [{"hostID": "d", "status": "Up"}, {"hostID": "d", "status": "UP"}]}]},
		{"name": "rack2"}]}`))
	rows := FromReports([]api.ScyllaDBDatacenterNodesStatusReport{report})
	ref := func(ordinal int32, hostID string) Ref {
		return Ref{HostID: hostid.ID(hostID), Datacenter: "dc1", Rack: "rack1", Ordinal: &ordinal}
	}
	ab := &Membership{HostIDs: []hostid.ID{idA, idB}}
	want := []Row{
		{NoStates: true, Reporter: ref(0, idA), Reported: true, Base: ab},
		{NoStates: true, Reporter: ref(1, idB), Reported: true, Base: ab, Observed: []Observation{
			{HostID: idA, Status: Down}, // without what the Scylla Operator's kind does not know
		}},
		{NoStates: true, Reporter: ref(2, "")},
		{NoStates: true, Reporter: ref(3, idX), Reported: true, Observed: []Observation{{HostID: idX}, {HostID: idX, Status: Up}}},
	}
	for i := range rows {
		if len(rows[i].Observed) == 0 {
			rows[i].Observed = nil
		}
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if rows[0].Base != rows[1].Base {
		t.Error("rows that list the same host IDs do not share them")
	}
}

// TestSharedRowsSayWhatTheWireSays holds the compact rows to plain ones.
func TestSharedRowsSayWhatTheWireSays(t *testing.T) {
	genCell := rapid.Custom(func(t *rapid.T) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{
			HostID: hostid.ID(rapid.SampledFrom([]string{idA, idB, idC, ""}).Draw(t, "host ID")),
			Status: rapid.SampledFrom([]api.NodeStatus{"UP", "UP", "UP", "DOWN", "UNKNOWN", "odd", ""}).Draw(t, "status"),
			State:  rapid.SampledFrom([]api.NodeState{"", "", "JOINING", "odd"}).Draw(t, "state"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var report api.ScyllaDBDatacenterNodesStatusReport
		var plain []Row
		report.Racks = make([]api.RackReport, 1)
		for i := range rapid.IntRange(0, 8).Draw(t, "rows") {
			id := rapid.SampledFrom([]string{idA, idB, idC}).Draw(t, "reporter")
			cells := rapid.SliceOfN(genCell, 0, 4).Draw(t, "cells")
			ordinal := int32(i)
			report.Racks[0].Nodes = append(report.Racks[0].Nodes, api.NodeReport{Ordinal: ordinal, HostID: &id, ObservedNodes: api.Plain(cells)})
			r := Row{Reporter: Ref{HostID: hostid.ID(id), Ordinal: &ordinal}, Reported: len(cells) > 0}
			for _, c := range cells {
				r.Observed = append(r.Observed, Observation{HostID: c.HostID, Status: ParseStatus(string(c.Status))})
			}
			plain = append(plain, r)
		}
		rows := FromReports([]api.ScyllaDBDatacenterNodesStatusReport{report})
		if diff := cmp.Diff(New(plain, Options{}).Blockers(), New(rows, Options{}).Blockers()); diff != "" {
			t.Errorf("blockers of plain rows (-) and of shared rows (+):\n%s", diff)
		}
		for i := range rows {
			want, got := slices.Clone(plain[i].Observed), slices.Collect(rows[i].Each())
			byHostID := func(a, b Observation) int { return strings.Compare(string(a.HostID), string(b.HostID)) }
			slices.SortStableFunc(want, byHostID)
			slices.SortStableFunc(got, byHostID)
			if !slices.Equal(want, got) {
				t.Errorf("row %d says %v, want %v", i, got, want)
			}
		}
	})
}

func TestEachStopsWhenAsked(t *testing.T) {
	r := Row{Base: &Membership{HostIDs: []hostid.ID{"a", "b"}}, Observed: []Observation{{HostID: "b"}, {HostID: "c"}}}
	for stop := 1; stop <= 3; stop++ {
		n := 0
		for range r.Each() {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("%d cells, want %d", n, stop)
		}
	}
}

func TestFromStatusReport(t *testing.T) {
	membership := api.NewMembership([]string{idA, idB, idC})
	since := metav1.NewTime(ago(time.Minute))
	node := func(id string, cells ...api.ObservedNodeStatusReport) api.StatusReportNode {
		return api.StatusReportNode{HostID: id, MembershipDigest: membership.Digest, ObservedNodes: cells}
	}
	of := func(name, id string) api.StatusReportMember {
		return api.StatusReportMember{Name: name, Datacenter: "dc1", Rack: "rack1", HostID: id, Joined: true}
	}
	tests := map[string]struct {
		report *api.ScyllaDBStatusReport
		want   []string
	}{
		"no report": {},
		"all UP over the membership": {
			report: &api.ScyllaDBStatusReport{Membership: membership, Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{node(idA), node(idB), node(idC)}}}},
		},
		"an exception is named": {
			report: &api.ScyllaDBStatusReport{
				Membership:  membership,
				Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{node(idA, api.ObservedNodeStatusReport{HostID: idB, Status: "DOWN", Since: &since}), node(idB), node(idC)}}},
				Status:      api.ScyllaDBStatusReportStatus{Members: []api.StatusReportMember{of("demo-rack1-0", idA)}},
			},
			want: []string{"demo-rack1-0 (8ebd0fc0) sees host ID " + idB + " DOWN for 1m0s"},
		},
		"the proposal's plain rows": {
			report: &api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{
				{HostID: idA, ObservedNodes: []api.ObservedNodeStatusReport{{HostID: idA, Status: "UP"}, {HostID: idB, Status: "UP"}}},
			}}}},
			want: []string{"no status report from host ID " + idB},
		},
		"a row over another membership": {
			report: &api.ScyllaDBStatusReport{Membership: membership, Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA, MembershipDigest: "feed"}}}}},
			want:   []string{"no usable status report from host ID " + idA + ": the membership feed in the report is missing or invalid"},
		},
		"a row over a membership that is not there": {
			report: &api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA, MembershipDigest: "feed"}}}}},
			want:   []string{"no usable status report from host ID " + idA + ": the membership in the report is missing or invalid"},
		},
		"a membership that somebody edited": {
			report: &api.ScyllaDBStatusReport{Membership: &api.Membership{Digest: "feed", HostIDs: []string{idA}}, Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA, MembershipDigest: "feed"}}}}},
			want:   []string{"no usable status report from host ID " + idA + ": the membership feed in the report is missing or invalid"},
		},
		"a vanished datacenter keeps its rows and blocks": {
			report: &api.ScyllaDBStatusReport{Membership: membership, Datacenters: []api.StatusReportDatacenter{
				{Name: "dc1", Nodes: []api.StatusReportNode{node(idA), node(idB)}},
				{Name: "dc2", Stale: true, StaleSince: &since, Nodes: []api.StatusReportNode{node(idC)}},
			}},
			want: []string{"no current status report from host ID " + idC + " for 1m0s: the report of datacenter dc2 is no longer readable"},
		},
		"a member that has joined and has no row, one with an error, one that is stale, and a newcomer": {
			report: &api.ScyllaDBStatusReport{
				Membership: membership,
				Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{
					node(idA),
					{HostID: idB, Fault: &api.RowTrouble{Code: string(words.RowMalformed), Words: "cannot be decoded"}},
					{HostID: idC, MembershipDigest: membership.Digest, Stale: &api.RowTrouble{Code: string(words.ReporterNotReady), Object: "scylla-reporter"}},
				}}},
				Status: api.ScyllaDBStatusReportStatus{Members: []api.StatusReportMember{
					of("demo-rack1-0", idA),
					of("demo-rack1-1", idB),
					of("demo-rack1-2", idC),
					of("demo-rack1-3", ""),
					{Name: "demo-rack1-4", HostID: "new"},
				}},
			},
			want: []string{
				"no usable status report from demo-rack1-1 (35d0f1aa): cannot be decoded",
				"the host ID of demo-rack1-3 is unknown",
				"no current status report from demo-rack1-2 (1ffac2bb): container scylla-reporter of Pod demo-rack1-2 is not ready",
			},
		},
		"rows without observations have not reported": {
			report: &api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA}}}}},
			want:   []string{"no status report from host ID " + idA},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range New(FromStatusReport(tc.report), Options{}).Blockers() {
				got = append(got, words.Aging(b.Message(), b.Since, now))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
		})
	}
	if got := NotVerified(&api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{Name: "dc1"}, {Name: "dc2", NotVerified: true}}}); !slices.Equal(got, []string{"dc2"}) {
		t.Errorf("NotVerified = %v", got)
	}
	if got := NotVerified(nil); got != nil {
		t.Errorf("NotVerified(nil) = %v", got)
	}
}

// TestFaultsOfTheWire: what reporters write is what rows say.
func TestFaultsOfTheWire(t *testing.T) {
	if string(words.ScyllaDBNoAnswer) != api.FaultScyllaDB || string(words.PodUnreachable) != api.FaultPodUnreachable {
		t.Error("a fault has two spellings")
	}
}

// FuzzReport feeds any JSON to the two report kinds and holds the matrix to the naive model on what comes out.
// TestNoHarm23AMalformedHostIDInAMembershipBlocks: a cluster report blocks on a node that it cannot name, as every other list of nodes does.
func TestNoHarm23AMalformedHostIDInAMembershipBlocks(t *testing.T) {
	const malformed = "not-a-host-id"
	up := api.ObservedNodeStatusReport{Status: api.NodeStatusUp}
	reasons := func(rows []Row) []words.Code {
		var out []words.Code
		for _, b := range New(rows, Options{}).Blockers() {
			out = append(out, b.Reason)
		}
		return out
	}
	cells := []api.ObservedNodeStatusReport{up, up}
	cells[0].HostID, cells[1].HostID = idA, malformed
	plain := reasons(FromStatusReport(&api.ScyllaDBStatusReport{Datacenters: []api.StatusReportDatacenter{{
		Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA, ObservedNodes: cells}},
	}}}))
	membership := api.NewMembership([]string{idA, malformed})
	digest := reasons(FromStatusReport(&api.ScyllaDBStatusReport{Membership: membership, Datacenters: []api.StatusReportDatacenter{{
		Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA, MembershipDigest: membership.Digest}},
	}}}))
	if len(digest) == 0 || !slices.Equal(digest, plain) {
		t.Errorf("the membership's node blocks by %v, the listed one by %v", digest, plain)
	}
}

func FuzzReport(f *testing.F) {
	var cases []struct{ Input precondition }
	vectors.Read(f, "precondition-cases.json", &cases)
	for _, c := range cases {
		for _, r := range c.Input.Reports {
			b, err := json.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	m, err := json.Marshal(api.ScyllaDBStatusReport{Membership: api.NewMembership([]string{idA, idB}), Datacenters: []api.StatusReportDatacenter{{
		Name: "dc1", Nodes: []api.StatusReportNode{{HostID: idA, MembershipDigest: api.NewMembership([]string{idA, idB}).Digest}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m)
	f.Fuzz(func(t *testing.T, data []byte) {
		var dc api.ScyllaDBDatacenterNodesStatusReport
		if json.Unmarshal(data, &dc) == nil {
			checkRows(t, FromReports([]api.ScyllaDBDatacenterNodesStatusReport{dc}))
		}
		var cluster api.ScyllaDBStatusReport
		if json.Unmarshal(data, &cluster) == nil {
			checkRows(t, FromStatusReport(&cluster))
		}
		if annotation, err := api.DecodeNodeStatusReport(string(data)); err == nil {
			rows := FromCells([][]api.ObservedNodeStatusReport{annotation.ObservedNodes})
			rows[0].Reporter = memberA
			checkRows(t, rows)
		}
	})
}

func checkRows(t *testing.T, rows []Row) {
	t.Helper()
	self := newcomer()
	for _, opts := range []Options{{}, {Self: self, Reports: 1, AllowNonReporting: true}} {
		m := New(rows, opts)
		if got, want := len(m.Blockers()) == 0, len(judgeNaively(rows, opts).blockers) == 0; got != want {
			t.Errorf("satisfied = %v, naive %v, rows %+v", got, want, rows)
		}
		for _, b := range m.Blockers() {
			if words.Aging(b.Message(), b.Since, now) == "" {
				t.Errorf("a blocker without words: %+v", b)
			}
		}
	}
}
