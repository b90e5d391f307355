// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// maxPartial is the maximum number of lines near the verdict that list missing parts.
const maxPartial = 6

// detail is how much of a status is drawn; each level omits more, so that the verdict stays
// visible.
type detail struct {
	matrix  bool // the whole matrix; else the rows that disagree
	blanks  bool // empty lines between sections
	byRack  bool // one line per rack, and separate lines only for troubled nodes
	terse   bool // no evidence, queue and tasks; the source in one line
	maxList int  // maximum of lines per list; 0 for all
	// groups of the matrix: racks if they fit, else datacenters; by node for the rows that disagree
	fold grid.By
}

var details = []detail{
	{matrix: true, blanks: true},
	{matrix: true},
	{matrix: true, terse: true},
	{blanks: true},
	{},
	{terse: true},
	{terse: true, maxList: 2},
	{byRack: true, blanks: true, maxList: 6, fold: grid.ByRack},
	{byRack: true, maxList: 6, fold: grid.ByRack},
	{byRack: true, maxList: 3, fold: grid.ByRack},
	{byRack: true, maxList: 6, fold: grid.ByDatacenter},
	{byRack: true, maxList: 3, fold: grid.ByDatacenter},
	{byRack: true, terse: true, maxList: 2, fold: grid.ByDatacenter},
	{byRack: true, terse: true, maxList: 2},
	{byRack: true, terse: true, maxList: 1},
}

// Cluster draws the document: verdict, nodes, matrix, blockers. It omits, in a fixed order, the
// parts that do not fit o.Height, and shows that.
func Cluster(d *document.ClusterStatus, o Options) string {
	p := &painter{d: d, o: o, g: o.glyphs()}
	p.index()
	fits := p.byNode().fits(o)
	if o.Wide || o.All || o.Height <= 0 {
		return p.draw(details[0])
	}
	var text string
	for _, level := range details {
		if level.matrix && !fits || !level.byRack && (len(d.Nodes) >= o.Height || p.trouble.Unread() && level.terse) {
			continue
		}
		text = p.draw(level)
		// One line stays free for the prompt; without it the verdict scrolls away.
		if screenLines(text, o.Width) <= o.Height-1 {
			break
		}
	}
	return text
}

// screenLines returns the number of screen lines of a text; an unwrapped command may take several.
func screenLines(text string, width int) int {
	n := strings.Count(text, "\n")
	if width <= 0 {
		return n
	}
	for line := range strings.Lines(text) {
		n += max(0, Width(strings.TrimSuffix(line, "\n"))-1) / width
	}
	return n
}

type painter struct {
	d *document.ClusterStatus
	o Options
	g Glyphs
	// grid is who sees whom; listed are the nodes with a row and a column.
	grid    *grid.Grid
	listed  []int
	trouble *document.Trouble
	folds   []string // the grouped matrix, which includes the racks
}

func (p *painter) index() {
	p.grid = p.d.Grid()
	p.listed = p.grid.Listed()
	p.trouble = p.d.Trouble()
}

