// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
)

// SortFlag is the value of --sort-by; empty sorts by datacenter, rack and ordinal.
type SortFlag string

// sortKeys are the orders of nodes.
var sortKeys = map[SortFlag]func(a, b *Node) int{
	"member":  func(a, b *Node) int { return cmp.Compare(a.Name(), b.Name()) },
	"host-id": func(a, b *Node) int { return cmp.Compare(a.HostID, b.HostID) },
	"seen":    func(a, b *Node) int { return cmp.Compare(b.Seen.weight(), a.Seen.weight()) },
	"version": func(a, b *Node) int { return cmp.Compare(a.Version, b.Version) },
	"report":  func(a, b *Node) int { return cmp.Compare(b.Row.weight(), a.Row.weight()) },
	"pod":     func(a, b *Node) int { return cmp.Compare(a.Pod, b.Pod) },
	"ip":      func(a, b *Node) int { return cmp.Compare(a.PodIP, b.PodIP) },
	"node":    func(a, b *Node) int { return cmp.Compare(a.machine(), b.machine()) },
}

// SortKeys returns the sorted values of --sort-by.
func SortKeys() []string {
	var out []string
	for k := range sortKeys {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}

// String implements pflag.Value.
func (f *SortFlag) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *SortFlag) Set(text string) error {
	if text == "row" {
		text = "report" // the column's former name
	}
	if sortKeys[SortFlag(text)] == nil {
		return fmt.Errorf("must be one of %s", strings.Join(SortKeys(), ", "))
	}
	*f = SortFlag(text)
	return nil
}

// Type implements pflag.Value.
func (*SortFlag) Type() string { return "column" }

// weight orders by rows that are not UP: DOWN counts 3, MISSING 2, UNKNOWN 1.
func (s *Seen) weight() int {
	if s == nil {
		return -1
	}
	return (s.Down*3+s.Missing*2+s.Unknown)*2 + min(1, s.Down)
}

func (r RowState) weight() int {
	return slices.Index([]RowStatus{RowNone, RowOK, RowStale, RowMissing, RowError}, r.Status)
}

func (n *Node) machine() string {
	if n.KubernetesNode == nil {
		return ""
	}
	return n.KubernetesNode.Name
}

// Chosen returns the indexes of the nodes to show, in order.
func (d *ClusterStatus) Chosen(problems bool, by SortFlag) []int {
	trouble := d.Trouble()
	trouble.unread = false // every node is requested
	var out []int
	for i := range d.Nodes {
		if !problems || trouble.Of(&d.Nodes[i]) {
			out = append(out, i)
		}
	}
	if less := sortKeys[by]; less != nil {
		slices.SortStableFunc(out, func(a, b int) int { return less(&d.Nodes[a], &d.Nodes[b]) })
	}
	return out
}

// ChosenNodes returns the nodes of Chosen.
func (d *ClusterStatus) ChosenNodes(problems bool, by SortFlag) []Node {
	out := []Node{}
	for _, i := range d.Chosen(problems, by) {
		out = append(out, d.Nodes[i])
	}
	return out
}

// MembershipText returns the state for tables and pages.
func MembershipText(s cluster.MemberState) string {
	switch s {
	case cluster.MemberNewcomer:
		return "new node, not joined"
	case cluster.MemberGhost:
		return "member without a Pod"
	case cluster.MemberGossipOnly:
		return "orphaned"
	}
	return string(s)
}
