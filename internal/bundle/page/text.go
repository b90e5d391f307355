// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubectl-scylla/kubectl-scylla/internal/bundle"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/pattern"
	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
)

// manyNodes is beyond what a text lists one by one on a terminal, and the lines that it then has for nodes.
const manyNodes = maxCells

// Text draws the report: the status whole, then the reports it is assembled from, changes, containers that wait.
func (r *Report) Text(o render.Options) string {
	full := o
	full.Height = 0
	if len(r.Nodes) > manyNodes && o.Height > 0 && !o.Wide {
		full.Height = manyNodes
	}
	var b strings.Builder
	b.WriteString(r.ClusterStatus.Text(full))
	section := func(title string, n int, body string) {
		if body != "" {
			fmt.Fprintf(&b, "\n%s (%d)\n%s", render.Strong.Paint(title), n, body)
		}
	}
	if g := newGrid(r); g.by != "node" && !o.Wide {
		section("Who sees whom by "+g.by, len(g.lines), g.text(o))
	}
	section("Reports", len(r.Reports), r.reportTable(o))
	section("Changes", len(r.Changes)+r.ChangesLeftOut, r.changeText(o))
	section("Containers that wait", len(r.Waiting), r.waitingText(o))
	section("Left out", len(r.LeftOut), r.leftOutText())
	return b.String()
}

func width(o render.Options) int {
	if o.Wide {
		return 0
	}
	return o.Width
}

func ellipsis(o render.Options) string {
	if o.ASCII {
		return "~"
	}
	return "…"
}

func glyph(status string, o render.Options) (string, render.Style) {
	ascii := map[string]string{"UP": "+", "DOWN": "x", "UNKNOWN": "?", "MISSING": ".", "none": " "}
	unicode := map[string]string{"UP": "✓", "DOWN": "✗", "UNKNOWN": "?", "MISSING": "·", "none": " "}
	style := map[string]render.Style{"UP": render.Good, "DOWN": render.Bad, "UNKNOWN": render.Warn, "MISSING": render.Odd}[status]
	if o.ASCII {
		return ascii[status], style
	}
	return unicode[status], style
}

// text is the grid of groups: each cell the gravest status and how many pairs of how many have it.
func (g *grid) text(o render.Options) string {
	const most = 16
	if len(g.lines) > most {
		return ""
	}
	t := &render.Table{Columns: []render.Column{{Header: strings.ToUpper(g.by), Min: 8, Middle: true}}}
	for _, l := range g.lines {
		t.Columns = append(t.Columns, render.Column{Header: l.name, Min: 5, Middle: true})
	}
	for i, l := range g.lines {
		row := []render.Cell{render.Text(l.name)}
		for j := range g.lines {
			p := g.cells[i][j]
			status := p.worst()
			total := 0
			for _, n := range p.counts {
				total += n
			}
			mark, style := glyph(status, o)
			text := fmt.Sprintf("%s %d/%d", mark, p.counts[status], total)
			if status == "none" {
				text = "-"
			}
			row = append(row, render.Cell{Text: text, Style: style})
		}
		t.Rows = append(t.Rows, row)
	}
	return t.String(width(o), ellipsis(o))
}

func (r *Report) reportTable(o render.Options) string {
	t := &render.Table{Columns: []render.Column{{Header: "KIND", Min: 14}, {Header: "NAME", Min: 8, Middle: true}, {Header: "DC", Min: 4}, {Header: "ROWS"}, {Header: "WRITTEN"}, {Header: "USED"}}}
	for _, obj := range r.Reports {
		t.Rows = append(t.Rows, []render.Cell{render.Text(obj.Kind), render.Text(obj.Name), render.Text(cmp.Or(obj.Datacenter, "-")),
			render.Text(fmt.Sprintf("%d/%d", obj.Rows, obj.Nodes)), render.Text(cmp.Or(r.objectAge(obj), "-")), render.Text(used(obj))})
	}
	return t.String(width(o), ellipsis(o))
}

func (r *Report) objectAge(o Object) string {
	if o.Written == nil {
		return ""
	}
	return r.ago(o.Written.Time)
}

func used(o Object) string {
	switch {
	case !o.Used:
		return "no"
	case o.Remote:
		return "yes, a copy"
	}
	return "yes"
}

func (c Change) about() string {
	if c.Count > 1 {
		return fmt.Sprintf("%s (%d times)", c.Text, c.Count)
	}
	return c.Text
}

