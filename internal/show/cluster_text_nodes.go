// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

func (p *painter) nodes(level detail) []string {
	if len(p.d.Nodes) == 0 {
		return []string{"No nodes."}
	}
	if p.folds = nil; level.byRack && level.fold != grid.ByNode {
		p.folds = p.folded(level)
	}
	switch {
	case p.o.Problems || p.o.SortBy != "" && !level.byRack:
		return p.chosen()
	case !level.byRack:
		return p.nodeTable(p.d.Nodes, nil)
	}
	return p.rackTable(level)
}

// splitLines splits a drawn block.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// nodeTable has one line per node. numbers are their numbers; nil counts from 1.
func (p *painter) nodeTable(nodes []document.Node, numbers []int) []string {
	t := &Table{Columns: []Column{
		{Header: "#", Right: true}, {Header: "DC", Min: 4, Last: true}, {Header: "RACK", Min: 4, Last: true},
		{Header: "MEMBER", Min: 12, Middle: true, Last: true}, {Header: "HOST ID"},
		{Header: "SEEN"}, {Header: "VERSION", Min: 7}, {Header: "REPORT", Min: 6, Last: true}, {Header: "POD", Min: 8},
	}}
	if p.o.Wide {
		t.Columns = append(t.Columns, Column{Header: "IP"}, Column{Header: "KUBERNETES NODE"}, Column{Header: "STATE"},
			Column{Header: "MODE"}, Column{Header: "MEMBERSHIP"},
			Column{Header: "UPTIME", Right: true}, Column{Header: "LOAD", Right: true},
			Column{Header: "TOKENS", Right: true}, Column{Header: "NOTES"})
	}
	for i, n := range nodes {
		number := i + 1
		if numbers != nil {
			number = numbers[i]
		}
		row := []Cell{
			{Text: fmt.Sprint(number), Style: Dim}, Text(dash(n.Datacenter)), Text(dash(n.Rack)), Text(dash(n.Member)),
			Text(p.hostID(n.Ref)),
			p.seen(n.Seen), Text(p.version(n)), p.row(n), p.pod(n),
		}
		if p.o.Wide {
			on := Text("-")
			if k := n.KubernetesNode; k != nil {
				on = Cell{Text: strings.TrimSpace(k.Name + " " + k.State), Style: MachineStyle(*k)}
			}
			row = append(row, Text(dash(n.PodIP)), on, Text(dash(n.State)), Text(dash(n.OperationMode)),
				Text(document.MembershipText(n.Membership)))
			up, load, tokens := document.VitalsTexts(n.Vitals)
			row = append(row, Text(dash(up)), Text(dash(load)), Text(dash(tokens)),
				Text(dash(strings.Join(n.NoteTexts(), ", "))))
		}
		t.Rows = append(t.Rows, row)
	}
	if w := p.o.Room(); w > 0 && lipgloss.Width(t.String(0, "")) > w {
		t.terse()
	}
	return splitLines(t.String(p.o.Room(), p.g.Ellipsis))
}

// terse drops "unchanged 4m0s" from rows to save width.
func (t *Table) terse() {
	for _, row := range t.Rows {
		for i := range row {
			if short := row[i].Short; short != "" {
				row[i].Text = short
			}
		}
	}
}

// MachineStyle returns the style of a Kubernetes node by its state.
func MachineStyle(k cluster.KubernetesNode) Style {
	switch {
	case k.State == "" || k.State == cluster.KubernetesNodeReady:
		return Plain
	case k.Lost() || k.State == cluster.KubernetesNodeGone:
		return Bad
	}
	return Warn
}

func dash(s string) string { return cmp.Or(s, "-") }

func (p *painter) hostID(r matrix.Ref) string {
	if p.o.Wide || r.HostID == "" {
		return dash(string(r.HostID))
	}
	return r.Short()
}

func (p *painter) version(n document.Node) string {
	if p.o.Wide {
		return dash(n.Version)
	}
	return dash(n.Release())
}

func (*painter) seen(s *document.Seen) Cell {
	if s == nil {
		return Cell{Text: s.Text(), Style: Dim}
	}
	return Cell{Text: s.Text(), Style: StyleOf(s.Mark())}
}

