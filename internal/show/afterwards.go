// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"

	"github.com/kubectl-scylla/kubectl-scylla/internal/show/document"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// AfterwardsLines returns the lines of the list below its title, each after lead; at most most
// tasks, 0 for all.
func AfterwardsLines(a *document.Afterwards, o Options, lead string, most int) []string {
	var lines []string
	for i := range a.Tasks {
		if most > 0 && i >= most {
			return append(lines, lead+Dim.Paint(fmt.Sprintf("and %d more (all with --all)", len(a.Tasks)-i)))
		}
		t := &a.Tasks[i]
		lines = append(lines, Wrap(lead+t.Box()+" "+words.Text(t.Text), o.Width, lead+"    ")...)
		if t.Command != nil {
			lines = append(lines, commandLines(t.Command, o, lead+"    ")...)
		}
	}
	return lines
}

// afterwards lists the tasks that follow finished operations. A terse level prints one line for
// each operation.
func (p *painter) afterwards(level detail) []string {
	var lines []string
	for i := range p.d.Afterwards {
		a := &p.d.Afterwards[i]
		open := 0
		for j := range a.Tasks {
			if a.Tasks[j].Open() {
				open++
			}
		}
		if open == 0 && !p.o.Wide && !p.o.All {
			continue // all tasks done
		}
		if lines == nil {
			lines = append(lines, Strong.Paint("Follow-up tasks"))
		}
		lines = append(lines, p.wrap("  "+Clean(a.Title(p.d.At())), "    ")...)
		if level.terse {
			lines = append(lines, p.one("    "+words.Count(open, "task", "tasks")+" (all with --all)"))
			continue
		}
		lines = append(lines, AfterwardsLines(a, p.o, "    ", level.maxList)...)
	}
	return lines
}
