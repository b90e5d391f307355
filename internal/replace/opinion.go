// SPDX-License-Identifier: Apache-2.0

package replace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// rowEvidence are the rows of an Input as evidence for one replacement. Package matrix counts. This
// type excludes the rows of the member, the target, the new node and the ignored nodes, and names
// the rest.
type rowEvidence struct {
	in       *Input
	target   hostid.ID // host ID to replace
	newcomer hostid.ID // host ID of the member's new node, empty if unknown
	ignored  map[hostid.ID]bool

	all   *matrix.Matrix               // of all rows
	m     *matrix.Matrix               // of the rows that count
	names map[hostid.ID]matrix.Ref     // by host ID
	asked map[hostid.ID]matrix.Opinion // by host ID: each check reads the opinion of every node
}

func newOpinions(in *Input, target, newcomer hostid.ID, ignored []string) *rowEvidence {
	v := &rowEvidence{in: in, target: target, newcomer: newcomer, ignored: map[hostid.ID]bool{}, all: in.Matrix,
		names: map[hostid.ID]matrix.Ref{}, asked: map[hostid.ID]matrix.Opinion{}}
	if v.all == nil {
		v.all = matrix.New(nil, matrix.Options{})
	}
	for _, raw := range ignored {
		if id, err := hostid.Parse(raw); err == nil {
			v.ignored[id] = true
		}
	}
	nodes := v.all.Nodes()
	for i := range nodes {
		if n := &nodes[i]; n.HostID != "" && n.Row != nil {
			v.names[n.HostID] = n.Row.Reporter
		}
	}
	for _, o := range in.Others {
		if ref := o.Recorded(); ref.HostID != "" {
			v.names[ref.HostID] = ref
		}
	}
	for _, id := range []hostid.ID{target, newcomer} {
		if id != "" {
			v.names[id] = in.Self.Ref
		}
	}
	v.m = v.all.Excluding(func(r matrix.Ref) bool { return v.isSelf(r) || v.apart(r.HostID) })
	return v
}

// apart reports whether id is the target, the new node or an ignored node.
func (v *rowEvidence) apart(id hostid.ID) bool {
	return id != "" && (id == v.target || id == v.newcomer || v.ignored[id])
}

// isSelf compares member names if both are known, else datacenter, rack and ordinal.
func (v *rowEvidence) isSelf(r matrix.Ref) bool {
	s := v.in.Self
	if r.Member != "" && s.Member != "" {
		return r.Member == s.Member
	}
	return r.Ordinal != nil && s.Ordinal != nil && *r.Ordinal == *s.Ordinal && r.Datacenter == s.Datacenter &&
		r.Rack == s.Rack
}

func (v *rowEvidence) of(id hostid.ID) matrix.Opinion {
	o, asked := v.asked[id]
	if !asked {
		o = v.m.Opinion(id)
		v.asked[id] = o
	}
	return o
}

// noMember reports whether there are rows of other nodes, and none of them lists the node.
func (v *rowEvidence) noMember(id hostid.ID) bool {
	return v.of(id).Total() > 0 && v.of(id).Listing() == 0
}

// heard reports whether at least one other node has a usable row.
func (v *rowEvidence) heard() bool {
	for i := range v.m.Nodes() {
		if v.m.HasUsableRow(i) {
			return true
		}
	}
	return false
}

// expected returns the sorted host IDs that must have a row: members by their Services, and nodes
// that have a row or are listed in a usable one. A removed node is excluded, even if its Service
// records it.
func (v *rowEvidence) expected() []hostid.ID {
	ids := map[hostid.ID]bool{}
	nodes := v.m.Nodes()
	for i := range nodes {
		n := &nodes[i]
		if n.HostID != "" && !v.apart(n.HostID) && !n.Removed && (n.Row != nil || v.of(n.HostID).Listing() > 0) {
			ids[n.HostID] = true
		}
	}
	for _, o := range v.in.Others {
		id := o.RecordedID()
		// One that no row lists has not joined, unless its Service records that it has.
		joined := o.Joined != nil && *o.Joined || o.Joined == nil && !v.m.NoneLists(o.Recorded())
		if id != "" && !v.apart(id) && joined && !o.Removed(v.m) {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// silence returns why id has no usable row, else zero.
func (v *rowEvidence) silence(id hostid.ID) words.Message {
	i, known := v.m.Index(id)
	if known && v.m.HasUsableRow(i) {
		return words.Message{}
	}
	name := v.name(id)
	var row *matrix.Row
	if known {
		row = v.m.Nodes()[i].Row
	}
	switch {
	case row == nil:
		return words.New(words.NodeHasNoRow, "node", name)
	case !row.Trouble.IsZero():
		return words.New(words.NodeCannotReport, "node", name, "why", row.Trouble.Message(name))
	case !row.Reported:
		return words.New(words.NodeHasNotReported, "node", name)
	case !row.Stale.IsZero():
		return words.New(words.NodeReportIsOld, "node", name, "why", row.Stale.Message(name))
	}
	return words.New(words.NodeReportIsEmpty, "node", name)
}

// labels returns the names of witnesses, given by their index into the matrix's nodes.
func (v *rowEvidence) labels(witnesses ...[]int) []string {
	var out []string
	for _, i := range slices.Concat(witnesses...) {
		n := &v.m.Nodes()[i]
		r := n.Ref
		if n.Row != nil {
			r = n.Row.Reporter
		}
		out = append(out, refName(r))
	}
	slices.Sort(out)
	return out
}

// name returns a host ID for people: "demo-rack1-0 (8ebd0c1a)".
func (v *rowEvidence) name(id hostid.ID) string {
	ref := v.names[id]
	ref.HostID = id
	return refName(ref)
}

// holder returns the member that has a host ID by its row or its Service. After a mistake it
// differs from the replaced member.
func (v *rowEvidence) holder(id hostid.ID) string {
	for _, o := range v.in.Others {
		if o.RecordedID() == id || o.Says().HostID == id {
			return refName(matrix.Ref{Member: o.Member, HostID: id})
		}
	}
	return short(id)
}

func refName(r matrix.Ref) string {
	who := r.Member
	if who == "" && r.Rack != "" && r.Ordinal != nil {
		who = fmt.Sprintf("%s/%s/%d", r.Datacenter, r.Rack, *r.Ordinal)
	}
	switch {
	case who == "" && r.HostID == "":
		return "an unnamed node"
	case who == "":
		return short(r.HostID)
	case r.HostID == "":
		return who
	}
	return who + " (" + short(r.HostID) + ")"
}

// short returns the first 8 characters of a host ID, which the CLI asks a person to type.
func short(id hostid.ID) string { return id.Short() }

// compareMessages orders messages by code and parameters.
func compareMessages(a, b words.Message) int {
	return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(fmt.Sprint(a.Params), fmt.Sprint(b.Params)))
}
