// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// The columns of --no-headers. A column keeps its number.
const (
	PlainNodes = "MEMBER HOST-ID SEEN BY REPORT UNCHANGED POD READY DATACENTER RACK VERSION CLUSTER"
	PlainWide  = "IP KUBERNETES-NODE NODE-STATE STATE MODE MEMBERSHIP UPTIME LOAD-BYTES TOKENS NOTES"
	// PlainClusters are the columns of several clusters, PlainBarriers those of `barrier`.
	PlainClusters = "NAMESPACE CLUSTER VERDICT UP PROBLEMS NEW-NODES SOURCE CAUSE UNREADABLE"
	PlainBarriers = "MEMBER NAMESPACE VERDICT BARRIER SINCE BLOCKERS CAUSE"
	// PlainChecks are the columns of `check`, PlainRemotes and PlainTests those of `remote`.
	PlainChecks  = "STATE CHECK SUBJECT CODE"
	PlainRemotes = "NAME CLUSTER THERE SERVER SECRET"
	PlainTests   = "NAME STATE REPORTS RESULT"
)

// ScriptTable draws a table for programs: no headers, colours or marks, never shortened, one word
// per cell, "-" for an empty one.
func ScriptTable(rows [][]string) string {
	t := &Table{NoHeader: true}
	for _, row := range rows {
		cells := make([]Cell, len(row))
		for i, text := range row {
			cells[i] = Text(dash(strings.Join(strings.Fields(Clean(text)), "_")))
		}
		t.Columns, t.Rows = make([]Column, len(row)), append(t.Rows, cells)
	}
	return t.String(0, "")
}

// Script draws the rows as ScriptTable does.
func (t *Table) Script() string {
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		for _, c := range row {
			rows[i] = append(rows[i], c.Text)
		}
	}
	return ScriptTable(rows)
}

// Nodes draws one line per chosen node of the clusters, in the columns PlainNodes; o.Wide adds
// PlainWide.
func Nodes(clusters []*document.ClusterStatus, o Options) string {
	var rows [][]string
	for _, d := range clusters {
		for _, i := range d.Chosen(o.Problems, o.SortBy) {
			n := &d.Nodes[i]
			row := plainNode(d, n)
			if o.Wide {
				row = append(row, plainWide(n)...)
			}
			rows = append(rows, row)
		}
	}
	return ScriptTable(rows)
}

func plainNode(d *document.ClusterStatus, n *document.Node) []string {
	seen, by, report, since := "", "", n.Row.Word(), n.Row.Written
	if n.Seen != nil {
		seen, by, _ = strings.Cut(n.Seen.Text(), " ")
	}
	switch n.Row.Status {
	case document.RowNone:
		report = ""
	case document.RowStale:
		since = n.Row.StaleSince
	}
	pod, ready, _ := strings.Cut(n.Pod, " ")
	return []string{n.Member, string(n.HostID), seen, by, report, words.Ago(document.TimeOf(since), d.At()), pod, ready,
		n.Datacenter, n.Rack, n.Version, d.Namespace + "/" + d.Name}
}

func plainWide(n *document.Node) []string {
	var on, onState string
	if k := n.KubernetesNode; k != nil {
		on, onState = k.Name, k.State
	}
	uptime, load, tokens := document.VitalsTexts(n.Vitals)
	if n.LoadBytes != nil {
		load = fmt.Sprint(*n.LoadBytes)
	}
	var notes []string
	for _, note := range n.Notes {
		notes = append(notes, string(note.Code))
	}
	return []string{n.PodIP, on, onState, n.State, n.OperationMode, string(n.Membership), uptime, load,
		tokens, strings.Join(notes, ",")}
}

func plainCluster(d *document.ClusterStatus) []string {
	cause := ""
	if problems := d.Problems(); len(problems) > 0 {
		cause = string(problems[0].Kind)
	}
	return []string{d.Namespace, d.Name, d.Verdict, fmt.Sprintf("%d/%d", d.Counts.Up, d.Counts.Nodes),
		fmt.Sprint(d.Counts.Problems), fmt.Sprint(d.Counts.Newcomers), string(d.Source.Used), cause,
		fmt.Sprint(len(d.Partial))}
}

// PlainBarrier draws one line per member, in the columns PlainBarriers.
func PlainBarrier(members []document.BarrierVerdict) string {
	var rows [][]string
	for i := range members {
		d := &members[i]
		word, _ := answer(d)
		cause, blockers := "", 0
		if len(d.Findings) > 0 {
			cause = string(d.Findings[0].Kind)
		} else if b := d.Verdict.Blockers; len(b) > 0 {
			cause = string(b[0].Reason)
		}
		for j := range d.Verdict.Blockers {
			blockers += d.Verdict.Blockers[j].Count()
		}
		rows = append(rows, []string{cmp.Or(d.Name, d.Verdict.Self.Name()), d.Namespace, word, string(d.Barrier.Phase),
			words.Ago(document.TimeOf(d.Barrier.Since), d.At()), fmt.Sprint(blockers), cause})
	}
	return ScriptTable(rows)
}
