// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	. "github.com/kubectl-scylla/kubectl-scylla/internal/bootstrap"
	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// BenchmarkDecide is the whole decision of a newcomer in a cluster of N nodes that are all UP, the matrix being there already.
func BenchmarkDecide(b *testing.B) {
	for _, down := range []bool{false, true} {
		for _, n := range []int{3, 30, 100, 300, 1000} {
			name := fmt.Sprintf("AllUp/N=%d", n)
			if down {
				name = fmt.Sprintf("OneDown/N=%d", n)
			}
			b.Run(name, func(b *testing.B) {
				in := benchInput(n, down)
				b.ReportAllocs()
				for b.Loop() {
					if v := Decide(in); v.Satisfied == down {
						b.Fatal(words.Of(v.Self.Name(), v.Summary))
					}
				}
			})
		}
	}
}

func benchInput(n int, down bool) Input {
	base := &matrix.Membership{}
	in := Input{Member: member(ref("rack4", ""), nil), Disk: BootstrappedNo, Reports: 1}
	objects := cluster.Objects{Key: cluster.Key{Namespace: "scylla", Name: "demo"}}
	var rows []matrix.Row
	for i := range n {
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)
		base.HostIDs = append(base.HostIDs, hostid.ID(id))
		ordinal := int32(i / 3)
		r := matrix.Ref{HostID: hostid.ID(id), Member: fmt.Sprintf("demo-%d-%d", i%3, ordinal), Datacenter: "dc1", Rack: fmt.Sprintf("rack%d", i%3), Ordinal: &ordinal}
		row := matrix.Row{Reporter: r, Reported: true, Base: base}
		if down && i > 0 {
			row.Observed = []matrix.Observation{{HostID: base.HostIDs[0], Status: matrix.Down}}
		}
		rows = append(rows, row)
		svc := member(r, nil).Service
		svc.Labels[api.LabelServiceType], svc.Annotations[api.AnnotationNodeJoined] = api.ServiceTypeMember, "true"
		objects.Services = append(objects.Services, *svc)
	}
	in.Matrix, in.Peers = matrix.New(rows, matrix.Options{}), cluster.New(objects, cluster.SourceReport, time.Time{}).Serviced()
	if len(in.Peers) != n || !in.Peers[0].HasJoined() {
		panic("the members of the benchmark have not joined")
	}
	return in
}

// BenchmarkParseQuery reads the usual answer.
func BenchmarkParseQuery(b *testing.B) {
	out := []byte(`[{"bootstrapped":"COMPLETED"}]`)
	b.ReportAllocs()
	for b.Loop() {
		if answer, _ := ParseQuery(out, 0); answer != BootstrappedYes {
			b.Fatal(answer)
		}
	}
}
