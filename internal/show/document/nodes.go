// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// Release returns the version without its build: 2025.2.1 of 2025.2.1-0.20250901.abc.
func (n *Node) Release() string {
	release, _, _ := strings.Cut(n.Version, "-0.")
	return release
}

// NoteTexts returns all notes of a node as texts.
func (n *Node) NoteTexts() []string { return noteTexts(n.Notes, false) }

// WarnTexts returns the notes that need attention as texts.
func (n *Node) WarnTexts() []string { return noteTexts(n.Notes, true) }

func noteTexts(notes []cluster.Note, warn bool) []string {
	var out []string
	for _, note := range notes {
		if note.Warn || !warn {
			out = append(out, words.Text(note.Message))
		}
	}
	return out
}

// PodText returns the state of a Pod followed by notes: "Running 1/2, forced=true".
func PodText(state string, notes []string) string {
	return strings.Join(append([]string{state}, notes...), ", ")
}

// Troubled reports whether a node has any abnormal state.
func (n *Node) Troubled() bool {
	return n.Membership != cluster.MemberJoined && n.Membership != cluster.MemberRemote || n.Row.Status != RowOK ||
		n.Seen.Mark() != grid.Up
}

// Fresh is the text of a row that counts: its reporter responds, even if the row is unchanged.
const Fresh = "fresh"

// Word returns the state of a row for the text.
func (r RowState) Word() string {
	if r.Status == RowOK {
		return Fresh
	}
	return string(r.Status)
}

// RackSum summarises the nodes of one rack.
type RackSum struct {
	Datacenter, Rack string
	Nodes            []int // indexes of the document's Nodes
	// In counts nodes that have joined, Up those seen UP, Rows those with a usable row, Trouble the
	// troubled ones.
	In, Up, Rows, Trouble int
}

// Racks returns the racks in the order of their nodes.
func (d *ClusterStatus) Racks(troubled func(*Node) bool) []*RackSum {
	var racks []*RackSum
	byName := map[[2]string]*RackSum{}
	one := map[bool]int{true: 1}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		key := [2]string{n.Datacenter, n.Rack}
		r := byName[key]
		if r == nil {
			r = &RackSum{Datacenter: n.Datacenter, Rack: n.Rack}
			byName[key], racks = r, append(racks, r)
		}
		r.Nodes = append(r.Nodes, i)
		r.In += one[n.Membership != cluster.MemberNewcomer && n.Membership != cluster.MemberGossipOnly]
		r.Up += one[n.Seen.Mark() == grid.Up]
		r.Rows += one[n.Row.Status == RowOK]
		r.Trouble += one[troubled(n)]
	}
	return racks
}
