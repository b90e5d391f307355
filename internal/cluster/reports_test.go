// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// reportMember is a member Service with what its Pod carries, as the tests of the reports draw and name it.
type reportMember struct {
	name, datacenter, rack string
	ordinal                int
	// hostID and joined are the Service's annotations; empty for none.
	hostID, joined string
	// annotation is the Pod's row as it stands there; nil when there is none.
	annotation *string
	// stale is true when the reporter hangs, serving when ScyllaDB is ready.
	stale, serving bool
}

func reportObjects(members ...reportMember) Objects {
	o := Objects{
		Key:  Key{Namespace: "db", Name: "demo"},
		Read: KindServices | KindPods | KindStatefulSets | KindReports | KindStatusReport,
	}
	for _, m := range members {
		m.addTo(&o)
	}
	return o
}

// reportSet is a StatefulSet that lists its rack also where no member has joined.
func reportSet(datacenter, rack string) appsv1.StatefulSet {
	return *stage.Bare("db", "demo").NewSet("set-"+datacenter+"-"+rack, datacenter, rack, 0)
}

func (m reportMember) addTo(o *Objects) {
	c := stage.Bare("db", "demo")
	svc, pod := c.NewService(m.name, m.datacenter, m.rack, int32(m.ordinal)), c.NewPod(m.name, m.datacenter, m.rack)
	svc.Annotations = map[string]string{}
	for key, value := range map[string]string{api.AnnotationHostID: m.hostID, api.AnnotationNodeJoined: m.joined} {
		if value != "" {
			svc.Annotations[key] = value
		}
	}
	o.Services = append(o.Services, *svc)
	pod.Status.InitContainerStatuses[0].Ready, pod.Status.ContainerStatuses[0].Ready = !m.stale, m.serving
	if m.annotation != nil {
		pod.Annotations = map[string]string{api.AnnotationNodeStatusReport: *m.annotation}
	}
	o.Pods = append(o.Pods, *pod)
}

// assembled is the Cluster as the controller judges it.
func assembled(members ...reportMember) *Cluster {
	return New(reportObjects(members...), SourceAnnotation, start)
}

var rowText, sees = stage.RowText, stage.Sees

