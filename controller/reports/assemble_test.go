// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

func text(t interface{ Fatal(...any) }, r api.NodeStatusReport) *string {
	s, err := api.EncodeNodeStatusReport(&r)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func sees(status api.NodeStatus, ids ...string) []api.ObservedNodeStatusReport {
	var out []api.ObservedNodeStatusReport
	for _, id := range ids {
		out = append(out, api.ObservedNodeStatusReport{HostID: id, Status: status})
	}
	return out
}

func TestAssembleMember(t *testing.T) {
	boom := "connection refused"
	member := func(m Member) Member {
		m.Name, m.Namespace, m.Rack, m.HostID, m.Joined = "demo-r1-0", "ns", "r1", "h0", true
		return m
	}
	for name, c := range map[string]struct {
		in         Member
		observed   []api.ObservedNodeStatusReport // in the datacenter report
		row        []api.ObservedNodeStatusReport // in the cluster report
		rowError   string
		stale      bool
		operations int
	}{
		"a fresh row is in both": {
			in:       member(Member{Annotation: text(t, api.NodeStatusReport{ObservedNodes: sees("UP", "h0")})}),
			observed: sees("UP", "h0"), row: sees("UP", "h0"),
		},
		"a stale row has not reported in the datacenter report and is kept in the cluster report": {
			in:  member(Member{Annotation: text(t, api.NodeStatusReport{ObservedNodes: sees("UP", "h0")}), Stale: "pod is gone"}),
			row: sees("UP", "h0"), stale: true,
		},
		"the reporter's error is said": {
			in: member(Member{Annotation: text(t, api.NodeStatusReport{Error: &boom})}), rowError: "connection refused",
		},
		"a row of another host ID is not this member's": {
			in:       member(Member{Annotation: text(t, api.NodeStatusReport{HostID: "h9", ObservedNodes: sees("UP", "h0")})}),
			rowError: "the pod speaks for host ID h9, which has not joined",
		},
		"operations go along": {
			in:       member(Member{Annotation: text(t, api.NodeStatusReport{ObservedNodes: sees("UP", "h0"), Operations: []api.NodeOperation{{Type: "bootstrap", State: "failed", HostID: "h3"}}})}),
			observed: sees("UP", "h0"), row: sees("UP", "h0"), operations: 1,
		},
		"no annotation": {in: member(Member{})},
	} {
		t.Run(name, func(t *testing.T) {
			d := Assemble(Input{Datacenter: "dc1", Members: []Member{c.in}})
			if diff := cmp.Diff(c.observed, d.Racks[0].Nodes[0].ObservedNodes); diff != "" {
				t.Errorf("datacenter report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.row, d.Rows[0].Observed); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
			m := d.Members[0]
			if m.RowError != c.rowError || m.RowStale != c.stale || len(d.Operations) != c.operations {
				t.Errorf("got error %q, stale %v, %d operations", m.RowError, m.RowStale, len(d.Operations))
			}
		})
	}
}

func TestANodeThatHasNotJoinedHasNoRow(t *testing.T) {
	d := Assemble(Input{Datacenter: "dc1", Racks: []string{"r2", "r1"}, Members: []Member{
		{Name: "demo-r1-0", Rack: "r1", HostID: "h0", Annotation: text(t, api.NodeStatusReport{ObservedNodes: sees("UP", "h0")})},
	}})
	if diff := cmp.Diff([]api.RackReport{{Name: "r1"}, {Name: "r2"}}, d.Racks); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	if len(d.Rows) != 0 || len(d.Members) != 1 || d.Members[0].Joined {
		t.Errorf("rows %v, members %v", d.Rows, d.Members)
	}
}

func TestAReportThatWouldBeRefusedSaysThatNobodyHasReported(t *testing.T) {
	d := Assemble(Input{Datacenter: "dc1", Members: []Member{
		{Name: "demo-r1-0", Rack: "r1", HostID: "h0", Joined: true, Annotation: text(t, api.NodeStatusReport{ObservedNodes: sees("UP", "h0")})},
	}})
	d.Bound(MaxReportBytes)
	if d.TooLarge || len(d.Racks[0].Nodes[0].ObservedNodes) == 0 {
		t.Fatalf("a small report was cut: %+v", d.Racks)
	}
	d.Bound(50)
	h := "h0"
	if diff := cmp.Diff([]api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{HostID: &h}}}}, d.Racks); diff != "" || !d.TooLarge {
		t.Errorf("too large %v, racks (-want +got):\n%s", d.TooLarge, diff)
	}
	if len(d.Rows[0].Observed) != 1 {
		t.Error("the cluster report lost its row too")
	}
}

