// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/api/hostid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// word is the verdict: text, glyph and kind.
type word struct{ text, glyph, kind string }

func (r *Report) verdict() word {
	v := word{r.Verdict, show.NewGlyphs(false).Marks[r.Mark()], kind(show.StyleOf(r.Mark()))}
	if len(r.Partial) > 0 {
		v.text += " (partial)"
	}
	return v
}

type fact struct{ Name, Value string }

// facts are the lines below the verdict.
func (r *Report) facts() []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	if t := r.At(); !t.IsZero() {
		add("Taken", words.Moment(t))
	} else {
		add("Taken", "unknown: saved objects have no time")
	}
	source := string(r.Source.Used)
	if r.Source.Reason != "" {
		source += " (" + r.Source.Reason + ")"
	}
	add("Source", source)
	add("Controller", r.ViewText(true, false))
	add("Context", r.Context)
	add("Managed by", r.ManagedBy)
	if c := r.Coordinator; c != nil {
		add("Coordinator", c.Text)
	}
	var versions []string
	for _, v := range slices.Sorted(maps.Keys(r.Versions.ScyllaDB)) {
		versions = append(versions, fmt.Sprintf("%s (%d)", v, r.Versions.ScyllaDB[v]))
	}
	add("ScyllaDB", strings.Join(versions, ", "))
	add("Kubernetes", r.Versions.Kubernetes)
	return out
}

const maxBlockers = 100

// blockers returns the lines, and their number without the limit. One line represents all blockers
// with the same text about one node. Its step is at the finding.
func (r *Report) blockers() ([]string, int) {
	groups, _ := matrix.GroupBlockers(r.Blockers)
	lines := len(groups)
	more := len(groups) - maxBlockers
	if more > 0 {
		groups = groups[:maxBlockers]
	}
	out := make([]string, 0, len(groups)+1)
	for _, g := range groups {
		out = append(out, words.Aging(g.Message(), g.Since, r.At()))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out, lines
}

// list is a short list of exceptional items.
type list struct {
	Title string
	Items []string
}

func (r *Report) lists() []list {
	var out []list
	add := func(title string, items []string) {
		if len(items) > 0 {
			out = append(out, list{title, items})
		}
	}
	var items []string
	for i := range r.Newcomers {
		items = append(items, r.Newcomers[i].Text(r.At()))
	}
	add("New nodes", items)
	items = nil
	for _, rep := range r.Replacements {
		items = append(items, rep.Name()+": "+rep.Summary)
	}
	add("Replacements", items)
	items = nil
	for i := range r.Afterwards {
		a := &r.Afterwards[i]
		for j := range a.Tasks {
			t := &a.Tasks[j]
			text := t.Box() + " " + words.Text(t.Text)
			if t.Command != nil {
				text += ": " + words.Shell(t.Command)
			}
			items = append(items, a.Title(r.At())+": "+text)
		}
	}
	add("Follow-up tasks", items)
	add("Topology operations in progress", r.UnderWay())
	add("Members without a Pod", r.Ghosts)
	add("Orphaned host IDs", hostid.Texts(r.GossipOnly))
	items = nil
	for _, v := range slices.Sorted(maps.Keys(r.Schemas)) {
		items = append(items, v+": "+strings.Join(r.Schemas[v], ", "))
	}
	add("Schema versions disagree", items)
	add("Notes", r.Notes)
	return out
}