func (p *painter) row(n document.Node) Cell {
	text := n.Row.Word()
	switch n.Row.Status {
	case document.RowOK:
		cell := Cell{Text: text, Style: Good}
		if a := words.Ago(document.TimeOf(n.Row.Written), p.d.At()); a != "" {
			cell.Text, cell.Short = text+", unchanged "+a, text
		}
		return cell
	case document.RowStale:
		if a := words.Ago(document.TimeOf(n.Row.StaleSince), p.d.At()); a != "" {
			text += " " + a
		}
		return Cell{Text: text, Style: Warn}
	case document.RowNone:
		return Cell{Text: "-", Style: Dim}
	case document.RowMissing:
		if p.trouble.Unread() {
			return Cell{Text: text, Style: Dim}
		}
	case document.RowError:
		return Cell{Text: text, Style: Bad}
	}
	return Cell{Text: text, Style: Odd}
}

func (p *painter) pod(n document.Node) Cell {
	text := n.Pod
	style := Plain
	phase, ready, ok := strings.Cut(text, " ")
	have, want, counted := strings.Cut(ready, "/")
	switch {
	case ok && counted && phase == "Running" && have == want:
		if !p.o.Wide {
			text = phase // Running implies that all containers are Ready; fewer are shown
		}
	case phase == "Running" || phase == "-":
	default:
		style = Warn
		if ok && counted && !p.o.Wide {
			text = phase // the reason is more useful than the number of Ready containers
		}
	}
	if !p.o.Wide { // the wide table has column NOTES
		text = document.PodText(text, n.WarnTexts())
	}
	return Cell{Text: text, Style: style}
}

// rackTable has one line per rack, then the troubled nodes.
func (p *painter) rackTable(level detail) []string {
	racks := p.d.Racks(p.trouble.Of)
	var bad []document.Node
	var numbers []int
	for i := range p.d.Nodes {
		if n := &p.d.Nodes[i]; p.trouble.Of(n) {
			bad, numbers = append(bad, *n), append(numbers, i+1)
		}
	}
	// Troubled racks first: if not all fit, these are shown.
	slices.SortStableFunc(racks,
		func(a, b *document.RackSum) int { return cmp.Compare(min(b.Trouble, 1), min(a.Trouble, 1)) })
	most := level.maxList * 2
	t := &Table{Columns: []Column{{Header: "DC", Min: 4}, {Header: "RACK", Min: 4}, {Header: "NODES", Right: true},
		{Header: grid.Up.String()}, {Header: "REPORTS"}, {Header: "VERSION", Min: 7}}}
	left, leftNodes, leftBad := 0, 0, 0
	for i, r := range racks {
		if i >= most {
			left, leftNodes, leftBad = left+1, leftNodes+len(r.Nodes), leftBad+min(1, r.Trouble)
			continue
		}
		var versions []string
		for _, k := range r.Nodes {
			if v := p.version(p.d.Nodes[k]); v != "-" && !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
		up := upCell(r.Up, r.In)
		if p.trouble.Unread() {
			up = Cell{Text: WordOf(grid.Unknown), Style: Warn}
		}
		t.Rows = append(t.Rows, []Cell{Text(dash(r.Datacenter)), Text(dash(r.Rack)), Text(fmt.Sprint(len(r.Nodes))), up,
			Text(fmt.Sprintf("ok %d/%d", r.Rows, r.In)), Text(dash(strings.Join(versions, ",")))})
	}
	var lines []string
	if p.folds == nil {
		lines = splitLines(t.String(p.o.Room(), p.g.Ellipsis))
	}
	if left > 0 && p.folds == nil {
		text := fmt.Sprintf("and %s with %s", words.Count(left, "more rack", "more racks"),
			words.Count(leftNodes, "node", "nodes"))
		if leftBad > 0 {
			text += fmt.Sprintf(", %d of them with problems", leftBad)
		} else if !p.trouble.Unread() {
			text += ", all UP"
		}
		lines = append(lines, Dim.Paint(text+" (all with --all)"))
	}
	if len(bad) > 0 {
		if len(bad) > most {
			more := len(bad) - most
			bad, numbers = bad[:most], numbers[:most]
			lines = append(lines, p.nodeTable(bad, numbers)...)
			return append(lines,
				Dim.Paint(fmt.Sprintf("and %s with problems (all with --all)",
					words.Count(more, "more node", "more nodes"))))
		}
		lines = append(lines, p.nodeTable(bad, numbers)...)
	}
	return lines
}