// drawMembers draws a small datacenter with every kind of member.
func drawMembers(t *rapid.T) []Member {
	var out []Member
	n := rapid.IntRange(0, 6).Draw(t, "members")
	for i := range n {
		m := Member{
			Name: fmt.Sprintf("m%d", i), Rack: rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "rack"), Ordinal: int32(i),
			HostID: rapid.SampledFrom([]string{"", fmt.Sprintf("h%d", i)}).Draw(t, "host"), Joined: rapid.Bool().Draw(t, "joined"),
			Stale: rapid.SampledFrom([]string{"", "pod is gone"}).Draw(t, "stale"),
		}
		switch rapid.IntRange(0, 3).Draw(t, "annotation") {
		case 0:
		case 1:
			bad := rapid.SampledFrom([]string{"", "nope", "[]", "{}{}"}).Draw(t, "bad")
			m.Annotation = &bad
		default:
			m.Annotation = text(t, api.NodeStatusReport{ObservedNodes: drawRow(t, n)})
		}
		out = append(out, m)
	}
	return out
}

func drawRow(t *rapid.T, n int) []api.ObservedNodeStatusReport {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{
			HostID: rapid.SampledFrom([]string{"", "h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"}).Draw(t, "id"),
			Status: rapid.SampledFrom([]api.NodeStatus{"UP", "UP", "UP", "DOWN", "UNKNOWN", "up", "MISSING"}).Draw(t, "status"),
			State:  rapid.SampledFrom([]api.NodeState{"", "", "", "JOINING"}).Draw(t, "state"),
		}
	}), 0, n+2).Draw(t, "row")
}

func TestOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		shuffled := rapid.Permutation(members).Draw(t, "shuffled")
		a := Assemble(Input{Datacenter: "dc1", Racks: []string{"r1", "r9"}, Members: members})
		b := Assemble(Input{Datacenter: "dc1", Racks: []string{"r9", "r1", "r1"}, Members: shuffled})
		if diff := cmp.Diff(a, b, cmp.Comparer(func(x, y error) bool { return fmt.Sprint(x) == fmt.Sprint(y) })); diff != "" {
			t.Fatalf("(-one +other):\n%s", diff)
		}
		other := Datacenter{Name: "dc2", Rows: []Row{{HostID: "h8", Observed: sees("UP", "h8")}}}
		if diff := cmp.Diff(Aggregate(ClusterInput{Local: []Datacenter{a, other}}), Aggregate(ClusterInput{Local: []Datacenter{other, b}})); diff != "" {
			t.Fatalf("cluster report (-one +other):\n%s", diff)
		}
	})
}

func TestOneMemberNeverCostsAnotherItsRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		bad := "nope"
		with := Assemble(Input{Datacenter: "dc1", Members: append(slices.Clone(members), Member{Name: "zz", Rack: "zz", HostID: "hz", Joined: true, Annotation: &bad})})
		without := Assemble(Input{Datacenter: "dc1", Members: members})
		if diff := cmp.Diff(without.Racks, with.Racks[:len(with.Racks)-1], cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-without +with):\n%s", diff)
		}
	})
}

// The cluster report must say the same as the datacenter reports do, in far fewer bytes.
func TestCompressionLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []api.ObservedNodeStatusReport {
			row := drawRow(t, 6)
			slices.SortStableFunc(row, func(a, b api.ObservedNodeStatusReport) int { return strings.Compare(a.HostID, b.HostID) })
			return row
		}), 0, 6).Draw(t, "rows")
		m := Membership(rows...)
		for _, row := range rows {
			n := Compress("h", row, m)
			got, ok := Expand(n, m)
			if !ok {
				t.Fatal("not against this membership")
			}
			if diff := cmp.Diff(row, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%+v\n(-want +got):\n%s", n, diff)
			}
			if len(n.ObservedNodes) > len(row) {
				t.Fatalf("%d entries for a row of %d", len(n.ObservedNodes), len(row))
			}
		}
	})
}

func TestMatrixIsTheSameFromBothReports(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Assemble(Input{Datacenter: "dc1", Members: drawMembers(t)})
		verdict := func(rows []matrix.Row) bool { return len(matrix.New(rows, matrix.Options{}).Blockers()) == 0 }
		wide := verdict(matrix.FromStatusReport(Aggregate(ClusterInput{Local: []Datacenter{d}})))
		narrow := verdict(matrix.FromReports([]api.ScyllaDBDatacenterNodesStatusReport{{DatacenterName: "dc1", Racks: d.Racks}}))
		if wide != narrow {
			t.Fatalf("cluster report satisfied %v, datacenter report %v\n%+v", wide, narrow, d)
		}
	})
}

