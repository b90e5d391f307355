// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/render"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// md escapes a text for Markdown.
func md(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "#", "\\#").Replace(render.Clean(s))
}

// code makes a text Markdown's code, in which nothing is special. The fence is longer than any run of its own mark in the text, so that a command stays unchanged.
func code(s string) string {
	s = render.Clean(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		s = " " + s + " "
	}
	return fence + s + fence
}

// document is Markdown that is being written.
type document struct {
	strings.Builder
	r *Report
}

func (b *document) line(format string, args ...any) { _, _ = fmt.Fprintf(b, format, args...) }

func (b *document) heading(title string, n int) { b.line("\n## %s (%d)\n\n", title, n) }

// Markdown writes the report for an issue or a chat.
func Markdown(w io.Writer, r *Report) error {
	b := &document{r: r}
	b.head()
	r.markdownMatrix(&b.Builder)
	b.findings()
	b.blockers()
	b.nodes()
	for _, l := range r.lists() {
		b.heading(l.Title, len(l.Items))
		for _, item := range l.Items {
			b.line("- %s\n", md(item))
		}
	}
	b.reports()
	b.changes()
	b.waiting()
	if len(r.LeftOut) > 0 {
		b.heading("Left out", len(r.LeftOut))
		for _, l := range r.LeftOut {
			b.line("- %s\n", md(LeftOutLine(l)))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (b *document) head() {
	r, word := b.r, b.r.verdict()
	b.line("# %s %s: %s\n\n%s\n\n", word.glyph, md(r.Namespace+"/"+r.Name), md(word.text), md(r.Summary))
	for _, text := range r.PartialLines(0) {
		b.line("> **Partial:** %s\n\n", md(text))
	}
	for _, f := range r.facts() {
		b.line("- %s: %s\n", f.Name, md(f.Value))
	}
	if p := r.partitionText(); p != "" {
		b.line("\n> **Partition:** %s\n", md(p))
	}
}

func (b *document) findings() {
	findings := b.r.findings()
	if len(findings) == 0 {
		return
	}
	b.heading("Findings", len(findings))
	for _, f := range findings {
		b.line("- %s\n", md(f.Text))
		if f.Evidence != "" {
			b.line("  - %s\n", md(f.Evidence))
		}
		b.next(f.Step)
	}
}

// next is a next step below an item of a list.
func (b *document) next(step []words.Part) {
	if len(step) == 0 {
		return
	}
	b.line("  - next: ")
	for _, part := range step {
		if part.Command {
			b.line("%s", code(part.Text))
		} else {
			b.line("%s", md(part.Text))
		}
	}
	b.line("\n")
}

func (b *document) blockers() {
	blockers, lines := b.r.blockers()
	if lines == 0 {
		return
	}
	b.heading("Blockers", lines)
	for _, bl := range blockers {
		b.line("- %s\n", md(bl.Text))
		b.next(bl.Step)
	}
}

func (b *document) nodes() {
	b.heading("Nodes", len(b.r.Nodes))
	b.line("| # | DC | Rack | Member | Host ID | Seen | Version | Row | Pod | IP | Kubernetes node |\n|--:|---|---|---|---|---|---|---|---|---|---|\n")
	places := b.r.places()
	for i, n := range b.r.Nodes {
		p := places[n.Member]
		b.line("| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", i+1, md(cmp.Or(n.Datacenter, "-")), md(cmp.Or(n.Rack, "-")), md(cmp.Or(n.Member, "-")),
			codeOrDash(string(n.HostID)), md(n.Seen.Text()), md(cmp.Or(n.Version, "-")), md(n.Row.Word()), md(n.Pod), md(cmp.Or(p.PodIP, "-")), md(p.machine()))
	}
}

func (b *document) reports() {
	r := b.r
	if len(r.Reports) == 0 {
		return
	}
	b.heading("Reports", len(r.Reports))
	b.line("| Kind | Name | DC | Rows | Written | Used |\n|---|---|---|---|---|---|\n")
	for _, o := range r.Reports {
		b.line("| %s | %s | %s | %d/%d | %s | %s |\n", md(o.Kind), md(o.Name), md(cmp.Or(o.Datacenter, "-")), o.Rows, o.Nodes, md(cmp.Or(r.objectAge(o), "-")), used(o))
	}
}

func (b *document) changes() {
	r := b.r
	if len(r.Changes) == 0 {
		return
	}
	b.heading("Changes", len(r.Changes)+r.ChangesLeftOut)
	shown, folded := r.split()
	b.line("| Time | About | Change |\n|---|---|---|\n")
	for _, c := range shown {
		b.line("| %s | %s | %s |\n", c.Time.UTC().Format("2006-01-02 15:04:05"), md(c.About), md(c.about()))
	}
	if len(folded) > 0 {
		b.line("\nand %s\n", md(routineText(len(folded))))
	}
}

func (b *document) waiting() {
	if len(b.r.Waiting) == 0 {
		return
	}
	b.heading("Containers that wait", len(b.r.Waiting))
	for _, c := range b.r.Waiting {
		b.line("- %s: %s\n", code(c.Pod+"/"+c.Container), md(c.State))
		if c.Diagnosis != nil {
			b.line("  - **%s**: %s %s\n", md(c.Diagnosis.Code), md(c.Diagnosis.Text), md(b.r.Failure(c.Diagnosis.Code)))
		}
		if c.First != nil {
			b.line("  - first error: %s\n", code(c.First.Line))
		}
		if c.First != nil && c.Last != nil && c.Last.Line != c.First.Line {
			b.line("  - last error: %s\n", code(c.Last.Line))
		}
	}
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
	fmt.Fprintf(b, "\n## Who sees whom\n\n%s Each row is one node's report of the others.\n\n", md(g.summary(r)))
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
				text += fmt.Sprintf(" %d", p.gravest())
			}
			fmt.Fprintf(b, " %s |", text)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n✓ UP, ✗ DOWN, ? not known, · missing from the row, blank: no fresh row\n")
}