func (r *Report) changeText(o render.Options) string {
	shown := r.Changes
	const most = 40
	if len(shown) > most && !o.Wide {
		shown = shown[:most]
	}
	var b strings.Builder
	for _, c := range shown {
		mark := " "
		if c.Warning {
			mark = render.Warn.Paint("!")
		}
		ago := strings.TrimSuffix(r.ago(c.Time.Time), " ago")
		line := fmt.Sprintf("%s  %4s  %s: %s", c.Time.UTC().Format("2006-01-02 15:04:05"), ago, render.Clean(c.About), c.about())
		b.WriteString(mark + " " + wrap(line, width(o)-2, 27) + "\n")
	}
	if more := len(r.Changes) + r.ChangesLeftOut - len(shown); more > 0 {
		b.WriteString(render.Dim.Paint(fmt.Sprintf("and %d older (more with -o wide or -o json)", more)) + "\n")
	}
	return b.String()
}

// wrap breaks a line at spaces; further lines are indented. A width that is not known or too small to be of use breaks nothing.
func wrap(line string, width, indent int) string {
	if width < 2*indent || utf8.RuneCountInString(line) <= width {
		return line
	}
	var b strings.Builder
	used := 0
	for i, word := range strings.SplitAfter(line, " ") {
		n := utf8.RuneCountInString(strings.TrimRight(word, " "))
		if i > 0 && used > indent && used+n > width {
			b.WriteString("\n  " + strings.Repeat(" ", indent))
			used = indent
		}
		b.WriteString(word)
		used += utf8.RuneCountInString(word)
	}
	return trailing().ReplaceAllString(b.String(), "\n")
}

var trailing = pattern.Lazy(` +\n`)

func (r *Report) waitingText(o render.Options) string {
	var b strings.Builder
	said := func(label, text string) {
		b.WriteString("  " + wrap(label+render.Clean(text), width(o)-2, len(label)) + "\n")
	}
	for _, c := range r.Waiting {
		fmt.Fprintf(&b, "%s/%s: %s\n", c.Pod, c.Container, render.Clean(c.State))
		if d := c.Diagnosis; d != nil {
			text := wrap(d.Code+": "+render.Clean(d.Text), width(o)-2, 0)
			b.WriteString("  " + render.Bad.Paint(d.Code) + strings.TrimPrefix(text, d.Code) + "\n")
			said("", d.Cure)
		}
		if c.First != nil {
			said("first error: ", c.First.Line)
			if c.Last != nil && c.Last.Line != c.First.Line {
				said("last error:  ", c.Last.Line)
			}
		}
	}
	return b.String()
}

func (r *Report) leftOutText() string {
	var b strings.Builder
	for _, l := range r.LeftOut {
		b.WriteString(LeftOutLine(l) + "\n")
	}
	return b.String()
}

// LeftOutLine is "what: why: detail".
func LeftOutLine(l bundle.LeftOut) string {
	text := render.Clean(l.What) + ": " + l.Why.Word()
	if l.Detail != "" {
		text += ": " + render.Clean(l.Detail)
	}
	return text
}

// md makes a text plain in Markdown.
func md(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "#", "\\#").Replace(render.Clean(s))
}

// code makes a text Markdown's code, in which nothing is special but its own mark.
func code(s string) string { return "`" + strings.ReplaceAll(render.Clean(s), "`", "'") + "`" }

// commandMark is where a next step becomes something to type.
const commandMark = ": kubectl "

// splitStep splits a next step into words and the command that it ends with, if it does.
func splitStep(step string) (words, command string) {
	at := strings.LastIndex(step, commandMark)
	if at < 0 || strings.ContainsAny(step[at:], "();,`") {
		return step, ""
	}
	return step[:at+1], step[at+len(": "):]
}

