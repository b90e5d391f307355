// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// Change is one line of the history.
type Change struct {
	At   time.Time
	Text string
	// Good and Bad say which way it went; neither for what is neutral.
	Good, Bad bool
}

const (
	maxHistory     = 1000
	maxChanges     = 100 // of one snapshot
	namedObservers = 3
)

// diff tells what is different in next.
func (s *Snapshot) diff(next *Snapshot) []Change {
	var out []Change
	add := func(good, bad bool, format string, args ...any) {
		out = append(out, Change{At: next.at, Text: fmt.Sprintf(format, args...), Good: good, Bad: bad})
	}
	if a, b := verdict(s.doc), verdict(next.doc); a != b {
		add(next.doc.Healthy, !next.doc.Healthy, "%s, was %s: %s", b, a, next.doc.Summary)
	}
	out = append(out, s.diffPairs(next)...)
	seen := make([]bool, len(s.nodes))
	for i := range next.nodes {
		n := &next.nodes[i]
		j, ok := s.same(n)
		if !ok {
			add(false, false, "%s is new: %s", n.name(), n.Membership)
			continue
		}
		seen[j] = true
		out = append(out, diffNode(&s.nodes[j], n, next.at)...)
	}
	for j := range s.nodes {
		if !seen[j] {
			add(false, false, "%s is gone", s.nodes[j].name())
		}
	}
	if a, b := len(s.doc.Partition), len(next.doc.Partition); a != b {
		if b > 0 {
			add(false, true, "the cluster has fallen into %d parts that do not see each other", b)
		} else {
			add(true, false, "the parts of the cluster see each other again")
		}
	}
	if a, b := s.doc.Source.Used, next.doc.Source.Used; a != b {
		add(false, false, "rows now come from %s, before from %s", b, a)
	}
	out = append(out, s.diffController(next)...)
	if n := len(out) - maxChanges; n > 0 {
		out = append(out[:maxChanges], Change{At: next.at, Text: fmt.Sprintf("and %d more changes at once", n)})
	}
	return out
}

// diffController tells whether the controller has fallen silent or is back.
func (s *Snapshot) diffController(next *Snapshot) []Change {
	if s.at.IsZero() || next.at.IsZero() {
		return nil
	}
	a, _ := s.leaseAt(s.at)
	b, ok := next.leaseAt(next.at)
	// Only the kind of news counts, not the seconds in it.
	if first(a) == first(b) || b == "" {
		return nil
	}
	return []Change{{At: next.at, Text: b, Good: ok, Bad: !ok}}
}

func first(words string) string {
	f := strings.Fields(words)
	return strings.Join(f[:min(2, len(f))], " ")
}

func verdict(d *render.ClusterStatus) string {
	switch {
	case d.Healthy:
		return "HEALTHY"
	case d.Counts.Nodes == 0:
		return "UNKNOWN"
	}
	return "NOT HEALTHY"
}

// same finds the node as it was: by host ID, or by member while either had none.
func (s *Snapshot) same(n *node) (int, bool) {
	if n.HostID != "" {
		if i, ok := s.known[n.HostID]; ok {
			return i, true
		}
	}
	for i := range s.nodes {
		if o := &s.nodes[i]; n.Member != "" && o.Member == n.Member && (o.HostID == "" || n.HostID == "") {
			return i, true
		}
	}
	return 0, false
}

func diffNode(was, is *node, at time.Time) []Change {
	var out []Change
	add := func(good, bad bool, format string, args ...any) {
		out = append(out, Change{At: at, Text: fmt.Sprintf(format, args...), Good: good, Bad: bad})
	}
	name := is.name()
	if was.HostID == "" && is.HostID != "" {
		add(false, false, "%s has its host ID now", name)
	}
	if was.Membership != is.Membership {
		add(false, false, "%s: %s, was %s", name, is.Membership, was.Membership)
	}
	if was.State != is.State && is.State != "" && was.State != "" {
		add(false, false, "%s: %s, was %s", name, is.State, was.State)
	}
	if a, b := was.Row, is.Row; a.Status != b.Status {
		text := fmt.Sprintf("row of %s: %s, was %s", name, b.Status, a.Status)
		if b.Detail != "" {
			text += ": " + b.Detail
		}
		add(b.Status == render.RowOK, b.Status != render.RowOK && b.Status != render.RowNone, "%s", text)
	}
	if was.Pod != is.Pod {
		add(false, false, "Pod of %s: %s, was %s", name, is.Pod, was.Pod)
	}
	if was.Force != is.Force {
		if is.Force == "" {
			add(false, false, "the force on %s is gone", name)
		} else {
			add(false, false, "%s is forced to proceed (%q)", name, is.Force)
		}
	}
	return out
}

// diffPairs joins what several rows now say differently of the same node.
func (s *Snapshot) diffPairs(next *Snapshot) []Change {
	type key struct{ observed, from, to string }
	observers := map[key][]int{}
	both := func(hostID string) (int, bool) {
		i, ok := next.known[hostID]
		j, was := s.known[hostID]
		return i, ok && was && next.nodes[i].reports && s.nodes[j].reports
	}
	add := func(pair [2]string, from, to string) {
		_, known := s.known[pair[1]]
		if _, still := next.known[pair[1]]; !known || !still || from == to {
			return
		}
		if i, ok := both(pair[0]); ok {
			k := key{pair[1], from, to}
			observers[k] = append(observers[k], i)
		}
	}
	for pair, to := range next.pairs {
		add(pair, cmp.Or(s.pairs[pair], "UP"), to)
	}
	for pair, from := range s.pairs {
		if _, still := next.pairs[pair]; !still {
			add(pair, from, "UP")
		}
	}
	keys := make([]key, 0, len(observers))
	for k := range observers {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(next.known[a.observed], next.known[b.observed]), cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	var out []Change
	for _, k := range keys {
		who := observers[k]
		slices.Sort(who)
		names := make([]string, 0, namedObservers)
		for _, i := range who[:min(namedObservers, len(who))] {
			names = append(names, next.nodes[i].name())
		}
		by := strings.Join(names, ", ")
		if n := len(who) - len(names); n > 0 {
			by += fmt.Sprintf(" and %d more", n)
		}
		out = append(out, Change{
			At: next.at, Good: k.to == "UP", Bad: k.to != "UP",
			Text: fmt.Sprintf("%s %s (was %s) by %s", next.nodes[next.known[k.observed]].name(), k.to, k.from, by),
		})
	}
	return out
}
