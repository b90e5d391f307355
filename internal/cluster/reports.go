// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// LocalReport is the report of one datacenter whose members are here, in exactly the Scylla Operator's shape.
type LocalReport struct {
	Datacenter string
	// Racks are sorted. Rows that may be old have no observations: the shape has no field for that, and a row without observations is one that "has not reported", which blocks.
	// Keeping the old ones would let a newcomer start by the row of a dead reporter.
	Racks []api.RackReport
	// TooLarge is true when all observations were left out to stay below MaxReportBytes.
	TooLarge bool
}

// Foreign is a datacenter whose report is made elsewhere.
type Foreign struct {
	Name  string
	Racks []api.RackReport
	// Stale means that Racks may be old, since StaleSince, for Reason. The rows are then the last known ones.
	Stale      bool
	StaleSince time.Time
	Reason     string
}

// local is one member of this namespace in the form of the reports.
type local struct {
	*statement
	cells []api.ObservedNodeStatusReport // sorted by host ID
	dead  bool                           // by WithoutRows
}

// locals are the members with a known place, by datacenter, rack, ordinal and name. Those without place labels are in no report until the labels are set: then their peers' rows
// list a node without a row, which blocks.
func (c *Cluster) locals() []local {
	out := slices.Grow([]local(nil), len(c.Services))
	var said, inOrder []api.ObservedNodeStatusReport // of the member before
	for i := range c.Services {
		name := c.Services[i].Name
		s := c.statement(name, c.annotations[name])
		if s.ref.Datacenter == "" || s.ref.Rack == "" || s.ref.Ordinal == nil {
			continue
		}
		if cells := s.cells(); !sameList(cells, said) {
			said, inOrder = cells, sorted(cells)
		}
		out = append(out, local{statement: &s, cells: inOrder, dead: slices.Contains(c.rowless, s.ref.HostID)})
	}
	slices.SortFunc(out, func(a, b local) int { return compareRefs(a.ref, b.ref) })
	return out
}

// sorted returns cells by host ID, the same slice when they are. Reporters write them so, and the cells of 1,000 nodes are a million.
func sorted(cells []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
	byHostID := func(a, b api.ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) }
	if !slices.IsSortedFunc(cells, byHostID) {
		cells = slices.Clone(cells)
		slices.SortStableFunc(cells, byHostID)
	}
	return cells
}

// LocalReports are the reports of the datacenters that have members or StatefulSets here, by name. Racks are listed even when no member has joined
// there.
func (c *Cluster) LocalReports() []LocalReport {
	racks := map[string]map[string][]local{} // by datacenter and rack
	place := func(dc, rack string, members ...local) {
		if racks[dc] == nil {
			racks[dc] = map[string][]local{}
		}
		racks[dc][rack] = append(racks[dc][rack], members...)
	}
	for i := range c.StatefulSets {
		if l := c.StatefulSets[i].Labels; l[api.LabelDatacenter] != "" && l[api.LabelRack] != "" {
			place(l[api.LabelDatacenter], l[api.LabelRack])
		}
	}
	for _, m := range c.locals() {
		place(m.ref.Datacenter, m.ref.Rack, m)
	}
	var out []LocalReport
	for _, dc := range sortedKeysOf(racks) {
		r := LocalReport{Datacenter: dc}
		if passes(racks[dc], MaxReportBytes) {
			dropOdd(racks[dc])
			r.TooLarge = passes(racks[dc], MaxReportBytes)
		}
		for _, rack := range sortedKeysOf(racks[dc]) {
			r.Racks = append(r.Racks, rackReport(rack, racks[dc][rack], !r.TooLarge))
		}
		out = append(out, r)
	}
	return out
}

// reported are a member's observations in a datacenter report.
func (m *local) reported() []api.ObservedNodeStatusReport {
	if !m.joined || !m.stale.IsZero() || m.ref.HostID == "" {
		return nil
	}
	return m.cells
}

// rackReport makes the report of a rack; observations is false for rows without their cells.
func rackReport(name string, members []local, observations bool) api.RackReport {
	rack := api.RackReport{Name: name}
	for _, m := range members {
		if !m.joined || m.dead {
			continue // the other rows list a joining node; a row of its own would be required to list nodes that it cannot know yet
		}
		node := api.NodeReport{Ordinal: *m.ref.Ordinal}
		if id := string(m.ref.HostID); id != "" {
			node.HostID = &id
		}
		if observations {
			node.ObservedNodes = api.Plain(m.reported())
		}
		rack.Nodes = append(rack.Nodes, node)
	}
	return rack
}

// nodeRow is one row of the cluster report before it is compressed.
type nodeRow struct {
	api.StatusReportNode
	cells []api.ObservedNodeStatusReport
}

