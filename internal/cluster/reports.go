// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// LocalReport is the report of one datacenter whose members are here, in exactly the Scylla
// Operator's shape.
type LocalReport struct {
	Datacenter string
	// Racks are sorted. Rows that may be old have no observations, because the shape has no field
	// for age. A row without observations is one that "has not reported", which blocks. An old row
	// would let a new node start by the row of a stopped reporter.
	Racks []api.RackReport
	// TooLarge is true if all observations were left out to stay below MaxReportBytes.
	TooLarge bool
}

// Foreign is a datacenter whose report is created elsewhere.
type Foreign struct {
	Name  string
	Racks []api.RackReport
	// Stale means that Racks may be old, since StaleSince, for Reason. The rows are then the last
	// known ones.
	Stale      bool
	StaleSince time.Time
	Reason     string
}

// local is one member of this namespace in the form of a datacenter report.
type local struct {
	*statement
	cells []api.ObservedNodeStatusReport // sorted by host ID
	dead  bool                           // by WithoutRows
}

// placed yields the members here that have a Service and a known place, by datacenter, rack,
// ordinal and name. Members without place labels are in no report until the labels are set. Until
// then their peers' rows list a node without a row, which blocks.
func (c *Cluster) placed() iter.Seq[*statement] {
	return func(yield func(*statement) bool) {
		all := c.carried().statements
		for i := range all {
			s := &all[i]
			if s.ref.Datacenter != "" && s.ref.Rack != "" && s.ref.Ordinal != nil &&
				c.ix.services[s.ref.Member] != nil && !yield(s) {
				return
			}
		}
	}
}

// isDead reports whether the member's row is in no report, by WithoutRows.
func (c *Cluster) isDead(s *statement) bool { return slices.Contains(c.rowless, s.ref.HostID) }

// locals returns the placed members.
func (c *Cluster) locals() []local {
	out := make([]local, 0, len(c.Services))
	var said, inOrder []api.ObservedNodeStatusReport // of the previous member
	for s := range c.placed() {
		if cells := s.cells(); !sameList(cells, said) {
			said, inOrder = cells, sorted(cells)
		}
		out = append(out, local{statement: s, cells: inOrder, dead: c.isDead(s)})
	}
	return out
}

// sorted returns cells by host ID; the same slice if they are sorted. Reporters write them sorted,
// and 1,000 nodes have a million cells.
func sorted(cells []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
	byHostID := func(a, b api.ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) }
	if !slices.IsSortedFunc(cells, byHostID) {
		cells = slices.Clone(cells)
		slices.SortStableFunc(cells, byHostID)
	}
	return cells
}

// sameList reports whether a and b are the same slice. In the steady state 1,000 Pods carry the
// same text. A Decoder decodes it once, so its list is not examined 1,000 times.
func sameList(a, b []api.ObservedNodeStatusReport) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// LocalReports returns the reports of the datacenters that have members or StatefulSets here, by
// name. It also lists racks in which no member has joined.
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

// reported returns a member's observations in a datacenter report.
func (m *local) reported() []api.ObservedNodeStatusReport {
	if !m.joined || !m.stale.IsZero() || m.ref.HostID == "" {
		return nil
	}
	return m.cells
}

