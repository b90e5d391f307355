// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/kubectl-scylla/kubectl-scylla/internal/cluster"
	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// troubled is true for a node with any abnormal state.
func troubled(n Node) bool {
	return n.Membership != cluster.MemberJoined && n.Membership != cluster.MemberRemote ||
		n.Row.Status != RowOK || n.Seen == nil || n.Seen.Status != "UP"
}

func (p *painter) nodes(level detail) []string {
	if len(p.d.Nodes) == 0 {
		return []string{"No nodes."}
	}
	if p.o.Problems || p.o.SortBy != "" && !level.byRack {
		if p.folds = nil; level.byRack && level.fold != "" {
			p.folds = p.folded(level)
		}
		return p.chosen()
	}
	if !level.byRack {
		return p.nodeTable(p.d.Nodes, nil)
	}
	p.folds = nil
	if level.fold != "" {
		p.folds = p.folded(level)
	}
	return p.rackTable(level)
}

// lines splits a drawn block.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// nodeTable has one line per node. numbers gives their numbers; nil counts from 1.
func (p *painter) nodeTable(nodes []Node, numbers []int) []string {
	t := &Table{NoHeader: p.o.NoHeaders, Columns: []Column{
		{Header: "#", Right: true}, {Header: "DC", Min: 4, Last: true}, {Header: "RACK", Min: 4, Last: true}, {Header: "MEMBER", Min: 12, Middle: true, Last: true}, {Header: "HOST ID"},
		{Header: "SEEN"}, {Header: "VERSION", Min: 7}, {Header: "ROW", Min: 5, Last: true}, {Header: "POD", Min: 8},
	}}
	if p.o.Wide {
		t.Columns = append(t.Columns, Column{Header: "IP"}, Column{Header: "KUBERNETES NODE"}, Column{Header: "STATE"}, Column{Header: "MODE"}, Column{Header: "MEMBERSHIP"},
			Column{Header: "UPTIME", Right: true}, Column{Header: "LOAD", Right: true}, Column{Header: "TOKENS", Right: true})
	}
	for i, n := range nodes {
		number := i + 1
		if numbers != nil {
			number = numbers[i]
		}
		row := []Cell{
			{Text: fmt.Sprint(number), Style: Dim}, Text(dash(n.Datacenter)), Text(dash(n.Rack)), Text(dash(n.Member)), Text(p.hostID(n.Ref)),
			{Text: n.Seen.Text(), Style: seenStyle(n.Seen)}, Text(p.version(n)), p.row(n), p.pod(n),
		}
		if p.o.Wide {
			on := Text("-")
			if k := n.KubernetesNode; k != nil {
				on = Cell{Text: strings.TrimSpace(k.Name + " " + k.State), Style: machineStyle(*k)}
			}
			row = append(row, Text(dash(n.PodIP)), on, Text(dash(n.State)), Text(dash(n.OperationMode)), Text(string(n.Membership)))
			up, load, tokens := VitalsTexts(n.Vitals)
			row = append(row, Text(dash(up)), Text(dash(load)), Text(dash(tokens)))
		}
		t.Rows = append(t.Rows, row)
	}
	if w := p.width(); w > 0 && lipgloss.Width(t.String(0, "")) > w {
		t.terse()
	}
	return splitLines(t.String(p.width(), p.g.ellipsis))
}

// Fresh is a row that counts: its reporter is alive, even if the row has not changed for long.
const Fresh = "fresh"

// Word is the state of a row in the text.
func (r RowState) Word() string {
	if r.Status == RowOK {
		return Fresh
	}
	return string(r.Status)
}

// terse leaves out since when rows are unchanged, for want of room.
func (t *Table) terse() {
	for _, row := range t.Rows {
		for i := range row {
			if short := row[i].Short; short != "" {
				row[i].Text = short
			}
		}
	}
}

func machineStyle(k cluster.KubernetesNode) Style {
	switch {
	case k.State == "" || k.State == cluster.KubernetesNodeReady:
		return Plain
	case k.Lost() || k.State == cluster.KubernetesNodeGone:
		return Bad
	}
	return Warn
}

func (p *painter) width() int {
	if p.o.Wide {
		return 0
	}
	return p.o.Width
}

func dash(s string) string { return cmp.Or(s, "-") }

func (p *painter) hostID(r matrix.Ref) string {
	if p.o.Wide || r.HostID == "" {
		return dash(string(r.HostID))
	}
	return r.Short()
}

func (p *painter) version(n Node) string {
	if p.o.Wide || n.Version == "" {
		return dash(n.Version)
	}
	// "2025.2.1-0.20250901.abc": the build is for the wide table.
	v, _, _ := strings.Cut(n.Version, "-0.")
	return v
}

func seenStyle(s *Seen) Style {
	if s == nil {
		return Dim
	}
	return statusStyle(s.Status)
}

func statusStyle(status string) Style {
	switch status {
	case "UP":
		return Good
	case "DOWN":
		return Bad
	case "UNKNOWN":
		return Warn
	case "MISSING":
		return Odd
	}
	return Plain
}

