// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/support"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// manyNodes is the maximum of nodes listed separately on a terminal, and the height for a summary.
const manyNodes = grid.Most

// Text draws the report: status, source reports, changes, waiting containers.
func (r *Report) Text(o show.Options) string {
	full := o
	full.Height = 0
	if len(r.Nodes) > manyNodes && o.Height > 0 && !o.Wide {
		full.Height = manyNodes
	}
	var b strings.Builder
	b.WriteString(show.Cluster(&r.ClusterStatus, full))
	section := func(title string, n int, body string) {
		if body != "" {
			fmt.Fprintf(&b, "\n%s (%d)\n%s", show.Strong.Paint(title), n, body)
		}
	}
	if g := newGrid(r); g.By != grid.ByNode && !o.Wide {
		section("Who sees whom by "+g.By.String(), len(g.List), g.text(o))
	}
	section("Reports", len(r.Reports), r.reportTable(o))
	section("Changes", len(r.Changes)+r.ChangesLeftOut, r.changeText(o))
	section("Waiting containers", len(r.Waiting), r.waitingText(o))
	section("Not collected", len(r.LeftOut), r.leftOutText())
	return b.String()
}

func ellipsis(o show.Options) string { return show.NewGlyphs(o.ASCII).Ellipsis }

// text is the grid of groups: each cell has the worst status, its pairs and all pairs.
func (g *picture) text(o show.Options) string {
	const most = 16
	if len(g.List) > most {
		return ""
	}
	t := &show.Table{Columns: []show.Column{{Header: strings.ToUpper(g.By.String()), Min: 8, Middle: true}}}
	for i, name := range g.names {
		t.Columns = append(t.Columns, show.Column{Header: name, Min: 5, Middle: true})
		row := []show.Cell{show.Text(name)}
		for j := range g.List {
			p := &g.Cells[i][j]
			m := p.Worst()
			cell := show.Cell{Text: fmt.Sprintf("%s %d/%d", show.NewGlyphs(o.ASCII).Marks[m], p[m], p.Total()),
				Style: show.StyleOf(m)}
			if m == grid.None {
				cell.Text = "-"
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.String(o.Room(), ellipsis(o))
}

func (r *Report) reportTable(o show.Options) string {
	t := &show.Table{Columns: []show.Column{{Header: "KIND", Min: 14}, {Header: "NAME", Min: 8, Middle: true},
		{Header: "DC", Min: 4}, {Header: "REPORTS"}, {Header: "WRITTEN"}, {Header: "USED"}}}
	for _, obj := range r.Reports {
		t.Rows = append(t.Rows,
			[]show.Cell{show.Text(obj.Kind), show.Text(obj.Name), show.Text(cmp.Or(obj.Datacenter, "-")),
				show.Text(fmt.Sprintf("%d/%d", obj.Rows, obj.Nodes)), show.Text(cmp.Or(r.objectAge(obj), "-")),
				show.Text(used(obj))})
	}
	return t.String(o.Room(), ellipsis(o))
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

func (c change) about() string {
	if c.Count > 1 {
		return fmt.Sprintf("%s (%d times)", c.Text, c.Count)
	}
	return c.Text
}

// Line returns the change without its time: its object and its text.
func (c change) Line() string { return c.About + ": " + c.about() }

func (r *Report) changeText(o show.Options) string {
	shown, folded := r.split()
	if o.Wide {
		shown, folded = r.Changes, nil
	}
	const most = 40
	if len(shown) > most && !o.Wide {
		shown = shown[:most]
	}
	var b strings.Builder
	for _, c := range shown {
		b.WriteString(r.changeLine(c, o))
	}
	if len(folded) > 0 {
		b.WriteString(show.Dim.Paint(routineText(len(folded))+" (with -o wide or -o json)") + "\n")
	}
	if more := len(r.Changes) + r.ChangesLeftOut - len(shown) - len(folded); more > 0 {
		b.WriteString(show.Dim.Paint(fmt.Sprintf("and %d older (more with -o wide or -o json)", more)) + "\n")
	}
	return b.String()
}

func (r *Report) changeLine(c change, o show.Options) string {
	mark := " "
	if c.Warning {
		mark = show.Warn.Paint("!")
	}
	head := fmt.Sprintf("%s  %4s  ", c.Time.UTC().Format("2006-01-02 15:04:05"), words.Ago(c.Time.Time, r.At()))
	return mark + " " + hang(head, show.Clean(c.About)+": "+c.about(), o) + "\n"
}

func routineText(n int) string {
	if n == 1 {
		return "1 routine event of a Pod's start"
	}
	return fmt.Sprintf("%d routine events of Pods' starts", n)
}

// hang wraps a text after two cells and its head, and indents further lines to the text. A width
// that is too small wraps nothing.
func hang(head, text string, o show.Options) string {
	room := o.Room() - 2 - len(head)
	if room < len(head) {
		room = 0
	}
	return head + strings.Join(show.Wrap(text, room, ""), "\n  "+strings.Repeat(" ", len(head)))
}

func (r *Report) waitingText(o show.Options) string {
	var b strings.Builder
	said := func(label, text string) {
		b.WriteString("  " + hang(label, show.Clean(text), o) + "\n")
	}
	for _, c := range r.Waiting {
		fmt.Fprintf(&b, "%s/%s: %s\n", c.Pod, c.Container, show.Clean(c.State))
		if d := c.Diagnosis; d != nil {
			code := string(d.Code)
			text := hang("", code+": "+show.Clean(d.Text), o)
			b.WriteString("  " + show.Bad.Paint(code) + strings.TrimPrefix(text, code) + "\n")
			said("", r.Failure(d.Code))
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

// LeftOutLine returns "what: why: detail".
func LeftOutLine(l support.LeftOut) string {
	text := show.Clean(l.What) + ": " + l.Why.Word()
	if l.Detail != "" {
		text += ": " + show.Clean(l.Detail)
	}
	return text
}
