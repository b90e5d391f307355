// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/hostid"
)

// Membership chooses the host IDs against which rows are compressed: those that at least half of the rows contain. Then a row costs only its differences from the majority, also
// while a newcomer is in some rows and not yet in others.
func Membership(rows ...[]api.ObservedNodeStatusReport) *api.Membership {
	// Nearly all rows name the same host IDs. Comparing a row with one that was seen is much cheaper than counting each cell.
	type shape struct {
		row  []api.ObservedNodeStatusReport
		rows int
	}
	var shapes []*shape
	said := 0
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		said++
		i := slices.IndexFunc(shapes[:min(len(shapes), maxShapes)], func(s *shape) bool { return sameList(s.row, row) || slices.EqualFunc(s.row, row, sameHost) })
		if i < 0 {
			shapes = append(shapes, &shape{row: row, rows: 1})
		} else {
			shapes[i].rows++
		}
	}
	count := map[hostid.ID]int{}
	for _, s := range shapes {
		for i, o := range s.row {
			if o.HostID != "" && (i == 0 || s.row[i-1].HostID != o.HostID) {
				count[o.HostID] += s.rows
			}
		}
	}
	var ids []hostid.ID
	for id, n := range count {
		if 2*n >= said {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return api.NewMembership(ids)
}

// maxShapes is how many different lists of host IDs are compared with.
const maxShapes = 8

// sameList is true for one and the same list: in the steady state 1,000 Pods carry the same text, which a Decoder decodes once, so that the one list need not be examined 1,000
// times.
func sameList(a, b []api.ObservedNodeStatusReport) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

func sameHost(a, b api.ObservedNodeStatusReport) bool { return a.HostID == b.HostID }

// Compress writes a row, sorted by host ID, against a membership: its digest and the exceptions. A row with a host ID twice or without one, or that would become longer, is written
// whole. A row without cells is one that has not reported.
func Compress(hostID string, observed []api.ObservedNodeStatusReport, m *api.Membership) api.StatusReportNode {
	whole := api.StatusReportNode{HostID: hostID, ObservedNodes: observed}
	if m == nil || len(observed) == 0 {
		return whole
	}
	short := api.StatusReportNode{HostID: hostID, MembershipDigest: m.Digest}
	i := 0
	for _, text := range m.HostIDs {
		id := hostid.ID(text)
		for i < len(observed) && observed[i].HostID < id {
			short.ObservedNodes = append(short.ObservedNodes, observed[i])
			i++
		}
		if i == len(observed) || observed[i].HostID != id {
			short.ObservedNodes = append(short.ObservedNodes, api.ObservedNodeStatusReport{HostID: id, Status: api.NodeStatusMissing})
			continue
		}
		if o := &observed[i]; o.Status != api.NodeStatusUp || o.State != "" || o.Since != nil {
			short.ObservedNodes = append(short.ObservedNodes, *o)
		}
		i++
	}
	short.ObservedNodes = append(short.ObservedNodes, observed[i:]...)
	if len(observed) > 0 && observed[0].HostID == "" {
		return whole
	}
	for j := range observed {
		if j > 0 && observed[j-1].HostID == observed[j].HostID || observed[j].Status == api.NodeStatusMissing {
			return whole
		}
	}
	if len(short.ObservedNodes) > len(observed) {
		return whole
	}
	return short
}

// Expand is the row that a node of a cluster report stands for. ok is false when it is written against another membership.
func Expand(n api.StatusReportNode, m *api.Membership) (observed []api.ObservedNodeStatusReport, ok bool) {
	if n.MembershipDigest == "" {
		return n.ObservedNodes, true
	}
	if m == nil || m.Digest != n.MembershipDigest {
		return nil, false
	}
	exception := map[hostid.ID]bool{}
	for _, o := range n.ObservedNodes {
		exception[o.HostID] = true
		if o.Status != api.NodeStatusMissing {
			observed = append(observed, o)
		}
	}
	for _, text := range m.HostIDs {
		id := hostid.ID(text)
		if !exception[id] {
			observed = append(observed, api.ObservedNodeStatusReport{HostID: id, Status: api.NodeStatusUp})
		}
	}
	slices.SortStableFunc(observed, func(a, b api.ObservedNodeStatusReport) int { return cmp.Compare(a.HostID, b.HostID) })
	return observed, true
}
