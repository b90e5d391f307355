// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"

	"github.com/kubectl-scylla/kubectl-scylla/internal/matrix"
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// findings are the causes with evidence and next step. The verdict shows the text of the first.
func (p *painter) findings(level detail) []string {
	return level.limited(len(p.d.Findings), "", "more finding", "more findings", func(i int) []string {
		f := &p.d.Findings[i]
		style, glyph := Bad, p.g.Dot
		if f.Remark {
			style, glyph = Dim, "note:"
		}
		var lines []string
		if i > 0 || f.Remark {
			lines = p.reason(level, i, style.Paint(glyph)+" "+Clean(f.Text(p.d.At())), "  ")
		}
		if !f.Evidence.IsZero() && !level.terse {
			lines = append(lines, p.each(Dim, p.wrap("  "+words.Text(f.Evidence), "    "))...)
		}
		return append(lines, stepLines(f.Step, p.o)...)
	})
}

// explained are the blockers below the findings, if everything is requested.
func (p *painter) explained() []string {
	groups, _ := matrix.GroupBlockers(p.d.Blockers)
	if len(groups) == 0 {
		return nil
	}
	lines := []string{Strong.Paint("Blockers") + fmt.Sprintf(" (%d): what a new node waits for", p.d.Counts.Blockers)}
	for _, g := range groups {
		lines = append(lines, Wrap(Bad.Paint(p.g.Dot)+" "+words.Aging(g.Message(), g.Since, p.d.At()), p.o.Width,
			"  ")...)
	}
	return lines
}
