// SPDX-License-Identifier: Apache-2.0

package matrix_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

var sizes = []int{3, 30, 100, 300, 1000}

func benchID(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i) }

// benchReport is one datacenter with three racks, every node UP in every row, its strings from the JSON decoder as in production.
func benchReport(b *testing.B, n int) (api.ScyllaDBDatacenterNodesStatusReport, []byte) {
	b.Helper()
	report := api.ScyllaDBDatacenterNodesStatusReport{DatacenterName: "dc1", Racks: make([]api.RackReport, 3)}
	for i := range n {
		rack := &report.Racks[i%3]
		rack.Name = fmt.Sprintf("rack%d", i%3+1)
		hostID := benchID(i)
		node := api.NodeReport{Ordinal: int32(i / 3), HostID: &hostID}
		for j := range n {
			node.ObservedNodes = append(node.ObservedNodes, api.ObservedNode{HostID: benchID(j), Status: api.NodeStatusUp})
		}
		rack.Nodes = append(rack.Nodes, node)
	}
	data, err := json.Marshal(report)
	if err != nil {
		b.Fatal(err)
	}
	var decoded api.ScyllaDBDatacenterNodesStatusReport
	if err := json.Unmarshal(data, &decoded); err != nil {
		b.Fatal(err)
	}
	return decoded, data
}

// compact is the same as a cluster report, membership said once.
func compact(n int) *api.ScyllaDBStatusReport {
	var ids []string
	for i := range n {
		ids = append(ids, benchID(i))
	}
	r := &api.ScyllaDBStatusReport{Membership: api.NewMembership(ids), Datacenters: []api.StatusReportDatacenter{{Name: "dc1"}}}
	for _, id := range ids {
		r.Datacenters[0].Nodes = append(r.Datacenters[0].Nodes, api.StatusReportNode{HostID: id, MembershipDigest: r.Membership.Digest})
	}
	return r
}

func benchSelf() *Ref {
	ordinal := int32(100_000)
	return &Ref{Datacenter: "dc1", Rack: "rack1", Ordinal: &ordinal}
}

func eachSize(b *testing.B, run func(b *testing.B, n int), more ...int) {
	for _, n := range slices.Concat(sizes, more) {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			run(b, n)
		})
	}
}

// BenchmarkVerdict goes from a decoded report to the verdict, as each change of a report costs a barrier.
func BenchmarkVerdict(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		report, _ := benchReport(b, n)
		reports := []api.ScyllaDBDatacenterNodesStatusReport{report}
		for b.Loop() {
			if m := New(FromReports(reports), Options{Self: benchSelf(), Reports: 1}); len(m.Blockers()) != 0 {
				b.Fatal(words.Text(m.Blockers()[0].Message()))
			}
		}
	})
}

// BenchmarkVerdictOneDown is BenchmarkVerdict with one node that all others see DOWN.
func BenchmarkVerdictOneDown(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		report, _ := benchReport(b, n)
		for r := range report.Racks {
			for i := range report.Racks[r].Nodes {
				if node := &report.Racks[r].Nodes[i]; r != 1 || i != 0 {
					node.ObservedNodes[1].Status = api.NodeStatusDown
				}
			}
		}
		reports := []api.ScyllaDBDatacenterNodesStatusReport{report}
		for b.Loop() {
			if m := New(FromReports(reports), Options{Self: benchSelf(), Reports: 1}); m.Health().Total != n-1 {
				b.Fatal(m.Health().Total)
			}
		}
	})
}

// BenchmarkVerdictCompact is BenchmarkVerdict from a cluster report, which says the membership once.
func BenchmarkVerdictCompact(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		cluster := compact(n)
		for b.Loop() {
			if m := New(FromStatusReport(cluster), Options{Self: benchSelf()}); len(m.Blockers()) != 0 {
				b.Fatal(words.Text(m.Blockers()[0].Message()))
			}
		}
	}, 10_000)
}

// BenchmarkJudge judges a matrix that is there already, as for each further newcomer.
func BenchmarkJudge(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		report, _ := benchReport(b, n)
		m := New(FromReports([]api.ScyllaDBDatacenterNodesStatusReport{report}), Options{})
		for b.Loop() {
			if len(m.Judge(Options{Self: benchSelf(), Reports: 1}).Blockers()) != 0 {
				b.Fatal("not satisfied")
			}
		}
	})
}

// BenchmarkBuildFromAnnotations builds rows from decoded pod annotations and judges them.
func BenchmarkBuildFromAnnotations(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		report, _ := benchReport(b, n)
		var refs []Ref
		var cells [][]api.ObservedNodeStatusReport
		for r := range report.Racks {
			for i := range report.Racks[r].Nodes {
				node := &report.Racks[r].Nodes[i]
				refs = append(refs, Ref{Datacenter: "dc1", Rack: report.Racks[r].Name, Ordinal: &node.Ordinal, HostID: hostid.ID(*node.HostID)})
				cells = append(cells, stage.Cells(node.ObservedNodes))
			}
		}
		for b.Loop() {
			rows := FromCells(cells)
			for i := range rows {
				rows[i].Reporter = refs[i]
			}
			if len(New(rows, Options{}).Blockers()) != 0 {
				b.Fatal("not satisfied")
			}
		}
	})
}

// BenchmarkVerdictNaive is the reference: maps of maps over the same rows, row sharing undone.
func BenchmarkVerdictNaive(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		report, _ := benchReport(b, n)
		rows := FromReports([]api.ScyllaDBDatacenterNodesStatusReport{report})
		opts := Options{Self: benchSelf(), Reports: 1}
		for b.Loop() {
			if len(judgeNaively(rows, opts).blockers) != 0 {
				b.Fatal("not satisfied")
			}
		}
	})
}

// BenchmarkDecodeReport decodes a datacenter report from JSON.
func BenchmarkDecodeReport(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		_, data := benchReport(b, n)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var r api.ScyllaDBDatacenterNodesStatusReport
			if err := json.Unmarshal(data, &r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDecodeCompactReport decodes the same as a cluster report.
func BenchmarkDecodeCompactReport(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		data, err := json.Marshal(compact(n))
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var r api.ScyllaDBStatusReport
			if err := json.Unmarshal(data, &r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDecodeAnnotation decodes one pod's annotation, a row of N cells.
func BenchmarkDecodeAnnotation(b *testing.B) {
	eachSize(b, func(b *testing.B, n int) {
		report, _ := benchReport(b, n)
		value, err := api.EncodeNodeStatusReport(&api.NodeStatusReport{ObservedNodes: stage.Cells(report.Racks[0].Nodes[0].ObservedNodes)})
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(value)))
		for b.Loop() {
			if _, err := api.DecodeNodeStatusReport(value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
