// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// Change is one line of the history.
type Change struct {
	At   time.Time
	Text string
	// Good and Bad mark an improvement or its opposite; neither is neutral.
	Good, Bad bool
}

const (
	maxChanges     = 100 // of one snapshot
	namedObservers = 3
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
	if a, b := s.doc.Verdict, next.doc.Verdict; a != b {
		log.add(next.doc.Healthy, !next.doc.Healthy, "%s, was %s: %s", b, a, next.summary)
	}
	s.diffPairs(next, log)
	seen := make([]bool, len(s.nodes))
	for i := range next.nodes {
		n := &next.nodes[i]
		j := s.same(n)
		if j < 0 {
			log.add(false, false, "%s is new: %s", n.label(), n.Membership)
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
	switch a, b := len(s.doc.Partition), len(next.doc.Partition); {
	case a == b:
	case b > 0:
		log.add(false, true, "the cluster is split into %d parts that do not see each other", b)
	default:
		log.add(true, false, "the parts of the cluster see each other again")
	}
	if a, b := s.doc.Source.Used, next.doc.Source.Used; a != b {
		log.add(false, false, "status reports now from %s, before from %s", b, a)
	}
	s.diffController(next, log)
	if n := len(log.all) - maxChanges; n > 0 {
		log.all = log.all[:maxChanges]
		log.add(false, false, "and %d more changes at once", n)
	}
	return log.all
}

// diffController adds whether the controller stopped responding or recovered.
func (s *Snapshot) diffController(next *Snapshot, log *changeLog) {
	c := next.controller
	if s.at.IsZero() || next.at.IsZero() || c.is == leadingUnknown || c.is == s.controller.is {
		return
	}
	log.add(c.ok, !c.ok, "%s", c.text)
}

// same returns the index of a node of another snapshot: by host ID, or by member name if one of the
// two has no host ID; -1 if it is new.
func (f *facts) same(n *shownNode) int {
	if i, ok := f.index.ByID[n.HostID]; ok {
		return i
	}
	if i, ok := f.index.ByMember[n.Member]; ok && (f.nodes[i].HostID == "" || n.HostID == "") {
		return i
	}
	return -1
}

func (l *changeLog) node(was, is *shownNode) {
	name := is.label()
	if was.HostID == "" && is.HostID != "" {
		l.add(false, false, "%s now has a host ID", name)
	}
	for _, word := range [][3]string{{"", string(is.Membership), string(was.Membership)}, {"", is.State, was.State},
		{"Pod of ", is.Pod, was.Pod}} {
		if word[1] != word[2] && word[1] != "" && word[2] != "" {
			l.add(false, false, "%s%s: %s, was %s", word[0], name, word[1], word[2])
		}
	}
	if a, b := was.Row, is.Row; a.Status != b.Status {
		text := fmt.Sprintf("status report of %s: %s, was %s", name, b.Word(), a.Word())
		if b.Detail != "" {
			text += ": " + b.Detail
		}
		ok := b.Status == document.RowOK
		l.add(ok, !ok && b.Status != document.RowNone, "%s", text)
	}
	switch {
	case was.Force == is.Force:
	case is.Force == "":
		l.add(false, false, "the force on %s was removed", name)
	default:
		l.add(false, false, "%s is forced to proceed (%q)", name, is.Force)
	}
}

// diffPairs combines the equal changes of several rows about the same node.
func (s *Snapshot) diffPairs(next *Snapshot, log *changeLog) {
	type key struct {
		of       int // in next
		to, from grid.Mark
	}
	observers := map[key][]int{}
	for i := range next.nodes {
		was, ok := s.index.ByID[next.nodes[i].HostID]
		if !ok || !next.nodes[i].reports || !s.nodes[was].reports {
			continue
		}
		before, now := s.grid.Nodes[was].NotUp, next.grid.Nodes[i].NotUp
		old := make(map[hostid.ID]grid.Mark, len(before))
		for _, p := range before {
			old[s.nodes[p.Of].HostID] = p.Is
		}
		note := func(of int, from, to grid.Mark) {
			if _, known := s.index.ByID[next.nodes[of].HostID]; known && from != to {
				observers[key{of, to, from}] = append(observers[key{of, to, from}], i)
			}
		}
		for _, p := range now {
			id := next.nodes[p.Of].HostID
			note(p.Of, cmp.Or(old[id], grid.Up), p.Is)
			delete(old, id)
		}
		for id, from := range old {
			if of, still := next.index.ByID[id]; still {
				note(of, from, grid.Up)
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
		log.add(k.to == grid.Up, k.to != grid.Up, "%s %s (was %s) by %s", next.nodes[k.of].label(), k.to, k.from,
			next.names(observers[k]))
	}
}

// names formats nodes: "a, b, c and 7 more".
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

// past returns the earlier changes that the objects of a first snapshot record, oldest first. These
// are since when nodes are not UP, rows are stale and new nodes wait, and containers that failed.
func (f *facts) past() []Change {
	log := &changeLog{}
	type key struct {
		of    int
		is    grid.Mark
		since time.Time
	}
	observers := map[key][]int{}
	var keys []key
	for i := range f.nodes {
		n := &f.nodes[i]
		for _, p := range f.grid.Nodes[i].NotUp {
			k := key{p.Of, p.Is, p.Since}
			if observers[k] == nil && !p.Since.IsZero() {
				keys = append(keys, k)
			}
			observers[k] = append(observers[k], i)
		}
		if log.at = document.TimeOf(n.Row.StaleSince); !log.at.IsZero() {
			log.add(false, true, "status report of %s: %s", n.label(), n.Row.Detail)
		}
		if n.newcomer != nil && n.newcomer.Since != nil {
			log.at = n.newcomer.Since.Time
			log.add(false, false, "%s waits for %s", n.label(), cmp.Or(n.newcomer.Waiting, "its turn"))
		}
	}
	for _, k := range keys {
		log.at = k.since
		log.add(false, true, "%s %s by %s", f.nodes[k.of].label(), k.is, f.names(observers[k]))
	}
	log.all = append(log.all, f.ended...)
	slices.SortStableFunc(log.all, func(a, b Change) int { return a.At.Compare(b.At) })
	return log.all[max(0, len(log.all)-maxChanges):]
}

// WithPast returns the snapshot with the changes before it, for a cluster that is not watched.
func (s *Snapshot) WithPast(past Past) *Snapshot {
	p := changesPane{log: slices.Clone(s.changes)}
	p.before(past.Changes)
	out := *s
	out.changes = p.log
	return &out
}