func TestReportOfAMember(t *testing.T) {
	t.Parallel()
	type want struct {
		observed     []api.ObservedNodeStatusReport // in the datacenter report
		row          []api.ObservedNodeStatusReport // in the cluster report
		fault, stale *api.RowTrouble
		operations   int
	}
	since := metav1.NewTime(start)
	told := []api.ObservedNodeStatusReport{{HostID: hostid.ID(stage.UUID("h0")), Status: api.NodeStatusUp}, {HostID: hostid.ID(stage.UUID("h1")), Status: api.NodeStatusUp, State: api.NodeStateJoining, Since: &since}}
	for name, c := range map[string]struct {
		in   reportMember
		want want
	}{
		"a fresh row is in both": {
			in:   reportMember{annotation: rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h0"))})},
			want: want{observed: sees("UP", stage.UUID("h0")), row: sees("UP", stage.UUID("h0"))},
		},
		"states and ages are in the cluster report only, which has room for them": {
			in:   reportMember{annotation: rowText(t, api.NodeStatusReport{ObservedNodes: told})},
			want: want{observed: sees("UP", stage.UUID("h0"), stage.UUID("h1")), row: told},
		},
		"a stale row has not reported in the datacenter report and is kept in the cluster report": {
			in: reportMember{annotation: rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h0"))}), stale: true},
			want: want{row: sees("UP", stage.UUID("h0")), stale: &api.RowTrouble{
				Code: string(words.ReporterNotReady), Object: api.ContainerReporter,
			}},
		},
		"the reporter's error is said": {
			in:   reportMember{annotation: rowText(t, api.NodeStatusReport{Error: new("connection refused")})},
			want: want{fault: &api.RowTrouble{Code: string(words.ScyllaDBNoAnswer), Words: "connection refused"}},
		},
		"an error without words is one": {
			in:   reportMember{annotation: rowText(t, api.NodeStatusReport{Error: new("")})},
			want: want{fault: &api.RowTrouble{Code: string(words.ScyllaDBNoAnswer)}},
		},
		"a row of another host ID is not this member's": {
			in:   reportMember{annotation: rowText(t, api.NodeStatusReport{HostID: hostid.ID(stage.UUID("h9")), ObservedNodes: sees("UP", stage.UUID("h0"))})},
			want: want{fault: &api.RowTrouble{Code: string(words.OtherHostID), Object: stage.UUID("h9")}},
		},
		"operations go along": {
			in:   reportMember{annotation: rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h0")), Operations: []api.NodeOperation{{Type: "bootstrap", State: "failed", HostID: hostid.ID(stage.UUID("h3"))}}})},
			want: want{observed: sees("UP", stage.UUID("h0")), row: sees("UP", stage.UUID("h0")), operations: 1},
		},
		"no annotation": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.name, c.in.datacenter, c.in.rack, c.in.hostID, c.in.joined = "demo-r1-0", "dc1", "r1", stage.UUID("h0"), "true"
			cl := assembled(c.in)
			report := cl.ClusterReport(nil, nil)
			node := report.Datacenters[0].Nodes[0]
			if node.HostID != stage.UUID("h0") || node.Member != "demo-r1-0" {
				t.Errorf("row of %q, host ID %q", node.Member, node.HostID)
			}
			row := readBack(report.Membership, node)
			got := want{
				observed: stage.Cells(cl.LocalReports()[0].Racks[0].Nodes[0].ObservedNodes), row: row, fault: node.Fault, stale: node.Stale,
				operations: len(report.Status.Operations),
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(want{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeThatHasNotJoinedHasNoRow(t *testing.T) {
	t.Parallel()
	o := reportObjects(reportMember{name: "demo-r1-0", datacenter: "dc1", rack: "r1", hostID: stage.UUID("h0"), joined: "false",
		annotation: rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h0"))})})
	o.StatefulSets = []appsv1.StatefulSet{reportSet("dc1", "r2"), reportSet("dc1", "r1")}
	c := New(o, SourceAnnotation, start)
	if diff := cmp.Diff([]LocalReport{{Datacenter: "dc1", Racks: []api.RackReport{{Name: "r1"}, {Name: "r2"}}}}, c.LocalReports()); diff != "" {
		t.Errorf("datacenter reports (-want +got):\n%s", diff)
	}
	r := c.ClusterReport(nil, nil)
	if len(r.Datacenters) != 1 || len(r.Datacenters[0].Nodes) != 0 || len(r.Status.Members) != 1 || r.Status.Members[0].Joined {
		t.Errorf("datacenters %+v, members %+v", r.Datacenters, r.Status.Members)
	}
}

func TestAReportThatWouldBeRefusedSaysThatNobodyHasReported(t *testing.T) {
	t.Parallel()
	c := assembled(reportMember{name: "demo-r1-0", datacenter: "dc1", rack: "r1", hostID: stage.UUID("h0"), joined: "true",
		annotation: rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h0"))})})
	small := c.LocalReports()[0]
	if small.TooLarge || len(small.Racks[0].Nodes[0].ObservedNodes) == 0 {
		t.Fatalf("a small report was cut: %+v", small.Racks)
	}
	if !Passes(small.Racks, 50) {
		t.Error("a row in 50 bytes")
	}
	h := stage.UUID("h0")
	if diff := cmp.Diff([]api.RackReport{{Name: "r1", Nodes: []api.NodeReport{{HostID: &h}}}}, WithoutObservations(small.Racks)); diff != "" {
		t.Errorf("racks (-want +got):\n%s", diff)
	}
	for n, tooLarge := range map[int]bool{108: false, 109: true} { // at most 118 bytes a cell, and 1.4 MB in all
		if got := uniform(t, n, nil).LocalReports()[0].TooLarge; got != tooLarge {
			t.Errorf("whole rows of %d nodes: too large %v", n, got)
		}
	}
	large := uniform(t, 200, nil)
	report := large.LocalReports()[0]
	if !report.TooLarge || len(report.Racks[0].Nodes) != 200 {
		t.Fatalf("too large %v, %d nodes", report.TooLarge, len(report.Racks[0].Nodes))
	}
	for _, n := range report.Racks[0].Nodes {
		if n.HostID == nil || len(n.ObservedNodes) > 0 {
			t.Fatalf("node %+v", n)
		}
	}
	if h := bootstrap.HealthOf(large.WithReport(large.ClusterReport(nil, nil))); !h.Healthy || h.Up != 200 {
		t.Errorf("the cluster report lost its rows too: %d of %d UP", h.Up, h.Nodes)
	}
}

// drawMembers draws a small datacenter with every kind of member.
func drawMembers(t *rapid.T) []reportMember {
	var out []reportMember
	n := rapid.IntRange(0, 6).Draw(t, "members")
	for i := range n {
		m := reportMember{
			name: fmt.Sprintf("demo-r-%d", i), datacenter: "dc1", rack: rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "rack"), ordinal: i,
			hostID:  rapid.SampledFrom([]string{"", stage.UUID(fmt.Sprintf("h%d", i))}).Draw(t, "host"),
			joined:  rapid.SampledFrom([]string{"", "true", "true", "false"}).Draw(t, "joined"),
			stale:   rapid.Bool().Draw(t, "stale"),
			serving: rapid.Bool().Draw(t, "serving"),
		}
		switch rapid.IntRange(0, 3).Draw(t, "annotation") {
		case 0:
		case 1:
			m.annotation = new(rapid.SampledFrom([]string{"", "nope", "[]", "{}{}"}).Draw(t, "bad"))
		default:
			m.annotation = rowText(t, api.NodeStatusReport{ObservedNodes: drawCells(t, n)})
		}
		out = append(out, m)
	}
	return out
}

func drawCells(t *rapid.T, n int) []api.ObservedNodeStatusReport {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) api.ObservedNodeStatusReport {
		return api.ObservedNodeStatusReport{
			HostID: hostid.ID(rapid.SampledFrom([]string{"", stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h2"), stage.UUID("h3"), stage.UUID("h4"), stage.UUID("h5"), stage.UUID("h6"), stage.UUID("h7")}).Draw(t, "id")),
			Status: rapid.SampledFrom([]api.NodeStatus{"UP", "UP", "UP", "DOWN", "UNKNOWN", "up", "MISSING"}).Draw(t, "status"),
			State:  rapid.SampledFrom([]api.NodeState{"", "", "", "JOINING"}).Draw(t, "state"),
		}
	}), 0, n+2).Draw(t, "row")
}

func TestOrderNeverMattersToTheReports(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := append(drawMembers(t), reportMember{name: "far-0", datacenter: "dc2", rack: "r1", hostID: stage.UUID("h8"), joined: "true",
			annotation: rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h8"))})})
		one := reportObjects(members...)
		one.StatefulSets = []appsv1.StatefulSet{reportSet("dc1", "r1"), reportSet("dc1", "r9")}
		other := reportObjects(rapid.Permutation(members).Draw(t, "shuffled")...)
		other.StatefulSets = []appsv1.StatefulSet{reportSet("dc1", "r9"), reportSet("dc1", "r1")}
		a, b := New(one, SourceAnnotation, start), New(other, SourceAnnotation, start)
		if diff := cmp.Diff(a.LocalReports(), b.LocalReports()); diff != "" {
			t.Fatalf("datacenter reports (-one +other):\n%s", diff)
		}
		foreign := []Foreign{{Name: "dc3"}, {Name: "dc4"}}
		if diff := cmp.Diff(a.ClusterReport(foreign, []string{"x", "y"}), b.ClusterReport([]Foreign{foreign[1], foreign[0]}, []string{"y", "x"})); diff != "" {
			t.Fatalf("cluster report (-one +other):\n%s", diff)
		}
		malformed := func(c *Cluster) []string {
			var out []string
			for _, m := range c.Malformed() {
				out = append(out, fmt.Sprint(m.Pod.Name, m.Err))
			}
			return out
		}
		if diff := cmp.Diff(malformed(a), malformed(b)); diff != "" {
			t.Fatalf("malformed (-one +other):\n%s", diff)
		}
	})
}

func TestOneMemberNeverCostsAnotherItsRow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		bad := reportMember{name: "zz-0", datacenter: "dc1", rack: "zz", hostID: "hz", joined: "true", annotation: new("nope")}
		racks := func(c *Cluster) []api.RackReport {
			for _, r := range c.LocalReports() {
				return r.Racks
			}
			return nil
		}
		with, without := racks(assembled(append(slices.Clone(members), bad)...)), racks(assembled(members...))
		if diff := cmp.Diff(without, with[:len(with)-1], cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-without +with):\n%s", diff)
		}
	})
}

// readBack are the cells of a row that a reader of the cluster report finds.
func readBack(m *api.Membership, n api.StatusReportNode) []api.ObservedNodeStatusReport {
	r := &api.ScyllaDBStatusReport{Membership: m, Datacenters: []api.StatusReportDatacenter{{Nodes: []api.StatusReportNode{n}}}}
	return cellsIn(&matrix.FromStatusReport(r)[0])
}

func cellsIn(r *matrix.Row) []api.ObservedNodeStatusReport {
	var out []api.ObservedNodeStatusReport
	for o := range r.Each() {
		out = append(out, o.Wire())
	}
	slices.SortStableFunc(out, func(a, b api.ObservedNodeStatusReport) int {
		return strings.Compare(string(a.HostID), string(b.HostID))
	})
	return out
}

// The cluster report must say the same as the rows do, in far fewer bytes.
func TestCompressionLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []api.ObservedNodeStatusReport { return drawCells(t, 6) }), 0, 6).Draw(t, "rows")
		rows := matrix.FromCells(lists)
		m, nodes := Written(rows)
		for i, n := range nodes {
			if diff := cmp.Diff(cellsIn(&rows[i]), readBack(m, n), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%+v\n(-want +got):\n%s", n, diff)
			}
			if len(n.ObservedNodes) > len(lists[i]) {
				t.Fatalf("%d entries for a row of %d", len(n.ObservedNodes), len(lists[i]))
			}
		}
	})
}

func TestMatrixIsTheSameFromBothReports(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := drawMembers(t)
		c := assembled(members...)
		var reports []api.ScyllaDBDatacenterNodesStatusReport
		for _, r := range c.LocalReports() {
			reports = append(reports, api.ScyllaDBDatacenterNodesStatusReport{DatacenterName: r.Datacenter, Racks: r.Racks})
		}
		verdict := func(rows []matrix.Row) bool { return len(matrix.New(rows, matrix.Options{}).Blockers()) == 0 }
		wide := verdict(matrix.FromStatusReport(c.ClusterReport(nil, nil)))
		narrow := verdict(matrix.FromReports(reports))
		// The Scylla Operator's shape has no field for a state: without it every row has to list a joining node, which only blocks more.
		if narrow && !wide {
			t.Fatalf("cluster report satisfied %v, datacenter report %v\n%+v", wide, narrow, reports)
		}
	})
}

