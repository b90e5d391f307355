// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// findings are the causes with evidence and next step. The sentence of the first is the verdict's.
func (p *painter) findings(level detail) []string {
	var lines []string
	for i := range p.d.Findings {
		f := &p.d.Findings[i]
		if level.maxList > 0 && i >= level.maxList {
			lines = append(lines, Dim.Paint(fmt.Sprintf("and %s (all with --all)", count(len(p.d.Findings)-i, "more finding", "more findings"))))
			break
		}
		style, glyph := Bad, p.g.dot
		if f.Remark {
			style, glyph = Dim, "note:"
		}
		if i > 0 || f.Remark {
			lines = append(lines, p.wrapOrCut(level, style.Paint(glyph)+" "+Clean(f.Text(p.d.at())), "  ")...)
		}
		if f.Evidence != nil && !level.terse {
			lines = append(lines, p.each(Dim, p.wrap("  "+Clean(f.Evidence.Text), "    "))...)
		}
		if f.Step != nil {
			lines = append(lines, stepLines(f.Step.Message(), p.o)...)
		}
	}
	return lines
}

func (p *painter) wrapOrCut(level detail, line, indent string) []string {
	if level.terse {
		return []string{p.one(line)}
	}
	return p.wrap(line, indent)
}

// group is a rack or a datacenter of the folded matrix.
type group struct {
	name  string
	nodes []int // numbers
	up    int
	rows  int
}

// fold groups the nodes that other nodes can list.
func (p *painter) fold(by func(Node) string) []*group {
	var out []*group
	index := map[string]*group{}
	for _, i := range p.columns() {
		n := p.d.Nodes[i-1]
		name := cmp.Or(by(n), "-")
		g := index[name]
		if g == nil {
			g = &group{name: name}
			index[name] = g
			out = append(out, g)
		}
		g.nodes = append(g.nodes, i)
		if n.Seen != nil && n.Seen.Status == "UP" {
			g.up++
		}
		if p.reports[i] {
			g.rows++
		}
	}
	return out
}

func rackOf(n Node) string { return strings.Trim(n.Datacenter+"/"+n.Rack, "/") }

func datacenterOf(n Node) string { return n.Datacenter }

// folded is the matrix by racks where they fit, else by datacenters; nil where neither does, or where all of it says UP.
func (p *painter) folded(level detail) []string {
	if !slices.ContainsFunc(p.d.Rows, func(r Row) bool { return len(r.NotUp) > 0 }) {
		return nil
	}
	for _, by := range []struct {
		name string
		of   func(Node) string
	}{{"rack", rackOf}, {"datacenter", datacenterOf}} {
		if level.fold == "datacenter" && by.name == "rack" {
			continue
		}
		groups := p.fold(by.of)
		if len(groups) < 2 || p.o.Width > 0 && p.foldedWidth(groups) > p.o.Width {
			continue
		}
		return p.drawFolded(by.name, groups)
	}
	return nil
}

const minFoldedName = 12

func (p *painter) foldedWidth(groups []*group) int {
	return len(fmt.Sprint(len(groups))) + gap + minFoldedName + gap + foldedUp + gap + len(groups)*cellWidth
}

const foldedUp = len("UP 504/504")