// cluster draws nothing: n nodes, all UP but for what flip changes.
func cluster(t testing.TB, n int, flip func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport) Datacenter {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
	}
	in := Input{Datacenter: "dc1"}
	for i, id := range ids {
		row := sees("UP", ids...)
		if flip != nil {
			row = flip(i, row)
		}
		in.Members = append(in.Members, Member{Name: fmt.Sprintf("m%d", i), Rack: "r", Ordinal: int32(i), HostID: id, Joined: true, Annotation: text(t, api.NodeStatusReport{ObservedNodes: row})})
	}
	return Assemble(in)
}

func TestClusterReportStaysSmall(t *testing.T) {
	for name, flip := range map[string]func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport{
		"all UP": nil,
		"one node DOWN for all": func(_ int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
			row[7].Status = api.NodeStatusDown
			return row
		},
		"half the nodes know a newcomer": func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
			if i%2 == 0 {
				row = append(row, api.ObservedNodeStatusReport{HostID: "zz", Status: api.NodeStatusUp, State: api.NodeStateJoining})
			}
			return row
		},
		"a node in a hundred knows only itself": func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
			if i%100 == 0 {
				return row[i : i+1]
			}
			return row
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := cluster(t, 200, flip)
			if d.Bound(MaxReportBytes); !d.TooLarge {
				t.Error("the datacenter report of 200 nodes should not fit: is the bound measured at all?")
			}
			r := Aggregate(ClusterInput{Local: []Datacenter{d}})
			_, _, h := judge(r)
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if h.Nodes < 200 || len(b) > 200_000 {
				t.Errorf("%d nodes in %d bytes", h.Nodes, len(b))
			}
			t.Logf("%d bytes", len(b))
		})
	}
}

// Bound must never let pass what is larger, and not cut what is much smaller.
func TestTheBoundIsAboveTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Assemble(Input{Datacenter: "dc1", Members: drawMembers(t)})
		odd := rapid.String().Draw(t, "odd")
		for i := range d.Racks {
			for j := range d.Racks[i].Nodes {
				for k := range d.Racks[i].Nodes[j].ObservedNodes {
					d.Racks[i].Nodes[j].ObservedNodes[k].HostID += odd
				}
			}
		}
		b, err := json.Marshal(d.Racks)
		if err != nil {
			t.Fatal(err)
		}
		limit := rapid.IntRange(0, 3000).Draw(t, "limit")
		if d.Bound(limit); !d.TooLarge && len(b) > limit {
			t.Fatalf("%d bytes passed a limit of %d", len(b), limit)
		}
	})
	d := cluster(t, 100, nil)
	if d.Bound(MaxReportBytes); d.TooLarge {
		t.Error("a datacenter of 100 nodes should fit")
	}
}

func BenchmarkAssembly(b *testing.B) {
	for _, n := range []int{3, 30, 100, 300, 1000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			ids := make([]string, n)
			for i := range ids {
				ids[i] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
			}
			row := text(b, api.NodeStatusReport{ObservedNodes: sees("UP", ids...)})
			m := &memory{decoded: map[string]decoded{}}
			in := Input{Datacenter: "dc1", Decode: m.decode}
			for i, id := range ids {
				in.Members = append(in.Members, Member{Name: fmt.Sprintf("m%d", i), Rack: "r", Ordinal: int32(i), HostID: id, Joined: true, Annotation: row})
			}
			Assemble(in)
			b.ReportAllocs()
			for b.Loop() {
				d := Assemble(in)
				d.Bound(MaxReportBytes)
				judge(Aggregate(ClusterInput{Local: []Datacenter{d}}))
			}
		})
	}
}

func FuzzAssemble(f *testing.F) {
	for _, c := range readAssembly(f) {
		for _, p := range c.Input.Pods {
			f.Add(p.Annotations[api.AnnotationNodeStatusReport])
		}
	}
	f.Fuzz(func(t *testing.T, annotation string) {
		good := text(t, api.NodeStatusReport{ObservedNodes: sees("UP", "h0", "h1")})
		d := Assemble(Input{Datacenter: "dc1", Members: []Member{
			{Name: "a", Rack: "r", HostID: "h0", Joined: true, Annotation: good},
			{Name: "b", Rack: "r", Ordinal: 1, HostID: "h1", Joined: true, Annotation: &annotation},
		}})
		if diff := cmp.Diff(sees("UP", "h0", "h1"), d.Racks[0].Nodes[0].ObservedNodes); diff != "" {
			t.Fatalf("the neighbour's row changed:\n%s", diff)
		}
		if len(d.Malformed) > 0 && len(d.Racks[0].Nodes[1].ObservedNodes) > 0 {
			t.Fatal("a malformed annotation gave a row")
		}
		for i, o := range d.Racks[0].Nodes[1].ObservedNodes {
			if i > 0 && d.Racks[0].Nodes[1].ObservedNodes[i-1].HostID > o.HostID {
				t.Fatal("not sorted")
			}
		}
	})
}