// uniform draws nothing: n nodes, all UP but for what flip changes.
func uniform(t testing.TB, n int, flip func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport) *Cluster {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
	}
	members := make([]reportMember, n)
	for i, id := range ids {
		row := sees("UP", ids...)
		if flip != nil {
			row = flip(i, row)
		}
		members[i] = reportMember{name: fmt.Sprintf("demo-r-%d", i), datacenter: "dc1", rack: "r", ordinal: i, hostID: id, joined: "true",
			annotation: rowText(t, api.NodeStatusReport{ObservedNodes: row})}
	}
	return assembled(members...)
}

func TestClusterReportStaysSmall(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
			c := uniform(t, 200, flip)
			if !c.LocalReports()[0].TooLarge {
				t.Error("the datacenter report of 200 nodes should not fit: is the bound measured at all?")
			}
			r := c.ClusterReport(nil, nil)
			h := bootstrap.HealthOf(c.WithReport(r))
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

// TestEachNodeHasItsOwnRow: three nodes that differ in what they see, and in how many nodes.
func TestEachNodeHasItsOwnRow(t *testing.T) {
	t.Parallel()
	want := [][]api.NodeStatus{{"UP", "UP", "DOWN"}, {"UP", "UP", "UP"}, {"UNKNOWN", "UP", "UP"}}
	c := uniform(t, 3, func(i int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
		for n := range row {
			row[n].Status = want[i][n]
		}
		return row
	})
	got := map[string][]api.NodeStatus{}
	for _, n := range c.ClusterReport(nil, nil).Datacenters[0].Nodes {
		for _, seen := range n.ObservedNodes {
			got[n.Member] = append(got[n.Member], seen.Status)
		}
	}
	if diff := cmp.Diff(map[string][]api.NodeStatus{"demo-r-0": want[0], "demo-r-1": want[1], "demo-r-2": want[2]}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// TestWholeRowsUpTo32Nodes: in a small cluster each row is as in the proposal, but for those that may be old; in a larger one none is.
func TestWholeRowsUpTo32Nodes(t *testing.T) {
	t.Parallel()
	old := func(n int) *Cluster {
		o := uniform(t, n, nil).Objects
		for i := range o.Pods {
			o.Pods[i].Status.InitContainerStatuses[0].Ready = false
		}
		return New(o, SourceAnnotation, start)
	}
	strangers := uniform(t, 32, func(_ int, row []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
		return append(row, sees("UP", stage.UUID("zz"))...)
	})
	for name, c := range map[string]struct {
		in    *Cluster
		whole bool
	}{
		"one node":                             {uniform(t, 1, nil), true},
		"32 nodes":                             {uniform(t, 32, nil), true},
		"33 nodes":                             {uniform(t, 33, nil), false},
		"32 rows of 33 nodes":                  {strangers, false},
		"32 nodes whose rows may be old":       {old(32), false},
		"200 nodes whose rows may be old":      {old(200), false},
		"32 nodes beside an unread datacenter": {uniform(t, 32, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var unread []string
			if strings.Contains(name, "unread") {
				unread = []string{"far"}
			}
			r := c.in.ClusterReport(nil, unread)
			if whole := r.Membership == nil; whole != c.whole {
				t.Errorf("membership %v", r.Membership)
			}
			for _, n := range r.Datacenters[0].Nodes {
				if whole := n.MembershipDigest == "" && len(n.ObservedNodes) == len(c.in.Pods); whole != c.whole {
					t.Fatalf("row %+v", n)
				}
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > 100_000 {
				t.Errorf("%d bytes", len(b))
			}
		})
	}
}

// The bound must reject every larger report, and accept much smaller ones.
func TestTheBoundIsAboveTheTruth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.String().Draw(t, "odd")
		for _, d := range assembled(drawMembers(t)...).LocalReports() {
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
			if !Passes(d.Racks, limit) && len(b) > limit {
				t.Fatalf("%d bytes passed a limit of %d", len(b), limit)
			}
		}
	})
	for n, large := range map[int]bool{108: false, 109: true} {
		if uniform(t, n, nil).LocalReports()[0].TooLarge != large {
			t.Errorf("the report of a datacenter of %d nodes is too large: want %t", n, large)
		}
	}
}

func BenchmarkReports(b *testing.B) {
	for _, n := range []int{3, 30, 100, 300, 1000} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			o := uniform(b, n, nil).Objects
			o.Decoder = &Decoder{}
			New(o, SourceAnnotation, start)
			b.ReportAllocs()
			for b.Loop() {
				c := New(o, SourceAnnotation, start)
				c.LocalReports()
				bootstrap.HealthOf(c.WithOwn(c.ClusterReport(nil, nil)))
			}
		})
	}
}

