// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"strings"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/show/grid"
)

// Clusters draws one line per cluster.
func Clusters(l *document.ClusterStatusList, o Options) string {
	g := o.glyphs()
	t := &Table{
		Columns: []Column{{Header: "NAMESPACE", Min: 8}, {Header: "CLUSTER", Min: 8, Middle: true}, {Header: "HEALTH"},
			{Header: grid.Up.String()}, {Header: "PROBLEMS"},
			{Header: "NEWCOMERS"}, {Header: "SOURCE"}, {Header: "CAUSE", Min: 13}}}
	var partial []string
	var plain [][]string
	for i := range l.Items {
		d := &l.Items[i]
		if o.Problems && d.Healthy {
			continue
		}
		plain = append(plain, plainCluster(d))
		health := Cell{Text: g.Marks[d.Mark()] + " " + strings.ToLower(d.Verdict), Style: StyleOf(d.Mark())}
		if len(d.Partial) > 0 {
			health.Text += " (partial)"
		}
		partial = append(partial, partialOf(&d.Header, d.Name, o)...)
		cause := "-"
		if !d.Healthy {
			cause = Clean(d.FirstLine())
		}
		t.Rows = append(t.Rows,
			[]Cell{Text(d.Namespace), Text(d.Name), health, Text(fmt.Sprintf("%d/%d", d.Counts.Up, d.Counts.Nodes)),
				Text(fmt.Sprint(d.Counts.Problems)), Text(fmt.Sprint(d.Counts.Newcomers)), Text(string(d.Source.Used)),
				Text(cause)})
	}
	switch {
	case o.NoHeaders:
		return ScriptTable(plain)
	case len(t.Rows) == 0 && len(l.Items) > 0:
		return fmt.Sprintf("No cluster of %d has a problem.\n", len(l.Items))
	}
	return t.reasons(o, 2) + strings.Join(partial, "")
}

// partialOf lists the unreadable parts of one cluster, below a list.
func partialOf(h *document.Header, cluster string, o Options) []string {
	var lines []string
	p := &painter{d: &document.ClusterStatus{Header: *h}, o: o}
	for _, text := range h.PartialLines(maxPartial) {
		for _, line := range p.wrap(Warn.Paint("partial:")+" "+Clean(h.Namespace+"/"+cluster)+": "+text, "  ") {
			lines = append(lines, line+"\n")
		}
	}
	return lines
}
