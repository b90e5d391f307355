// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/kube"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// filter chooses nodes. All terms must hold. A term is a text that name, host ID, place or Pod contain, or dc:, rack: or state: with a value;
// "by:" before a term applies it to the reporters alone and "of:" to the observed alone, else it applies to both.
type filter struct {
	text           string
	rows, columns  []term
	pairs          []string // statuses: reporters that say so, and those of whom it is said
	nothingToCheck bool
}

type term struct{ field, value string }

// words of state: that are about pairs, and those about nodes.
var (
	pairStates = []string{"up", "down", "unknown", "missing"}
	nodeStates = func() []string {
		var words []string
		for s := matrix.StateNormal; s <= matrix.StateDecommissioned; s++ {
			words = append(words, strings.ToLower(s.String()))
		}
		for _, m := range []kube.MemberState{kube.MemberJoined, kube.MemberNewcomer, kube.MemberGhost, kube.MemberRemote, kube.MemberGossipOnly} {
			words = append(words, strings.ToLower(string(m)))
		}
		return append(words, string(render.RowStale), string(render.RowError))
	}()
)

// parseFilter reads what was typed. Error: a field or state that is not known, with those that are.
func parseFilter(text string) (filter, error) {
	f := filter{text: strings.TrimSpace(text)}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		rows, columns := true, true
		if rest, ok := strings.CutPrefix(word, "by:"); ok {
			word, columns = rest, false
		} else if rest, ok := strings.CutPrefix(word, "of:"); ok {
			word, rows = rest, false
		}
		if word == "" {
			continue // still typing
		}
		t := term{value: word}
		if field, value, ok := strings.Cut(word, ":"); ok {
			t = term{field, value}
		}
		switch t.field {
		case "", "dc", "rack":
		case "state":
			if t.value == "" {
				continue
			}
			complete := func(words []string) bool {
				return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, t.value) })
			}
			if slices.Contains(pairStates, t.value) && rows == columns {
				f.pairs = append(f.pairs, t.value)
				continue
			}
			if !complete(pairStates) && !complete(nodeStates) {
				return f, fmt.Errorf("state %q is not known: %s", t.value, strings.Join(append(slices.Clone(pairStates), nodeStates...), " "))
			}
		default:
			return f, fmt.Errorf("%q is not known: use dc: rack: state: by: of: or plain text", t.field+":")
		}
		if rows {
			f.rows = append(f.rows, t)
		}
		if columns {
			f.columns = append(f.columns, t)
		}
	}
	f.nothingToCheck = len(f.rows) == 0 && len(f.columns) == 0 && len(f.pairs) == 0
	return f, nil
}

func holds(terms []term, n *node) bool {
	for _, t := range terms {
		if !t.holds(n) {
			return false
		}
	}
	return true
}

func (t term) holds(n *node) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), t.value) }
	switch t.field {
	case "dc":
		return has(n.Datacenter)
	case "rack":
		return has(n.Rack)
	case "state":
		begins := func(word string) bool { return word != "" && strings.HasPrefix(strings.ToLower(word), t.value) }
		return begins(n.State) || begins(string(n.Membership)) || begins(string(n.Row.Status)) || n.Seen != nil && begins(n.Seen.Status)
	}
	return has(n.Member) || has(n.HostID) || has(n.Datacenter+"/"+n.Rack) || has(n.Pod) || has(n.Version)
}

// apply gives the nodes that stand in rows and in columns.
func (f *filter) apply(s *Snapshot) (rows, columns []int) {
	for i := range s.nodes {
		n := &s.nodes[i]
		if holds(f.rows, n) {
			rows = append(rows, i)
		}
		if n.column() && holds(f.columns, n) {
			columns = append(columns, i)
		}
	}
	for _, p := range f.pairs {
		rows, columns = s.saying(p, rows, columns)
	}
	return rows, columns
}

// saying keeps the columns of which some row says status, and the rows that say it of some column.
func (s *Snapshot) saying(status string, rows, columns []int) (by, of []int) {
	inRow, inColumn := member(len(s.nodes), rows), member(len(s.nodes), columns)
	says, said := make([]bool, len(s.nodes)), make([]bool, len(s.nodes))
	for _, r := range s.doc.Rows {
		i, ok := s.find(r.Observer)
		if !ok || !inRow[i] {
			continue
		}
		if status == "up" {
			bad := make(map[int]bool, len(r.NotUp))
			for _, p := range r.NotUp {
				bad[s.known[p.Observed]] = true
			}
			for _, j := range columns {
				if j != i && !bad[j] {
					says[i], said[j] = true, true
				}
			}
			continue
		}
		for _, p := range r.NotUp {
			if j := s.known[p.Observed]; inColumn[j] && strings.EqualFold(p.Status, status) {
				says[i], said[j] = true, true
			}
		}
	}
	keep := func(in []int, which []bool) []int {
		return slices.DeleteFunc(slices.Clone(in), func(i int) bool { return !which[i] })
	}
	return keep(rows, says), keep(columns, said)
}

func member(n int, of []int) []bool {
	in := make([]bool, n)
	for _, i := range of {
		in[i] = true
	}
	return in
}