func FuzzReports(f *testing.F) {
	for _, c := range readAssembly(f) {
		for _, p := range c.Input.Pods {
			f.Add(p.Annotations[api.AnnotationNodeStatusReport])
		}
	}
	f.Fuzz(func(t *testing.T, annotation string) {
		good := rowText(t, api.NodeStatusReport{ObservedNodes: sees("UP", stage.UUID("h0"), stage.UUID("h1"))})
		c := assembled(
			reportMember{name: "demo-r-0", datacenter: "dc1", rack: "r", hostID: stage.UUID("h0"), joined: "true", annotation: good},
			reportMember{name: "demo-r-1", datacenter: "dc1", rack: "r", ordinal: 1, hostID: stage.UUID("h1"), joined: "true", annotation: &annotation},
		)
		nodes := c.LocalReports()[0].Racks[0].Nodes
		if diff := cmp.Diff(api.Plain(sees("UP", stage.UUID("h0"), stage.UUID("h1"))), nodes[0].ObservedNodes); diff != "" {
			t.Fatalf("the neighbour's row changed:\n%s", diff)
		}
		if len(c.Malformed()) > 0 && len(nodes[1].ObservedNodes) > 0 {
			t.Fatal("a malformed annotation gave a row")
		}
		if !slices.IsSortedFunc(nodes[1].ObservedNodes, func(a, b api.ObservedNode) int { return strings.Compare(a.HostID, b.HostID) }) {
			t.Fatal("not sorted")
		}
	})
}