func (p *painter) drawFolded(by string, groups []*group) []string {
	label := 0
	for _, g := range groups {
		label = max(label, lipgloss.Width(g.name))
	}
	digits := len(fmt.Sprint(len(groups)))
	if p.o.Width > 0 {
		label = min(label, p.o.Width-p.foldedWidth(groups)+minFoldedName)
	}
	lines := []string{Strong.Paint("Who sees whom") + fmt.Sprintf(", by %s", by)}
	var head strings.Builder
	fmt.Fprintf(&head, "%*s  %-*s  %-*s ", digits, "", label, "", foldedUp, "")
	for j := range groups {
		fmt.Fprintf(&head, " %2d", j+1)
	}
	lines = append(lines, Dim.Paint(head.String()))
	used := map[string]bool{}
	for i, g := range groups {
		var b strings.Builder
		name := Shorten(g.name, label, true, p.g.ellipsis)
		up := fmt.Sprintf("UP %d/%d", g.up, len(g.nodes))
		style := Good
		if g.up < len(g.nodes) {
			style = Bad
		}
		fmt.Fprintf(&b, "%s  %s%s  %s%s ", Dim.Paint(fmt.Sprintf("%*d", digits, i+1)), name, strings.Repeat(" ", label-lipgloss.Width(name)),
			style.Paint(up), strings.Repeat(" ", max(0, foldedUp-len(up))))
		for _, h := range groups {
			text, style, key := p.foldedCell(g, h)
			used[key] = true
			b.WriteString(" " + style.Paint(text))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return append(lines, p.foldedLegend(used)...)
}

// foldedCell is the gravest that the nodes of one group say of those of another: a capital where all of them say it, else a small letter.
func (p *painter) foldedCell(g, h *group) (text string, style Style, key string) {
	bad := map[string]int{}
	total := 0
	for _, i := range g.nodes {
		if !p.reports[i] {
			continue
		}
		total += len(h.nodes)
		if g == h {
			total-- // itself
		}
		if len(p.notUp[i]) == 0 {
			continue
		}
		for _, j := range h.nodes {
			if c, is := p.notUp[i][j]; is && i != j {
				bad[c.Status]++
			}
		}
	}
	for _, s := range []struct{ status, letter string }{{"DOWN", "D"}, {"UNKNOWN", "N"}, {"MISSING", "M"}} {
		switch n := bad[s.status]; {
		case n == 0:
		case n == total:
			return p.statusGlyph(s.status) + s.letter, statusStyle(s.status), s.status
		default:
			return p.statusGlyph(s.status) + strings.ToLower(s.letter), statusStyle(s.status), "some " + s.status
		}
	}
	if total == 0 {
		return "  ", Plain, "row"
	}
	return p.g.up + "U", Good, "UP"
}

func (p *painter) foldedLegend(used map[string]bool) []string {
	var parts []string
	for _, s := range []struct{ status, letter, text string }{{"DOWN", "D", "DOWN"}, {"UNKNOWN", "N", "not known"}, {"MISSING", "M", "missing"}} {
		glyph := p.statusGlyph(s.status)
		if used[s.status] {
			parts = append(parts, statusStyle(s.status).Paint(glyph+s.letter)+" all "+s.text)
		}
		if used["some "+s.status] {
			parts = append(parts, statusStyle(s.status).Paint(glyph+strings.ToLower(s.letter))+" some "+s.text)
		}
	}
	if used["UP"] {
		parts = append(parts, Good.Paint(p.g.up+"U")+" all UP")
	}
	if used["row"] {
		parts = append(parts, "blank: no fresh row")
	}
	return p.wrap(strings.Join(parts, "  "), "")
}

// troubled says whether a node deserves a line of its own when racks stand for the rest.
func (p *painter) troubled(n Node) bool {
	switch {
	case p.trouble[string(n.HostID)] && n.HostID != "" || p.trouble[n.Member] && n.Member != "":
		return true
	case p.unread:
		return false
	case p.parted:
		return n.Row.Status != RowOK && n.Row.Status != RowNone
	}
	return troubled(n)
}

// explained are the blockers below the findings, where everything is asked for.
func (p *painter) explained() []string {
	groups, total := matrix.GroupBlockers(p.d.Blockers)
	if len(groups) == 0 {
		return nil
	}
	lines := []string{Strong.Paint("Blockers") + fmt.Sprintf(" (%d): what a newcomer waits for", total)}
	for _, g := range groups {
		lines = append(lines, wrap(Bad.Paint(p.g.dot)+" "+words.Aging(g.Message(), g.Since, p.d.at()), p.o.Width, "  ")...)
	}
	return lines
}
