// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxShared is how many different memberships FromReports compares to find rows that list the same
// host IDs.
const maxShared = 4

// FromReports turns datacenter reports into rows. A member without observations is a row that was
// not reported. Rows that list the same host IDs share a Base, so that a matrix of 1,000 nodes that
// are all UP takes a few kilobytes.
func FromReports(reports []api.ScyllaDBDatacenterNodesStatusReport) []Row {
	n := 0
	for i := range reports {
		for j := range reports[i].Racks {
			n += len(reports[i].Racks[j].Nodes)
		}
	}
	rows, ordinals := make([]Row, 0, n), make([]int32, 0, n)
	var shared []*Membership
	// of one row that lists other nodes than the rows before; share keeps none of it
	var cells []api.ObservedNodeStatusReport
	for i := range reports {
		dc := &reports[i]
		for j := range dc.Racks {
			rack := &dc.Racks[j]
			for k := range rack.Nodes {
				node := &rack.Nodes[k]
				ordinals = append(ordinals, node.Ordinal)
				row := Row{
					Reporter: Ref{Datacenter: dc.DatacenterName, Rack: rack.Name, Ordinal: &ordinals[len(ordinals)-1]},
					Reported: len(node.ObservedNodes) > 0, NoStates: true,
				}
				if node.HostID != nil {
					row.Reporter.HostID = hostid.Known(*node.HostID)
				}
				if row.Base = listing(node.ObservedNodes, shared, sameNode); row.Base != nil {
					row.Observed = notUp(row.Base, node.ObservedNodes)
				} else {
					cells = slices.Grow(cells[:0], len(node.ObservedNodes))
					// a text that is not a host ID becomes empty, and blocks
					for _, o := range node.ObservedNodes {
						cells = append(cells, api.ObservedNodeStatusReport{HostID: hostid.Known(o.HostID),
							Status: o.Status})
					}
					row.Base, row.Observed, shared = share(cells, shared)
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// FromCells turns lists of cells into rows without reporter, in their order. Rows that list the
// same host IDs share a Base.
func FromCells(lists [][]api.ObservedNodeStatusReport) []Row {
	rows := make([]Row, len(lists))
	var shared []*Membership
	for i, cells := range lists {
		rows[i].Reported = len(cells) > 0
		rows[i].Base, rows[i].Observed, shared = share(cells, shared)
	}
	return rows
}

// known returns the host IDs of a membership. As in a list of cells, a text that is not a host ID
// becomes empty and blocks: a node without a valid name is still a node.
func known(texts []string) []hostid.ID {
	ids := make([]hostid.ID, len(texts))
	for i, text := range texts {
		ids[i] = hostid.Known(text)
	}
	return ids
}

// listing returns the membership in shared that cells list in its order; nil if there is none.
func listing[T any](cells []T, shared []*Membership, same func(hostid.ID, T) bool) *Membership {
	for _, m := range shared {
		if slices.EqualFunc(m.HostIDs, cells, same) {
			return m
		}
	}
	return nil
}

func sameNode(id hostid.ID, c api.ObservedNode) bool { return string(id) == c.HostID }

func sameCell(id hostid.ID, c api.ObservedNodeStatusReport) bool { return id == c.HostID }

// notUp returns the exceptions of a report's row that lists the nodes of base.
func notUp(base *Membership, cells []api.ObservedNode) []Observation {
	var list []Observation
	for i := range cells {
		if cells[i].Status != api.NodeStatusUp {
			list = append(list, Observation{HostID: base.HostIDs[i], Status: ParseStatus(string(cells[i].Status))})
		}
	}
	return list
}

// share returns the membership that cells list in its order, or a new one, and the cells other than
// plain UP.
func share(cells []api.ObservedNodeStatusReport, shared []*Membership) (*Membership, []Observation, []*Membership) {
	if m := listing(cells, shared, sameCell); m != nil {
		return m, exceptions(cells), shared
	}
	if len(shared) < maxShared && len(cells) > 0 {
		ids, known := make([]hostid.ID, len(cells)), make(map[hostid.ID]struct{}, len(cells))
		for i := range cells {
			ids[i] = cells[i].HostID
			known[ids[i]] = struct{}{}
		}
		if _, nameless := known[""]; len(known) == len(cells) && !nameless {
			m := &Membership{HostIDs: ids}
			return m, exceptions(cells), append(shared, m)
		}
	}
	observed := make([]Observation, len(cells))
	for i := range cells {
		observed[i] = observation(&cells[i])
	}
	return nil, observed, shared
}

func exceptions(cells []api.ObservedNodeStatusReport) []Observation {
	var list []Observation
	for i := range cells {
		if cells[i].Status != api.NodeStatusUp || cells[i].State != "" {
			list = append(list, observation(&cells[i]))
		}
	}
	return list
}

func observation(c *api.ObservedNodeStatusReport) Observation {
	return Observation{HostID: c.HostID, Status: ParseStatus(string(c.Status)), State: ParseState(string(c.State)),
		Since: timeOf(c.Since)}
}

// observations returns the cells of a row of our own report, in their written order.
func observations(cells []api.ObservedNodeStatusReport) []Observation {
	list := make([]Observation, len(cells))
	for i := range cells {
		list[i] = observation(&cells[i])
		list[i].HostID = hostid.Known(string(cells[i].HostID))
	}
	return list
}

// Wire returns the cell as our own report stores it.
func (o Observation) Wire() api.ObservedNodeStatusReport {
	out := api.ObservedNodeStatusReport{HostID: o.HostID, Status: api.NodeStatus(o.Status.String())}
	if o.State != StateNormal {
		out.State = api.NodeState(o.State.String())
	}
	if !o.Since.IsZero() {
		out.Since = &metav1.Time{Time: o.Since}
	}
	return out
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// FromStatusReport turns a cluster report into rows, named by its status.members. A row over a
// membership digest that the report lacks, or has wrong, is a row with an error. A member that has
// joined and has no row is a row that was not reported.
//
//nolint:funlen // one field of the wire after the other
func FromStatusReport(report *api.ScyllaDBStatusReport) []Row {
	if report == nil {
		return nil
	}
	var base *Membership
	damage := Trouble{Code: words.ReportDamaged}
	if m := report.Membership; m != nil {
		if want := api.NewMembership(m.HostIDs); want.Digest == m.Digest {
			base, damage = &Membership{HostIDs: known(want.HostIDs)}, Trouble{}
		} else {
			damage.Object = m.Digest
		}
	}
	byName := make(map[string]*api.StatusReportMember, len(report.Status.Members))
	byHostID := make(map[hostid.ID]*api.StatusReportMember, len(report.Status.Members))
	for i := range report.Status.Members {
		m := &report.Status.Members[i]
		if m.Name != "" {
			byName[m.Name] = m
		}
		if id := hostid.Known(m.HostID); id != "" {
			byHostID[id] = m
		}
	}
	n := 0
	for i := range report.Datacenters {
		n += len(report.Datacenters[i].Nodes)
	}
	rows := make([]Row, 0, max(n, len(report.Status.Members)))
	seen := make(map[*api.StatusReportMember]bool, len(report.Status.Members))
	for i := range report.Datacenters {
		dc := &report.Datacenters[i]
		for j := range dc.Nodes {
			node := &dc.Nodes[j]
			row := Row{
				Reporter: Ref{HostID: hostid.Known(node.HostID), Datacenter: dc.Name, Member: named(node.Member)},
				Observed: observations(node.ObservedNodes),
				Reported: node.MembershipDigest != "" || len(node.ObservedNodes) > 0,
			}
			m := byName[node.Member]
			if m == nil {
				m = byHostID[row.Reporter.HostID]
			}
			if m != nil {
				describe(&row, m)
				seen[m] = true
			}
			row.NoStates = row.Says().OperationMode == "" // its reporter was not ours
			row.Trouble = troubleOf(node.Fault)
			row.Stale, row.StaleSince = troubleOf(node.Stale), sinceOf(node.Stale)
			if dc.Stale && row.Stale.IsZero() {
				row.Stale, row.StaleSince = Trouble{Code: words.DatacenterUnreadable, Object: dc.Name},
					timeOf(dc.StaleSince)
			}
			switch {
			case node.MembershipDigest == "":
			case !damage.IsZero():
				row.Trouble = damage
			case node.MembershipDigest != report.Membership.Digest:
				row.Trouble = Trouble{Code: words.ReportDamaged, Object: node.MembershipDigest}
			default:
				row.Base = base
				for c := range row.Observed {
					if node.ObservedNodes[c].Status == api.NodeStatusMissing {
						row.Observed[c] = Observation{HostID: row.Observed[c].HostID, Status: Missing}
					}
				}
			}
			rows = append(rows, row)
		}
	}
	for i := range report.Status.Members {
		m := &report.Status.Members[i]
		if !m.Joined || seen[m] {
			continue
		}
		row := Row{Reporter: Ref{HostID: hostid.Known(m.HostID)}}
		describe(&row, m)
		rows = append(rows, row)
	}
	return rows
}

func describe(row *Row, m *api.StatusReportMember) {
	r := &row.Reporter
	r.Member, r.Datacenter, r.Rack, r.Ordinal = named(m.Name), m.Datacenter, m.Rack, &m.Ordinal
	row.Report = &api.NodeStatusReport{
		OperationMode: m.OperationMode, ScyllaVersion: m.ScyllaVersion, Coordinator: hostid.Known(m.Coordinator),
		Group0ID: string(hostid.Known(m.Group0ID)),
	}
	row.State, row.Namespace = StateOfMode(m.OperationMode), named(m.Namespace)
}

// named returns the name of an object or namespace; empty for a text that is not a valid name. A
// report may come from another writer, and commands contain these names.
func named(text string) string {
	if !api.IsName(text) {
		return ""
	}
	return text
}

func troubleOf(t *api.RowTrouble) Trouble {
	if t == nil {
		return Trouble{}
	}
	return Trouble{Code: words.Code(t.Code), Object: t.Object, Words: t.Words}
}

func sinceOf(t *api.RowTrouble) time.Time {
	if t == nil {
		return time.Time{}
	}
	return timeOf(t.Since)
}

// Wire returns the trouble as our own report stores it; nil if there is none.
func (t Trouble) Wire(since time.Time) *api.RowTrouble {
	if t.IsZero() {
		return nil
	}
	out := &api.RowTrouble{Code: string(t.Code), Object: t.Object, Words: t.Words}
	if !since.IsZero() {
		at := metav1.NewTime(since.Truncate(time.Second))
		out.Since = &at
	}
	return out
}

// NotVerified returns the datacenters that a cluster report marks as known but not reachable.
func NotVerified(report *api.ScyllaDBStatusReport) []string {
	if report == nil {
		return nil
	}
	var list []string
	for i := range report.Datacenters {
		if report.Datacenters[i].NotVerified {
			list = append(list, report.Datacenters[i].Name)
		}
	}
	return list
}

// StateOfMode returns the state by ScyllaDB's operation mode. BOOTSTRAP, the mode of both joining
// and replacing nodes, is StateJoining. STARTING is the mode of restarting members and of waiting
// new nodes: it is not evidence, and gives StateNormal.
func StateOfMode(mode string) State {
	switch mode {
	case "JOINING", "BOOTSTRAP":
		return StateJoining
	case "LEAVING":
		return StateLeaving
	case "DECOMMISSIONED":
		return StateDecommissioned
	}
	return StateNormal
}

// Each yields every cell of the row, Base first and exceptions in its place: a host ID that
// Observed lists comes from Observed alone.
func (r *Row) Each() iter.Seq[Observation] {
	return func(yield func(Observation) bool) {
		if r.Base != nil {
			except := make(map[hostid.ID]struct{}, len(r.Observed))
			for i := range r.Observed {
				except[r.Observed[i].HostID] = struct{}{}
			}
			for _, id := range r.Base.HostIDs {
				if _, ok := except[id]; ok {
					continue
				}
				if !yield(Observation{HostID: id, Status: Up}) {
					return
				}
			}
		}
		for i := range r.Observed {
			if r.Base != nil && r.Observed[i].Status == Missing && r.Observed[i].HostID != "" {
				continue
			}
			if !yield(r.Observed[i]) {
				return
			}
		}
	}
}