// ClusterReport makes the content of the cluster report: membership, datacenters, and of the status members and operations, from the members here, the datacenters elsewhere, and
// the names of remotes that were never read. The last rows of a datacenter that has become stale are taken from the present report.
//
// Long: one literal with the fields of the report.
func (c *Cluster) ClusterReport(foreign []Foreign, unread []string) *api.ScyllaDBStatusReport {
	out := &api.ScyllaDBStatusReport{}
	rows := map[string][]nodeRow{}
	var fresh [][]api.ObservedNodeStatusReport
	var all []api.StatusReportDatacenter
	locals := c.locals()
	out.Status.Members = slices.Grow(out.Status.Members, len(locals))
	for _, m := range locals {
		dc := m.ref.Datacenter
		if _, ok := rows[dc]; !ok {
			rows[dc] = nil
			all = append(all, api.StatusReportDatacenter{Name: dc})
		}
		out.Status.Members = append(out.Status.Members, m.member(c.Namespace))
		if m.said != nil && m.stale.IsZero() {
			out.Status.Operations = append(out.Status.Operations, m.said.Operations...)
		}
		if !m.joined || m.dead {
			continue
		}
		if m.stale.IsZero() {
			fresh = append(fresh, m.cells)
		}
		rows[dc] = append(rows[dc], nodeRow{
			StatusReportNode: api.StatusReportNode{HostID: string(m.ref.HostID), Member: m.ref.Member, Fault: m.trouble.Wire(time.Time{}), Stale: m.stale.Wire(m.staleSince)},
			cells:            m.cells,
		})
	}
	for i := range c.StatefulSets {
		dc := c.StatefulSets[i].Labels[api.LabelDatacenter]
		if _, ok := rows[dc]; !ok && dc != "" {
			rows[dc] = nil
			all = append(all, api.StatusReportDatacenter{Name: dc})
		}
	}
	for _, d := range foreign {
		f := api.StatusReportDatacenter{Name: d.Name, Stale: d.Stale}
		if d.Stale && !d.StaleSince.IsZero() {
			f.StaleSince = ptr.To(metav1.NewTime(d.StaleSince.Truncate(time.Second)))
		}
		all = append(all, f)
		rows[d.Name] = c.foreignNodes(d, out)
		if !d.Stale {
			for _, r := range rows[d.Name] {
				fresh = append(fresh, r.cells)
			}
		}
	}
	for _, name := range unread {
		all = append(all, api.StatusReportDatacenter{Name: name, NotVerified: true})
	}
	if !slices.ContainsFunc(fresh, func(cells []api.ObservedNodeStatusReport) bool { return len(cells) > 0 }) {
		out.LastListed = c.lastListed(rows)
		fresh = cellsOf(rows) // rows that may be old would be N squared cells as well
	}
	out.Membership = Membership(fresh...)
	whole := len(unread) == 0 && isSmall(rows, out.Membership)
	slices.SortStableFunc(all, func(a, b api.StatusReportDatacenter) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range all {
		slices.SortStableFunc(rows[d.Name], func(a, b nodeRow) int {
			return cmp.Or(cmp.Compare(a.HostID, b.HostID), strings.Compare(a.Member, b.Member))
		})
		d.Nodes = slices.Grow(d.Nodes, len(rows[d.Name]))
		for i, r := range rows[d.Name] {
			var n api.StatusReportNode
			switch {
			case whole && !d.Stale && r.Stale == nil:
				n = api.StatusReportNode{HostID: r.HostID, ObservedNodes: slices.Clone(r.cells)}
			case !whole && i > 0 && sameList(r.cells, rows[d.Name][i-1].cells):
				n = d.Nodes[i-1] // its row is the same
				n.HostID, n.ObservedNodes = r.HostID, slices.Clone(n.ObservedNodes)
			default:
				n = Compress(r.HostID, r.cells, out.Membership)
			}
			n.Member, n.Fault, n.Stale = r.Member, r.Fault, r.Stale
			d.Nodes = append(d.Nodes, n)
		}
		out.Datacenters = append(out.Datacenters, d)
	}
	if whole && !slices.ContainsFunc(out.Datacenters, usesDigest) {
		out.Membership = nil
	}
	finishStatus(out)
	return out
}

// MaxWholeRows is the largest cluster whose rows are written whole, so that a reader of the proposal's shape finds them: 32 rows of 32 nodes take about 65 kB. A row that may be
// old is written over the membership all the same: the proposal has no field for its age, and its algorithm waits while a row does not list all nodes.
const MaxWholeRows = 32

// isSmall is true where neither the rows nor the nodes that they list are more than MaxWholeRows.
func isSmall(rows map[string][]nodeRow, m *api.Membership) bool {
	n := 0
	for _, list := range rows {
		n += len(list)
	}
	return n <= MaxWholeRows && (m == nil || len(m.HostIDs) <= MaxWholeRows)
}

func usesDigest(d api.StatusReportDatacenter) bool {
	return slices.ContainsFunc(d.Nodes, func(n api.StatusReportNode) bool { return n.MembershipDigest != "" })
}

func cellsOf(rows map[string][]nodeRow) (all [][]api.ObservedNodeStatusReport) {
	for _, list := range rows {
		for _, r := range list {
			all = append(all, r.cells)
		}
	}
	return all
}

// member is the entry of a local member in the report's status, beside its row.
func (m *local) member(namespace string) api.StatusReportMember {
	out := api.StatusReportMember{
		Name: m.ref.Member, Namespace: namespace, Datacenter: m.ref.Datacenter, Rack: m.ref.Rack, Ordinal: *m.ref.Ordinal, HostID: string(m.ref.HostID), Joined: m.joined,
	}
	if m.said != nil {
		out.OperationMode, out.ScyllaVersion, out.Coordinator = m.said.OperationMode, m.said.ScyllaVersion, string(m.said.Coordinator)
		out.Group0ID = m.said.Group0ID
	}
	return out
}

// foreignNodes are the rows of a datacenter whose report is made elsewhere; its nodes are added to the members of out.
func (c *Cluster) foreignNodes(d Foreign, out *api.ScyllaDBStatusReport) []nodeRow {
	last := map[string][]api.ObservedNodeStatusReport{}
	if d.Stale {
		last = previousRows(c.StatusReport, d.Name)
	}
	var rows []nodeRow
	for _, rack := range d.Racks {
		for _, n := range rack.Nodes {
			id := ptr.Deref(n.HostID, "")
			cells := sorted(api.AppendCells(nil, n.ObservedNodes))
			if d.Stale && len(cells) == 0 {
				cells = last[id]
			}
			rows = append(rows, nodeRow{StatusReportNode: api.StatusReportNode{HostID: id}, cells: cells})
			out.Status.Members = append(out.Status.Members, api.StatusReportMember{
				Datacenter: d.Name, Rack: rack.Name, Ordinal: n.Ordinal, HostID: id, Joined: true,
			})
		}
	}
	return rows
}

// finishStatus orders members and operations and gives each member its state by the matrix.
func finishStatus(out *api.ScyllaDBStatusReport) {
	if saysStates(out) {
		m := matrix.New(matrix.FromStatusReport(out), matrix.Options{})
		for i := range out.Status.Members {
			mb := &out.Status.Members[i]
			if at, ok := m.Index(hostid.Known(mb.HostID)); ok && m.Nodes()[at].State != matrix.StateNormal {
				mb.State = api.NodeState(m.Nodes()[at].State.String())
			}
		}
	}
	slices.SortStableFunc(out.Status.Members, func(a, b api.StatusReportMember) int {
		return cmp.Or(strings.Compare(a.Datacenter, b.Datacenter), strings.Compare(a.Rack, b.Rack), cmp.Compare(a.Ordinal, b.Ordinal),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), cmp.Compare(a.HostID, b.HostID))
	})
	out.Status.Operations = sortOperations(out.Status.Operations)
}