func (p *painter) row(n Node) Cell {
	text := n.Row.Word()
	switch n.Row.Status {
	case RowOK:
		cell := Cell{Text: text, Style: Good}
		if a := words.Ago(TimeOf(n.Row.Written), p.d.at()); a != "" {
			cell.Text, cell.Short = text+", unchanged "+a, text
		}
		return cell
	case RowStale:
		if a := words.Ago(TimeOf(n.Row.StaleSince), p.d.at()); a != "" {
			text += " " + a
		}
		return Cell{Text: text, Style: Warn}
	case RowNone:
		return Cell{Text: "-", Style: Dim}
	case RowMissing:
		if p.unread {
			return Cell{Text: text, Style: Dim}
		}
	case RowError:
		return Cell{Text: text, Style: Bad}
	}
	return Cell{Text: text, Style: Odd}
}

func (p *painter) pod(n Node) Cell {
	text := n.Pod
	style := Plain
	phase, ready, ok := strings.Cut(text, " ")
	have, want, counted := strings.Cut(ready, "/")
	switch {
	case ok && counted && phase == "Running" && have == want:
		if !p.o.Wide {
			text = phase // all containers ready is what Running means to a reader; fewer are said
		}
	case phase == "Running" || phase == "-":
	default:
		style = Warn
		if ok && counted && !p.o.Wide {
			text = phase // why it does not run says more than how many containers do
		}
	}
	if n.Force != "" {
		text += " forced=" + n.Force
	}
	return Cell{Text: text, Style: style}
}

// rackTable has one line per rack, then the nodes with trouble.
//
// Long: the table, column by column.
func (p *painter) rackTable(level detail) []string {
	type rack struct {
		dc, name      string
		nodes, in, up int // in: those that are not newcomers
		rows          int
		versions      []string
		trouble       int
	}
	var racks []*rack
	byName := map[[2]string]*rack{}
	var bad []Node
	var numbers []int
	for i, n := range p.d.Nodes {
		key := [2]string{n.Datacenter, n.Rack}
		r := byName[key]
		if r == nil {
			r = &rack{dc: n.Datacenter, name: n.Rack}
			byName[key] = r
			racks = append(racks, r)
		}
		r.nodes++
		if n.Membership != cluster.MemberNewcomer && n.Membership != cluster.MemberGossipOnly {
			r.in++
		}
		if n.Seen != nil && n.Seen.Status == "UP" {
			r.up++
		}
		if n.Row.Status == RowOK {
			r.rows++
		}
		if v := p.version(n); v != "-" && !slices.Contains(r.versions, v) {
			r.versions = append(r.versions, v)
		}
		if p.troubled(n) {
			r.trouble++
			bad, numbers = append(bad, n), append(numbers, i+1)
		}
	}
	// Racks with trouble first: when not all fit, they are the ones to read.
	slices.SortStableFunc(racks, func(a, b *rack) int { return cmp.Compare(min(b.trouble, 1), min(a.trouble, 1)) })
	most := level.maxList * 2
	t := &Table{Columns: []Column{{Header: "DC", Min: 4}, {Header: "RACK", Min: 4}, {Header: "NODES", Right: true}, {Header: "UP"}, {Header: "ROWS"}, {Header: "VERSION", Min: 7}}}
	left, leftNodes, leftBad := 0, 0, 0
	for i, r := range racks {
		if i >= most {
			left, leftNodes, leftBad = left+1, leftNodes+r.nodes, leftBad+min(1, r.trouble)
			continue
		}
		style := Good
		if r.up < r.in {
			style = Bad
		}
		up := Cell{Text: fmt.Sprintf("UP %d/%d", r.up, r.in), Style: style}
		if p.unread {
			up = Cell{Text: "not known", Style: Warn}
		}
		t.Rows = append(t.Rows, []Cell{Text(dash(r.dc)), Text(dash(r.name)), Text(fmt.Sprint(r.nodes)), up, Text(fmt.Sprintf("ok %d/%d", r.rows, r.in)), Text(dash(strings.Join(r.versions, ",")))})
	}
	var lines []string
	if p.folds == nil {
		lines = splitLines(t.String(p.width(), p.g.ellipsis))
	}
	if left > 0 && p.folds == nil {
		text := fmt.Sprintf("and %s with %s", count(left, "more rack", "more racks"), count(leftNodes, "node", "nodes"))
		if leftBad > 0 {
			text += fmt.Sprintf(", %d of them with trouble", leftBad)
		} else if !p.unread {
			text += ", all UP"
		}
		lines = append(lines, Dim.Paint(text+" (all with --all)"))
	}
	if len(bad) > 0 {
		if len(bad) > most {
			more := len(bad) - most
			bad, numbers = bad[:most], numbers[:most]
			lines = append(lines, p.nodeTable(bad, numbers)...)
			return append(lines, Dim.Paint(fmt.Sprintf("and %s with trouble (all with --all)", count(more, "more node", "more nodes"))))
		}
		lines = append(lines, p.nodeTable(bad, numbers)...)
	}
	return lines
}
