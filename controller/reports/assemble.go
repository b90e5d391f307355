// SPDX-License-Identifier: Apache-2.0

package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api"
)

// Input is one datacenter as Kubernetes knows it.
type Input struct {
	Datacenter string
	// Racks are listed even when no member has joined there.
	Racks   []string
	Members []Member
	// Decode reads a member's annotation; nil is api.DecodeNodeStatusReport.
	Decode func(member, text string) (*api.NodeStatusReport, error)
}

// Member is a member Service with what its Pod carries.
type Member struct {
	Name, Namespace, Rack string
	Ordinal               int32
	// HostID and Joined as recorded on the Service: only a joined member has a row.
	HostID string
	Joined bool
	// Annotation is the Pod's row as it stands there; nil when there is no Pod or no annotation.
	Annotation *string
	// Stale is why nobody keeps that annotation up to date; empty when somebody does.
	Stale string
}

// Row is what one joined member says.
type Row struct {
	Member   string
	Rack     string
	Ordinal  int32
	HostID   string // empty when it is not recorded
	Observed []api.ObservedNodeStatusReport
	Stale    string
}

// Malformed is an annotation that could not be decoded. It costs its own row and nothing else.
type Malformed struct {
	Namespace, Pod string
	Err            error
}

// Datacenter is one datacenter assembled.
type Datacenter struct {
	Name string
	// Racks is the wire's shape: sorted, and without the observations of stale rows. The wire has no room to say that a row is old,
	// and a row without observations is one that "has not reported", which blocks; keeping the old ones would let a newcomer in on
	// the word of a reporter that died.
	Racks []api.RackReport
	// Rows are the joined members' rows, in the order of rack and ordinal, stale ones with what they last said.
	Rows       []Row
	Members    []api.StatusReportMember
	Operations []api.NodeOperation
	Malformed  []Malformed
	// TooLarge is true when the observations were left out to stay below MaxReportBytes.
	TooLarge bool
}

// Assemble turns the members of a datacenter into its report. The order of racks and members never matters.
func Assemble(in Input) Datacenter {
	out := Datacenter{Name: in.Datacenter}
	members := slices.Clone(in.Members)
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(strings.Compare(a.Rack, b.Rack), cmp.Compare(a.Ordinal, b.Ordinal), strings.Compare(a.Name, b.Name))
	})
	racks := slices.Clone(in.Racks)
	for _, m := range members {
		racks = append(racks, m.Rack)
	}
	slices.Sort(racks)
	index := map[string]int{}
	for i, name := range slices.Compact(racks) {
		index[name] = i
		out.Racks = append(out.Racks, api.RackReport{Name: name})
	}
	for _, m := range members {
		row, status, operations, err := in.assembleMember(m)
		if err != nil {
			out.Malformed = append(out.Malformed, Malformed{Namespace: m.Namespace, Pod: m.Name, Err: err})
		}
		out.Members = append(out.Members, status)
		out.Operations = append(out.Operations, operations...)
		if !m.Joined {
			continue // a node that is still joining is seen by the others; a row of its own would ask it about nodes it cannot know yet
		}
		out.Rows = append(out.Rows, row)
		node := api.NodeReport{Ordinal: m.Ordinal}
		if m.HostID != "" {
			node.HostID = &row.HostID
		}
		if m.Stale == "" {
			node.ObservedNodes = row.Observed
		}
		rack := &out.Racks[index[m.Rack]]
		rack.Nodes = append(rack.Nodes, node)
	}
	return out
}

func (in Input) assembleMember(m Member) (Row, api.StatusReportMember, []api.NodeOperation, error) {
	row := Row{Member: m.Name, Rack: m.Rack, Ordinal: m.Ordinal, HostID: m.HostID, Stale: m.Stale}
	status := api.StatusReportMember{
		Name: m.Name, Namespace: m.Namespace, Datacenter: in.Datacenter, Rack: m.Rack, Ordinal: m.Ordinal, HostID: m.HostID, Joined: m.Joined,
		RowStale: m.Stale != "",
	}
	if m.Annotation == nil {
		return row, status, nil, nil
	}
	decode := in.Decode
	if decode == nil {
		decode = func(_, text string) (*api.NodeStatusReport, error) { return api.DecodeNodeStatusReport(text) }
	}
	said, err := decode(m.Name, *m.Annotation)
	if err != nil {
		status.RowError = err.Error()
		return row, status, nil, err
	}
	status.OperationMode, status.ScyllaVersion = said.OperationMode, said.ScyllaVersion
	switch {
	case said.Error != nil:
		status.RowError = *said.Error
		if status.RowError == "" {
			status.RowError = "the reporter gave no reason"
		}
	case m.HostID == "":
		// Without the host ID nobody could tell whose row it is.
	case said.HostID != "" && said.HostID != m.HostID:
		// The volume was lost or a replacement is under way: what the new node says is not the word of the node recorded here.
		status.RowError = fmt.Sprintf("the pod speaks for host ID %s, which has not joined", said.HostID)
	default:
		row.Observed = sorted(said.ObservedNodes)
	}
	return row, status, said.Operations, nil
}

// sorted returns cells by host ID, the same slice when they are. Reporters write them so, and the cells of 1,000 nodes are a million.
func sorted(cells []api.ObservedNodeStatusReport) []api.ObservedNodeStatusReport {
	byHostID := func(a, b api.ObservedNodeStatusReport) int { return strings.Compare(a.HostID, b.HostID) }
	if !slices.IsSortedFunc(cells, byHostID) {
		cells = slices.Clone(cells)
		slices.SortStableFunc(cells, byHostID)
	}
	return cells
}

// MaxReportBytes is how large a datacenter report may get. etcd takes 1.5 MiB per request, and an object that it refuses would stay as
// it was: an old report that still says UP.
const MaxReportBytes = 1_400_000

// Bound leaves the observations out of a report that would pass limit bytes: it then says that nobody has reported, which blocks, until
// barriers judge by the cluster report, which grows with exceptions only.
func (d *Datacenter) Bound(limit int) {
	if passes(d.Racks, limit) {
		d.TooLarge = true
		d.Racks = withoutObservations(d.Racks)
	}
}

// passes says whether racks may take more than limit bytes in JSON.
func passes(racks []api.RackReport, limit int) bool {
	size := cellBytes
	for i := range racks {
		size += cellBytes + jsonBytes(racks[i].Name)
		for j := range racks[i].Nodes {
			size += 2 * cellBytes
			for k := range racks[i].Nodes[j].ObservedNodes {
				o := &racks[i].Nodes[j].ObservedNodes[k]
				if size += cellBytes + jsonBytes(o.HostID) + jsonBytes(string(o.Status)) + jsonBytes(string(o.State)); size > limit {
					return true
				}
			}
		}
	}
	return size > limit
}

// cellBytes is what JSON needs around the texts of a cell, a node or a rack, with a time stamp, and more.
const cellBytes = 80

// jsonBytes is at least what a text takes in JSON: what may have to be escaped takes six bytes.
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

// withoutObservations copies racks with every row saying "has not reported".
func withoutObservations(racks []api.RackReport) []api.RackReport {
	out := make([]api.RackReport, len(racks))
	for i, r := range racks {
		out[i] = api.RackReport{Name: r.Name}
		for _, n := range r.Nodes {
			out[i].Nodes = append(out[i].Nodes, api.NodeReport{Ordinal: n.Ordinal, HostID: n.HostID})
		}
	}
	return out
}