// TestAReportThatDiffersOpensNothing: from the first moment, whichever of the two has a node DOWN. The row is the Pod's, or where the report is asked for the report's, and never a
// mixture of both.
func TestAReportThatDiffersOpensNothing(t *testing.T) {
	t.Parallel()
	ids := []string{stage.UUID("h0"), stage.UUID("h1"), stage.UUID("h2")}
	with := func(first, third api.NodeStatus) *string {
		row := sees("UP", ids...)
		row[0].Status, row[2].Status = first, third
		return rowText(t, api.NodeStatusReport{ObservedNodes: row})
	}
	members := func(annotation *string) []reportMember {
		out := make([]reportMember, len(ids))
		for i, id := range ids {
			out[i] = reportMember{name: fmt.Sprintf("demo-r-%d", i), datacenter: "dc1", rack: "r", ordinal: i, hostID: id, joined: "true", annotation: with("UP", "UP")}
		}
		out[1].annotation = annotation
		return out
	}
	row := func(c *Cluster) string {
		var out []string
		for o := range c.Rows()[1].Each() {
			out = append(out, o.Status.String())
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for name, tc := range map[string]struct {
		report, pod     *string
		byPod, byReport string
		age             time.Duration
		finding         bool
	}{
		"the Pod has another node DOWN":  {with("UP", "DOWN"), with("DOWN", "UP"), "DOWN UP UP", "DOWN UP UP", time.Second, false},
		"the Pod has a node DOWN":        {with("UP", "UP"), with("UP", "DOWN"), "DOWN UP UP", "UP UP UP", time.Second, false},
		"the report has a node DOWN":     {with("UP", "DOWN"), with("UP", "UP"), "UP UP UP", "DOWN UP UP", time.Second, false},
		"for longer than 30 s":           {with("UP", "UP"), with("UP", "DOWN"), "DOWN UP UP", "UP UP UP", 31 * time.Second, true},
		"the annotation cannot be read":  {with("UP", "UP"), new("{"), "", "UP UP UP", time.Second, false},
		"the annotation is now an error": {with("UP", "UP"), new(`{"error":"x"}`), "", "UP UP UP", time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := reportObjects(members(tc.pod)...)
			o.StatusReport = wireReport(t, assembled(members(tc.report)...))
			for i := range o.Pods {
				o.Pods[i].ManagedFields = []metav1.ManagedFieldsEntry{{Time: &metav1.Time{Time: start}, FieldsV1: metav1.NewFieldsV1(`{"f:` + api.AnnotationNodeStatusReport + `":{}}`)}}
			}
			for source, want := range map[Source]string{SourceAuto: tc.byPod, SourceReport: tc.byReport} {
				c := New(o, source, start.Add(tc.age))
				if got := row(c); got != want {
					t.Errorf("%s: the row is %q, want %q", source, got, want)
				}
				doubts := c.Doubts("")
				if len(doubts) != 1 || doubts[0].Reason != words.ReportOutdated || c.Updating(&doubts[0]) == tc.finding {
					t.Errorf("%s: doubts %+v", source, doubts)
				}
				if len(c.Doubts("demo-r-1")) > 0 {
					t.Errorf("%s: it waits for its own row", source)
				}
				if bootstrap.HealthOf(c).Healthy {
					t.Errorf("%s: it opens", source)
				}
			}
		})
	}
}
