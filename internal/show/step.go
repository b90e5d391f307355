// SPDX-License-Identifier: Apache-2.0

package show

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// stepLines is a next step: its words wrapped, and each of its commands on a line of its own that is never broken, so that it can be copied whole.
func stepLines(m words.Message, o Options) []string { return stepLinesAt("  ", m, o) }

// stepLinesAt is stepLines behind a margin.
func stepLinesAt(margin string, m words.Message, o Options) []string {
	lead, rest := margin+o.glyphs().Arrow+" ", margin+"  "
	var lines []string
	for _, f := range StepFacts("", Plain, m, o.Words) {
		if f.Command {
			lines = append(lines, lead+f.Text)
		} else {
			lines = append(lines, Wrap(lead+f.Text, o.Width, rest)...)
		}
		lead = rest
	}
	return lines
}