// saysStates is true where a row has a node, or its own reporter, in another state than the normal one. In most reports none has: then no matrix is needed to find the agreed
// states.
func saysStates(r *api.ScyllaDBStatusReport) bool {
	return slices.ContainsFunc(r.Status.Members, func(m api.StatusReportMember) bool { return matrix.StateOfMode(m.OperationMode) != matrix.StateNormal }) ||
		slices.ContainsFunc(r.Datacenters, func(d api.StatusReportDatacenter) bool {
			return slices.ContainsFunc(d.Nodes, func(n api.StatusReportNode) bool {
				return slices.ContainsFunc(n.ObservedNodes, func(o api.ObservedNodeStatusReport) bool { return o.State != "" })
			})
		})
}

// Malformed is a Pod's row that cannot be decoded. It costs its own row and nothing else.
type Malformed struct {
	Pod *corev1.Pod
	Err error
}

// Malformed lists the rows that cannot be decoded, by name.
func (c *Cluster) Malformed() []Malformed {
	var out []Malformed
	for i := range c.Pods {
		if a := c.annotations[c.Pods[i].Name]; a.err != nil && c.ix.services[c.Pods[i].Name] != nil {
			out = append(out, Malformed{Pod: &c.Pods[i], Err: a.err})
		}
	}
	return out
}

// WithReport is the same Cluster, judged by the given cluster report.
func (c *Cluster) WithReport(report *api.ScyllaDBStatusReport) *Cluster {
	other := *c
	other.StatusReport = report
	return other.judge(SourceReport)
}

// previousRows are the rows of a datacenter in a cluster report, by host ID.
func previousRows(report *api.ScyllaDBStatusReport, datacenter string) map[string][]api.ObservedNodeStatusReport {
	out := map[string][]api.ObservedNodeStatusReport{}
	if report == nil {
		return out
	}
	for _, d := range report.Datacenters {
		if d.Name != datacenter {
			continue
		}
		for _, n := range d.Nodes {
			if cells, ok := Expand(n, report.Membership); ok {
				out[n.HostID] = cells
			}
		}
	}
	return out
}
