// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// maxShared is how many different memberships FromReports keeps in sight to recognise rows that list the same host IDs.
const maxShared = 4

// FromReports turns datacenter reports into rows. A member without observations is a row that was not reported. Rows that list the
// same host IDs share a Base, so that a matrix of 1,000 nodes that are all UP takes a few kilobytes.
func FromReports(reports []api.ScyllaDBDatacenterNodesStatusReport) []Row {
	n := 0
	for i := range reports {
		for j := range reports[i].Racks {
			n += len(reports[i].Racks[j].Nodes)
		}
	}
	rows, ordinals := make([]Row, 0, n), make([]int32, 0, n)
	var shared []*Membership
	for i := range reports {
		dc := &reports[i]
		for j := range dc.Racks {
			rack := &dc.Racks[j]
			for k := range rack.Nodes {
				node := &rack.Nodes[k]
				ordinals = append(ordinals, node.Ordinal)
				row := Row{
					Reporter: Ref{Datacenter: dc.DatacenterName, Rack: rack.Name, Ordinal: &ordinals[len(ordinals)-1]},
					Reported: len(node.ObservedNodes) > 0,
				}
				if node.HostID != nil {
					row.Reporter.HostID = *node.HostID
				}
				row.Base, row.Observed, shared = share(node.ObservedNodes, shared)
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// share finds the membership that cells list in its own order, or starts a new one, and returns what is not plainly UP.
func share(cells []api.ObservedNodeStatusReport, shared []*Membership) (*Membership, []Observation, []*Membership) {
	for _, m := range shared {
		if slices.EqualFunc(m.HostIDs, cells, func(id string, c api.ObservedNodeStatusReport) bool { return id == c.HostID }) {
			return m, exceptions(cells), shared
		}
	}
	if len(shared) < maxShared && len(cells) > 0 {
		ids, known := make([]string, len(cells)), make(map[string]struct{}, len(cells))
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
	return Observation{HostID: c.HostID, Status: ParseStatus(string(c.Status)), State: ParseState(string(c.State)), Since: timeOf(c.Since)}
}

func observations(cells []api.ObservedNodeStatusReport) []Observation {
	list := make([]Observation, len(cells))
	for i := range cells {
		list[i] = observation(&cells[i])
	}
	return list
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// FromStatusReport turns a cluster report into rows, named by its status.members. A row over a membership digest that the report
// does not carry, or carries wrongly, is a row with an error. A member that has joined and has no row is a row that was not
// reported.
func FromStatusReport(report *api.ScyllaDBStatusReport) []Row {
	if report == nil {
		return nil
	}
	var base *Membership
	damage := "the report has no membership"
	if m := report.Membership; m != nil {
		if want := api.NewMembership(m.HostIDs); want.Digest == m.Digest {
			base, damage = &Membership{HostIDs: want.HostIDs}, ""
		} else {
			damage = fmt.Sprintf("the report's membership has digest %s and says %s", want.Digest, m.Digest)
		}
	}
	members := make(map[string]*api.StatusReportMember, len(report.Status.Members))
	for i := range report.Status.Members {
		if m := &report.Status.Members[i]; m.HostID != "" {
			members[m.HostID] = m
		}
	}
	var rows []Row
	seen := map[string]struct{}{}
	for i := range report.Datacenters {
		dc := &report.Datacenters[i]
		for j := range dc.Nodes {
			node := &dc.Nodes[j]
			row := Row{
				Reporter: Ref{HostID: node.HostID, Datacenter: dc.Name},
				Observed: observations(node.ObservedNodes),
				Reported: node.MembershipDigest != "" || len(node.ObservedNodes) > 0,
			}
			if m := members[node.HostID]; m != nil {
				describe(&row, m)
			}
			if dc.Stale {
				row.Stale = "the report of datacenter " + dc.Name + " can no longer be read"
				row.StaleSince = timeOf(dc.StaleSince)
			}
			switch {
			case node.MembershipDigest == "":
			case damage != "":
				row.Error, row.Fault = damage, FaultReport
			case node.MembershipDigest != report.Membership.Digest:
				row.Error = fmt.Sprintf("the row is over membership %s and the report carries %s", node.MembershipDigest, report.Membership.Digest)
				row.Fault = FaultReport
			default:
				row.Base = base
			}
			seen[node.HostID] = struct{}{}
			rows = append(rows, row)
		}
	}
	for i := range report.Status.Members {
		m := &report.Status.Members[i]
		if _, ok := seen[m.HostID]; !m.Joined || (ok && m.HostID != "") {
			continue
		}
		row := Row{Reporter: Ref{HostID: m.HostID}}
		describe(&row, m)
		rows = append(rows, row)
	}
	return rows
}

func describe(row *Row, m *api.StatusReportMember) {
	r := &row.Reporter
	r.Member, r.Datacenter, r.Rack, r.Ordinal = m.Name, m.Datacenter, m.Rack, &m.Ordinal
	row.State = ParseState(string(m.State))
	row.OperationMode, row.Version = m.OperationMode, m.ScyllaVersion
	row.Error, row.Namespace = m.RowError, m.Namespace
	if strings.HasPrefix(m.RowError, api.ErrorAskScyllaDB) {
		row.Fault = FaultScyllaDB
	}
	if m.RowStale {
		row.Stale = "its reporter no longer runs"
	}
}

// NotVerified lists the datacenters that a cluster report marks as known but not askable.
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

// FromAnnotation turns a decoded pod annotation into the row of the member ref; nil means that there is none. The node's own
// word about its host ID wins over ref's.
func FromAnnotation(ref Ref, report *api.NodeStatusReport) Row {
	row := Row{Reporter: ref}
	if report == nil {
		return row
	}
	if report.HostID != "" {
		row.Reporter.HostID = report.HostID
	}
	row.OperationMode, row.Version = report.OperationMode, report.ScyllaVersion
	row.State = stateOfMode(report.OperationMode)
	if report.Error != nil && *report.Error != "" {
		row.Reported, row.Error, row.Fault = true, *report.Error, FaultScyllaDB
		return row
	}
	row.Observed = observations(report.ObservedNodes)
	row.Reported = len(row.Observed) > 0
	return row
}

// stateOfMode reads ScyllaDB's operation mode. BOOTSTRAP is said by joining and replacing nodes alike, and STARTING by members
// that restart as well as by newcomers that wait, so that it says nothing.
func stateOfMode(mode string) State {
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

// Each yields every cell of the row, Base first and exceptions in its place: a host ID that Observed lists comes from Observed alone.
func (r *Row) Each() iter.Seq[Observation] {
	return func(yield func(Observation) bool) {
		if r.Base != nil {
			except := make(map[string]struct{}, len(r.Observed))
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
			if !yield(r.Observed[i]) {
				return
			}
		}
	}
}
