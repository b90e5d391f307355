// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// columns are the numbers of the nodes that other nodes can list: those with a host ID.
func (p *painter) columns() []int {
	var c []int
	for i, n := range p.d.Nodes {
		if n.HostID != "" && (n.Seen != nil || p.reports[i+1]) {
			c = append(c, i+1)
		}
	}
	return c
}

const cellWidth = 3 // glyph, letter, space

func (p *painter) matrixFits() bool {
	return p.o.Width <= 0 || len(fmt.Sprint(len(p.d.Nodes)))+gap+12+gap+len(p.columns())*cellWidth <= p.o.Width
}

// views draws the matrix, or the rows that disagree.
func (p *painter) views(level detail) []string {
	if len(p.d.Rows) == 0 {
		return nil
	}
	switch {
	case level.matrix:
		return p.matrix()
	case p.folds != nil && level.byRack:
		return p.folds
	}
	return p.disagreeing(level)
}

func (p *painter) matrix() []string {
	columns := p.columns()
	label := 0
	for _, i := range columns {
		label = max(label, lipgloss.Width(p.name(i)))
	}
	digits := len(fmt.Sprint(len(p.d.Nodes)))
	if p.o.Width > 0 && !p.o.Wide {
		label = min(label, p.o.Width-digits-2*gap-len(columns)*cellWidth)
	}
	lines := []string{Strong.Paint("Who sees whom") + " (each row is one node's report of the others)"}
	var head strings.Builder
	fmt.Fprintf(&head, "%*s  %-*s ", digits, "", label, "")
	for _, j := range columns {
		fmt.Fprintf(&head, " %2d", j)
	}
	lines = append(lines, Dim.Paint(head.String()))
	used := map[string]bool{}
	for _, i := range columns {
		var b strings.Builder
		name := Shorten(p.name(i), label, true, p.g.ellipsis)
		fmt.Fprintf(&b, "%s  %s%s ", Dim.Paint(fmt.Sprintf("%*d", digits, i)), name, strings.Repeat(" ", label-lipgloss.Width(name)))
		for _, j := range columns {
			text, style, key := p.cell(i, j)
			used[key] = true
			b.WriteString(" " + style.Paint(text))
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return append(lines, p.legend(used)...)
}

func (p *painter) cell(i, j int) (text string, style Style, key string) {
	switch c, bad := p.notUp[i][j]; {
	case i == j:
		return p.g.self + p.g.self, Dim, "self"
	case !p.reports[i]:
		return "  ", Plain, "row"
	case !bad:
		return p.g.up + "U", Good, "UP"
	case c.Status == "DOWN":
		return p.g.down + "D", Bad, "DOWN"
	case c.Status == "MISSING":
		return p.g.missing + "M", Odd, "MISSING"
	default:
		return p.g.unknown + "N", Warn, "UNKNOWN"
	}
}

func (p *painter) legend(used map[string]bool) []string {
	var parts []string
	for _, l := range []struct {
		key, glyph, letter, text string
		style                    Style
	}{
		{"UP", p.g.up, "U", "UP", Good}, {"DOWN", p.g.down, "D", "DOWN", Bad}, {"UNKNOWN", p.g.unknown, "N", "not known", Warn},
		{"MISSING", p.g.missing, "M", "missing from the row", Odd},
	} {
		if used[l.key] {
			parts = append(parts, l.style.Paint(l.glyph+l.letter)+" "+l.text)
		}
	}
	if used["row"] {
		parts = append(parts, "blank: no fresh row")
	}
	return p.wrap(strings.Join(parts, "  "), "")
}

func (p *painter) name(i int) string {
	n := p.d.Nodes[i-1]
	return cmp.Or(n.Member, n.Short(), "-")
}

// disagreeing lists what rows say other than UP, equal rows together.
func (p *painter) disagreeing(level detail) []string {
	type group struct {
		text      string
		observers []int
	}
	var groups []*group
	byText := map[string]*group{}
	agree := 0
	for _, r := range p.d.Rows {
		if len(r.NotUp) == 0 {
			agree++
			continue
		}
		byStatus := map[string][]int{}
		for _, c := range r.NotUp {
			byStatus[c.Status] = append(byStatus[c.Status], p.number[c.Observed])
		}
		var parts []string
		for _, status := range []string{"DOWN", "UNKNOWN", "MISSING"} {
			if nodes := byStatus[status]; len(nodes) > 0 {
				parts = append(parts, statusStyle(status).Paint(p.statusGlyph(status)+" "+status)+" "+ranges(nodes))
			}
		}
		text := strings.Join(parts, ", ")
		g := byText[text]
		if g == nil {
			g = &group{text: text}
			byText[text] = g
			groups = append(groups, g)
		}
		g.observers = append(g.observers, p.of(r.Observer))
	}
	if len(groups) == 0 {
		if silent := p.d.Counts.Nodes - p.d.Counts.Reporting; silent > 0 {
			return p.wrap(fmt.Sprintf("%s Who sees whom: %d of %s a fresh row; these see everyone UP.", Warn.Paint(p.g.unknown), len(p.d.Rows),
				count(p.d.Counts.Nodes, "node has", "nodes have")), "  ")
		}
		return []string{fmt.Sprintf("%s Who sees whom: %s, and all agree: everyone sees everyone UP.", Good.Paint(p.g.up), count(len(p.d.Rows), "row", "rows"))}
	}
	head := Strong.Paint("Rows that disagree")
	if agree > 0 {
		head += fmt.Sprintf(" (%d more see everyone UP)", agree)
	}
	lines := []string{head}
	if level.terse && len(groups) == 1 {
		g := groups[0]
		return []string{p.one(head + ": " + ranges(g.observers) + " " + sees(g.observers) + " " + g.text)}
	}
	for i, g := range groups {
		if level.maxList > 0 && i >= level.maxList {
			lines = append(lines, Dim.Paint(fmt.Sprintf("  and %s (all with --all)", count(len(groups)-i, "more group of rows", "more groups of rows"))))
			break
		}
		lines = append(lines, p.wrap("  "+ranges(g.observers)+" "+sees(g.observers)+" "+g.text, "    ")...)
	}
	return lines
}

func sees(observers []int) string {
	if len(observers) == 1 {
		return "sees"
	}
	return "see"
}

func (p *painter) statusGlyph(status string) string {
	switch status {
	case "DOWN":
		return p.g.down
	case "MISSING":
		return p.g.missing
	}
	return p.g.unknown
}

// ranges writes node numbers short: "#1-4,7".
func ranges(numbers []int) string {
	n := slices.Clone(numbers)
	slices.Sort(n)
	n = slices.Compact(n)
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(n[i]))
		case 1:
			parts = append(parts, fmt.Sprint(n[i]), fmt.Sprint(n[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		}
		i = j + 1
	}
	return "#" + strings.Join(parts, ",")
}

// groupLines are blockers with their next steps; equal next steps are said once. A terse list has one line per group, and one next step per node.
func groupLines(groups []matrix.Group, now time.Time, o Options, level detail) []string {
	g := o.glyphs()
	p := &painter{o: o, g: g}
	var lines []string
	stepped := map[matrix.Ref]bool{}
	for i, group := range groups {
		if level.maxList > 0 && i >= level.maxList {
			rest := 0
			for _, r := range groups[i:] {
				rest += r.Count()
			}
			lines = append(lines, Dim.Paint(fmt.Sprintf("  and %s (all with --all)", count(rest, "more blocker", "more blockers"))))
			break
		}
		step := group.Step
		if level.terse {
			lines = append(lines, p.one(Bad.Paint(g.dot)+" "+words.Aging(group.Message(), group.Since, now)))
			// Ordinal is a pointer: without it equal nodes are equal.
			who := group.Observed
			who.Ordinal = nil
			if stepped[who] {
				continue
			}
			stepped[who] = true
		} else {
			lines = append(lines, wrap(Bad.Paint(g.dot)+" "+words.Aging(group.Message(), group.Since, now), o.Width, "  ")...)
			if i+1 < len(groups) && groups[i+1].Step.Key() == step.Key() && (level.maxList == 0 || i+1 < level.maxList) {
				continue
			}
		}
		if !step.IsZero() {
			lines = append(lines, stepLines(step, o)...)
		}
	}
	return lines
}
