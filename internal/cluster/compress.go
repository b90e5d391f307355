// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
)

// rowWriter writes rows as differences from a membership.
type rowWriter struct {
	membership *api.Membership // nil if there is none
	ids        []hostid.ID     // of the membership, sorted
	same       map[*matrix.Membership]bool
}

// newRowWriter chooses the host IDs from which rows are written as differences: those that about
// half of the rows list. So a row costs only its differences from the majority, even while only
// some rows list a new node. No choice loses information.
func newRowWriter(rows []*matrix.Row) *rowWriter {
	w := &rowWriter{same: map[*matrix.Membership]bool{}}
	listed, reported := map[*matrix.Membership]int{}, 0
	count := map[hostid.ID]int{}
	for _, r := range rows {
		switch {
		case !r.Reported:
			continue
		case r.Base != nil:
			listed[r.Base]++
		default:
			for i := range r.Observed {
				count[r.Observed[i].HostID]++
			}
		}
		reported++
	}
	for base, n := range listed {
		for _, id := range base.HostIDs {
			count[id] += n
		}
	}
	delete(count, "")
	maps.DeleteFunc(count, func(_ hostid.ID, n int) bool { return 2*n < reported })
	if len(count) > 0 {
		w.ids = slices.Sorted(maps.Keys(count))
		w.membership = api.NewMembership(w.ids)
	}
	return w
}

// cells returns the membership's digest and the row's exceptions from it, or the whole row and an
// empty digest. The row is whole if whole is set, a host ID is missing or listed twice, or
// exceptions would be longer. A row that has not reported has no cells.
func (w *rowWriter) cells(r *matrix.Row, whole bool) (digest string, cells []api.ObservedNodeStatusReport) {
	if !r.Reported {
		return "", nil
	}
	if !whole && w.membership != nil {
		if exceptions, ok := w.exceptions(r); ok {
			return w.membership.Digest, wire(exceptions)
		}
	}
	return "", wire(slices.Collect(r.Each()))
}

// exceptions returns a row's differences from the membership; false if the row must be written
// whole.
func (w *rowWriter) exceptions(r *matrix.Row) (out []matrix.Observation, ok bool) {
	if w.lists(r.Base) {
		return slices.Clone(r.Observed), true
	}
	seen, n := map[hostid.ID]matrix.Observation{}, 0
	for o := range r.Each() {
		if _, twice := seen[o.HostID]; twice || o.HostID == "" {
			return nil, false
		}
		seen[o.HostID] = o
		n++
	}
	for _, id := range w.ids {
		o, listed := seen[id]
		switch {
		case !listed:
			out = append(out, matrix.Observation{HostID: id, Status: matrix.Missing})
		case o.Status != matrix.Up || o.State != matrix.StateNormal:
			out = append(out, o)
		}
		delete(seen, id)
	}
	for _, o := range seen {
		out = append(out, o)
	}
	return out, len(out) <= n
}

// lists reports whether base equals the membership that is written.
func (w *rowWriter) lists(base *matrix.Membership) bool {
	if base == nil {
		return false
	}
	same, known := w.same[base]
	if !known {
		same = slices.Equal(slices.Sorted(slices.Values(base.HostIDs)), w.ids)
		w.same[base] = same
	}
	return same
}

// wire converts cells for the report, sorted by host ID.
func wire(cells []matrix.Observation) []api.ObservedNodeStatusReport {
	if len(cells) == 0 {
		return nil
	}
	slices.SortStableFunc(cells, func(a, b matrix.Observation) int { return cmp.Compare(a.HostID, b.HostID) })
	out := make([]api.ObservedNodeStatusReport, len(cells))
	for i := range cells {
		out[i] = cells[i].Wire()
	}
	return out
}
