// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NotFoundError says that something named by a person does not exist, with the nearest names that do.
type NotFoundError struct {
	What    string   // "cluster", "member", "node"
	Name    string   // as typed
	In      string   // "namespace demo", "cluster demo/scylla"
	Nearest []string // at most three, nearest first
	Known   int      // how many there are at all
	Cure    string   // what to do; empty for the ordinary texts
}

// AmbiguousError says that a text fits several things.
type AmbiguousError struct {
	What       string   // "cluster", "member"
	Name       string   // as typed, may be empty
	In         string   // where
	Candidates []string // sorted
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no %s %q", e.What, e.Name)
	if e.Name == "" {
		b.Reset()
		fmt.Fprintf(&b, "no %s", e.What)
	}
	if e.In != "" {
		b.WriteString(" in " + e.In)
	}
	switch {
	case len(e.Nearest) > 0:
		fmt.Fprintf(&b, "; did you mean %s?", orList(e.Nearest))
	case e.Cure != "":
		b.WriteString("; " + e.Cure)
	}
	return b.String()
}

func (e *AmbiguousError) Error() string {
	shown, rest := e.Candidates, ""
	if len(shown) > 8 {
		shown, rest = shown[:8], fmt.Sprintf(" and %d more", len(e.Candidates)-8)
	}
	if e.Name == "" {
		return fmt.Sprintf("there are %d %ss in %s, name one: %s%s", len(e.Candidates), e.What, e.In, strings.Join(shown, ", "), rest)
	}
	return fmt.Sprintf("%q fits %d %ss in %s, say which: %s%s", e.Name, len(e.Candidates), e.What, e.In, strings.Join(shown, ", "), rest)
}

func orList(names []string) string {
	q := make([]string, len(names))
	for i, n := range names {
		q[i] = fmt.Sprintf("%q", n)
	}
	if len(q) == 1 {
		return q[0]
	}
	return strings.Join(q[:len(q)-1], ", ") + " or " + q[len(q)-1]
}

// Nearest returns at most three of the known names that are close to the one typed, nearest first.
func Nearest(typed string, known []string) []string {
	type near struct {
		name string
		dist int
	}
	t := strings.ToLower(typed)
	if len(t) > maxTyped {
		return nil
	}
	var found []near
	for _, k := range known {
		lower := strings.ToLower(k)
		d := editDistance(t, lower)
		// A third of the name may be wrong; a part of a name counts as near whatever its length.
		contained := len(t) >= 3 && (strings.Contains(lower, t) || strings.Contains(t, lower) && len(lower) >= 3)
		if d <= max(2, len(k)/3) || contained {
			found = append(found, near{k, d})
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, n := range found[:min(3, len(found))] {
		out = append(out, n.name)
	}
	return slices.Compact(out)
}

// maxTyped bounds what is compared; no Kubernetes name is longer.
const maxTyped = 253

// editDistance is Levenshtein's, in bytes: the names are ASCII.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