// Markdown writes the report for an issue or a chat.
func Markdown(w io.Writer, r *Report) error {
	var b strings.Builder
	word := r.verdict()
	fmt.Fprintf(&b, "# %s %s: %s\n\n%s\n\n", word.glyph, md(r.Namespace+"/"+r.Name), md(word.text), md(r.Summary))
	for _, text := range r.PartialLines(0) {
		fmt.Fprintf(&b, "> **Partial:** %s\n\n", md(text))
	}
	for _, f := range r.facts() {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, md(f.Value))
	}
	if p := r.partitionText(); p != "" {
		fmt.Fprintf(&b, "\n> **Partition:** %s\n", md(p))
	}
	heading := func(title string, n int) { fmt.Fprintf(&b, "\n## %s (%d)\n\n", title, n) }
	if blockers := r.blockers(); len(blockers) > 0 {
		heading("Blockers", r.Counts.Blockers)
		for _, bl := range blockers {
			fmt.Fprintf(&b, "- %s\n", md(bl.Text))
			if bl.Step != "" || bl.Command != "" {
				fmt.Fprintf(&b, "  - next: %s", md(bl.Step))
				if bl.Command != "" {
					fmt.Fprintf(&b, " %s", code(bl.Command))
				}
				b.WriteString("\n")
			}
		}
	}
	r.markdownMatrix(&b)
	heading("Nodes", len(r.Nodes))
	b.WriteString("| # | DC | Rack | Member | Host ID | Seen | Version | Row | Pod |\n|--:|---|---|---|---|---|---|---|---|\n")
	for i, n := range r.Nodes {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", i+1, md(cmp.Or(n.Datacenter, "-")), md(cmp.Or(n.Rack, "-")), md(cmp.Or(n.Member, "-")),
			codeOrDash(n.HostID), md(n.Seen.Text()), md(cmp.Or(n.Version, "-")), md(string(n.Row.Status)), md(n.Pod))
	}
	for _, l := range r.lists() {
		heading(l.Title, len(l.Items))
		for _, item := range l.Items {
			fmt.Fprintf(&b, "- %s\n", md(item))
		}
	}
	if len(r.Reports) > 0 {
		heading("Reports", len(r.Reports))
		b.WriteString("| Kind | Name | DC | Rows | Written | Used |\n|---|---|---|---|---|---|\n")
		for _, o := range r.Reports {
			fmt.Fprintf(&b, "| %s | %s | %s | %d/%d | %s | %s |\n", md(o.Kind), md(o.Name), md(cmp.Or(o.Datacenter, "-")), o.Rows, o.Nodes, md(cmp.Or(r.objectAge(o), "-")), used(o))
		}
	}
	if len(r.Changes) > 0 {
		heading("Changes", len(r.Changes)+r.ChangesLeftOut)
		b.WriteString("| Time | About | Change |\n|---|---|---|\n")
		for _, c := range r.Changes {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Time.UTC().Format("2006-01-02 15:04:05"), md(c.About), md(c.about()))
		}
	}
	if len(r.Waiting) > 0 {
		heading("Containers that wait", len(r.Waiting))
		for _, c := range r.Waiting {
			fmt.Fprintf(&b, "- %s: %s\n", code(c.Pod+"/"+c.Container), md(c.State))
			if c.Diagnosis != nil {
				fmt.Fprintf(&b, "  - **%s**: %s %s\n", md(c.Diagnosis.Code), md(c.Diagnosis.Text), md(c.Diagnosis.Cure))
			}
			if c.First != nil {
				fmt.Fprintf(&b, "  - first error: %s\n", code(c.First.Line))
			}
			if c.First != nil && c.Last != nil && c.Last.Line != c.First.Line {
				fmt.Fprintf(&b, "  - last error: %s\n", code(c.Last.Line))
			}
		}
	}
	if len(r.LeftOut) > 0 {
		heading("Left out", len(r.LeftOut))
		for _, l := range r.LeftOut {
			fmt.Fprintf(&b, "- %s\n", md(LeftOutLine(l)))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func codeOrDash(s string) string {
	if s == "" {
		return "-"
	}
	return code(s)
}

func (r *Report) markdownMatrix(b *strings.Builder) {
	g := newGrid(r)
	if len(g.lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Who sees whom\n\n%s A row says of each column.\n\n", md(g.summary(r)))
	const most = 24
	if len(g.lines) > most {
		return
	}
	b.WriteString("| |")
	for _, l := range g.lines {
		fmt.Fprintf(b, " %s |", md(cmp.Or(l.number, l.name)))
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(g.lines)) + "\n")
	for i, l := range g.lines {
		fmt.Fprintf(b, "| %s |", md(strings.TrimSpace(l.number+" "+l.name)))
		for j := range g.lines {
			p := g.cells[i][j]
			mark, _ := glyph(p.worst(), render.Options{})
			if p.self {
				mark = "–"
			}
			text := mark
			if s := p.worst(); g.by != "node" && s != "UP" && s != "none" {
				text += fmt.Sprintf(" %d", p.counts[s])
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n✓ UP, ✗ DOWN, ? not known, · missing from the row, blank: no fresh row\n")
}

// word is the verdict: text, glyph and kind.
type word struct{ text, glyph, kind string }

func (r *Report) verdict() word {
	v := word{"NOT HEALTHY", "✗", "bad"}
	switch {
	case r.Healthy:
		v = word{"HEALTHY", "✓", "good"}
	case r.Counts.Nodes == 0:
		v = word{"UNKNOWN", "?", "odd"}
	}
	if len(r.Partial) > 0 {
		v.text += " (partial)"
	}
	return v
}

type fact struct{ Name, Value string }

// facts are the few lines below the verdict.
func (r *Report) facts() []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	if t := r.taken(); !t.IsZero() {
		add("Taken", t.UTC().Format("2006-01-02 15:04:05 UTC"))
	} else {
		add("Taken", "not known: saved objects carry no time")
	}
	source := string(r.Source.Used)
	if r.Source.Reason != "" {
		source += " (" + r.Source.Reason + ")"
	}
	add("Source", source)
	add("Managed by", r.ManagedBy)
	var versions []string
	for _, v := range slices.Sorted(maps.Keys(r.Versions.ScyllaDB)) {
		versions = append(versions, fmt.Sprintf("%s (%d)", v, r.Versions.ScyllaDB[v]))
	}
	add("ScyllaDB", strings.Join(versions, ", "))
	add("Kubernetes", r.Versions.Kubernetes)
	return out
}

// partitionText warns as the status does; empty without a partition.
func (r *Report) partitionText() string {
	if len(r.Partition) == 0 {
		return ""
	}
	names := map[string]string{}
	for _, n := range r.Nodes {
		names[n.HostID] = n.Name()
	}
	parts := make([]string, len(r.Partition))
	for i, part := range r.Partition {
		var who []string
		for _, id := range part[:min(4, len(part))] {
			who = append(who, cmp.Or(names[id], id))
		}
		parts[i] = strings.Join(who, ", ")
		if more := len(part) - len(who); more > 0 {
			parts[i] += fmt.Sprintf(" and %d more", more)
		}
	}
	return strings.Join(parts, "; and ") + ": these parts do not see each other. Mend the network; replace no node."
}

// blocker is a group of blockers as drawn.
type blocker struct{ Text, Step, Command string }

const maxBlockers = 100

func (r *Report) blockers() []blocker {
	groups, _ := matrix.GroupBlockers(r.Blockers)
	more := len(groups) - maxBlockers
	if more > 0 {
		groups = groups[:maxBlockers]
	}
	out := make([]blocker, 0, len(groups)+1)
	for i, g := range groups {
		b := blocker{Text: render.Clean(g.Text(r.taken()))}
		same := i+1 < len(groups) && groups[i+1].NextStep == g.NextStep
		if !same && g.NextStep != matrix.MendNetwork { // the line about the partition says that
			b.Step, b.Command = splitStep(render.Clean(g.NextStep))
		}
		out = append(out, b)
	}
	if more > 0 {
		out = append(out, blocker{Text: fmt.Sprintf("and %d more", more)})
	}
	return out
}

// list is a short list of what is not ordinary.
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
	for _, n := range r.Newcomers {
		text := n.Ref.String()
		if n.Waiting != "" {
			text += " waits for " + n.Waiting
			if n.Since != nil {
				if a := r.ago(n.Since.Time); a != "" {
					text += ", since " + strings.TrimSuffix(a, " ago")
				}
			}
		}
		items = append(items, text+": "+strings.TrimPrefix(n.Summary, n.Member+" "))
	}
	add("Newcomers", items)
	items = nil
	for _, rep := range r.Replacements {
		items = append(items, rep.Name()+": "+rep.Summary)
	}
	add("Replacements", items)
	add("Members without a Pod", r.Ghosts)
	add("Host IDs that only their peers know", r.GossipOnly)
	items = nil
	for _, v := range slices.Sorted(maps.Keys(r.Schemas)) {
		items = append(items, v+": "+strings.Join(r.Schemas[v], ", "))
	}
	add("Schema versions disagree", items)
	add("Notes", r.Notes)
	return out
}
