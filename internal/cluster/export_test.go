// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/test/simulation/stage"
)

// The tests are outside the package, because they ask the judges above it. These are the inner functions that they test as well.
var (
	EditDistance   = editDistance
	PodWaitingNow  = podWaiting
	CompareRefs    = compareRefs
	MetaOfService  = func(s *corev1.Service) metav1.Object { return s }
	DistinctByName = distinct[corev1.Service]
)

func (c *Cluster) HadAnotherPod(name string) bool { return c.hadAnotherPod(name, c.Pod(name)) }

// Annotated are the decoded annotations of the Pods, by name.
func (c *Cluster) Annotated() map[string]*api.NodeStatusReport {
	out := map[string]*api.NodeStatusReport{}
	for name, a := range c.annotations {
		out[name] = a.report
	}
	return out
}

// RowsOf are the rows of the reports, converted together.
func RowsOf(reports []*api.NodeStatusReport) []matrix.Row {
	statements := make([]statement, len(reports))
	for i, r := range reports {
		statements[i] = statement{ref: matrix.Ref{Member: "m"}, said: r}
	}
	shared := sharedCells{}
	shared.add(statements)
	rows := make([]matrix.Row, len(reports))
	for i := range statements {
		rows[i] = shared.row(&statements[i], "db")
	}
	return rows
}

// Written are the rows as a cluster report has them.
func Written(rows []matrix.Row) (*api.Membership, []api.StatusReportNode) {
	of := make([]*matrix.Row, len(rows))
	for i := range rows {
		of[i] = &rows[i]
	}
	w, nodes := newRowWriter(of), make([]api.StatusReportNode, len(rows))
	for i := range of {
		nodes[i].MembershipDigest, nodes[i].ObservedNodes = w.cells(of[i], false)
	}
	return w.membership, nodes
}

// Passes is whether racks may take more than limit bytes.
func Passes(racks []api.RackReport, limit int) bool {
	of := map[string][]local{}
	for _, r := range racks {
		of[r.Name] = nil
		for _, n := range r.Nodes {
			of[r.Name] = append(of[r.Name], local{
				statement: &statement{joined: true, ref: matrix.Ref{HostID: "known"}}, cells: stage.Cells(n.ObservedNodes),
			})
		}
	}
	return passes(of, limit)
}
