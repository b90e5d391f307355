// SPDX-License-Identifier: Apache-2.0

package show

import (
	"github.com/kubectl-scylla/kubectl-scylla/internal/words"
)

// stepLines returns a next step: its text wrapped, and each command on its own unwrapped line, to
// be copied whole.
func stepLines(m words.Message, o Options) []string { return stepLinesAt("  ", m, o) }

// stepLinesAt is stepLines with a margin.
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
