// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NotFoundError means that an object that the user named does not exist. It has the nearest
// existing names.
type NotFoundError struct {
	What    string   // "cluster", "member", "node"
	Name    string   // as typed
	In      string   // "namespace demo", "cluster demo/scylla"
	Nearest []string // at most three, nearest first
	Known   int      // how many exist
	Cure    string   // the remedy; empty for the default text
}

// AmbiguousError means that a text matches several objects.
type AmbiguousError struct {
	What       string   // "cluster", "member"
	Name       string   // as typed, may be empty
	In         string   // namespace or cluster
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
		return fmt.Sprintf("there are %d %ss in %s, specify one: %s%s", len(e.Candidates), e.What, e.In,
			strings.Join(shown, ", "), rest)
	}
	return fmt.Sprintf("%q matches %d %ss in %s, specify one: %s%s", e.Name, len(e.Candidates), e.What, e.In,
		strings.Join(shown, ", "), rest)
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
		d, shorter := editDistance(t, lower), min(len(t), len(lower))
		// Up to a third of the shorter name may differ, but not all of it. A whole word of a name
		// matches at any distance.
		if d <= max(1, shorter/3) && d < shorter || beginsWord(lower, t) || isWord(t, lower) {
			found = append(found, near{k, d})
		}
	}
	slices.SortFunc(found,
		func(a, b near) int { return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, n := range found[:min(3, len(found))] {
		out = append(out, n.name)
	}
	return slices.Compact(out)
}

// maxTyped is the maximum length of a typed text that is compared; no Kubernetes name is longer.
const maxTyped = 253

// leastWord is the minimum length of a part that identifies a name.
const leastWord = 3

// beginsWord reports whether part begins the name or a word in it: rack2-0 and dc1 of
// demo-dc1-rack2-0, but not "all" of install.
func beginsWord(name, part string) bool {
	return len(part) >= leastWord && strings.Contains("-"+name, "-"+part)
}

// isWord reports whether part is one or several whole words of the name.
func isWord(name, part string) bool {
	return len(part) >= leastWord && strings.Contains("-"+name+"-", "-"+part+"-")
}

// editDistance returns the Levenshtein distance in bytes (names are ASCII); two swapped neighbours
// count as one edit.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			substitute := last[j]
			if a[i] != b[j] {
				substitute++
			}
			row[j+1] = min(substitute, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