func (p *painter) draw(level detail) string {
	sections := [][]string{slices.Concat(p.head(), p.findings(level), p.origin(level)), p.nodes(level), p.views(level),
		nil, p.attention(level), p.notes()}
	if p.o.Wide || p.o.All {
		sections[3] = p.explained()
	}
	var b strings.Builder
	for i, lines := range sections {
		if len(lines) == 0 {
			continue
		}
		if i > 0 && level.blanks {
			b.WriteString("\n")
		}
		for _, line := range lines {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// head is the verdict with its cause.
func (p *painter) head() []string {
	mark := p.d.Mark()
	verdict := StyleOf(mark).Paint(p.g.Marks[mark]+" "+p.d.Verdict) + " " +
		Strong.Paint(p.d.Namespace+"/"+p.d.Name) + p.partialMark()
	return p.wrap(verdict+": "+Clean(p.d.FirstLine()), "  ")
}

// origin is the number of nodes that are UP, the source of the rows, and the unreadable parts.
func (p *painter) origin(level detail) []string {
	from := "source: " + string(p.d.Source.Used)
	if len(p.d.Problems()) > 0 {
		from = p.d.Counted() + "; " + from
	}
	if p.d.Source.Reason != "" {
		from += " (" + Clean(p.d.Source.Reason) + ")"
	}
	if p.d.Source.Offline {
		from += ", " + words.Saved("saved objects", p.d.At(), p.d.GeneratedAt.Time)
	}
	if p.o.Context != "" && !p.d.Source.Offline {
		from = "context " + Clean(p.o.Context) + "; " + from
	}
	if p.d.ManagedBy != "" {
		from += "; managed by " + p.d.ManagedBy
	}
	if p.d.Coordinator != nil {
		from += "; " + Clean(p.d.Coordinator.Text)
	}
	source := p.wrap(from, "  ")
	if level.terse {
		source = []string{p.one(from)}
	}
	return slices.Concat(p.each(Dim, source), p.view(level), p.partial(level))
}

// partialMark marks a name whose document is incomplete.
func (p *painter) partialMark() string {
	if len(p.d.Partial) == 0 {
		return ""
	}
	return " " + Warn.Paint("(partial)")
}

// partial lists the unreadable parts, near the top, so that they are noticed.
func (p *painter) partial(level detail) []string {
	most := maxPartial
	switch {
	case p.o.Wide:
		most = 0
	case level.terse && level.maxList > 0:
		most = min(most, level.maxList)
	}
	var lines []string
	for i, text := range p.d.PartialLines(most) {
		lines = append(lines, p.reason(level, i, Warn.Paint("partial:")+" "+text, "  ")...)
	}
	return lines
}

// one truncates a line at the width.
func (p *painter) one(line string) string {
	if p.o.Width <= 0 {
		return line
	}
	return ansi.Truncate(line, p.o.Width, p.g.Ellipsis)
}

// reason returns item i of a list of reasons, wrapped. A short list truncates all but the first.
func (p *painter) reason(level detail, i int, line, indent string) []string {
	if level.terse && level.maxList > 0 && i > 0 {
		return []string{p.one(line)}
	}
	return p.wrap(line, indent)
}

// limited returns the lines of n items up to the level's limit, and the number of omitted ones.
func (level detail) limited(n int, lead, one, many string, item func(i int) []string) []string {
	var lines []string
	for i := range n {
		if level.maxList > 0 && i >= level.maxList {
			return append(lines, Dim.Paint(lead+"and "+words.Count(n-i, one, many)+" (all with --all)"))
		}
		lines = append(lines, item(i)...)
	}
	return lines
}

func (*painter) each(s Style, lines []string) []string {
	for i, line := range lines {
		lines[i] = s.Paint(line)
	}
	return lines
}

// wrap breaks a line at the width and indents further lines.
func (p *painter) wrap(line, indent string) []string {
	return Wrap(line, p.o.Width, indent)
}

// attention lists new nodes, replacements, orphaned host IDs and members without a Pod.
func (p *painter) attention(level detail) []string {
	now := p.d.At()
	var lines []string
	add := func(title string, n int, line func(int) string) {
		if n == 0 {
			return
		}
		if level.terse && n == 1 {
			lines = append(lines, p.wrap(Strong.Paint(title)+" (1): "+Clean(line(0)), "  ")...)
			return
		}
		lines = append(lines, Strong.Paint(title)+fmt.Sprintf(" (%d)", n))
		lines = append(lines,
			level.limited(n, "  ", "more", "more",
				func(i int) []string { return p.reason(level, i, "  "+Clean(line(i)), "    ") })...)
	}
	add("New nodes", len(p.d.Newcomers), func(i int) string {
		n := &p.d.Newcomers[i]
		if !level.terse {
			return n.Text(now)
		}
		text := n.Ref.String()
		if a := words.Ago(document.TimeOf(n.Since), now); a != "" {
			text += " (" + a + ")"
		}
		return text + " " + words.Text(n.Summary)
	})
	lines = append(lines, p.replacements(level)...)
	operations := p.d.UnderWay()
	add("Topology operations in progress", len(operations), func(i int) string { return operations[i] })
	ghosts := "Members without a Pod"
	if p.d.Source.Offline {
		ghosts += " among the saved objects"
	}
	add(ghosts, len(p.d.Ghosts), func(i int) string { return p.d.Ghosts[i] })
	lines = append(lines, p.gossipOnly(level)...)
	lines = append(lines, p.afterwards(level)...)
	add("Schema versions disagree", len(p.d.Schemas), func(i int) string {
		version := slices.Sorted(maps.Keys(p.d.Schemas))[i]
		return version + ": " + strings.Join(p.d.Schemas[version], ", ")
	})
	return lines
}

// replacements lists the open ones. Even in a short list a failure is shown in full, and a remedy
// has separate lines, because they are most important.
func (p *painter) replacements(level detail) []string {
	list := slices.Clone(p.d.Replacements)
	if !p.o.Wide && !p.o.All {
		// A failed replacement is a finding, with its step.
		list = slices.DeleteFunc(list, func(r document.Replacement) bool {
			return r.Failure != nil &&
				p.trouble.Names(string(r.Original))
		})
	}
	if len(list) == 0 {
		return nil
	}
	title := Strong.Paint("Replacements") + fmt.Sprintf(" (%d)", len(list))
	if level.terse && len(list) == 1 {
		lines := p.wrap(title+": "+Clean(list[0].Name()+": "+list[0].Summary), "  ")
		return append(lines, cureLines(&list[0], p.o, p.g, "  ")...)
	}
	return append([]string{title}, level.limited(len(list), "  ", "more", "more", func(i int) []string {
		if list[i].Failure == nil {
			return append(p.reason(level, i, "  "+Clean(list[i].Name()+": "+list[i].Summary), "    "),
				cureLines(&list[i], p.o, p.g, "    ")...)
		}
		return replacementLines(&list[i], p.o, "  ")
	})...)
}

// gossipOnly lists host IDs without a member, and how to remove orphaned ones.
func (p *painter) gossipOnly(level detail) []string {
	ids := p.d.GossipOnly
	if len(ids) == 0 {
		return nil
	}
	title := Strong.Paint("Orphaned host IDs") + fmt.Sprintf(" (%d)", len(ids))
	return append([]string{title}, level.limited(len(ids), "  ", "more", "more", func(i int) []string {
		lines := []string{"  " + Clean(string(ids[i]))}
		at := slices.IndexFunc(p.d.Leftovers, func(g document.Leftover) bool { return g.HostID == ids[i] })
		if at < 0 {
			return lines
		}
		g := &p.d.Leftovers[at]
		if !level.terse {
			lines = p.wrap("  "+Clean(g.Evidence), "    ")
		}
		if g.Command == "" {
			return append(lines, p.wrap("    "+p.g.Arrow+" do not remove: "+Clean(g.Why), "      ")...)
		}
		return slices.Concat(lines, stepLinesAt("    ", g.First, p.o), commandLines(g.Remove, p.o, "    "))
	})...)
}

// notes are remarks on the reading itself.
func (p *painter) notes() []string {
	var lines []string
	for _, note := range p.d.Notes {
		lines = append(lines, p.wrap(Dim.Paint("note:")+" "+Clean(note), "  ")...)
	}
	return lines
}
