// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Change is one line of the history.
type Change struct {
	At   time.Time
	Text string
	// Good and Bad say whether the change is an improvement or not; neither for a neutral one.
	Good, Bad bool
}

const (
	maxChanges     = 100 // of one snapshot
	namedObservers = 3
)

// Verdicts.
const (
	healthy    = "HEALTHY"
	notHealthy = "NOT HEALTHY"
	unknown    = "UNKNOWN"
)

// changeLog collects the changes of one moment.
type changeLog struct {
	at  time.Time
	all []Change
}

func (l *changeLog) add(good, bad bool, format string, args ...any) {
	l.all = append(l.all, Change{At: l.at, Text: fmt.Sprintf(format, args...), Good: good, Bad: bad})
}

// diff lists the differences between s and next.
func (s *Snapshot) diff(next *Snapshot) []Change {
	log := &changeLog{at: next.at}
	if a, b := s.verdict, next.verdict; a != b {
		log.add(next.healthy, !next.healthy, "%s, was %s: %s", b, a, next.summary)
	}
	s.diffPairs(next, log)
	seen := make([]bool, len(s.nodes))
	for i := range next.nodes {
		n := &next.nodes[i]
		j := s.same(n)
		if j < 0 {
			log.add(false, false, "%s is new: %s", n.label(), n.membership)
			continue
		}
		seen[j] = true
		log.node(&s.nodes[j], n)
	}
	for j := range s.nodes {
		if !seen[j] {
			log.add(false, false, "%s is gone", s.nodes[j].label())
		}
	}
	switch a, b := len(s.partition), len(next.partition); {
	case a == b:
	case b > 0:
		log.add(false, true, "the cluster has fallen into %d parts that do not see each other", b)
	default:
		log.add(true, false, "the parts of the cluster see each other again")
	}
	if a, b := s.source, next.source; a != b {
		log.add(false, false, "rows now come from %s, before from %s", b, a)
	}
	s.diffController(next, log)
	if n := len(log.all) - maxChanges; n > 0 {
		log.all = log.all[:maxChanges]
		log.add(false, false, "and %d more changes at once", n)
	}
	return log.all
}

// diffController tells whether the controller has fallen silent or is back.
func (s *Snapshot) diffController(next *Snapshot, log *changeLog) {
	c := next.controller
	if s.at.IsZero() || next.at.IsZero() || c.is == leadingUnknown || c.is == s.controller.is {
		return
	}
	log.add(c.ok, !c.ok, "%s", c.text)
}

// same finds a node of another snapshot: by host ID, or by member name while one of the two had no host ID; -1 when it is new.
func (f *facts) same(n *node) int {
	if i, ok := f.byID[n.id]; ok && n.id != "" {
		return i
	}
	if i, ok := f.byMember[n.member]; ok && n.member != "" && (f.nodes[i].id == "" || n.id == "") {
		return i
	}
	return -1
}

func (l *changeLog) node(was, is *node) {
	name := is.label()
	if was.id == "" && is.id != "" {
		l.add(false, false, "%s has its host ID now", name)
	}
	for _, word := range [][3]string{{"", is.membership, was.membership}, {"", is.state, was.state}, {"Pod of ", is.pod, was.pod}} {
		if word[1] != word[2] && word[1] != "" && word[2] != "" {
			l.add(false, false, "%s%s: %s, was %s", word[0], name, word[1], word[2])
		}
	}
	if a, b := was.row, is.row; a.status != b.status {
		text := fmt.Sprintf("row of %s: %s, was %s", name, b.status, a.status)
		if b.detail != "" {
			text += ": " + b.detail
		}
		l.add(b.ok, !b.ok && b.due, "%s", text)
	}
	switch {
	case was.force == is.force:
	case is.force == "":
		l.add(false, false, "the force on %s is gone", name)
	default:
		l.add(false, false, "%s is forced to proceed (%q)", name, is.force)
	}
}

// diffPairs joins the equal changes of several rows about the same node.
func (s *Snapshot) diffPairs(next *Snapshot, log *changeLog) {
	type key struct {
		of       int // in next
		to, from mark
	}
	observers := map[key][]int{}
	for i := range next.nodes {
		was, ok := s.byID[next.nodes[i].id]
		if !ok || !next.nodes[i].reports || !s.nodes[was].reports {
			continue
		}
		old := make(map[string]mark, len(s.nodes[was].notUp))
		for _, p := range s.nodes[was].notUp {
			old[s.nodes[p.of].id] = p.is
		}
		note := func(of int, from, to mark) {
			if _, known := s.byID[next.nodes[of].id]; known && from != to {
				observers[key{of, to, from}] = append(observers[key{of, to, from}], i)
			}
		}
		for _, p := range next.nodes[i].notUp {
			id := next.nodes[p.of].id
			note(p.of, cmp.Or(old[id], markUp), p.is)
			delete(old, id)
		}
		for id, from := range old {
			if of, still := next.byID[id]; still {
				note(of, from, markUp)
			}
		}
	}
	keys := make([]key, 0, len(observers))
	for k := range observers {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	for _, k := range keys {
		log.add(k.to == markUp, k.to != markUp, "%s %s (was %s) by %s", next.nodes[k.of].label(), markNames[k.to], markNames[k.from], next.names(observers[k]))
	}
}

// names lists nodes in words: "a, b, c and 7 more".
func (f *facts) names(nodes []int) string {
	var names []string
	for _, i := range nodes[:min(namedObservers, len(nodes))] {
		names = append(names, f.nodes[i].label())
	}
	text := strings.Join(names, ", ")
	if n := len(nodes) - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// past returns the earlier changes that the objects of a first snapshot record, the oldest first: since when a node is not UP, a row is stale, a newcomer waits, and which
// containers ended with an error.
func (f *facts) past() []Change {
	log := &changeLog{}
	type key struct {
		of    int
		is    mark
		since time.Time
	}
	observers := map[key][]int{}
	var keys []key
	for i := range f.nodes {
		n := &f.nodes[i]
		for _, p := range n.notUp {
			k := key(p)
			if observers[k] == nil && !p.since.IsZero() {
				keys = append(keys, k)
			}
			observers[k] = append(observers[k], i)
		}
		if log.at = n.row.staleSince; !log.at.IsZero() {
			log.add(false, true, "row of %s: %s", n.label(), n.row.detail)
		}
		if log.at = n.waits.since; !log.at.IsZero() {
			log.add(false, false, "%s waits for %s", n.label(), cmp.Or(n.waits.on, "its turn"))
		}
	}
	for _, k := range keys {
		log.at = k.since
		log.add(false, true, "%s %s by %s", f.nodes[k.of].label(), markNames[k.is], f.names(observers[k]))
	}
	log.all = append(log.all, f.ended...)
	slices.SortStableFunc(log.all, func(a, b Change) int { return a.At.Compare(b.At) })
	return log.all[max(0, len(log.all)-maxChanges):]
}

// WithPast is the snapshot with the changes before it, for a cluster that is not watched.
func (s *Snapshot) WithPast(past Past) *Snapshot {
	p := changesPane{log: slices.Clone(s.changes)}
	p.before(past.Changes)
	out := *s
	out.changes = p.log
	return &out
}
