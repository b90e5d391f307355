// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// filter selects nodes that match all terms. A term is a text that name, host ID, place, Pod, IP or
// version contain, or dc:, rack: or state: with a value. It applies to the rows.
type filter struct {
	text  string
	rows  []term
	pairs []grid.Mark // reporters of this status, and the nodes with it
}

type term struct{ field, value string }

var pairStates = map[string]grid.Mark{"up": grid.Up, "down": grid.Down, "unknown": grid.Unknown,
	"missing": grid.Missing}

// parseFilter parses a typed filter. Error: an unknown field or state, with the valid ones.
func parseFilter(text string) (filter, error) {
	f := filter{text: strings.TrimSpace(text)}
	for _, word := range strings.Fields(strings.ToLower(text)) {
		t := term{value: word}
		if field, value, ok := strings.Cut(word, ":"); ok {
			t = term{field, value}
		}
		switch t.field {
		case "", "dc", "rack":
		case "state":
			if is, ok := pairStates[t.value]; ok {
				f.pairs = append(f.pairs, is)
				continue
			}
			if !slices.ContainsFunc(stateWords, func(w string) bool { return strings.HasPrefix(w, t.value) }) {
				return f, fmt.Errorf("unknown state %q: use one of %s", t.value, strings.Join(stateWords, " "))
			}
		default:
			return f, fmt.Errorf("unknown filter %q: use dc: rack: state: or plain text", t.field+":")
		}
		if t.value != "" { // else incomplete input
			f.rows = append(f.rows, t)
		}
	}
	return f, nil
}

func (t term) holds(n *shownNode) bool {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts,
			func(text string) bool { return strings.Contains(strings.ToLower(text), t.value) })
	}
	switch t.field {
	case "dc":
		return has(n.Datacenter)
	case "rack":
		return has(n.Rack)
	case "state":
		words := []string{n.State, string(n.Membership), n.Row.Word()}
		if n.Seen != nil {
			words = append(words, n.Seen.Text())
		}
		return slices.ContainsFunc(words,
			func(word string) bool { return strings.HasPrefix(strings.ToLower(word), t.value) })
	}
	return has(n.Member, string(n.HostID), n.place(), n.Pod, n.PodIP, n.Version)
}

// apply returns the nodes of rows and of columns.
func (f *filter) apply(of *facts) (rows, columns []int) {
	for i := range of.nodes {
		n := &of.nodes[i]
		if !slices.ContainsFunc(f.rows, func(t term) bool { return !t.holds(n) }) {
			rows = append(rows, i)
		}
		if n.column {
			columns = append(columns, i)
		}
	}
	for _, is := range f.pairs {
		rows, columns = of.saying(is, rows, columns)
	}
	return rows, columns
}

// saying keeps the rows that have the status is for a node of columns, and the columns that have it
// in some row.
func (f *facts) saying(is grid.Mark, rows, columns []int) (by, of []int) {
	inColumn, says, said := make([]bool, len(f.nodes)), make([]bool, len(f.nodes)), make([]bool, len(f.nodes))
	for _, j := range columns {
		inColumn[j] = true
	}
	for _, i := range rows {
		if !f.nodes[i].reports {
			continue
		}
		if is == grid.Up {
			for _, j := range columns {
				if i != j && f.mark(i, j) == grid.Up {
					says[i], said[j] = true, true
				}
			}
			continue
		}
		for _, p := range f.grid.Nodes[i].NotUp {
			if inColumn[p.Of] && p.Is == is {
				says[i], said[p.Of] = true, true
			}
		}
	}
	without := func(in []int, which []bool) []int {
		return slices.DeleteFunc(slices.Clone(in), func(i int) bool { return !which[i] })
	}
	return without(rows, says), without(columns, said)
}
