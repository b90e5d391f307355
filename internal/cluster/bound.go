// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// MaxReportBytes is the largest size of a datacenter report. etcd accepts 1.5 MiB per request. If
// it refused a report, the old report would remain, with outdated UP states.
const MaxReportBytes = 1_400_000

// passes reports whether the racks of a datacenter, rows by rack name, may exceed limit bytes in
// JSON.
func passes(racks map[string][]local, limit int) bool {
	size := cellBytes
	for name, members := range racks {
		size += cellBytes + jsonBytes(name)
		for i := range members {
			size += 2 * cellBytes
			for _, o := range members[i].reported() {
				if size += cellBytes + len(o.HostID) + jsonBytes(string(o.Status)); size > limit {
					return true
				}
			}
		}
	}
	return size > limit
}

// dropOdd removes the rows that list far more nodes than the median row. So one node cannot make
// the report too large and remove all other rows.
func dropOdd(racks map[string][]local) {
	var lengths []int
	for _, members := range racks {
		for i := range members {
			if n := len(members[i].reported()); n > 0 {
				lengths = append(lengths, n)
			}
		}
	}
	if len(lengths) == 0 {
		return
	}
	slices.Sort(lengths)
	const more = 64 // a small cluster may more than double
	most := 2*lengths[(len(lengths)-1)/2] + more
	for _, members := range racks {
		for i := range members {
			if len(members[i].reported()) > most {
				members[i].cells = nil
			}
		}
	}
}

// cellBytes is an upper bound of the bytes that JSON adds to the texts of a cell, a node or a rack.
const cellBytes = 80

// jsonBytes returns an upper bound of the text's bytes in JSON. A character that may need an escape
// takes six bytes.
func jsonBytes(text string) int {
	n := 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-':
			n++
		default:
			n += 6
		}
	}
	return n
}

// WithoutObservations returns a copy of racks in which each row is one that has not reported.
func WithoutObservations(racks []api.RackReport) []api.RackReport {
	out := make([]api.RackReport, len(racks))
	for i, r := range racks {
		out[i] = api.RackReport{Name: r.Name}
		for _, n := range r.Nodes {
			out[i].Nodes = append(out[i].Nodes, api.NodeReport{Ordinal: n.Ordinal, HostID: n.HostID})
		}
	}
	return out
}

func sortedKeysOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