// rackReport returns the report of a rack. observations is false for rows without cells.
func rackReport(name string, members []local, observations bool) api.RackReport {
	rack := api.RackReport{Name: name}
	for _, m := range members {
		if !m.joined || m.dead {
			// the other rows list a joining node; its own row would have to list nodes that it
			// cannot know yet
			continue
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

// ClusterReport returns the content of the cluster report: membership, datacenters, and of the
// status members and operations. Its sources are the members here, the datacenters elsewhere
// (foreign), and the names of remotes that were never read (unread). The last rows of a stale
// datacenter come from the present report.
func (c *Cluster) ClusterReport(foreign []Foreign, unread []string) *api.ScyllaDBStatusReport {
	out := &api.ScyllaDBStatusReport{}
	rows := map[string][]*matrix.Row{}
	var fresh []*matrix.Row
	add := func(d api.StatusReportDatacenter, of ...*matrix.Row) {
		if _, known := rows[d.Name]; !known {
			out.Datacenters = append(out.Datacenters, d)
		}
		rows[d.Name] = append(rows[d.Name], of...)
	}
	out.Status.Members = make([]api.StatusReportMember, 0, len(c.Services))
	for s := range c.placed() {
		out.Status.Members = append(out.Status.Members, s.member(c.Namespace))
		if s.said != nil && s.stale.IsZero() {
			out.Status.Operations = append(out.Status.Operations, s.said.Operations...)
		}
		dc := api.StatusReportDatacenter{Name: s.ref.Datacenter}
		if s.row == nil || c.isDead(s) {
			add(dc)
			continue
		}
		if add(dc, s.row); s.stale.IsZero() {
			fresh = append(fresh, s.row)
		}
	}
	for i := range c.StatefulSets {
		if dc := c.StatefulSets[i].Labels[api.LabelDatacenter]; dc != "" {
			add(api.StatusReportDatacenter{Name: dc})
		}
	}
	for _, d := range foreign {
		f := api.StatusReportDatacenter{Name: d.Name, Stale: d.Stale}
		if d.Stale && !d.StaleSince.IsZero() {
			f.StaleSince = ptr.To(metav1.NewTime(d.StaleSince.Truncate(time.Second)))
		}
		of := c.rowsOf(d)
		for _, r := range of {
			out.Status.Members = append(out.Status.Members, api.StatusReportMember{
				Datacenter: d.Name, Rack: r.Reporter.Rack, Ordinal: *r.Reporter.Ordinal,
				HostID: string(r.Reporter.HostID), Joined: true,
			})
		}
		if add(f, of...); !d.Stale {
			fresh = append(fresh, of...)
		}
	}
	for _, name := range unread {
		add(api.StatusReportDatacenter{Name: name, NotVerified: true})
	}
	if !slices.ContainsFunc(fresh, func(r *matrix.Row) bool { return r.Reported }) {
		fresh = nil
		for _, dc := range sortedKeysOf(rows) {
			// whole rows that may be old would also be N squared cells
			fresh = append(fresh, rows[dc]...)
		}
		out.LastListed = c.lastListed(fresh)
	}
	slices.SortStableFunc(out.Datacenters,
		func(a, b api.StatusReportDatacenter) int { return strings.Compare(a.Name, b.Name) })
	writeRows(out, rows, newRowWriter(fresh), len(unread) == 0)
	finishStatus(out, rows)
	return out
}

// writeRows adds the rows to their datacenters. verified is false while a datacenter was never
// read: then no row is written whole.
func writeRows(out *api.ScyllaDBStatusReport, rows map[string][]*matrix.Row, w *rowWriter, verified bool) {
	whole := verified && isSmall(rows, w.membership)
	for i := range out.Datacenters {
		d := &out.Datacenters[i]
		slices.SortStableFunc(rows[d.Name], func(a, b *matrix.Row) int {
			return cmp.Or(cmp.Compare(a.Reporter.HostID, b.Reporter.HostID),
				strings.Compare(a.Reporter.Member, b.Reporter.Member))
		})
		d.Nodes = slices.Grow(d.Nodes, len(rows[d.Name]))
		for _, r := range rows[d.Name] {
			n := api.StatusReportNode{
				HostID: string(r.Reporter.HostID), Member: r.Reporter.Member, Fault: r.Trouble.Wire(time.Time{}),
				Stale: r.Stale.Wire(r.StaleSince),
			}
			n.MembershipDigest, n.ObservedNodes = w.cells(r, whole && !d.Stale && n.Stale == nil)
			if n.MembershipDigest != "" {
				out.Membership = w.membership
			}
			d.Nodes = append(d.Nodes, n)
		}
	}
	if !whole {
		out.Membership = w.membership
	}
}

// MaxWholeRows is the largest cluster whose rows are written whole, so that a reader of the
// proposal's shape finds them: 32 rows of 32 nodes take about 65 kB, 80 of 80 about 400 kB. Each
// write stores the whole object, and an open permit's view is renewed every PeerCheck. A row that
// may be old is still written as differences. The proposal has no field for its age, and its
// algorithm waits while a row does not list all nodes.
const MaxWholeRows = 32

// isSmall reports whether neither the rows nor the nodes that they list exceed MaxWholeRows.
func isSmall(rows map[string][]*matrix.Row, m *api.Membership) bool {
	n := 0
	for _, list := range rows {
		n += len(list)
	}
	return n <= MaxWholeRows && (m == nil || len(m.HostIDs) <= MaxWholeRows)
}

// member returns the entry of a local member in the report's status, in addition to its row.
func (m *statement) member(namespace string) api.StatusReportMember {
	out := api.StatusReportMember{
		Name: m.ref.Member, Namespace: namespace, Datacenter: m.ref.Datacenter, Rack: m.ref.Rack,
		Ordinal: *m.ref.Ordinal, HostID: string(m.ref.HostID), Joined: m.joined,
	}
	if m.said != nil {
		out.OperationMode, out.ScyllaVersion, out.Coordinator = m.said.OperationMode, m.said.ScyllaVersion,
			string(m.said.Coordinator)
		out.Group0ID = m.said.Group0ID
	}
	return out
}

// rowsOf returns the rows of a datacenter whose report is created elsewhere; the last known rows if
// it is stale.
func (c *Cluster) rowsOf(d Foreign) []*matrix.Row {
	rows := matrix.FromReports([]api.ScyllaDBDatacenterNodesStatusReport{{DatacenterName: d.Name, Racks: d.Racks}})
	last := map[hostid.ID]*matrix.Row{}
	if d.Stale && c.StatusReport != nil {
		was := rowsIn(c.StatusReport, func(dc string) bool { return dc == d.Name })
		for i := range was {
			if was[i].Trouble.IsZero() {
				last[was[i].Reporter.HostID] = &was[i]
			}
		}
	}
	out := make([]*matrix.Row, len(rows))
	for i := range rows {
		r := &rows[i]
		if was := last[r.Reporter.HostID]; was != nil && !r.Reported && r.Reporter.HostID != "" {
			r.Base, r.Observed, r.Reported = was.Base, was.Observed, was.Reported
		}
		out[i] = r
	}
	return out
}

// finishStatus sorts members and operations, and sets each member's state by the matrix of the
// rows.
func finishStatus(out *api.ScyllaDBStatusReport, rows map[string][]*matrix.Row) {
	if saysStates(out) {
		var all []matrix.Row
		for _, dc := range sortedKeysOf(rows) {
			for _, r := range rows[dc] {
				all = append(all, *r)
			}
		}
		m := matrix.New(all, matrix.Options{})
		for i := range out.Status.Members {
			mb := &out.Status.Members[i]
			if at, ok := m.Index(hostid.Known(mb.HostID)); ok && m.Nodes()[at].State != matrix.StateNormal {
				mb.State = api.NodeState(m.Nodes()[at].State.String())
			}
		}
	}
	slices.SortStableFunc(out.Status.Members, func(a, b api.StatusReportMember) int {
		return cmp.Or(strings.Compare(a.Datacenter, b.Datacenter), strings.Compare(a.Rack, b.Rack),
			cmp.Compare(a.Ordinal, b.Ordinal),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), cmp.Compare(a.HostID, b.HostID))
	})
	out.Status.Operations = sortOperations(out.Status.Operations)
}

// saysStates reports whether a row has a node, or its own reporter, in a state other than normal.
// Most reports have none, and then no matrix is needed to find the agreed states.
func saysStates(r *api.ScyllaDBStatusReport) bool {
	return slices.ContainsFunc(r.Status.Members,
		func(m api.StatusReportMember) bool { return matrix.StateOfMode(m.OperationMode) != matrix.StateNormal }) ||
		slices.ContainsFunc(r.Datacenters, func(d api.StatusReportDatacenter) bool {
			return slices.ContainsFunc(d.Nodes, func(n api.StatusReportNode) bool {
				return slices.ContainsFunc(n.ObservedNodes,
					func(o api.ObservedNodeStatusReport) bool { return o.State != "" })
			})
		})
}

// Malformed is a Pod's row that cannot be decoded. It affects only its own row.
type Malformed struct {
	Pod *corev1.Pod
	Err error
}

// Malformed returns the rows that cannot be decoded, by Pod name.
func (c *Cluster) Malformed() []Malformed {
	var out []Malformed
	for i := range c.Pods {
		if a := c.annotations[c.Pods[i].Name]; a.err != nil && c.ix.services[c.Pods[i].Name] != nil {
			out = append(out, Malformed{Pod: &c.Pods[i], Err: a.err})
		}
	}
	return out
}

// WithReport returns the same Cluster, judged by the given cluster report.
func (c *Cluster) WithReport(report *api.ScyllaDBStatusReport) *Cluster {
	other := *c
	other.StatusReport = report
	return other.judge(SourceReport)
}

// WithOwn returns the same Cluster, judged by a cluster report that it created. The rows of the
// members here are those in the report and are not read again.
func (c *Cluster) WithOwn(report *api.ScyllaDBStatusReport) *Cluster {
	other := *c
	other.StatusReport, other.want, other.Source, other.behind = report, SourceReport, SourceReport, nil
	if other.rows = other.ownRows(); len(other.rows) > 0 && len(other.rows) == len(c.rows) &&
		&other.rows[0] == &c.rows[0] {
		other.all = c.all.Judge(other.options(c.all.Options().Names))
	} else {
		other.all = matrix.New(other.rows, other.options(other.names()))
	}
	return other.later()
}

// ownRows returns the rows of the report that the Cluster created: the rows of members here, the
// same list if it has all of them, and the rows from elsewhere.
func (c *Cluster) ownRows() []matrix.Row {
	here := make([]string, 0, len(c.StatefulSets))
	for i := range c.StatefulSets {
		here = append(here, c.StatefulSets[i].Labels[api.LabelDatacenter])
	}
	n, dead := 0, false
	for s := range c.placed() {
		if !slices.Contains(here, s.ref.Datacenter) {
			here = append(here, s.ref.Datacenter)
		}
		if s.row != nil {
			n, dead = n+1, dead || c.isDead(s)
		}
	}
	rows, foreign := c.carried().rows, c.foreignRows(here)
	if n == len(rows) && !dead && len(foreign) == 0 {
		return rows
	}
	rows = make([]matrix.Row, 0, n+len(foreign))
	for s := range c.placed() {
		if s.row == nil {
			continue
		}
		rows = append(rows, *s.row)
		if r := &rows[len(rows)-1]; c.isDead(s) {
			r.Base, r.Observed, r.Reported, r.Stale, r.StaleSince = nil, nil, false, matrix.Trouble{}, time.Time{}
		}
	}
	rows = append(rows, foreign...)
	slices.SortStableFunc(rows, func(a, b matrix.Row) int { return compareRefs(a.Reporter, b.Reporter) })
	return rows
}
